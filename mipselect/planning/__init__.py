"""Plans of a private selection or model from public knowledge alone, by simulated tables."""

from mipselect.planning.fit import ModelForecast, ModelPlan, plan_fit
from mipselect.planning.question import Guesses, Question
from mipselect.planning.selection import Found, Line, SelectionPlan, plan_selection

__all__ = [
    "Found",
    "Guesses",
    "Line",
    "ModelForecast",
    "ModelPlan",
    "Question",
    "SelectionPlan",
    "plan_fit",
    "plan_selection",
]
