"""Claims of a paper: they can be contradicted, and errors and gaps are not counted as proof."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest

from mipselect.experiments.papers.claims import (
    IN_PART,
    NOT_SEEN,
    OPEN,
    SEEN,
    Ahead,
    Number,
    Rises,
)
from mipselect.experiments.papers.results import Place, Results, mean_of, median_of


def results(lines: Mapping[str, Mapping[float, Sequence[float | None]]]) -> Results:
    return Results.of(
        [
            (Place("", method, "m", x), value)
            for method, line in lines.items()
            for x, values in line.items()
            for value in values
        ],
        [],
    )


AHEAD = Ahead("a is ahead of b", "m", "a", ("b",))


@pytest.mark.parametrize(
    ("a", "b", "verdict"),
    [
        ([0.9, 0.91], [0.1, 0.12], SEEN),
        ([0.1, 0.12], [0.9, 0.91], NOT_SEEN),
        ([0.0, 1.0], [0.4, 0.5], OPEN),
        ([0.5], [0.5], OPEN),
        ([0.5], [0.4], SEEN),
    ],
)
def test_ahead_is_two_standard_errors(a: list[float], b: list[float], verdict: str) -> None:
    found = AHEAD.judged(results({"a": {1.0: a}, "b": {1.0: b}}))
    assert found.verdict == verdict


def test_ahead_in_part_beyond_its_span_and_the_other_way_round() -> None:
    crossing = results({"a": {1.0: [0.0], 2.0: [1.0]}, "b": {1.0: [0.5], 2.0: [0.5]}})
    assert AHEAD.judged(crossing).verdict == IN_PART
    assert "ahead at 1, level at 0, behind at 1 of 2" in AHEAD.judged(crossing).evidence
    assert Ahead("", "m", "a", ("b",), (1.5, 3.0)).judged(crossing).verdict == SEEN
    assert (
        Ahead("", "m", "a", ("b",), (1.5, 3.0), higher=False).judged(crossing).verdict == NOT_SEEN
    )
    assert Ahead("", "m", "a", ("b",), (5.0, 6.0)).judged(crossing).verdict == OPEN
    assert Ahead("", "m", "a", ("b",), panels=("other",)).judged(crossing).verdict == OPEN


def test_never_behind_is_seen_where_nothing_differs() -> None:
    claim = Ahead("", "m", "a", ("b",), never_behind=True)
    assert claim.judged(results({"a": {1.0: [0.5]}, "b": {1.0: [0.5]}})).verdict == SEEN
    assert claim.judged(results({"a": {1.0: [0.4]}, "b": {1.0: [0.5]}})).verdict == NOT_SEEN
    almost = Ahead("", "m", "a", ("b",), never_behind=True, margin=0.2)
    assert almost.judged(results({"a": {1.0: [0.4]}, "b": {1.0: [0.5]}})).verdict == SEEN


def test_rises_wants_a_rise_and_no_step_back() -> None:
    claim = Rises("", "m", ("a",))
    assert claim.judged(results({"a": {1.0: [0.1], 2.0: [0.4], 3.0: [0.9]}})).verdict == SEEN
    back = claim.judged(results({"a": {1.0: [0.1], 2.0: [0.95], 3.0: [0.9]}}))
    assert back.verdict == NOT_SEEN
    assert "a step back at 3" in back.evidence
    flat = results({"a": {1.0: [0.4, 0.6], 2.0: [0.4, 0.7]}})
    assert claim.judged(flat).verdict == OPEN
    assert claim.judged(results({"a": {1.0: [0.4]}})).verdict == OPEN
    assert Rises("", "m", ("a",), falls=True).judged(
        results({"a": {1.0: [0.9], 2.0: [0.1]}})
    ).verdict == SEEN  # fmt: skip


def test_a_number_is_granted_its_error() -> None:
    claim = Number("", "m", "", "a", 1.0, 0.5, 0.01)
    assert claim.judged(results({"a": {1.0: [0.505]}})).verdict == SEEN
    assert claim.judged(results({"a": {1.0: [0.6]}})).verdict == NOT_SEEN
    assert claim.judged(results({"a": {1.0: [0.5, 0.7]}})).verdict == SEEN
    assert claim.judged(results({"a": {2.0: [0.5]}})).verdict == OPEN


def test_means_leave_out_no_answer_and_medians_count_it_as_the_worst() -> None:
    mean = mean_of([1.0, 3.0, None])
    assert mean is not None
    assert (mean.value, mean.count) == (2.0, 2)
    assert mean.error == pytest.approx(1.0)
    assert mean_of([None]) is None
    median = median_of([1.0, None, 3.0])
    assert median is not None
    assert median.value == 1.0
    nothing = median_of([None, None, 3.0])
    assert nothing is not None
    assert nothing.value == -math.inf
    assert str(nothing) == "none"
