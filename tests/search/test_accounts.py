"""Accounts of strategies: every second is booked once, on the strategy that was begun last."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mipselect import mistake_levels, top_supports
from mipselect.search import StrategyEffort
from mipselect.search.accounts import Accounts
from mipselect.search.strategies import Strategy
from tests.support.counted_searches import PROBLEMS
from tests.support.searches import supports_by


def clock_of(*times: float) -> Iterator[float]:
    yield from times


def test_a_strategy_does_not_pay_for_those_that_it_calls() -> None:
    times = clock_of(0.0, 1.0, 3.0, 7.0, 20.0, 21.0)
    accounts = Accounts(lambda: next(times))
    with accounts.trying("outer") as outer:
        with accounts.trying("inner") as inner:
            inner.successes += 1
        outer.successes += 1
    with accounts.trying("outer"):
        pass
    assert accounts.efforts() == (
        StrategyEffort("outer", 2, 1, 1.0 + 4.0 + 1.0),
        StrategyEffort("inner", 1, 1, 2.0),
    )


def test_time_is_booked_where_a_strategy_is_stopped() -> None:
    times = clock_of(0.0, 1.0, 3.0, 7.0)
    accounts = Accounts(lambda: next(times))

    def stopped() -> None:
        with accounts.trying("outer"), accounts.trying("inner"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert {own.name: own.seconds for own in accounts.efforts()} == {"outer": 5.0, "inner": 2.0}


@pytest.mark.parametrize(
    ("problem", "names"),
    [
        ("small", {Strategy.ENUMERATION}),
        ("ten of eighty", {Strategy.REMOVED_FAMILIES, Strategy.EXPANSION, Strategy.PAIRS}),
        ("weak", {Strategy.PAIRS, Strategy.TRIPLES, Strategy.COMPLETIONS}),
        ("near copies", {Strategy.CHILDREN, Strategy.TRIPLES, "division"}),
        ("huber", {Strategy.DUAL_POINTS, Strategy.ONE_MORE, "last additions"}),
    ],
)
def test_a_search_tells_which_strategies_helped(problem: str, names: set[str]) -> None:
    tried = top_supports(PROBLEMS[problem]()).effort.strategies
    assert names <= {own.name for own in tried if own.successes}
    assert all(0 <= own.successes <= own.calls for own in tried)


def test_levels_and_masters_have_accounts_too() -> None:
    levels = mistake_levels(PROBLEMS["easy"]())
    assert Strategy.ROOT_CUTS in {own.name for own in levels.effort.strategies}
    pool = supports_by(PROBLEMS["weak"](), 5, "highs", enumerated=0)
    masters = {own.name: own.calls for own in pool.effort.strategies}["masters"]
    assert 0 < masters <= pool.effort.masters
