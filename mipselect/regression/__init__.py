"""Private linear models as scikit-learn estimators."""

from mipselect.regression.adassp import AdaSSPRegressor, BoostedAdaSSPRegressor
from mipselect.regression.objective_perturbation import (
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
)
from mipselect.regression.release import ModelRelease
from mipselect.regression.select_then_regress import SelectThenRegress
from mipselect.regression.tukey import TukeyRegressor

__all__ = [
    "AdaSSPRegressor",
    "BoostedAdaSSPRegressor",
    "ModelRelease",
    "ObjectivePerturbationClassifier",
    "ObjectivePerturbationRegressor",
    "SelectThenRegress",
    "TukeyRegressor",
]
