"""How well a quality would be known: forecasts against real releases, and what is said of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from mipselect import Guarantee
from mipselect.cli.app import app  # noqa: F401  (options of the command line are declared by it)
from mipselect.cli.plan_model_report import model_report, quality_cell
from mipselect.cli.planned_fit import planned_fit, planned_options
from mipselect.cli.table_options import DivisionOptions, ModelOptions, Regression
from mipselect.planning import (
    Guesses,
    ModelLine,
    ModelPlan,
    QualityForecast,
    TableScores,
    plan_fit,
    quality_sentences,
)
from mipselect.planning.question import Question
from mipselect.planning.simulated_fits import SimulatedFits
from mipselect.quality import Measure, Quality
from mipselect.quality.draw import within
from mipselect.regression import SelectThenRegress
from mipselect.tables import TableSchema

NUMBERS = TableSchema.of_numbers(dict.fromkeys(("a", "b", "c", "d", "y"), (0.0, 10.0)))
CLASSES = TableSchema.of(
    {"fields": [*NUMBERS.content["fields"][:4], {"name": "y", "type": "boolean"}]}
)
GUESSES = Guesses(effect=0.5)


def with_quality(share: float, regression: Regression, of_classes: bool) -> SelectThenRegress:
    delta = None if regression is Regression.OBJECTIVE else 1e-6
    division = DivisionOptions(delta=delta, quality_share=share)
    return planned_fit(
        planned_options(ModelOptions(regression=regression), division), 2, of_classes=of_classes
    )


@pytest.mark.parametrize(
    ("schema", "regression", "rows", "epsilon", "share"),
    [
        (NUMBERS, Regression.OBJECTIVE, 3000, 2.0, 0.2),
        (NUMBERS, Regression.ADASSP, 3000, 4.0, 0.4),
        (CLASSES, Regression.OBJECTIVE, 2000, 2.0, 0.3),
    ],
)
def test_widths_are_those_of_real_fits(
    schema: TableSchema, regression: Regression, rows: int, epsilon: float, share: float
) -> None:
    """Fits that keep rows apart, on tables of the same law that the forecast has not seen."""
    model = with_quality(share, regression, schema is CLASSES)
    question: dict[str, Any] = {"target": "y", "rows": rows, "epsilons": [epsilon]}
    plan = plan_fit(
        model, schema, **question, guesses=GUESSES, tables=8, time_limit=600.0, goal=0.01
    )
    forecast = plan.of_fit.quality(0)
    assert forecast is not None
    assert len(forecast.qualities) == 16
    fits = SimulatedFits(model, Question(schema, "y", 2), GUESSES, 0)
    real = []
    for number in range(100, 116):
        fit = clone(model).set_params(epsilon=epsilon)
        fit.selector.random_state = fit.regressor.random_state = number
        fit.fit_table(fits._simulation.table(number, rows), schema, target="y")
        real.append(fit.quality_)
    assert {one.rows for one in real} == {one.rows for one in forecast.qualities if one is not None}
    assert {one.guarantee for one in real} == {one.guarantee for one in forecast.qualities if one}
    assert {one.share for one in real} == {share}
    found = QualityForecast(tuple(real))
    assert found.half_width < 0.3
    assert forecast.half_width == pytest.approx(found.half_width, rel=0.15)
    assert forecast.above_chance == pytest.approx(found.above_chance, abs=0.3)
    # The interval is one of the quality, not of the score on fresh rows.
    values = [one.first.value for one in forecast.qualities if one is not None]
    assert np.median(values) == pytest.approx(plan.of_fit.expected(0), abs=0.1)  # type: ignore[arg-type]


def test_the_quality_is_paid_by_the_whole_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where scores of some rows count for all, a draw has more of ε here; the quality has not."""
    monkeypatch.setattr("mipselect.planning.question.SECONDS_OF_SCORES", 1e-9)
    model = with_quality(0.5, Regression.OBJECTIVE, False)
    fits = SimulatedFits(model, Question(NUMBERS, "y", 2), GUESSES, 0)
    plan = fits._plan(10_000, 1.0)
    assert fits._in_time(plan, 10_000, 60.0).promise.epsilon > 2.0
    of_fit = within(plan.promise).epsilon
    assert 0.7 < of_fit < 1.0
    for one in fits.models(0, 20_000, 1.0, 60.0):
        assert one.quality is not None
        assert (one.quality.guarantee.epsilon, one.quality.rows) == (of_fit, 10_000)
        assert not one.quality.guarantee.private


def test_scores_are_the_same_whether_the_quality_is_drawn_or_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = with_quality(0.3, Regression.OBJECTIVE, False)
    fits = SimulatedFits(model, Question(NUMBERS, "y", 2), GUESSES, 0)
    measured = fits.models(0, 500, 2.0, 60.0)
    monkeypatch.setattr(SimulatedFits, "_quality", lambda *_: None)
    alone = fits.models(0, 500, 2.0, 60.0)
    assert [one.score for one in measured] == [one.score for one in alone]
    assert all(one.quality is not None for one in measured)


def quality(low: float, high: float = 0.5) -> Quality:
    return Quality(measures=(Measure("R²", 0.2, low, high),), guarantee=Guarantee(1.0))


def test_a_forecast_counts_intervals() -> None:
    forecast = QualityForecast((quality(-0.1), quality(0.1), quality(0.3), None))
    assert forecast.half_width == pytest.approx(0.2)
    assert forecast.above_chance == 0.5
    assert not forecast.tells
    assert QualityForecast((quality(0.1),) * 4 + (quality(-0.1),)).tells
    assert math.isinf(QualityForecast((quality(-math.inf), quality(0.1))).half_width)
    classes = Quality(measures=(Measure("AUC", 0.6, 0.4, 0.8),), guarantee=Guarantee(1.0))
    assert QualityForecast((classes,)).above_chance == 0.0


def line(rows: int, *lows: float, epsilons: tuple[float, ...] = (1.0,), tables: int = 3) -> Any:
    found = tuple((quality(low),) for low in lows)
    one = TableScores(0.4, tuple((0.3,) for _ in lows), found)
    return ModelLine(rows, epsilons, (one,) * tables)


def plan_of(*lines: ModelLine, **more: Any) -> ModelPlan:
    asked: dict[str, Any] = {"rows": 500, "support_size": 1, "features": 4, "measure": "R²"}
    asked |= {"goal": 0.5, "guesses": Guesses(), "seed": 0, "quality_share": 0.1, **more}
    return ModelPlan(**asked, epsilons=lines[0].epsilons, lines=lines)


def said(*lines: ModelLine, **more: Any) -> str:
    (sentence,) = quality_sentences(plan_of(*lines, **more))
    return sentence


def test_an_interval_that_is_too_wide_is_named_with_what_would_do() -> None:
    wide = line(500, -0.1)
    start = (
        "At ε = 1 the 90% interval of R² would be ±0.30, and lie above the mean in 0% of cases; "
    )
    assert said(wide) == f"{start}no time was left to say what would do."
    assert said(wide, line(1000, 0.1), line(2000, 0.1)) == f"{start}1,000 rows would do."
    assert said(wide, line(1000, -0.1)) == f"{start}1,000 rows would not do."
    assert said(wide, line(250, 0.1)) == f"{start}no time was left to say what would do."
    more = {"larger_share": line(500, 0.1), "further": (line(500, 0.1, epsilons=(4.0,)),)}
    assert said(wide, line(2000, 0.1), **more) == (
        f"{start}2,000 rows or ε = 4 or --quality-share 0.3 would do."
    )
    none = {"larger_share": line(500, -0.1), "further": (line(500, -0.1, epsilons=(4.0,)),)}
    assert said(wide, line(2000, -0.1), **none) == (
        f"{start}neither 2,000 rows nor ε = 4 nor --quality-share 0.3 would do."
    )
    assert "would have no lower end, and lie above" in said(line(500, -math.inf))


def test_few_tables_say_nothing_of_what_would_do() -> None:
    wide = line(500, -0.1)
    assert said(wide, line(1000, 0.1, tables=1)).endswith(
        "; no time was left to say what would do."
    )
    assert said(wide, line(1000, -0.1, tables=1)).endswith("no time was left to say what would do.")
    further = (line(500, -0.1, epsilons=(4.0,), tables=1),)
    assert said(wide, further=further).endswith("no time was left to say what would do.")
    assert quality_sentences(plan_of(line(500, -0.1, tables=1))) == ()


def test_nothing_is_said_where_the_interval_tells_or_the_model_is_of_no_use() -> None:
    assert quality_sentences(plan_of(line(500, 0.1))) == ()
    useless = TableScores(0.4, ((-0.1,),), ((quality(-0.5),),))
    assert quality_sentences(plan_of(ModelLine(500, (1.0,), (useless,) * 3))) == ()
    without = TableScores(0.4, ((0.3,),), ((None,),))
    plan = plan_of(ModelLine(500, (1.0,), (without,) * 3), quality_share=None)
    assert quality_sentences(plan) == ()
    assert quality_cell(plan.of_fit, 0) is None


def test_a_larger_epsilon_may_be_one_that_was_asked_for() -> None:
    plan = plan_of(line(500, -0.1, 0.1, epsilons=(1.0, 2.0)))
    assert (plan.epsilon_that_tells(0), plan.epsilon_that_tells(1)) == (2.0, None)
    (sentence,) = quality_sentences(plan)
    assert sentence.endswith("; ε = 2 would do.")


def test_the_report_has_null_for_an_open_interval() -> None:
    plan = plan_of(line(500, -math.inf), line(1000, 0.1), larger_share=line(500, 0.1))
    assert quality_cell(plan.of_fit, 0) == {"half_width": None, "above_chance": 0.0}
    report = model_report(plan)
    assert report["rows_that_tell"] == [1000]
    assert report["larger_share"] == {
        "quality_share": 0.3,
        "cells": [{"half_width": pytest.approx(0.2), "above_chance": 1.0}],
    }
    assert model_report(plan_of(line(500, 0.1)))["larger_share"] is None


@pytest.mark.parametrize(("share", "tried"), [(0.02, True), (0.3, False)])
def test_a_larger_share_is_tried_where_a_smaller_one_leaves_doubt(
    share: float, tried: bool
) -> None:
    rows = 3000 if share < 0.3 else 600
    plan = plan_fit(
        with_quality(share, Regression.OBJECTIVE, False),
        NUMBERS,
        target="y",
        rows=rows,
        epsilons=[2.0],
        guesses=GUESSES,
        tables=2,
        time_limit=600.0,
    )
    assert plan.in_doubt(0)
    assert (plan.larger_share is not None) == tried
    if plan.larger_share is not None:
        more = plan.larger_share.quality(0)
        assert more is not None
        assert more.qualities[0] is not None
        assert (plan.larger_share.rows, more.qualities[0].rows) == (rows, 900)
    # More rows are tried until the interval tells.
    assert plan.rows_that_tell(0) == plan.by_rows[-1].rows > 2 * rows
    assert plan.rows_needed(0) is not None
