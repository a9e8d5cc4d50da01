"""Plans of a private selection from public knowledge alone: simulated tables, and answers."""

from mipselect.planning.answers import answers
from mipselect.planning.lines import Line, SelectionPlan, Setting, Step
from mipselect.planning.plan import plan_selection
from mipselect.planning.simulation import Guesses

__all__ = [
    "Guesses",
    "Line",
    "SelectionPlan",
    "Setting",
    "Step",
    "answers",
    "plan_selection",
]
