"""The regression study: both kinds of pipelines on the same splits of a table."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import r2_score

from mipselect.privacy.guarantee import Guarantee
from mipselect_papers import kendall as kendall_regression
from mipselect_papers.claims import OPEN, SEEN, Ahead
from mipselect_papers.experiment import DataSeed, Place, Results
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
