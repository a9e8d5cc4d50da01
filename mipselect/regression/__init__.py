"""Private linear models as scikit-learn estimators."""

from mipselect.regression.adassp import AdaSSPRegressor, BoostedAdaSSPRegressor
from mipselect.regression.evaluation import evaluate_model
from mipselect.regression.intervals import CoefficientIntervals, confidence_intervals
from mipselect.regression.objective_perturbation import (
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
)
from mipselect.regression.release import ModelRelease
from mipselect.regression.select_then_regress import SelectThenRegress
from mipselect.regression.summed import adassp_from_moments
from mipselect.regression.tukey import TukeyRegressor

__all__ = [
    "AdaSSPRegressor",
    "BoostedAdaSSPRegressor",
    "CoefficientIntervals",
    "ModelRelease",
    "ObjectivePerturbationClassifier",
    "ObjectivePerturbationRegressor",
    "SelectThenRegress",
    "TukeyRegressor",
    "adassp_from_moments",
    "confidence_intervals",
    "evaluate_model",
]
