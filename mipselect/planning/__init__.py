"""Plans of a private selection or model from public knowledge alone, by simulated tables."""

from mipselect.planning.fit import ModelForecast, ModelPlan, plan_fit
from mipselect.planning.selection import Found, SelectionPlan, plan_selection
from mipselect.planning.simulation import Guesses, Question

__all__ = [
    "Found",
    "Guesses",
    "ModelForecast",
    "ModelPlan",
    "Question",
    "SelectionPlan",
    "plan_fit",
    "plan_selection",
]
