"""`check_table` on ranges that are far too wide, and on values far beyond them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mipselect.tables import TableSchema, check_table
from mipselect.tables.check.counts import Spread


def findings(x: Any, low: float, high: float, **question: Any) -> list[str]:
    schema = TableSchema.of_numbers({"x": (low, high)})
    return [
        finding.text for finding in check_table(pa.table({"x": x}), schema, **question).findings
    ]


def test_a_range_that_is_far_too_wide_is_told() -> None:
    x = np.random.default_rng(0).uniform(0, 40, 2000)
    assert findings(x, 0, 40) == findings(x, -100, 250) == []
    (text,) = findings(x, 0, 40_000)
    assert text.startswith("the middle 99 % of values take up 0.1 % of the range 0 to 40,000; ")
    assert "costs accuracy" in text
    # The share and the stated range are all that it says.
    assert "39." not in text
    assert findings(x, 0, 40_000, ranges={"x": (0, 40)}) == []
    assert findings(x[:99], 0, 40_000) == []
    # What is constant, or mostly clipped, is told as that.
    assert all("middle" not in text for text in findings([3.0] * 2000, 0, 40_000))
    assert all("middle" not in text for text in findings(x + 100, 0, 50))


@pytest.mark.parametrize("seed", range(5))
def test_the_middle_is_that_of_sorted_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.normal(0.3, 0.02, 3000), rng.uniform(-0.2, 1.2, 25)])
    spread = Spread(0.0, 1.0)
    for some in np.array_split(x, 7):
        spread.add(some)
    low, high = np.quantile(np.clip(x, 0, 1), [0.005, 0.995], method="inverted_cdf")
    assert spread.middle == pytest.approx(high - low, abs=0.004)


def test_values_far_beyond_the_range_may_be_in_another_unit() -> None:
    rng = np.random.default_rng(0)
    height = rng.normal(172, 8, 3000)
    mixed = np.where(np.arange(3000) % 3 == 0, height / 100, height)
    (text,) = findings(mixed, 140, 205)
    assert text.startswith("33 % of values are below the minimum 140")
    assert "in another unit" in text
    (text,) = findings(height, 170, 205)
    assert "below the minimum 170" in text
    assert "unit" not in text
    infinite = Spread(0.0, 1.0)
    infinite.add(np.array([np.inf, -np.inf, 1.5, 2.5, -1.5]))
    assert (infinite.far_below, infinite.far_above) == (2, 2)


@pytest.mark.parametrize("rows", [20, 400])
def test_one_number_far_from_the_range_may_be_a_code_of_no_value(rows: int) -> None:
    """Also where it is too rare for a range that cuts off values."""
    age = np.random.default_rng(0).normal(60, 12, 3000).clip(18, 95)
    (text,) = findings(np.where(np.arange(3000) < rows, 999, age), 18, 100)
    assert text.startswith(f"{'0.7' if rows == 20 else '13'} % of values are 999, above the maxi")
    assert text.endswith('"missingValues": ["", "999"]')
    (text,) = findings(np.where(np.arange(3000) < rows, -99, age), 18, 100)
    assert "are -99, below the minimum 18" in text
    assert not findings(np.where(np.arange(3000) < 2, 999, age), 18, 100)


@pytest.mark.parametrize(
    ("code", "low", "high", "told"),
    [
        (-9.0, 5.0, 20.0, True),  # Nearer to the range than it is wide.
        (-8.0, 0.0, 10_000.0, True),
        (-1.0, 0.0, 10_000.0, True),
        (99.0, 0.0, 80.0, True),
        (9.0, 1.0, 7.0, True),
        (-9.0, -5.0, 5.0, True),
        (-6.0, -5.0, 5.0, False),
        (-8.5, 0.0, 100.0, False),
        (21.0, 5.0, 20.0, False),
        (98.0, 0.0, 80.0, False),
        (99.0, 0.0, 100.0, False),
    ],
)
def test_a_code_of_no_value_may_lie_near_the_range(
    code: float, low: float, high: float, told: bool
) -> None:
    values = np.linspace(low, high, 1000)
    found = findings(np.where(np.arange(1000) % 50 == 7, code, values), low, high)
    assert any(f"are {code:.15g}, " in text and "missingValues" in text for text in found) == told


def test_values_around_a_code_are_no_codes() -> None:
    """More than half of the values on that side are others."""
    values = np.append(np.linspace(0, 80, 1000), np.repeat([-9.0, -3.5, -2.5], 20))
    assert not any("missingValues" in text for text in findings(values, 0, 80))


def test_a_long_tail_is_no_code() -> None:
    income = np.random.default_rng(0).lognormal(10, 1, 5000)
    assert not findings(income, 0, 200_000)


def test_far_values_are_counted_in_bounded_memory() -> None:
    spread = Spread(0.0, 1.0)
    for k in range(20):
        spread.add(np.append(np.linspace(10 + k, 11 + k, 400, endpoint=False), [99.0, 99.0]))
    assert len(spread.suspects) <= 1000
    assert spread.most_frequent_suspect == (99.0, 40)


def test_the_json_has_both() -> None:
    schema = TableSchema.of_numbers({"x": (0.0, 100.0)})
    (field,) = check_table(pa.table({"x": [1.0, 2.0, 900.0] * 99}), schema).to_dict()["fields"]
    assert field["farther_out_than_the_range_is_wide"] == {"below": 0, "above": 99}
    assert field["share_of_range_of_the_middle_99_percent"] == 0.99


@pytest.mark.parametrize(
    ("signs", "texts", "share"),
    [
        ({"decimalChar": ","}, ["1.234", "850,50", "12"], "33 %"),
        ({"decimalChar": ",", "groupChar": "."}, ["1.234", "28.8", "1.234,5"], "33 %"),
        ({"groupChar": ","}, ["1,80", "1,234", "12,345.6"], "33 %"),
        ({"decimalChar": ","}, ["1,5", "12", "x.y"], ""),
        ({"decimalChar": ",", "groupChar": "."}, ["1.234", "-12.345,6", "7"], ""),
        ({}, ["1.234", "28.8", "7"], ""),
    ],
)
def test_a_separator_that_the_schema_does_not_mean(
    signs: dict[str, str], texts: list[str], share: str
) -> None:
    schema = TableSchema.of({"fields": [{"name": "x", "type": "number", **signs}]})
    found = check_table(pa.table({"x": texts * 100}), schema).findings
    told = [one.text for one in found if "of values have a" in one.text]
    assert [text.split(" of ")[0] for text in told] == ([share] if share else [])
    # Numbers that are stored as such have no separator.
    assert not check_table(pa.table({"x": [1.5, 28.8, 7.0] * 100}), schema).findings


@pytest.mark.parametrize(
    ("kind", "values", "found"),
    [
        ("number", [0.0, 1.0], True),
        ("number", [0.0, 1.0, 2.0], False),
        ("integer", [0.0, 1.0], False),
        ("boolean", [0.0, 1.0], False),
    ],
)
def test_a_number_of_two_values_is_told(kind: str, values: list[float], found: bool) -> None:
    ends = {} if kind == "boolean" else {"constraints": {"minimum": 0, "maximum": 2}}
    schema = TableSchema.of({"fields": [{"name": "x", "type": kind, **ends}]})
    told = [one.text for one in check_table(pa.table({"x": values * 300}), schema).findings]
    assert any('"categories": [0, 1]' in text for text in told) == found
