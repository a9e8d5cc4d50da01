"""Private linear models as scikit-learn estimators, each imported when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mipselect.lookup import looked_up

if TYPE_CHECKING:
    from mipselect.regression.adassp import AdaSSPRegressor as AdaSSPRegressor
    from mipselect.regression.adassp import BoostedAdaSSPRegressor as BoostedAdaSSPRegressor
    from mipselect.regression.coefficients import confidence_intervals as confidence_intervals
    from mipselect.regression.evaluation import evaluate_model as evaluate_model
    from mipselect.regression.objective_perturbation import (
        ObjectivePerturbationClassifier as ObjectivePerturbationClassifier,
    )
    from mipselect.regression.objective_perturbation import (
        ObjectivePerturbationRegressor as ObjectivePerturbationRegressor,
    )
    from mipselect.regression.release import ModelRelease as ModelRelease
    from mipselect.regression.select_then_regress import SelectThenRegress as SelectThenRegress
    from mipselect.regression.tukey import TukeyRegressor as TukeyRegressor

_HOMES = {
    "AdaSSPRegressor": "adassp",
    "BoostedAdaSSPRegressor": "adassp",
    "ModelRelease": "release",
    "ObjectivePerturbationClassifier": "objective_perturbation",
    "ObjectivePerturbationRegressor": "objective_perturbation",
    "SelectThenRegress": "select_then_regress",
    "TukeyRegressor": "tukey",
    "confidence_intervals": "coefficients",
    "evaluate_model": "evaluation",
}

__all__ = sorted(_HOMES)
__getattr__ = looked_up(__name__, _HOMES)
