"""Claims of a paper: they can be contradicted, and errors and gaps are not counted as proof."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mipselect_papers.catalogue import experiment_named
from mipselect_papers.claims import (
    IN_PART,
    NOT_SEEN,
    OPEN,
    SEEN,
    Ahead,
    AheadInTheEnd,
    Claim,
    Number,
    Rises,
    Somewhere,
)
from mipselect_papers.experiment import (
    Place,
    Results,
    mean_of,
    median_of,
)


def results(lines: Mapping[str, Sequence[float | list[float]]]) -> Results:
    """What methods reached at x = 1, 2, ...: one number each, or that of several repeats."""
    return Results.of(
        [
            (Place("", method, "m", float(x)), value)
            for method, line in lines.items()
            for x, values in enumerate(line, 1)
            for value in (values if isinstance(values, list) else [values])
        ],
        [],
    )


def ahead(**more: Any) -> Ahead:
    return Ahead("", "m", "a", more.pop("worse", ("b",)), **more)


CROSSING = {"a": [0.0, 1.0], "b": [0.5, 0.5]}
OF_FOUR = {"a": [0.5], "b": [0.2], "c": [0.1], "d": [0.5]}
NUMBER = Number("", "m", "", "a", 1.0, 0.5, 0.01)
RISES = Rises("", "m", ("a",))


@pytest.mark.parametrize(
    ("claim", "lines", "verdict"),
    [
        # Two standard errors of a difference, or of one number nothing.
        (ahead(), {"a": [[0.9, 0.91]], "b": [[0.1, 0.12]]}, SEEN),
        (ahead(), {"a": [[0.1, 0.12]], "b": [[0.9, 0.91]]}, NOT_SEEN),
        (ahead(), {"a": [[0.0, 1.0]], "b": [[0.4, 0.5]]}, OPEN),
        (ahead(), {"a": [0.5], "b": [0.5]}, OPEN),
        (ahead(), {"a": [0.5], "b": [0.4]}, SEEN),
        (ahead(), CROSSING, IN_PART),
        (ahead(span=(1.5, 3.0)), CROSSING, SEEN),
        (ahead(span=(1.5, 3.0), higher=False), CROSSING, NOT_SEEN),
        (ahead(span=(5.0, 6.0)), CROSSING, OPEN),
        (ahead(panels=("other",)), CROSSING, OPEN),
        (ahead(never_behind=True), {"a": [0.5], "b": [0.5]}, SEEN),
        (ahead(never_behind=True), {"a": [0.4], "b": [0.5]}, NOT_SEEN),
        (ahead(never_behind=True, margin=0.2), {"a": [0.4], "b": [0.5]}, SEEN),
        (RISES, {"a": [0.1, 0.4, 0.9]}, SEEN),
        (RISES, {"a": [0.1, 0.95, 0.9]}, NOT_SEEN),
        (RISES, {"a": [[0.4, 0.6], [0.4, 0.7]]}, OPEN),
        (RISES, {"a": [0.4]}, OPEN),
        (Rises("", "m", ("a",), falls=True), {"a": [0.9, 0.1]}, SEEN),
        # The error of a number is granted.
        (NUMBER, {"a": [0.505]}, SEEN),
        (NUMBER, {"a": [0.6]}, NOT_SEEN),
        (NUMBER, {"a": [[0.5, 0.7]]}, SEEN),
        (NUMBER, {"b": [0.5]}, OPEN),
        (Somewhere("", ahead()), CROSSING, SEEN),
        (Somewhere("", ahead(margin=0.6)), CROSSING, NOT_SEEN),
        (Somewhere("", ahead(worse=("c",))), CROSSING, OPEN),
        # A superlative is left open by one that is level.
        (ahead(worse=("b", "c"), of_all=True), OF_FOUR, SEEN),
        (ahead(worse=("b", "d"), of_all=True), OF_FOUR, OPEN),
        (ahead(worse=("b", "d"), of_all=True), {**OF_FOUR, "d": [0.6]}, NOT_SEEN),
        (ahead(worse=("e",), of_all=True), OF_FOUR, OPEN),
        (AheadInTheEnd("", "m", "a", ("b", "d")), {**OF_FOUR, "d": [0.9]}, IN_PART),
        (AheadInTheEnd("", "m", "a", ("e",)), OF_FOUR, OPEN),
        (AheadInTheEnd("", "m", "a", ("d",), higher=False), {**OF_FOUR, "d": [0.9]}, SEEN),
    ],
)
def test_verdicts(claim: Claim, lines: Mapping[str, Any], verdict: str) -> None:
    assert claim.judged(results(lines)).verdict == verdict


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
    assert str(nothing) == "none [?]"
    assert str(median_of([None] * 7)) == "none"
    assert str(median_of([None] * 6 + [1.0] * 5)) == "none [none, 1]"


def test_a_median_lies_between_two_of_the_values_with_95_percent() -> None:
    """By binomial laws: of 10 values the second and the ninth, of 30 the tenth and the 21st."""
    for count, below in ((6, 1), (10, 2), (30, 10), (100, 40)):
        values = [float(number) for number in range(1, count + 1)]
        found = median_of(values)
        assert found is not None
        assert found.interval == (below, count + 1 - below)
        outside = 2.0 * sum(math.comb(count, number) for number in range(below)) / 2**count
        assert outside <= 0.05 < outside + 2.0 * math.comb(count, below) / 2**count
    few = median_of([1.0, 2.0, 3.0, 4.0, 5.0])
    assert few is not None
    assert few.interval == (-math.inf, math.inf)
    assert str(few) == "3 [?]"


@pytest.mark.parametrize(
    "name", ["mip-1a", "mip-size", "mip-snr", "mip-rho", "mip-large", "mip-very-large"]
)
def test_what_is_claimed_to_be_ahead_of_all_others_is_run_beside_them(name: str) -> None:
    """Appendix D.1.3 had neither chains nor votes, so that its claim could not be contradicted."""
    experiment = experiment_named(name)
    compared = [claim for claim in experiment.claims if "MCMC and samp-agg" in claim.text]
    assert {claim.better for claim in compared} == {"top-R", "mistakes"}  # type: ignore[attr-defined]
    for recipes in (experiment.full.recipes, experiment.quick.recipes):
        run = {method for recipe in recipes for method in recipe.methods}  # type: ignore[attr-defined]
        for claim in compared:
            assert {"MCMC", "samp-agg"} <= set(claim.worse) <= run  # type: ignore[attr-defined]
