"""Selectors refuse the bounds that `Instance` refuses, before they look at the data."""

from __future__ import annotations

import numpy as np
import pytest

from mipselect.errors import InvalidInput
from tests.support.all_selectors import NAMES, all_selectors

X, Y = np.eye(4), np.array([1.0, -1.0, 1.0, -1.0])
NEVER = [-1.0, np.nan, np.inf, -np.inf, 10**400, True, "1"]
UNITS_OF_ITS_OWN = ["sis"]
"""Entries are divided by their bounds before anything else, so that any bound > 0 will do."""


@pytest.mark.parametrize("name", NAMES)
def test_bounds_outside_the_range_are_refused_by_name(name: str) -> None:
    parameters = all_selectors(2)[name].get_params()
    for bound in {"x_bound", "y_bound", "coef_bound", "ridge"} & parameters.keys():
        wrong = [*NEVER, 1e-51, 1e51, 5e-324, 1e308]
        if bound != "ridge":
            wrong += [0.0, 1e-26, 1e26]
        if name in UNITS_OF_ITS_OWN:
            wrong = [*NEVER, 0.0]
        for value in wrong:
            selector = all_selectors(2)[name].set_params(**{bound: value})
            with pytest.raises(InvalidInput, match=bound):
                selector.fit(X, Y)


@pytest.mark.parametrize("name", UNITS_OF_ITS_OWN)
@pytest.mark.parametrize("bound", [5e-324, 1e-308, 1e308])
def test_units_of_its_own_take_any_bound(name: str, bound: float) -> None:
    """The probabilities are those of the same data and bounds times any power of two."""
    usual = all_selectors(2)[name].mechanism(X, Y)
    scaled = all_selectors(2)[name].set_params(x_bound=bound).mechanism(X * bound, Y)
    for outcome in ((0, 1), (1, 3)):
        assert usual.log_probability(outcome) == scaled.log_probability(outcome)
