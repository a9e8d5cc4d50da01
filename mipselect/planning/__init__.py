"""Plans of a private selection from public knowledge alone: simulated tables, and answers."""

from mipselect.planning.answers import answers
from mipselect.planning.fit import plan_fit
from mipselect.planning.forecasts import ModelLine, ModelPlan, TableScores
from mipselect.planning.guesses import Guesses
from mipselect.planning.lines import Line, SelectionPlan, Setting, Step
from mipselect.planning.model_sentences import model_sentences, quality_sentences
from mipselect.planning.plan import plan_selection
from mipselect.planning.quality_forecasts import QualityForecast

__all__ = [
    "Guesses",
    "Line",
    "ModelLine",
    "ModelPlan",
    "QualityForecast",
    "SelectionPlan",
    "Setting",
    "Step",
    "TableScores",
    "answers",
    "model_sentences",
    "plan_fit",
    "plan_selection",
    "quality_sentences",
]
