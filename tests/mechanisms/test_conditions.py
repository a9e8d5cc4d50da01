"""What a condition on the data is worth, and what errors and guarantees say about it."""

from __future__ import annotations

import numpy as np
import pytest

from mipselect import Instance, mistake_levels
from mipselect.errors import ConditionNotMet
from mipselect.mechanisms import Mistakes
from mipselect.mechanisms.supports.mistakes import GAP_CONDITION


def mistakes_where(first: int) -> Mistakes:
    """On 40 rows, of which so many are explained by column 0 and the others by column 1."""
    X = np.zeros((40, 2))
    X[:first, 0] = X[first:, 1] = 1.0
    bounds = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}
    instance = Instance(X, np.ones(40), support_size=1, **bounds)
    return Mistakes(mistake_levels(instance), 1.0)


def is_released(mechanism: Mistakes) -> bool:
    try:
        return mechanism.release().private
    except ConditionNotMet:
        return False


def test_the_condition_of_mistakes_parts_two_neighbours() -> None:
    """One row makes the difference between a release and a refusal: no finite loss covers both."""
    released = [is_released(mistakes_where(first)) for first in range(20, 41)]
    assert not released[0]
    assert released[-1]
    assert released == sorted(released)


def test_condition_and_refusal_speak_of_neighbours_and_of_what_a_release_tells() -> None:
    assert "on these data and on every neighbouring data set" in GAP_CONDITION
    with pytest.raises(ConditionNotMet, match="as a release would have told") as refused:
        mistakes_where(20).release()
    assert GAP_CONDITION in str(refused.value)
    assert "every neighbouring data set" in str(mistakes_where(40).release().guarantee)
