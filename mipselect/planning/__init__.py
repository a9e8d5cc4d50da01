"""Plans of a private selection or model from public knowledge alone, by simulated tables."""

from mipselect.planning.plans import plan_study
from mipselect.planning.simulation import Question
from mipselect.planning.study import Found, ModelForecast, StudyPlan

__all__ = ["Found", "ModelForecast", "Question", "StudyPlan", "plan_study"]
