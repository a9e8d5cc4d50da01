"""How wide intervals of coefficients would be, before a table is opened."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mipselect.planning import Guesses, ModelPlan, plan_fit
from mipselect.planning.forecasts import ModelLine, TableScores
from mipselect.planning.model_sentences import interval_sentences
from mipselect.planning.simulated_fits import effect_half_widths
from mipselect.regression import (
    AdaSSPRegressor,
    ModelRelease,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    confidence_intervals,
)
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables import TableSchema

FIELDS: list[dict[str, Any]] = [
    {"name": "dose", "type": "number", "constraints": {"minimum": 0, "maximum": 20}},
    {"name": "ward", "type": "string", "categories": ["a", "b", "c"]},
    {"name": "days", "type": "number", "constraints": {"minimum": 0, "maximum": 10}},
    {"name": "ill", "type": "string", "categories": ["no", "yes"]},
]
SCHEMA = TableSchema.of({"fields": FIELDS})


def released(target: str, regressor: Any = None) -> ModelRelease:
    rng = np.random.default_rng(0)
    n = 4000
    dose, ward = rng.uniform(0.0, 20.0, n), rng.choice(["a", "b", "c"], n)
    days = 2.0 + 0.2 * dose + 2.0 * (ward == "b") + rng.normal(0.0, 1.0, n)
    ill = np.where(rng.random(n) < 0.2 + 0.02 * dose, "yes", "no")
    frame = pd.DataFrame({"dose": dose, "ward": ward, "days": days, "ill": ill})
    other = "ill" if target == "days" else "days"
    model = SelectThenRegress(
        PermuteAndFlipSelector(2), regressor or AdaSSPRegressor(), epsilon=50.0, range_share=0.0
    )
    return model.fit_table(frame, SCHEMA, target=target, never=[other]).release_


@pytest.mark.parametrize(("target", "unit"), [("days", 1.0), ("ill", 0.5)])
def test_effects_are_over_a_range_and_beside_the_first_category(target: str, unit: float) -> None:
    release = released(target)
    found = confidence_intervals(release)
    half = {
        name: 0.5 * (high - low)
        for name, low, high in zip(found.names, found.lower, found.upper, strict=True)
    }
    by_hand = [20.0 * half["per unit of dose"]]
    by_hand += [half[f"ward is {name} and not a"] for name in "bc"]
    assert sorted(effect_half_widths(release)) == pytest.approx(sorted(unit * w for w in by_hand))


def test_what_has_no_intervals_has_no_width() -> None:
    assert effect_half_widths(released("days", ObjectivePerturbationRegressor(loss="huber"))) == ()


def planned(regressor: Any, target: str = "days") -> ModelPlan:
    model = SelectThenRegress(PermuteAndFlipSelector(1), regressor)
    asked: dict[str, Any] = {"rows": 3000, "epsilons": [1.0, 20.0], "tables": 2}
    return plan_fit(model, SCHEMA, target=target, time_limit=600.0, **asked)


def test_a_plan_says_how_wide_they_would_be() -> None:
    plan = planned(AdaSSPRegressor())
    few, much = (plan.of_fit.half_width(k) for k in (0, 1))
    assert few is not None
    assert much is not None
    assert much < few
    (said,) = interval_sentences(plan)
    assert f"±{much:.2g} at ε = 20" in said
    assert "in units of the target" in said
    (of_classes,) = interval_sentences(planned(AdaSSPRegressor(), "ill"))
    assert "in shares of the second class" in of_classes


def test_a_plan_of_a_model_without_intervals_says_nothing_of_them() -> None:
    plan = planned(ObjectivePerturbationRegressor(loss="huber"))
    assert plan.of_fit.half_width(0) is None
    assert interval_sentences(plan) == ()


def test_an_interval_without_ends_is_called_open() -> None:
    scored = TableScores(0.3, ((0.2,),), half_widths=((math.inf, math.inf, 1.0),))
    line = ModelLine(500, (1.0,), 5 * (scored,))
    asked: dict[str, Any] = {"rows": 500, "support_size": 1, "features": 4, "seed": 0}
    more: dict[str, Any] = {"guesses": Guesses(), "measure": "R²", "goal": 0.5}
    (said,) = interval_sentences(ModelPlan(**asked, **more, epsilons=(1.0,), lines=(line,)))
    assert said.startswith("The 95% interval of an effect would be open at ε = 1:")
