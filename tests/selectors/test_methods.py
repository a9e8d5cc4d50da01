"""One way from (instance, method, options) to a mechanism, whoever asks for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mipselect import ExponentialMechanism, Instance, Mistakes, TopR, mistake_levels, top_supports
from mipselect.cli.options import MethodOptions, SearchArguments, SupportDrawOptions
from mipselect.cli.releasing import ledger_of, plan_draws
from mipselect.errors import BudgetExceeded, InvalidInput, NotCertified
from mipselect.privacy import Guarantee
from mipselect.problem.stored.files import StoredData
from mipselect.selectors import (
    ExponentialSelector,
    KendallSelector,
    MCMCSelector,
    MistakesSelector,
    SampleAggregateSelector,
    SISSelector,
    TopRSelector,
)
from mipselect.selectors.problem import ProblemSelector

BOUNDS: dict[str, float] = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}
SEARCH: dict[str, Any] = {"pool_size": 4, "solver": "native", "tolerance": 0.1}
TESTED: dict[str, float] = {"test_epsilon": 0.25, "delta": 1e-3}

WEIGHTS = (1.0, 2.0, 3.0, 4.0, 5.0)

METHODS: dict[str, ProblemSelector] = {
    "exponential": ExponentialSelector(epsilon=0.5),
    "exponential, weighted": ExponentialSelector(epsilon=0.5, prior_weights=WEIGHTS),
    "top-r": TopRSelector(epsilon=0.5, **SEARCH),
    "mistakes": MistakesSelector(epsilon=0.5, **SEARCH),
    "mistakes, tested": MistakesSelector(epsilon=0.5, **SEARCH, **TESTED),
}


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (300, 5))
    return X, np.clip(X[:, 1] + 0.1 * rng.normal(size=300), -1.0, 1.0)


def instance() -> Instance:
    return Instance(*data(), support_size=1, **BOUNDS)


def stored() -> StoredData:
    made = instance()
    return StoredData(Path("made.toml"), made.problem, made.data, {})


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


def selector(name: str) -> Any:
    options: dict[str, Any] = {"epsilon": 0.5, **BOUNDS}
    if name.startswith("exponential"):
        weights = WEIGHTS if "weighted" in name else None
        return ExponentialSelector(1, prior_weights=weights, **options)
    options |= {"pool_size": 4, "solver": "native", "tolerance": 0.1}
    if "tested" in name:
        options |= TESTED
    return (TopRSelector if name == "top-r" else MistakesSelector)(1, **options)


@pytest.mark.parametrize("name", METHODS)
def test_the_method_and_the_selector_give_the_mechanism_made_by_hand(name: str) -> None:
    wanted = by_hand(name)
    for found in (METHODS[name].on(instance()), selector(name).mechanism(*data())):
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


def test_sizes_reach_the_mechanism_from_the_method_and_the_selector() -> None:
    chosen: dict[str, Any] = {"sizes": (1, 3), "complexity": 0.5}
    wanted = ExponentialMechanism(instance(), 0.5, **chosen)
    method = ExponentialSelector(epsilon=0.5, **chosen)
    for found in (
        method.on(instance()),
        ExponentialSelector(epsilon=0.5, **BOUNDS, **chosen).mechanism(*data()),
    ):
        assert isinstance(found, ExponentialMechanism)
        assert (found.sizes, found.instance.support_size) == ((1, 3), 3)
        for support in ([0], [4], [0, 1, 2], [1, 3, 4]):
            assert found.log_probability(support) == wanted.log_probability(support)
    assert method.problem(instance().problem).support_size == 3


def test_what_is_wrong_with_an_exact_draw_is_said_before_there_are_data() -> None:
    for wrong in (-1.0, 101.0, float("nan"), "1"):
        with pytest.raises(InvalidInput, match="complexity must be a number"):
            ExponentialSelector(epsilon=1.0, complexity=wrong).check()  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="time_limit must be a number of seconds"):
        ExponentialSelector(epsilon=1.0, time_limit=0.0).check()


def test_an_exact_draw_is_prepared_before_it_can_be_paid_for() -> None:
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (200, 60))
    many = Instance(X, X[:, 0], support_size=5, **BOUNDS)
    told: list[Any] = []
    ExponentialSelector(epsilon=1.0).on(many, progress=told.append)
    assert told
    assert {progress.stage for progress in told} == {"cells"}
    with pytest.raises(NotCertified, match="no draw was made"):
        ExponentialSelector(epsilon=1.0, time_limit=1e-9).on(many)


def test_a_method_reports_the_progress_of_its_searches() -> None:
    told: list[object] = []
    for name in ("top-r", "mistakes", "mistakes, tested"):
        told.clear()
        METHODS[name].on(instance(), progress=told.append)
        assert told, name


@pytest.mark.parametrize(
    "kind",
    [
        ExponentialSelector,
        TopRSelector,
        MistakesSelector,
        SISSelector,
        KendallSelector,
        SampleAggregateSelector,
        MCMCSelector,
    ],
)
def test_a_wrong_epsilon_is_refused_before_there_are_data(kind: Any) -> None:
    for wrong in (0.0, -1.0, float("nan"), float("inf"), "1", True):
        with pytest.raises(InvalidInput, match="epsilon"):
            kind(epsilon=wrong).check()


def test_half_of_a_test_is_refused_before_there_are_data() -> None:
    for half in ({"test_epsilon": 1.0}, {"delta": 1e-6}):
        with pytest.raises(InvalidInput, match="belong together"):
            MistakesSelector(epsilon=1.0, **half).check()
    with pytest.raises(InvalidInput, match="test_epsilon must be"):
        MistakesSelector(epsilon=1.0, test_epsilon=-1.0, delta=1e-6).check()


POOL = MethodOptions(search=SearchArguments(pool_size="4", solver="native", tolerance=0.1))


def plan(**changes: Any) -> Any:
    options = {"method": "top-r", "epsilon": 0.1, "of_the_method": POOL, "draws": 3}
    return plan_draws(SupportDrawOptions(**{**options, **changes}))


def test_every_draw_of_the_command_line_is_paid_from_its_ledger() -> None:
    made = plan(budget=0.5)
    ledger = ledger_of(made.budget)
    drawn = made.draw(stored(), ledger, lambda _: None)
    assert [entry.guarantee for entry in ledger.entries] == [Guarantee(0.3)]
    assert len(drawn.releases) == 3
    assert drawn.total == ledger.spent == Guarantee(0.3)
    assert ledger.remaining == Guarantee(0.2)
    tested = plan(
        method="mistakes",
        of_the_method=replace(POOL, test_epsilon=0.2, delta=1e-3),
        draws=2,
    )
    ledger = ledger_of(tested.budget)
    tested.draw(stored(), ledger, lambda _: None)
    assert ledger.spent == Guarantee(0.6, 2e-3)
    assert ledger.remaining == Guarantee(0.0)


def test_without_a_ledger_the_budget_of_the_plan_pays() -> None:
    made = replace(plan(), budget=Guarantee(0.29))
    with pytest.raises(BudgetExceeded):
        made.draw(stored(), None, lambda _: None)


def test_a_budget_that_is_too_small_is_refused_by_the_ledger_before_there_are_data() -> None:
    with pytest.raises(BudgetExceeded):
        plan(budget=0.29)
