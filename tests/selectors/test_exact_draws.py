"""Selectors build the mechanism that is made by hand, with any columns, sizes and weights."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from mipselect import (
    Instance,
    Ledger,
    Mistakes,
    TopR,
    mistake_levels,
    top_supports,
)
from mipselect.errors import InvalidInput, NotCertified
from mipselect.privacy import Guarantee
from mipselect.selectors import (
    ExponentialSelector,
    MistakesSelector,
    PermuteAndFlipSelector,
    TopRSelector,
)
from mipselect.selectors.exact_draws import ExactDrawSelector
from mipselect.selectors.problem import ProblemSelector
from tests.support.all_selectors import BOUNDS

Kind = type[ExactDrawSelector]
KINDS = pytest.mark.parametrize("kind", [ExponentialSelector, PermuteAndFlipSelector])


def data(n: int = 60, p: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.0, 1.0, (n, p))
    return X, np.clip(X[:, 1] - 0.8 * X[:, 3] + rng.normal(0.0, 0.1, n), -1.0, 1.0)


@KINDS
def test_more_columns_than_can_be_listed(kind: Kind) -> None:
    X, y = data(2000, 200)
    ledger = Ledger(5.0)
    selector = kind(5, epsilon=5.0, ledger=ledger, **BOUNDS)
    assert not selector.mechanism(X, y).listed
    selector.fit(X, y)
    assert selector.get_support().sum() == 5
    assert selector.get_support()[[1, 3]].all()
    assert selector.guarantee_ == selector.release_.guarantee == ledger.spent == Guarantee(5.0)


@KINDS
def test_a_size_is_drawn_with_the_columns(kind: Kind) -> None:
    X, y = data()
    selector = kind(epsilon=0.5, sizes=range(1, 4), complexity=0.0, **BOUNDS)
    sizes = set()
    for seed in range(40):
        selector.set_params(random_state=seed).fit(X, y)
        chosen = selector.get_support(indices=True)
        sizes.add(len(chosen))
        assert selector.release_.support == tuple(chosen)
        assert selector.release_.feature_names == tuple(f"x{j}" for j in chosen)
        assert selector.transform(X).shape == (len(X), len(chosen))
        assert len(selector.get_feature_names_out()) == len(chosen)
    assert sizes == {1, 2, 3}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"sizes": []}, "at least one support size"),
        ({"sizes": [1, 7]}, "sizes must be in 1..6"),
        ({"complexity": -1.0}, "complexity must be"),
        ({"complexity": None}, "complexity must be"),
        ({"prior_weights": [1.0]}, "prior_weights must be 6 numbers"),
        ({"time_limit": 0.0}, "time_limit must be a number of seconds"),
    ],
)
@KINDS
def test_bad_options(kind: Kind, wrong: dict[str, object], says: str) -> None:
    ledger = Ledger(1.0)
    with pytest.raises(InvalidInput, match=says):
        kind(2, ledger=ledger, **BOUNDS).set_params(**wrong).fit(*data())
    assert ledger.entries == ()


SEARCH: dict[str, Any] = {"solver": "native", "tolerance": 0.1}
TESTED: dict[str, float] = {"test_epsilon": 0.25, "delta": 1e-3}
PRIOR: dict[str, Any] = {
    "sizes": (1, 3), "complexity": 0.25, "prior_weights": np.linspace(1.0, 2.0, 5)
}  # fmt: skip


def instance() -> Instance:
    return Instance(*data(300, 5), support_size=1, **BOUNDS)


def top_r(of: Instance) -> TopR:
    return TopR(top_supports(of, 4, **SEARCH), 0.5)


def mistakes(of: Instance, **tested: Any) -> Mistakes:
    return Mistakes(mistake_levels(of, **SEARCH), 0.5, **tested)


def with_test(of: Instance) -> Mistakes:
    return mistakes(of, **TESTED, fallback=top_r(of))


GIVEN: dict[str, Any] = {"pool_size": 4, **SEARCH, **BOUNDS}
METHODS: dict[str, tuple[ProblemSelector, Callable[[Instance], Any]]] = {
    "top-r": (TopRSelector(1, epsilon=0.5, **GIVEN), top_r),
    "mistakes": (MistakesSelector(1, epsilon=0.5, **GIVEN), mistakes),
    "mistakes, tested": (MistakesSelector(1, epsilon=0.5, **GIVEN, **TESTED), with_test),
    **{
        f"{kind.__name__}, {len(prior)}": (
            kind(1, epsilon=0.5, **prior, **BOUNDS),
            lambda of, kind=kind, prior=prior: kind.law(of, 0.5, **prior),
        )
        for kind in (ExponentialSelector, PermuteAndFlipSelector)
        for prior in ({}, PRIOR)
    },
}


def logs_of(mechanism: Any) -> list[float]:
    sizes = getattr(mechanism, "sizes", (1,))
    supports = [support for size in sizes for support in combinations(range(5), size)]
    return [mechanism.log_probability(support) for support in supports]


@pytest.mark.parametrize("name", METHODS)
def test_the_method_and_the_selector_give_the_mechanism_made_by_hand(name: str) -> None:
    method, make = METHODS[name]
    wanted = make(instance())
    for found in (method.on(instance()), method.mechanism(*data(300, 5))):
        assert type(found) is type(wanted)
        assert logs_of(found) == logs_of(wanted)


@pytest.mark.parametrize("name", METHODS)
def test_the_guarantee_is_known_before_there_are_data(name: str) -> None:
    method, _ = METHODS[name]
    mechanism = method.on(instance())
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
