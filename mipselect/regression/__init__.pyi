"""Names of the package and their modules: for types, and for `mipselect.lookup`."""

from mipselect.regression.adassp import AdaSSPRegressor as AdaSSPRegressor
from mipselect.regression.adassp import BoostedAdaSSPRegressor as BoostedAdaSSPRegressor
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
