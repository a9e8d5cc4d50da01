"""Plans of a private selection or model from public knowledge alone, by simulated tables."""

from mipselect.planning.plans import Found, ModelForecast, StudyPlan, plan_study
from mipselect.planning.simulation import Question

__all__ = ["Found", "ModelForecast", "Question", "StudyPlan", "plan_study"]
