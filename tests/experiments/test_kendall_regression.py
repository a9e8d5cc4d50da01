"""The regression study: both kinds of pipelines on the same splits of a table."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import r2_score

from mipselect.experiments.papers import kendall_regression
from mipselect.experiments.papers.kendall_ranges import (
    EXACT_OP,
    PIPELINES,
    TOP_R_OP,
    KnownRanges,
    known_range,
)
from mipselect.experiments.papers.kendall_regression import (
    NON_DP,
    POSITIVE,
    WITH_RANGES,
    ranks,
)
from mipselect.experiments.papers.kendall_tables import EPSILON, non_private, split, table_of
from mipselect.experiments.papers.results import Place, Results
from mipselect.experiments.papers.sources import REGRESSION, DataSource
from mipselect.privacy.guarantee import Guarantee


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
    readings = list(KnownRanges(2, table="mine").measure(1, 7, source))
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
    (reading, *_) = kendall_regression.TestError(2, (), "mine").measure(3, 1, source)
    assert (reading.method, reading.value) == (NON_DP, least)
    for name, (selector, regressor) in PIPELINES.items():
        (reading,) = KnownRanges(2, (name,), "mine").measure(3, 1, source)
        (middle, half), (y_middle, y_half) = known_range(X), known_range(y)
        scaled, target = (rows.X - middle) / half, (rows.y - y_middle) / y_half
        chosen = (
            range(6) if selector is None else selector(1, 2).fit(scaled, target).get_support(True)
        )
        model = regressor(1).fit(scaled[:, chosen], target)
        predicted = model.predict((rows.X_test - middle)[:, chosen] / half[chosen])
        assert reading.value == pytest.approx(r2_score(rows.y_test, y_middle + y_half * predicted))


def test_ranges_leave_out_one_in_fifty_and_bear_a_constant_column() -> None:
    values = np.column_stack([np.arange(101.0), np.full(101, 3.0)])
    middle, half = known_range(values)
    assert middle.tolist() == [50.0, 3.0]
    assert half.tolist() == [49.0, 1.0]


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


def test_pipelines_with_ranges_are_counted_and_not_ranked() -> None:
    readings = [
        (Place(table, method, "R²", 5.0), number)
        for table, numbers in {"one": (0.5, 0.9, -0.1), "two": (0.1, 0.8, 0.2)}.items()
        for method, number in zip(("BAS", TOP_R_OP, EXACT_OP), numbers, strict=True)
    ]
    found = ranks(Results.of(readings, ["R²"]))
    positive = {place.method: middle.value for place, middle in found.items()
                if place.metric == POSITIVE.key}  # fmt: skip
    assert positive == {"BAS": 2.0, TOP_R_OP: 2.0, EXACT_OP: 1.0}
    assert {place.method for place in found if place.metric == "first"} == {"BAS"}
