"""H ⪰ D of features of several columns, in 60 digits, where what is left of G nearly vanishes."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.linalg import block_diag

from mipselect.search.least_squares.measured_curvature import curvature_of
from tests.support.near_singular_blocks import (
    Design,
    columns,
    copies,
    dominates,
    left_of,
    near_copies,
    nearly_the_intercept,
    scales,
    whole_of,
)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("design", [near_copies, nearly_the_intercept, scales, copies])
@pytest.mark.parametrize("seed", range(2))
def test_no_direction_is_given_more_than_is_there(
    seed: int, design: Design, intercept: bool
) -> None:
    blocks = design(np.random.default_rng(seed))
    unit = float(np.abs(np.hstack(blocks)).max()) ** 2
    with mpmath.workdps(60):
        for ridge in unit * np.array([1e-9, 1e-6, 1e-3, 1.0]):
            instance, whole = whole_of(blocks, float(ridge), intercept=intercept)
            convexity = curvature_of(whole).at(whole)
            D = convexity.block(np.arange(instance.n_features))
            assert np.linalg.eigvalsh(D)[0] >= 0.999 * convexity.least > 0.4 * ridge
            H = left_of(instance, whole.ridge)
            assert dominates(H, D * (1.0 - 1e-12))


def test_directions_of_which_nothing_is_left_cost_the_others_next_to_nothing() -> None:
    """The indicators of a category add up to the intercept; κ of the other directions stays."""
    rng = np.random.default_rng(0)
    blocks = [np.eye(4)[rng.integers(0, 4, 400)], columns(rng, 3, 400), columns(rng, 2, 400)]
    _, whole = whole_of(blocks, 1.0, intercept=True)
    convexity = curvature_of(whole).at(whole)
    D, H = convexity.block(np.arange(3)), whole.dense()
    own = block_diag(*(H[some, some] for some in (slice(0, 4), slice(4, 7), slice(7, 9))))
    scaled = np.linalg.eigvalsh(np.linalg.solve(own, D))
    assert convexity.least > 0.999
    assert np.sort(scaled)[1] > 0.5
