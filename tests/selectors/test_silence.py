"""A release says nothing but what it releases: no warning depends on the data.

Warnings are errors in these tests.
"""

from __future__ import annotations

import random
import threading
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from mipselect import Instance
from mipselect.mechanisms import Mechanism, SupportMechanism
from mipselect.mechanisms.base import Support
from mipselect.privacy import Guarantee
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.problem import ProblemSelector
from tests.support.all_selectors import NAMES, all_selectors

VALUES = [0.0, 1.0, -1.0, 3.0, 5e-324, 1e-310, 1e-160, 1e-16, 1e16, 1e154, 1e308, -1e308, 1.7e308]


def overflowing() -> float:
    return float((np.array([1e308, 0.0]) * 10.0 - np.inf)[0])


class Loud(SupportMechanism):
    """Everything in it would warn."""

    @property
    def name(self) -> str:
        return "loud"

    @property
    def feature_names(self) -> tuple[str, ...]:
        return ("x0", "x1")

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(1.0)

    def sample(self, rng: Any = None) -> Support:
        overflowing()
        return (0,)

    def log_probability(self, outcome: ArrayLike) -> float:
        return overflowing()


class LoudSelector(PrivateSelector):
    def __init__(self, n_features_to_select: int = 1) -> None:
        self.n_features_to_select = n_features_to_select
        self.ledger = None
        self.random_state = None

    def _mechanism(self, X: Any, y: Any, source: random.Random) -> Mechanism[Any]:
        overflowing()
        return Loud()


class LoudMethod(ProblemSelector):
    def _law(self, instance: Instance, progress: Any) -> SupportMechanism:
        overflowing()
        return Loud()


def test_what_would_warn_does() -> None:
    with pytest.raises(RuntimeWarning):
        overflowing()


def test_selectors_methods_and_releases_are_silent_and_leave_the_state_as_it_was() -> None:
    before = np.geterr()
    X, y = np.eye(2), np.ones(2)
    instance = Instance(X, y, support_size=1, x_bound=1.0, y_bound=1.0, coef_bound=1.0, ridge=1.0)
    assert LoudSelector().fit(X, y).release_.support == (0,)
    assert isinstance(LoudSelector().mechanism(X, y), Loud)
    assert isinstance(LoudMethod(epsilon=1.0).on(instance), Loud)
    assert Loud().release().support == (0,)
    assert np.geterr() == before
    with pytest.raises(RuntimeWarning):
        overflowing()


def test_a_fit_silences_no_other_thread() -> None:
    inside, done = threading.Event(), threading.Event()

    class Slow(LoudSelector):
        def _mechanism(self, X: Any, y: Any, source: random.Random) -> Mechanism[Any]:
            inside.set()
            assert done.wait(60.0)
            return super()._mechanism(X, y, source)

    filters = list(warnings.filters)
    thread = threading.Thread(target=Slow().fit, args=(np.eye(2), np.ones(2)))
    thread.start()
    assert inside.wait(60.0)
    try:
        assert warnings.filters == filters
        with pytest.raises(RuntimeWarning):
            overflowing()
    finally:
        done.set()
        thread.join()


def hostile(rng: np.random.Generator) -> np.ndarray:
    """A table whose last column is the target."""
    n, p = int(rng.integers(1, 9)), int(rng.integers(2, 5))
    kind = rng.integers(5)
    if kind == 0:
        return rng.choice(VALUES, (n, p + 1))
    if kind == 1:
        return np.repeat(rng.choice(VALUES, (n, 1)), p + 1, axis=1)
    if kind == 2:
        return np.full((n, p + 1), rng.choice(VALUES))
    if kind == 3:
        return rng.choice([0.0, 1.0, -1.0], (n, p + 1))
    return rng.normal(size=(n, p + 1)) * rng.choice([1.0, 1e-160, 1e-310, 1e300], p + 1)


@pytest.mark.parametrize("name", NAMES)
def test_hostile_pairs_of_neighbours_are_released_without_a_word(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(NAMES.index(name))
    for _ in range(60):
        table = hostile(rng)
        other = table.copy()
        other[0] = rng.choice(VALUES, table.shape[1])
        for rows in (table, other):
            selector = all_selectors(int(rng.integers(1, table.shape[1])))[name]
            assert selector.fit(rows[:, :-1], rows[:, -1]).release_.private
    assert capfd.readouterr() == ("", "")
