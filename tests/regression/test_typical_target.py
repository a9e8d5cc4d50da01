"""Where nearly all targets lie: its law and the model in its units, on hostile neighbours."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mipselect.privacy.guarantee import Guarantee
from mipselect.regression import (
    AdaSSPRegressor,
    ModelRelease,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    shares,
)
from mipselect.regression.plan import TablePlan
from mipselect.regression.rows import TargetPart
from mipselect.regression.shares import target_share
from mipselect.regression.typical_intervals import (
    OF_TARGET,
    WITHIN,
    ends_of_part,
    halves,
    law_of_part,
    part_of,
)
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.selectors.all_features import AllFeaturesSelector
from mipselect.tables import TableSchema
from mipselect.tables.public_map import TableQuestion
from tests.support.all_regressors import stored_again
from tests.support.listed_intervals import every_interval, logs_of
from tests.support.perturbed_laws import PerturbedMinimiser


@pytest.mark.parametrize(
    ("product", "missed"), [(shares.LEAST_OF_A_TARGET, 0.01), (shares.ENOUGH_FOR_A_TARGET, 0.001)]
)
def test_nearly_all_values_are_inside(product: float, missed: float) -> None:
    """Half of them or more, in all but few of the draws, whatever part of the range they fill."""
    for width in (0.02, 0.1, 0.5):
        values = np.clip(np.random.default_rng(0).normal(0.37, width, 300), -1.0, 1.0)
        law = law_of_part(values, product / 300, OF_TARGET)
        chances = np.exp(logs_of(law))
        ends = map(ends_of_part, every_interval(law.listed))
        inside = np.array([np.mean((values >= low) & (values <= high)) for low, high in ends])
        assert chances[inside < 0.5].sum() <= missed
        assert chances @ inside > 0.97


def test_few_values_are_left_outside() -> None:
    """A quarter in a tail is more than a halving is worth."""
    values = np.where(np.arange(600) % 4 == 0, 0.95, -0.5)
    low, high = part_of(values, 0.3, OF_TARGET, random.Random(0))
    assert low < -0.5 < 0.95 <= high
    # Of a number among the features a quarter may be cut off.
    assert part_of(values, 0.3, WITHIN["replace-one"], random.Random(0))[1] < 0.95


@pytest.mark.parametrize(
    ("product", "share"),
    [(95.0, 0.0), (97.0, 0.25), (128.0, 0.25), (320.0, 0.1), (400.0, 0.08), (1e6, 0.08)],
)
def test_its_share_of_epsilon(product: float, share: float) -> None:
    assert target_share(product) == pytest.approx(share)


@pytest.mark.parametrize("rows", [3, 5, 8, 12, 400])
def test_rho_is_no_less_than_that_of_the_parts(rows: int) -> None:
    """Where an (ε, δ) model has little ρ beside pure draws of the same ε."""
    frame, schema = weights(1)
    del frame
    selector = AllFeaturesSelector(2, epsilon=1.0)
    for regressor in (AdaSSPRegressor(epsilon=40.0, delta=1e-6), clone(HUBER)):
        plan = TablePlan(TableQuestion(schema, "y"), selector, regressor, 2)
        known = replace(plan, rows=rows)
        each, of_target = known.epsilon_of_a_range((0, 1)), known.epsilon_of_target
        spent = 2 * 0.5 * each**2 + 0.5 * of_target**2
        whole = spent + rho_of(known.model_on((0, 1)).promise(4))
        assert whole <= rho_of(plan.model_promise) * (1.0 + 1e-9)


def rho_of(guarantee: Guarantee) -> float:
    return 0.5 * guarantee.epsilon**2 if guarantee.rho is None else guarantee.rho


def test_a_model_in_units_of_a_part_predicts_the_same() -> None:
    part = TargetPart(0.2, 0.6, 0.1)
    rows = np.column_stack([np.random.default_rng(0).uniform(-1, 1, (50, 2)), np.ones(50)])
    theta = np.array([0.3, -0.2, 0.1])
    y = rows @ part.coefficients(theta)
    np.testing.assert_allclose(part.units(y), rows @ theta, atol=1e-12)


NUMBER = {"type": "number"}
SCHEMA = TableSchema.of(
    {
        "fields": [
            {"name": "a", "type": "boolean", "constraints": {"required": True}},
            {"name": "y", **NUMBER, "constraints": {"minimum": -1, "maximum": 1}},
        ]
    }
)
HUBER = ObjectivePerturbationRegressor(loss="huber", epsilon=1.0)


def planned(rows: int) -> TablePlan:
    selector = AllFeaturesSelector(1, epsilon=1.0)
    return TablePlan(TableQuestion(SCHEMA, "y"), selector, HUBER, 1, rows=rows)


def law_of_pairs(plan: TablePlan, rows: list[tuple[bool, float]]) -> np.ndarray:
    """Log densities of all parts, and of coefficients of a grid in units of each, together."""
    x = np.array([[1.0 if a else -1.0, 1.0] for a, _ in rows])
    y = np.array([t for _, t in rows])
    epsilon = plan.epsilon_of_target
    model = plan.model_on((0,))._for_rows(len(rows))
    chosen, loss = model._perturbation(1, len(rows)), model._loss()
    balls, _ = model._change(1)
    law = law_of_part(y, epsilon, halves(4, 4))
    thetas = np.array([*itertools.product(np.linspace(-3.0, 3.0, 7), repeat=2)])
    found = []
    for interval, log_part in zip(every_interval(law.listed), logs_of(law), strict=True):
        target = TargetPart(*ends_of_part(interval), epsilon).units(y)
        minimiser = PerturbedMinimiser(loss, x, target, chosen, model._radius(1), balls)
        found.append(log_part + minimiser.log_density(thetas))
    return np.concatenate(found)


def test_part_and_coefficients_keep_epsilon_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Densities of the pair, up to constants that are public, on rows that differ in one."""
    monkeypatch.setattr(shares, "LEAST_OF_A_TARGET", 0.0)
    hostile = [(a, t) for a in (False, True) for t in (-1.0, 1.0, 0.26)]
    worst = 0.0
    for base in ([(True, 0.9), (False, -1.0)], [(True, 0.3)] * 6):
        plan = planned(len(base) + 1)
        assert plan.epsilon_of_target > 0.0
        assert plan.epsilon_of_target + plan.model_on((0,)).epsilon <= 1.0
        for one, other in itertools.combinations(hostile, 2):
            first, second = (law_of_pairs(plan, [*base, row]) for row in (one, other))
            worst = max(worst, float(np.abs(first - second).max()))
    assert 0.5 < worst <= 1.0


def weights(n: int, seed: int = 0) -> tuple[pd.DataFrame, TableSchema]:
    """A target that keeps to a small part of the range that is stated, which some do not tell."""
    rng = np.random.default_rng(seed)
    a = rng.uniform(0.0, 10.0, n)
    y = 640.0 + 2.0 * a + rng.normal(0.0, 2.0, n)
    frame = pd.DataFrame({"a": a, "b": rng.uniform(0.0, 10.0, n), "y": y})
    frame.loc[rng.random(n) < 0.1, "y"] = np.nan
    tens = {**NUMBER, "constraints": {"minimum": 0, "maximum": 10}}
    fields = [{"name": "a", **tens}, {"name": "b", **tens}]
    target = {"name": "y", **NUMBER, "constraints": {"minimum": 0, "maximum": 10_000}}
    return frame, TableSchema.of({"fields": [*fields, target]})


def fitted(n: int, loss: str, **options: float) -> ModelRelease:
    frame, schema = weights(n)
    regressor = ObjectivePerturbationRegressor(loss=loss, random_state=2)
    model = SelectThenRegress(
        PermuteAndFlipSelector(1, random_state=1), regressor, epsilon=2.0, **options
    )
    return model.fit_table(frame, schema, target="y").release_


def test_a_wide_range_of_the_target_costs_little() -> None:
    frame, _ = weights(800)
    there = frame[frame["y"].notna()]
    errors = {}
    for name, release in {
        "huber": fitted(800, "huber"),
        "as stated": fitted(800, "huber", range_share=0.0),
        "a κ of the user": fitted(800, "huber(0.25)"),
    }.items():
        errors[name] = float(np.abs(release.predict(there) - there["y"]).mean())
        assert ("most values of the target lie" in str(release)) is (name == "huber")
        assert release.guarantee.epsilon <= 2.0
        stored_again(release)
    assert errors["huber"] < 2.0 < 8.0 < min(errors["as stated"], errors["a κ of the user"])


def test_few_rows_and_private_numbers_of_rows_leave_it() -> None:
    frame, schema = weights(120)
    selector = PermuteAndFlipSelector(1)
    model = SelectThenRegress(selector, ObjectivePerturbationRegressor(loss="huber"), epsilon=1.0)
    text = str(model.fit_table(frame, schema, target="y").release_)
    assert "most values of the target" not in text
    question = TableQuestion(schema, "y")
    plan = TablePlan(question, selector, HUBER, 1)
    assert plan.epsilon_of_target == 0.0
