"""One way from (instance, method, options) to a mechanism, whoever asks for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mipselect import ExponentialMechanism, Instance, Mistakes, TopR, mistake_levels, top_supports
from mipselect.errors import NotCertified
from mipselect.selectors import (
    ExponentialSelector,
    MistakesSelector,
    TopRSelector,
)
from mipselect.selectors.problem import ProblemSelector

BOUNDS: dict[str, float] = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}
SEARCH: dict[str, Any] = {"pool_size": 4, "solver": "native", "tolerance": 0.1}
TESTED: dict[str, float] = {"test_epsilon": 0.25, "delta": 1e-3}

WEIGHTS = (1.0, 2.0, 3.0, 4.0, 5.0)

METHODS: dict[str, ProblemSelector] = {
    "exponential": ExponentialSelector(1, epsilon=0.5, **BOUNDS),
    "exponential, weighted": ExponentialSelector(1, epsilon=0.5, prior_weights=WEIGHTS, **BOUNDS),
    "top-r": TopRSelector(1, epsilon=0.5, **SEARCH, **BOUNDS),
    "mistakes": MistakesSelector(1, epsilon=0.5, **SEARCH, **BOUNDS),
    "mistakes, tested": MistakesSelector(1, epsilon=0.5, **SEARCH, **TESTED, **BOUNDS),
}


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (300, 5))
    return X, np.clip(X[:, 1] + 0.1 * rng.normal(size=300), -1.0, 1.0)


def instance() -> Instance:
    return Instance(*data(), support_size=1, **BOUNDS)


def by_hand(name: str) -> Any:
    if name == "exponential":
        return ExponentialMechanism(instance(), 0.5)
    if name == "exponential, weighted":
        return ExponentialMechanism(instance(), 0.5, prior_weights=WEIGHTS)
    pool = TopR(top_supports(instance(), 4, solver="native", tolerance=0.1), 0.5)
    if name == "top-r":
        return pool
    levels = mistake_levels(instance(), solver="native", tolerance=0.1)
    return Mistakes(levels, 0.5, **({**TESTED, "fallback": pool} if "tested" in name else {}))


@pytest.mark.parametrize("name", METHODS)
def test_the_method_and_the_selector_give_the_mechanism_made_by_hand(name: str) -> None:
    wanted = by_hand(name)
    for found in (METHODS[name].on(instance()), METHODS[name].mechanism(*data())):
        assert type(found) is type(wanted)
        assert [found.log_probability([j]) for j in range(5)] == [
            wanted.log_probability([j]) for j in range(5)
        ]


@pytest.mark.parametrize("name", METHODS)
def test_the_guarantee_is_known_before_there_are_data(name: str) -> None:
    method, mechanism = METHODS[name], METHODS[name].on(instance())
    assert method.guarantee == mechanism.guarantee
    assert method.guarantee.rho == mechanism.guarantee.rho
    assert method.guarantees == mechanism.guarantees


def test_an_exact_draw_is_prepared_before_it_can_be_paid_for() -> None:
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (200, 60))
    many = Instance(X, X[:, 0], support_size=5, **BOUNDS)
    told: list[Any] = []
    ExponentialSelector(epsilon=1.0).on(many, progress=told.append)
    assert told
    assert {progress.stage for progress in told} == {"cells"}
    with pytest.raises(NotCertified, match="no draw was made"):
        ExponentialSelector(epsilon=1.0, time_limit=1e-9).on(many)
