"""Counted searches: none gets longer unseen, and one does half as much again without a strategy.

`python -m tests.soak.node_counts` prints the table anew. Fewer nodes are welcome, and are recorded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import pytest

from mipselect.search.least_squares import tree
from mipselect.search.tuning import TUNING, Strategy, Tuning
from tests.support.counted_searches import PROBLEMS, RECORDED, Unfinished, count, count_of, spread

EARNED, BAND = 1.5, 0.1


@dataclass(frozen=True)
class Earning:
    """A search, and which of its counts grows without a strategy."""

    problem: str
    search: str
    measure: str = "nodes"
    tuning: Tuning = TUNING


EARNINGS = {
    Strategy.ENUMERATION: Earning("small", "optimum"),
    Strategy.SWAPS: Earning("decoys", "optimum"),
    Strategy.COMPLETIONS: Earning("weak", "levels"),
    Strategy.MULTIPLIERS: Earning("narrow bounds", "levels"),
    Strategy.TARGETS: Earning("classes of factors", "coarse pool"),
    Strategy.SCREENING: Earning("nearly as many rows", "optimum"),
    Strategy.ROOT_CUTS: Earning("narrow bounds", "levels"),
    Strategy.REMOVED_FAMILIES: Earning("ten of eighty", "pool"),
    Strategy.DOMINANCE: Earning("easy", "pool"),
    Strategy.ROW_TOPS: Earning("many independent columns", "pool"),
    Strategy.EXPANSION: Earning("twelve of forty", "pool"),
    Strategy.CHILDREN: Earning("near copies", "pool", "steps"),
    Strategy.FEWER_FAMILIES: Earning("fewer rows", "levels"),
    Strategy.LEAST_EIGENVALUES: Earning("twelve of forty", "optimum"),
    Strategy.BLOCK_CURVATURE: Earning("correlated groups", "pool"),
    Strategy.SPECTRA: Earning("correlated and weak", "pool"),
    Strategy.CLUSTERS: Earning("many columns", "optimum"),
    Strategy.PAIRS: Earning("far fewer rows", "pool"),
    Strategy.TRIPLES: Earning("correlated and weak", "pool", "steps"),
    Strategy.DUAL_POINTS: Earning("huber", "optimum"),
    Strategy.ONE_MORE: Earning("huber", "levels", "values"),
    Strategy.CELL_EXPANSION: Earning("always-columns", "cells"),
}


@pytest.mark.deep
@pytest.mark.parametrize("strategy", EARNINGS)
def test_a_search_is_longer_without_it(strategy: Strategy) -> None:
    assert_it_earns(strategy, EARNINGS[strategy])


def assert_it_earns(strategy: Strategy, earning: Earning) -> None:
    found = getattr(count(earning.problem, earning.search, earning.tuning), earning.measure)
    without = replace(earning.tuning, without=frozenset({strategy}))
    try:
        counts = count(earning.problem, earning.search, without, time_limit=10.0)
    except Unfinished as stopped:
        counts = stopped.counts
    assert getattr(counts, earning.measure) >= EARNED * found


@pytest.mark.deep
def test_a_spectrum_of_rows_earns_its_place() -> None:
    assert_it_earns(Strategy.SPECTRA, Earning("nearly as many rows, again", "optimum"))


@pytest.mark.deep
def test_a_parallel_sum_earns_its_place() -> None:
    tuning = replace(TUNING, spectrum=replace(TUNING.spectrum, columns=0))
    assert_it_earns(Strategy.SPECTRA, Earning("as many rows", "pool", tuning=tuning))


@pytest.mark.deep
def test_a_heavy_subproblem_makes_a_search_long() -> None:
    """Families of removed sets, and spectra, in place of one child after the other."""
    instance = spread(300, 300, 6, 0.9, 5.0, 1.0)
    limits = (replace(TUNING.near, heavy=most) for most in (2**16, 2**60))
    found, patient = (count_of(instance, "optimum", replace(TUNING, near=near)) for near in limits)
    assert patient.nodes >= EARNED * found.nodes


def test_every_strategy_is_looked_at() -> None:
    assert set(EARNINGS) == set(Strategy)


def within(number: int, recorded: int) -> bool:
    return abs(number - recorded) <= BAND * recorded


@pytest.mark.deep
@pytest.mark.parametrize(("problem", "search"), RECORDED)
def test_a_search_takes_as_much_work_as_before(problem: str, search: str) -> None:
    found, recorded = count(problem, search), RECORDED[problem, search]
    for measure in ("nodes", "values", "pairs", "steps"):
        assert within(getattr(found, measure), getattr(recorded, measure)), (found, recorded)


def test_every_problem_is_counted() -> None:
    # Among exact copies rounding decides which are looked at, and processors round differently.
    assert {problem for problem, _ in RECORDED} == set(PROBLEMS) - {"copies"}


@pytest.mark.parametrize(("share", "formed"), [(0.0, True), (math.inf, False)])
def test_spectra_wait_for_a_search_that_took_a_share_of_what_they_take(
    share: float, formed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By cost: at n = 1,500, p = 10,000 they would take ten times as long as all levels."""
    asked = []
    monkeypatch.setattr(tree, "spectral_curvatures", lambda whole: asked.append(whole) or [])
    spectrum = replace(TUNING.spectrum, share=share)
    count("wide bounds", "levels", replace(TUNING, spectrum=spectrum))
    assert bool(asked) == formed
