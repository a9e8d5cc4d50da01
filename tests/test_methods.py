"""One way from (instance, method, options) to a mechanism, whoever asks for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mipselect import ExponentialMechanism, Instance, Mistakes, TopR, mistake_levels, top_supports
from mipselect.cli.drawing import draw, plan_draws
from mipselect.cli.options import Method
from mipselect.errors import BudgetExceeded, InvalidInput
from mipselect.methods import (
    ExponentialMethod,
    MistakesMethod,
    SearchOptions,
    SupportMethod,
    TopRMethod,
)
from mipselect.privacy import Guarantee
from mipselect.selectors import ExponentialSelector, MistakesSelector, TopRSelector

BOUNDS: dict[str, float] = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}
SEARCH = SearchOptions(pool_size=4, solver="native", tolerance=0.1)
TESTED: dict[str, float] = {"test_epsilon": 0.25, "delta": 1e-3}

METHODS: dict[str, SupportMethod] = {
    "exponential": ExponentialMethod(epsilon=0.5),
    "top-r": TopRMethod(epsilon=0.5, search=SEARCH),
    "mistakes": MistakesMethod(epsilon=0.5, search=SEARCH),
    "mistakes, tested": MistakesMethod(epsilon=0.5, search=SEARCH, **TESTED),
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
    pool = TopR(top_supports(instance(), 4, solver="native", tolerance=0.1), 0.5)
    if name == "top-r":
        return pool
    levels = mistake_levels(instance(), solver="native", tolerance=0.1)
    return Mistakes(levels, 0.5, **({**TESTED, "fallback": pool} if "tested" in name else {}))


def selector(name: str) -> Any:
    kinds = {"exponential": ExponentialSelector, "top-r": TopRSelector}
    options: dict[str, Any] = {"epsilon": 0.5, **BOUNDS}
    if name != "exponential":
        options |= {"pool_size": 4, "solver": "native", "tolerance": 0.1}
    if "tested" in name:
        options |= TESTED
    return kinds.get(name, MistakesSelector)(1, **options)


@pytest.mark.parametrize("name", METHODS)
def test_the_method_and_the_selector_give_the_mechanism_made_by_hand(name: str) -> None:
    wanted = by_hand(name)
    for found in (METHODS[name].mechanism(instance()), selector(name).mechanism(*data())):
        assert type(found) is type(wanted)
        assert [found.log_probability([j]) for j in range(5)] == [
            wanted.log_probability([j]) for j in range(5)
        ]


@pytest.mark.parametrize("name", METHODS)
def test_the_guarantee_is_known_before_there_are_data(name: str) -> None:
    assert METHODS[name].guarantee == METHODS[name].mechanism(instance()).guarantee


def test_a_method_reports_the_progress_of_its_searches() -> None:
    told: list[object] = []
    for name in ("top-r", "mistakes", "mistakes, tested"):
        told.clear()
        METHODS[name].mechanism(instance(), told.append)
        assert told, name


@pytest.mark.parametrize("kind", [ExponentialMethod, TopRMethod, MistakesMethod])
def test_a_wrong_epsilon_is_refused_before_there_are_data(kind: Any) -> None:
    for wrong in (0.0, -1.0, float("nan"), float("inf"), "1", True):
        with pytest.raises(InvalidInput, match="epsilon"):
            kind(epsilon=wrong)


def test_half_of_a_test_is_refused_before_there_are_data() -> None:
    for half in ({"test_epsilon": 1.0}, {"delta": 1e-6}):
        with pytest.raises(InvalidInput, match="belong together"):
            MistakesMethod(epsilon=1.0, **half)
    with pytest.raises(InvalidInput, match="test_epsilon must be"):
        MistakesMethod(epsilon=1.0, test_epsilon=-1.0, delta=1e-6)


def plan(**changes: Any) -> Any:
    options = {
        "method": Method.TOP_R,
        "epsilon": 0.1,
        "draws": 3,
        "test_epsilon": None,
        "delta": None,
        "budget": None,
        "seed": None,
        "search": SEARCH,
        "search_given": {"--pool-size": None},
    }
    return plan_draws(**{**options, **changes})


def test_every_draw_of_the_command_line_is_paid_from_its_ledger() -> None:
    drawn = draw(instance(), plan(budget=0.5), lambda _: None)
    assert [entry.guarantee for entry in drawn.ledger.entries] == [Guarantee(0.1)] * 3
    assert drawn.total == drawn.ledger.spent == Guarantee(0.3)
    assert drawn.ledger.remaining == Guarantee(0.2)
    tested = draw(
        instance(),
        plan(method=Method.MISTAKES, test_epsilon=0.2, delta=1e-3, draws=2),
        lambda _: None,
    )
    assert tested.ledger.spent == Guarantee(0.6, 2e-3)
    assert tested.ledger.remaining == Guarantee(0.0)


def test_a_budget_that_is_too_small_is_refused_by_the_ledger_before_there_are_data() -> None:
    with pytest.raises(BudgetExceeded):
        plan(budget=0.29)
