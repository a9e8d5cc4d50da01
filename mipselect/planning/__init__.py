"""Plans of a private selection from public knowledge alone: simulated tables, and answers."""

from mipselect.planning.answers import answers
from mipselect.planning.chances import METHODS, Chance
from mipselect.planning.plan import Line, SelectionPlan, Setting, Step, plan_selection
from mipselect.planning.simulation import Guesses

__all__ = [
    "METHODS",
    "Chance",
    "Guesses",
    "Line",
    "SelectionPlan",
    "Setting",
    "Step",
    "answers",
    "plan_selection",
]
