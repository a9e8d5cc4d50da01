"""The defaults of `coef_bound` and `ridge`: what they promise, and what they are worth."""

from __future__ import annotations

import numpy as np
import pytest

from mipselect import Instance
from mipselect.tables.instances import DEFAULT_RIDGE, default_coef_bound


@pytest.mark.parametrize("size", [1, 5, 20])
@pytest.mark.parametrize("always", [0, 3])
def test_predictions_reach_as_far_whatever_the_size(size: int, always: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (40, 25)), rng.uniform(-1, 1, 40)
    for intercept, reach in ((True, 1.25), (False, 1.0)):
        instance = Instance(
            X,
            y,
            support_size=size,
            x_bound=1,
            y_bound=1,
            coef_bound=default_coef_bound(size, always, intercept),
            ridge=DEFAULT_RIDGE,
            always=list(range(always)),
            intercept=intercept,
        )
        assert instance.prediction_bound == pytest.approx(reach)
        assert instance.sensitivity == pytest.approx(0.5 * (1 + reach) ** 2 / 40)
