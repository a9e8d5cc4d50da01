"""Names that other people's code may count on: they stay, whatever is moved behind them."""

from __future__ import annotations

import importlib
import inspect

import pytest

FIXED = {
    "mipselect": (
        "Instance load_instance available_solvers top_supports mistake_levels SupportPool "
        "MistakeLevels TopR Mistakes ExponentialMechanism PermuteAndFlip StableOptimum Guarantee "
        "Ledger Release NotCertified MipselectError Moments BlockScores whole_model"
    ),
    "mipselect.mechanisms": (
        "NoisyMax OneShotTopK Peeling CanonicalLipschitz JointExponential GeneralizedExponential "
        "RandomStopping RandomizedResponse HeterogeneousNoisyMax"
    ),
    "mipselect.selectors": (
        "TopRSelector MistakesSelector ExponentialSelector MCMCSelector SISSelector "
        "KendallSelector SampleAggregateSelector"
    ),
    "mipselect.regression": (
        "ObjectivePerturbationRegressor ObjectivePerturbationClassifier AdaSSPRegressor "
        "BoostedAdaSSPRegressor TukeyRegressor SelectThenRegress"
    ),
    "mipselect.tables": "TableSchema SchemaEncoder",
}

PARTS = {
    "Instance": (
        "n p sensitivity number_of_supports n_features objective fit from_table from_moments "
        "from_blocks"
    ),
    "SupportPool": "supports values rest_bound tolerance sensitivity",
    "MistakeLevels": "supports values bounds gap",
    "ExponentialMechanism": "sample log_probability guarantee release estimate acceptance",
    "Ledger": "create open spent remaining verify",
    "Moments": "of __add__ save load matrix n",
    "BlockScores": "scores sensitivity",
    "CanonicalLipschitz": "class_log_probabilities event_probability",
    "TableSchema": "read skeleton",
    "SelectThenRegress": "predict_proba decision_function",
    "ObjectivePerturbationClassifier": "predict_proba decision_function summary to_frame plot",
    "KendallSelector": "fit get_support",
}

NAMES = [(package, name) for package, names in FIXED.items() for name in names.split()]


@pytest.mark.parametrize(("package", "name"), NAMES)
def test_the_name_is_there_with_its_parts(package: str, name: str) -> None:
    kind = getattr(importlib.import_module(package), name)
    bases = getattr(kind, "__mro__", ())
    fields = {field for base in bases for field in inspect.get_annotations(base)}
    for part in PARTS.get(name, "").split():
        known = hasattr(kind, part) or part in fields
        assert known or f"self.{part} =" in inspect.getsource(kind), part
