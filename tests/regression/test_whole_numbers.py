"""Whole numbers of few values: their drawn ranges, and a target that is 0 or 1."""

from __future__ import annotations

import random
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mipselect import Ledger
from mipselect.errors import UsefulnessWarning
from mipselect.privacy.decimals import exact
from mipselect.regression import (
    AdaSSPRegressor,
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    ranges,
)
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables import TableSchema


def table(rows: int = 5000) -> pa.Table:
    """Make rows of patients of whom few have diabetes, or were there before."""
    rng = np.random.default_rng(0)
    age, diabetes = rng.integers(18, 95, rows), (rng.random(rows) < 0.05).astype(int)
    visits = rng.poisson(0.2, rows)
    days = 2 + 0.05 * age + 4 * diabetes + 2 * visits + rng.normal(0, 2, rows)
    dead = (rng.random(rows) < np.where(diabetes == 1, 0.3, 0.03)).astype(int)
    columns = {"age": age, "diabetes": diabetes, "visits": visits, "dead": dead}
    return pa.table({**columns, "days": np.clip(days, 0, 40)})


def schema(*, stated: bool = True, kind: str = "integer", **dead: Any) -> TableSchema:
    """Describe them, with ranges or without."""

    def field(name: str, kind: str, low: float, high: float) -> dict[str, Any]:
        ends = {"minimum": low, "maximum": high} if stated or name == "days" else {}
        return {"name": name, "type": kind, "constraints": {"required": True, **ends}}

    fields = [
        field("age", kind, 18, 95),
        field("diabetes", kind, 0, 1),
        field("visits", kind, 0, 10),
        {**field("dead", "integer", 0, 1), **dead},
        field("days", "number", 0, 40),
    ]
    return TableSchema.of({"fields": fields})


def fitted(
    schema: TableSchema, target: str, never: str, loss: str = "huber", **more: Any
) -> SelectThenRegress:
    """Fit three fields with a seed."""
    model = SelectThenRegress(
        PermuteAndFlipSelector(3, random_state=0),
        ObjectivePerturbationRegressor(loss=loss, random_state=0),
        epsilon=4,
        **more,
    )
    return model.fit_table(table(), schema, target=target, never=[never])


def effects(model: SelectThenRegress) -> dict[str, float]:
    """Return the coefficients by field."""
    return {term.field: term.coefficient for term in model.release_.in_units.terms}


def test_parts_of_whole_numbers_end_at_whole_numbers() -> None:
    """So a rare 0 or 1 keeps its unit."""
    model = fitted(schema(), "days", "dead")
    assert effects(model)["diabetes"] == pytest.approx(4.0, abs=1.0)
    assert model.release_.table.ranges["diabetes"] == (0.0, 1.0)
    low, high = model.release_.table.ranges["visits"]
    assert (low, high) == pytest.approx((round(low), round(high)))
    assert 1.0 <= high - low < 10.0
    assert effects(model)["visits"] == pytest.approx(2.0, abs=1.0)


def test_a_number_that_may_be_a_fraction_has_any_part() -> None:
    low, high = fitted(schema(kind="number"), "days", "dead").release_.table.ranges["diabetes"]
    assert high - low < 1.0


def test_private_ranges_of_whole_numbers_have_a_unit() -> None:
    model = fitted(schema(stated=False), "days", "dead", ranges="private")
    low, high = model.release_.table.ranges["diabetes"]
    assert low == round(low)
    assert high == round(high)
    assert low <= 0.0
    assert high >= 1.0
    assert effects(model)["diabetes"] == pytest.approx(4.0, abs=1.5)


def test_whether_numbers_are_whole_is_paid_out_of_their_range(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both are drawn from the same values: their ε add up to that of the range."""
    spent: list[Fraction] = []

    def noted(draw: Any) -> Any:
        def drawn(values: Any, epsilon: float, source: Any) -> Any:
            spent.append(exact(epsilon))
            return draw(values, epsilon, source)

        return drawn

    for name in ("counts_whole", "range_of"):
        monkeypatch.setattr(ranges, name, noted(vars(ranges)[name]))
    number, whole = schema(stated=False, kind="number"), schema(stated=False)
    values = np.arange(300.0)
    for known, count in ((number, 2), (whole, 1)):
        for epsilon in (0.1, 0.7, 3.0):
            spent.clear()
            ranges.range_of_field(known.fields[1], values, epsilon, random.Random(0))
            assert len(spent) == count
            assert exact(epsilon) * (1 - Fraction(1, 10**15)) <= sum(spent) <= exact(epsilon)


def test_features_made_of_whole_numbers_keep_their_unit_too() -> None:
    """Of visits most are 0, and most years are the first."""
    content = schema().content
    years = np.where(np.random.default_rng(1).random(5000) < 0.05, 2021, 2020)
    rows = table().append_column("when", pa.array([f"{year}-03-01" for year in years]))
    made = [
        {"name": "root of visits", "from": "visits", "transform": "sqrt"},
        {"name": "year", "from": "when", "part": "year", "minimum": 2015, "maximum": 2025},
    ]
    known = TableSchema.of(
        {
            "fields": [*content["fields"], {"name": "when", "type": "date"}],
            "mipselect:features": made,
        }
    )
    model = SelectThenRegress(
        PermuteAndFlipSelector(2, random_state=0),
        ObjectivePerturbationRegressor(loss="huber", random_state=0),
        epsilon=4,
    ).fit_table(rows, known, target="days", never=["dead", "visits", "age", "diabetes"])
    ranges = model.release_.table.ranges
    low, high = ranges["root of visits"]
    assert low == pytest.approx(0.0, abs=1e-9)
    assert high**2 == pytest.approx(round(high**2))
    assert high >= 1.0
    low, high = ranges["year"]
    assert low <= 2020.0
    assert (low, high) == pytest.approx((round(low), round(high)))
    assert high >= 2021.0 - 1e-6


@pytest.mark.parametrize(
    ("transform", "low", "high", "expected"),
    [
        ("sqrt", 0.0, 0.1, (0.0, 1.0)),
        ("sqrt", -3.0, 0.5, (-3.0, 1.0)),
        ("log", 0.1, 0.2, (0.0, np.log(2.0))),
        ("log", -5.0, 1e9, (-5.0, 1e9)),
    ],
)
def test_curves_of_whole_numbers(
    transform: str, low: float, high: float, expected: tuple[float, float]
) -> None:
    source = {"name": "k", "type": "integer", "constraints": {"minimum": 1, "maximum": 9}}
    made = {"name": "f", "from": "k", "transform": transform}
    (of_whole,) = TableSchema.of({"fields": [source], "mipselect:features": [made]}).derived
    assert of_whole.whole_ends(low, high) == pytest.approx(expected)
    fractions = {**source, "type": "number"}
    (other,) = TableSchema.of({"fields": [fractions], "mipselect:features": [made]}).derived
    assert other.whole_ends(low, high) == (low, high)


def test_a_target_of_two_numbers_is_doubted_before_it_is_paid() -> None:
    ledger = Ledger(epsilon=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UsefulnessWarning)
        with pytest.raises(UsefulnessWarning, match=r'"categories": \[0, 1\]'):
            fitted(schema(), "dead", "days", ledger=ledger)
    assert ledger.spent.epsilon == 0.0


def test_two_classes_are_doubted_of_hubers_loss_alone() -> None:
    classes = schema(constraints={}, categories=[0, 1])
    with pytest.warns(UsefulnessWarning, match="two classes"):
        model = fitted(classes, "dead", "days")
    assert "below 0 for 0 and above 0 for 1" in str(model.release_)
    assert "in units of the target" not in str(model.release_)


@pytest.mark.parametrize(
    "regressor",
    [
        ObjectivePerturbationRegressor(loss="squared"),
        ObjectivePerturbationClassifier(),
        AdaSSPRegressor(delta=1e-6),
    ],
    ids=["squared", "classifier", "AdaSSP"],
)
def test_nothing_is_said_of_means_and_probabilities(regressor: Any) -> None:
    classes = isinstance(regressor, ObjectivePerturbationClassifier)
    known = schema(constraints={}, categories=[0, 1]) if classes else schema()
    model = SelectThenRegress(PermuteAndFlipSelector(1), regressor, epsilon=4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UsefulnessWarning)
        model.fit_table(table(), known, target="dead", never=["days"])
