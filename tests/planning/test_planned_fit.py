"""What `plan` simulates is what `fit` draws: the same estimators, the same ε and δ of each part."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.base import clone

from mipselect.cli.app import app  # noqa: F401  (options of the command line are declared by it)
from mipselect.cli.fit_division import FitOptions
from mipselect.cli.planned_fit import planned_fit, planned_options
from mipselect.cli.table_options import DivisionOptions, ModelOptions, Regression, ScoreOptions
from mipselect.planning import Guesses
from mipselect.planning.question import Question
from mipselect.planning.simulated_fits import SimulatedFits
from mipselect.regression import (
    AdaSSPRegressor,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    select_then_regress,
)
from mipselect.regression.table_plan import TablePlan
from mipselect.selectors import ExponentialSelector, PermuteAndFlipSelector
from mipselect.tables import TableSchema
from mipselect.tables.question import TableQuestion
from tests.support.planned_schemas import NUMBERS, PEOPLE

ALL_OF_TWO = TableSchema.of(
    {"fields": [f for f in PEOPLE.content["fields"] if f["name"] in ("a", "b", "ill")]}
)


def default(size: int = 2) -> SelectThenRegress:
    return planned_fit(planned_options(), size, of_classes=False)


@pytest.mark.parametrize(
    ("schema", "target"), [(NUMBERS, "y"), (PEOPLE, "ill"), (ALL_OF_TWO, "ill")]
)
@pytest.mark.parametrize(
    ("regression", "division"),
    [
        (Regression.OBJECTIVE, {}),
        (Regression.OBJECTIVE, {"selection_share": 0.6, "range_share": 0.2}),
        (Regression.ADASSP, {"delta": 1e-5}),
        (Regression.BOOSTED, {"delta": 1e-6, "quality_share": 0.2}),
        (Regression.TUKEY, {"delta": 1e-4}),
    ],
)
def test_the_estimators_are_those_of_fit(
    schema: TableSchema, target: str, regression: Regression, division: dict[str, Any]
) -> None:
    of_classes, model = target == "ill", ModelOptions(regression=regression)
    options = FitOptions(
        model=model,
        epsilon=0.7,
        division=DivisionOptions(**division),
        in_blocks=True,
        scores=ScoreOptions(),
    )
    of_fit = options.table_plan(TableQuestion(schema, target), 2, fit_intercept=True)
    planned = planned_options(model, DivisionOptions(**division))
    simulated = SimulatedFits(
        planned_fit(planned, 2, of_classes=of_classes),
        Question(schema, target, 2).of_single_rows,
        Guesses(),
        0,
    )
    assert len(simulated.models(0, 500, 0.7, 60.0)) == 2
    plan = simulated._plan(500, 0.7)
    assert type(plan.method) is type(of_fit.method)
    assert plan.promise == of_fit.promise
    assert plan.method.guarantee.epsilon == of_fit.method.guarantee.epsilon
    mine, theirs = (p.model_on(p.widest).get_params() for p in (plan, of_fit))
    assert {k: str(v) for k, v in mine.items()} == {k: str(v) for k, v in theirs.items()}
    assert mine.get("delta") == division.get("delta")
    assert (plan.blocks is None) == (of_fit.blocks is None)
    assert plan.range_share == of_fit.range_share


@pytest.mark.parametrize(
    ("selector", "regressor", "share"),
    [
        (PermuteAndFlipSelector(2), AdaSSPRegressor(delta=1e-5), None),
        (PermuteAndFlipSelector(2), AdaSSPRegressor(delta=1e-5), 0.6),
        (PermuteAndFlipSelector(2, score="loss"), AdaSSPRegressor(delta=1e-7), None),
        (ExponentialSelector(2), AdaSSPRegressor(delta=1e-5, relation="add-remove"), None),
        (PermuteAndFlipSelector(5), ObjectivePerturbationRegressor(loss="huber(0.25)"), None),
    ],
)
def test_epsilon_and_delta_are_divided_as_in_a_release(
    selector: Any, regressor: Any, share: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = SelectThenRegress(selector, regressor, selection_share=share)
    size, score = selector.n_features_to_select, selector.asked_score
    question = Question(NUMBERS, "y", size, score=score)
    simulated = SimulatedFits(model, question, Guesses(), 0)
    drawn: list[TablePlan] = []

    def kept(*parts: Any, **more: Any) -> TablePlan:
        drawn.append(TablePlan(*parts, **more))
        return drawn[-1]

    monkeypatch.setattr(select_then_regress, "TablePlan", kept)
    made = simulated._made(0, 400).table
    release = clone(model).set_params(epsilon=0.9).fit_table(made, NUMBERS, target="y").release_
    (of_fit,) = drawn
    plan = simulated._plan(400, 0.9)
    assert plan.promise.delta == release.guarantee.delta == getattr(regressor, "delta", 0.0)
    assert plan.promise.epsilon == release.guarantee.epsilon
    assert plan.promise.rho == release.guarantee.rho
    relation = regressor.relation
    assert plan.method.guarantees[relation] == of_fit.method.guarantees[relation]
    mine, theirs = (each.regressor.get_params() for each in (plan, of_fit))
    assert {k: str(v) for k, v in mine.items()} == {k: str(v) for k, v in theirs.items()}


def test_a_model_gets_what_its_selection_does_not_cost() -> None:
    model, question = default(), Question(NUMBERS, "y", 2)
    model.regressor.set_params(relation="add-remove")
    plan = SimulatedFits(model, question, Guesses(), 0)._plan(500, 0.8)
    assert plan.blocks is None
    spent = plan.method.guarantees["add-remove"].epsilon
    assert spent < 0.4
    assert plan.regressor.get_params()["epsilon"] + spent == pytest.approx(0.8)


def test_a_model_that_a_test_keeps_back_counts_as_the_mean() -> None:
    tukey = ModelOptions(regression=Regression.TUKEY)
    options = planned_options(tukey, DivisionOptions(delta=1e-6, quality_share=0.5))
    for schema, target, level in ((NUMBERS, "y", 0.0), (ALL_OF_TWO, "ill", 0.5)):
        model = planned_fit(options, 1, of_classes=target == "ill")
        fits = SimulatedFits(model, Question(schema, target, 1), Guesses(effect=0.6), 0)
        for one in fits.models(0, 60, 0.5, 60.0):
            assert (one.score, one.released, one.quality) == (level, False, None)
        for one in fits.models(1, 20_000, 8.0, 60.0):
            assert one.released
            assert one.score > level + 0.2
            assert one.quality is not None
