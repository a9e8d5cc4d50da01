"""Every kind of private model in a report: each coefficient once, in the plot and in the table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mipselect.regression import (
    AdaSSPRegressor,
    BoostedAdaSSPRegressor,
    ModelRelease,
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    TukeyRegressor,
)
from mipselect.reports import ReleaseReport
from mipselect.selectors import ExponentialSelector
from mipselect.tables import TableSchema
from tests.support.fields import schema_of
from tests.support.pages import checked_page, markdown_tables
from tests.support.patients import SCHEMA, patients

MODELS: dict[str, Any] = {
    "squared": ObjectivePerturbationRegressor(),
    "huber": ObjectivePerturbationRegressor(loss="huber(0.25)"),
    "adassp": AdaSSPRegressor(delta=1e-6),
    "boosted": BoostedAdaSSPRegressor(delta=1e-6),
    "tukey": TukeyRegressor(delta=1e-6),
    "logistic": ObjectivePerturbationClassifier(),
}
ORDERED = [
    {**field, "categoriesOrdered": True} if field["name"] == "ward" else field
    for field in SCHEMA.content["fields"]
]


def fitted(kind: str, schema: TableSchema = SCHEMA) -> ModelRelease:
    target, other = ("died", "stay") if kind == "logistic" else ("stay", "died")
    pair = SelectThenRegress(ExponentialSelector(1), MODELS[kind], epsilon=20.0)
    question: dict[str, Any] = {"target": target, "always": ["sex", "age"], "never": [other]}
    release: ModelRelease = pair.fit_table(patients(3000), schema, **question).release_
    return release


@pytest.mark.parametrize("schema", [SCHEMA, TableSchema.of({"fields": ORDERED})])
@pytest.mark.parametrize("kind", MODELS)
def test_every_coefficient_is_there_once(kind: str, schema: TableSchema) -> None:
    release = fitted(kind, schema)
    made = ReleaseReport.of([release])
    text = made.markdown()
    checked_page(made.html())
    if not release.has_model:
        assert "No coefficients were released" in text
        return
    told = release.to_frame().query("not aside").to_dict("records")
    tables = markdown_tables(text)
    (table,) = (t for t in tables if t[0][0] == "what differs")
    assert len(table) - 2 == len(told)
    for row, found in zip(table[2:], told, strict=True):
        number = row[1].replace("\\", "")
        assert number == "open" or float(number) == pytest.approx(found["coefficient"], rel=1e-3)
    (plot,) = (t for t in tables if "points with" in t[0][0])
    assert len(plot) - 2 == len(told) - 1
    has_intervals = "low" in told[0] and told[0]["low"] == told[0]["low"]
    assert ("[" in table[2][2]) == has_intervals
    assert ("points without intervals" in plot[0][0]) == (not has_intervals)
    assert ("odds" in table[0]) == (kind == "logistic")
    assert plot[0][0].startswith(
        "factor of the odds of died=true" if kind == "logistic" else "diff"
    )
    assert all(row[2][0] == "×" for row in plot[2:]) == (kind == "logistic")


def test_a_unit_is_said_once() -> None:
    age, *rest = SCHEMA.content["fields"]
    text = ReleaseReport.of(
        [fitted("huber", schema_of({**age, "unit": "years"}, *rest))]
    ).markdown()
    assert "| per year of age |" in text


def test_fields_that_were_drawn_may_be_there_by_chance() -> None:
    drawn = fitted("huber")
    assert "may be there by chance" in ReleaseReport.of([drawn]).markdown()
    for mechanism in ("all features, then objective", drawn.mechanism.split(", then ")[-1]):
        known = replace(drawn, mechanism=mechanism)
        assert "by chance" not in ReleaseReport.of([known]).markdown()
