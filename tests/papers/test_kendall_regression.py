"""Claims of a paper and its regression study: errors and gaps are not counted as proof."""

from __future__ import annotations

import gzip
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import r2_score

from mipselect.privacy.guarantee import Guarantee
from mipselect_papers import kendall as kendall_regression
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
from mipselect_papers.experiment import DataSeed, Place, Results, mean_of, median_of
from mipselect_papers.kendall import (
    EPSILON,
    EXACT_OP,
    FIRST,
    NON_DP,
    PIPELINES,
    POSITIVE,
    TOP_R_OP,
    TOP_TWO,
    WITH_RANGES,
    KnownRanges,
    known_range,
    non_private,
    ranks,
    split,
    table_of,
)
from mipselect_papers.sources import REGRESSION, DataSource


@pytest.fixture
def source(tmp_path: Path) -> DataSource:
    """Six columns in odd units; the target is near 1,000 and depends on the last two."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-1.0, 1.0, (20_000, 6)) * [1e3, 1e-3, 1.0, 5.0, 70.0, 1e4] + 50.0
    y = 1000.0 + X[:, 4] - X[:, 5] / 200.0 + rng.normal(size=20_000)
    lines = [
        "a,b,c,d,e,f,y",
        *(",".join(map(repr, row)) for row in np.column_stack([X, y]).tolist()),
    ]
    with gzip.open(tmp_path / "mine.csv.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")
    return DataSource.found(REGRESSION, tmp_path)


def test_columns_of_odd_units_are_found_and_the_error_is_near_the_least(source: DataSource) -> None:
    readings = list(KnownRanges(2, table="mine").measure(DataSeed(0, 1), 7, source))
    assert [reading.method for reading in readings] == list(PIPELINES) == list(WITH_RANGES)
    assert {(reading.panel, reading.x, reading.metric) for reading in readings} == {
        ("mine", 2.0, "R²")
    }
    for reading in readings:
        # Clipping at the percentiles and the noise cost a little.
        assert reading.value is not None
        assert 0.9 < reading.value < 1.0, reading.method


def test_known_ranges_are_on_the_splits_of_the_others(source: DataSource) -> None:
    X, y = table_of(source, "mine")
    rows = split(X, y, 3)
    assert (rows.y.size, rows.y_test.size) == (18_000, 2_000)
    least = r2_score(rows.y_test, non_private(rows.X, rows.y, rows.X_test))
    (reading, *_) = kendall_regression.TestError(2, (), "mine").measure(DataSeed(0, 3), 1, source)
    assert (reading.method, reading.value) == (NON_DP, least)
    for name, (selector, regressor) in PIPELINES.items():
        (reading,) = KnownRanges(2, (name,), "mine").measure(DataSeed(0, 3), 1, source)
        (middle, half), (y_middle, y_half) = known_range(X), known_range(y)
        scaled, target = (rows.X - middle) / half, (rows.y - y_middle) / y_half
        chosen = (
            range(6) if selector is None else selector(1, 2).fit(scaled, target).get_support(True)
        )
        model = regressor(1).fit(scaled[:, chosen], target)
        predicted = model.predict((rows.X_test - middle)[:, chosen] / half[chosen])
        assert reading.value == pytest.approx(r2_score(rows.y_test, y_middle + y_half * predicted))


def test_every_pipeline_with_ranges_spends_epsilon_once_under_replace_one(
    source: DataSource,
) -> None:
    X, y = (part[:2000] for part in table_of(source, "mine"))
    (middle, half), (y_middle, y_half) = known_range(X), known_range(y)
    X, y = (X - middle) / half, (y - y_middle) / y_half
    for name, (selector, regressor) in PIPELINES.items():
        model = regressor(1).fit(X, y)
        parts: list[Guarantee] = [model.release_.guarantee]
        if selector is not None:
            parts.append(selector(1, 2).fit(X, y).release_.guarantee)
        assert {part.relation for part in parts} == {"replace-one"}, name
        assert math.fsum(part.epsilon for part in parts) == pytest.approx(EPSILON)
        pure = name in (TOP_R_OP, EXACT_OP)
        assert math.fsum(part.delta for part in parts) == pytest.approx(0.0 if pure else 1e-5)


def medians(numbers: dict[str, dict[str, tuple[float, float]]], k: float = 5.0) -> Results:
    """Thirty splits of every table, evenly from a least to a largest R²."""
    return Results.of(
        [
            (Place(table, method, "R²", k), value)
            for table, methods in numbers.items()
            for method, ends in methods.items()
            for value in np.linspace(*ends, 30).tolist()
        ],
        ["R²"],
    )


def test_what_the_errors_of_medians_leave_open_is_not_counted_as_decided() -> None:
    """Two methods within their intervals are both perhaps first, and 0 is perhaps positive."""
    results = medians({
        "one": {"BAS": (0.2, 0.8), "Tukey": (0.25, 0.85), "K-BAS": (-0.9, -0.8)},
        "two": {"BAS": (-0.2, 0.25), "Tukey": (0.8, 0.9), "K-BAS": (-0.1, 0.1)},
    })  # fmt: skip
    found = {(place.method, place.metric): middle for place, middle in ranks(results).items()}
    assert found["BAS", FIRST.key].interval == (0.0, 1.0)
    assert found["Tukey", FIRST.key].interval == (1.0, 2.0)
    assert (found["Tukey", FIRST.key].value, found["BAS", FIRST.key].value) == (2.0, 0.0)
    assert found["K-BAS", FIRST.key].interval == (0.0, 0.0)
    assert found["K-BAS", TOP_TWO.key].interval == (0.0, 1.0)
    assert found["BAS", POSITIVE.key].interval == (1.0, 2.0)
    assert found["Tukey", POSITIVE.key].interval == (2.0, 2.0)
    assert str(found["BAS", POSITIVE.key]) == "2 [1, 2]"
    claim = Ahead("", POSITIVE.key, "Tukey", ("BAS",))
    assert claim.judged(Results(ranks(results))).verdict == OPEN
    assert (
        Ahead("", POSITIVE.key, "Tukey", ("K-BAS",)).judged(Results(ranks(results))).verdict == SEEN
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
