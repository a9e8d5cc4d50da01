"""scikit-learn's own checks, on every selector; each exception has its reason."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

from mipselect.selectors import ExponentialSelector
from tests.support.all_selectors import BOUNDS, NAMES, all_selectors


def checked(estimator: Any) -> list[dict[str, Any]]:
    """What became of each check, but for those that cannot run here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        found: list[dict[str, Any]] = check_estimator(estimator, on_fail=None)
    # Array API input needs an environment variable that is read at the import of SciPy.
    assert {one["check_name"] for one in found if one["status"] == "skipped"} <= {
        "check_array_api_input"
    }
    return [one for one in found if one["status"] != "skipped"]


@pytest.mark.parametrize("name", NAMES)
def test_every_check_is_passed(name: str) -> None:
    found = checked(all_selectors(1, random_state=0)[name])
    assert len(found) > 40
    assert [
        (one["check_name"], one["exception"]) for one in found if one["status"] != "passed"
    ] == []


def test_a_choice_of_sizes_fails_only_by_wanting_two_columns() -> None:
    found = checked(ExponentialSelector(sizes=(1, 2), random_state=0, **BOUNDS))
    failed = {one["check_name"]: one["exception"] for one in found if one["status"] == "failed"}
    assert set(failed) <= {"check_fit2d_1feature"}
    for reason in failed.values():
        assert "sizes must be in 1..1" in f"{reason} {reason.__cause__}"
