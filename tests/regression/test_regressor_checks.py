"""scikit-learn's own checks, on every model."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

from tests.support.all_regressors import all_classifiers, all_models, selection

MODELS = {
    **all_models(random_state=0),
    **all_classifiers(random_state=0),
    "selection": selection(random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_check_is_passed(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        found: list[dict[str, Any]] = check_estimator(MODELS[name], on_fail=None)
    ran = [one for one in found if one["status"] != "skipped"]
    assert len(ran) > 40
    assert [(one["check_name"], one["exception"]) for one in ran if one["status"] != "passed"] == []
