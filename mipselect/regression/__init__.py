"""Private linear models as scikit-learn estimators.

Names are looked up when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mipselect.lookup import looked_up

if TYPE_CHECKING:
    from mipselect.regression.adassp import AdaSSPRegressor, BoostedAdaSSPRegressor
    from mipselect.regression.evaluation import evaluate_model
    from mipselect.regression.intervals import (
        CoefficientIntervals,
        confidence_intervals,
        mean_intervals,
    )
    from mipselect.regression.objective_perturbation import (
        ObjectivePerturbationClassifier,
        ObjectivePerturbationRegressor,
    )
    from mipselect.regression.release import ModelRelease
    from mipselect.regression.select_then_regress import SelectThenRegress
    from mipselect.regression.summed import adassp_from_moments
    from mipselect.regression.tukey import TukeyRegressor

_HOMES = {
    "AdaSSPRegressor": "adassp",
    "BoostedAdaSSPRegressor": "adassp",
    "CoefficientIntervals": "intervals",
    "ModelRelease": "release",
    "ObjectivePerturbationClassifier": "objective_perturbation",
    "ObjectivePerturbationRegressor": "objective_perturbation",
    "SelectThenRegress": "select_then_regress",
    "TukeyRegressor": "tukey",
    "adassp_from_moments": "summed",
    "confidence_intervals": "intervals",
    "evaluate_model": "evaluation",
    "mean_intervals": "intervals",
}

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
    "mean_intervals",
]

__getattr__ = looked_up(__name__, _HOMES)
