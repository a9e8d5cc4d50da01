"""scikit-learn's own checks, on every selector; each exception has its reason."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

from mipselect.errors import ConditionNotMet
from mipselect.selectors import ExponentialSelector, MistakesSelector, TopRSelector
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


def test_the_published_mistakes_selector_fails_only_by_refusing() -> None:
    """The data of the checks have no gap, so that no guarantee holds on them."""
    found = checked(MistakesSelector(1, random_state=0, **BOUNDS))
    failed = [one for one in found if one["status"] == "failed"]
    assert failed
    for one in failed:
        reason = one["exception"]
        while reason.__cause__ is not None:
            reason = reason.__cause__
        assert isinstance(reason, ConditionNotMet), one["check_name"]


def test_a_selector_with_classes_fails_only_by_wanting_two() -> None:
    """The checks give y with three or more classes to every transformer."""
    found = checked(TopRSelector(1, loss="hinge", random_state=0, **BOUNDS))
    for one in found:
        if one["status"] == "failed":
            assert "two classes" in str(one["exception"]) + str(one["exception"].__cause__)
