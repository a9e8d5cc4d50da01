"""Accounts of strategies: what is booked, and what it says of what to try."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mipselect import mistake_levels, top_supports
from mipselect.search import StrategyEffort
from mipselect.search.progress import TRY, Accounts
from mipselect.search.tuning import TUNING, Strategy
from tests.support.counted_searches import PROBLEMS
from tests.support.searches import supports_by

ALLOWED, CLUSTERS = TUNING.allowance, Strategy.CLUSTERS


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


@pytest.mark.deep
def test_levels_and_masters_have_accounts_too() -> None:
    levels = mistake_levels(PROBLEMS["easy"]())
    assert Strategy.ROOT_CUTS in {own.name for own in levels.effort.strategies}
    pool = supports_by(PROBLEMS["weak"](), 5, "highs", enumerated=0)
    masters = {own.name: own.calls for own in pool.effort.strategies}["masters"]
    assert 0 < masters <= pool.effort.masters


def try_once(accounts: Accounts, name: str, cost: float, settled: float, size: int = 3) -> None:
    with accounts.trying(name, size) as account:
        accounts.work += cost - TRY
        account.settled += settled


def test_what_costs_no_more_than_it_settles_is_tried_always() -> None:
    accounts = Accounts()
    for _ in range(500):
        assert accounts.worth(CLUSTERS, 3)
        try_once(accounts, CLUSTERS, cost=4e6, settled=0.5)
        try_once(accounts, "division", cost=9e6, settled=1.0)


@pytest.mark.parametrize("cost", [1e5, 2e6, 3e7])
@pytest.mark.parametrize("settled", [0.0, 0.1])
def test_what_does_not_pay_loses_a_few_nodes_and_a_share_of_those_it_was_asked_about(
    cost: float, settled: float
) -> None:
    accounts, price, tries = Accounts(), 1e6, 0
    for asked in range(1, 2001):
        if accounts.worth(CLUSTERS, 3):
            tries += 1
            try_once(accounts, CLUSTERS, cost, settled)
        try_once(accounts, "division", price, 1.0)
        lost = tries * cost - tries * settled * price
        assert lost <= (ALLOWED.first + ALLOWED.share * asked) * price + cost
    # It comes back, and other sizes and strategies have accounts of their own.
    assert tries * max(cost, price) >= ALLOWED.share * 2000 * price
    assert accounts.worth(CLUSTERS, 4)
    assert accounts.worth(Strategy.DUAL_POINTS, 3)


def test_all_nodes_that_are_looked_at_together_count() -> None:
    accounts = Accounts()
    try_once(accounts, "division", 1e6, 1.0)
    try_once(accounts, Strategy.REMOVED_FAMILIES, 2e7, 0.0)
    assert not accounts.worth(Strategy.REMOVED_FAMILIES, 3)
    assert accounts.worth(Strategy.REMOVED_FAMILIES, 3, nodes=1000)


def test_what_settles_nothing_is_tried_few_times_or_costs_next_to_nothing() -> None:
    share = ALLOWED.share * 1e9
    for cost, expected in ((0.5 * share, 200), (6.0 * share, 34)):
        accounts, tries = Accounts(), 0
        for _ in range(200):
            if accounts.worth(CLUSTERS, 3):
                tries += 1
                try_once(accounts, CLUSTERS, cost, 0.0)
            try_once(accounts, "division", 1e9, 1.0)
        assert tries == expected


def test_what_was_settled_keeps_its_value_where_later_nodes_are_easier() -> None:
    accounts = Accounts()
    for _ in range(100):
        try_once(accounts, "division", 1e7, 1.0)
        assert accounts.worth(CLUSTERS, 3)
        try_once(accounts, CLUSTERS, 6e6, 0.7)
    for _ in range(10_000):
        try_once(accounts, "division", 1e5, 1.0)
    assert accounts.worth(CLUSTERS, 3)


def test_a_comparison_is_no_cost_of_the_try_that_it_is_in() -> None:
    accounts = Accounts()
    with accounts.trying(CLUSTERS, 3):
        try_once(accounts, Strategy.SPECTRA, 1e9, 0.0)
        try_once(accounts, "division", 1e6, 1.0)
    assert accounts.of(CLUSTERS, 3).cost == TRY + 1e6
    assert accounts.of(Strategy.SPECTRA, 3).cost == 1e9
    assert accounts.work == TRY + 1e6 + 1e9


def test_a_small_node_is_worth_a_try_only_if_it_is_cheaper_in_proportion() -> None:
    accounts = Accounts()
    for _ in range(10):
        assert accounts.worth(Strategy.DUAL_POINTS, 2, extent=20.0)
        try_once(accounts, Strategy.DUAL_POINTS, cost=1e6, settled=20.0, size=2)
        try_once(accounts, "division", cost=2e6, settled=20.0, size=2)
    assert accounts.worth(Strategy.DUAL_POINTS, 2, extent=20.0)
    assert not accounts.worth(Strategy.DUAL_POINTS, 2, extent=1.0)


def test_before_anything_else_settled_a_node_tries_are_few() -> None:
    accounts, tries = Accounts(), 0
    for _ in range(100):
        if accounts.worth(CLUSTERS, 3):
            tries += 1
            try_once(accounts, CLUSTERS, 1e6, 0.0)
    assert ALLOWED.first <= tries <= ALLOWED.first + ALLOWED.tries * 100 + 1
