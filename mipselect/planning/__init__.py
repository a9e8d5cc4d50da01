"""Plans of a private selection or model from public knowledge alone, by simulated tables."""

from mipselect.planning.plans import (
    Found,
    ModelForecast,
    ModelPlan,
    SelectionPlan,
    plan_fit,
    plan_selection,
)
from mipselect.planning.simulation import Question

__all__ = [
    "Found",
    "ModelForecast",
    "ModelPlan",
    "Question",
    "SelectionPlan",
    "plan_fit",
    "plan_selection",
]
