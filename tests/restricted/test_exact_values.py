"""Values, coefficients and bounds of hostile problems against the exact optimum."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from mipselect.restricted import box_dual
from mipselect.restricted.fenchel import squared_products
from tests.soak.exact_values import (
    LOSSES,
    ExactProblem,
    exact_loss,
    failures_of,
    near_copies,
)

TINY_RESPONSES = [165, 252]
"""Seeds of responses far below their bound: 1/y overflowed."""


@pytest.mark.parametrize("loss", LOSSES)
def test_hostile_problems_against_the_exact_optimum(loss: str) -> None:
    for seed in [0, 1, 2, *(TINY_RESPONSES if loss == "quantile" else [])]:
        assert failures_of(loss, seed) == []


@pytest.mark.parametrize(
    ("loss", "seeds"), [("quantile", [1, 26, 36, 74, 111]), ("hinge", [10, 17, 74, 89])]
)
def test_nearly_equal_columns_need_no_second_opinion(
    loss: str, seeds: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Axes in which G loses directions, and points that are not in the ball yet, stopped it."""

    def refused(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(box_dual, "solve_by_clarabel", refused)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        instance = near_copies(rng, loss)
        instance.objectives(
            [rng.permutation(instance.p)[: instance.support_size] for _ in range(2)]
        )


def test_the_judge_knows_one_row_in_closed_form() -> None:
    """|y - xβ|/2 with |β| ≤ r: β = r where xr < y; the dual point ½ proves it."""
    problem = ExactProblem(
        np.array([[2.0]]), np.array([9.0]), exact_loss("quantile(0.5)"), 4.0, 3.0
    )
    with mpmath.workdps(60):
        assert abs(problem.above(np.array([0.25])) - (4.25 + 0.125)) < 1e-50
        assert abs(problem.below(np.array([0.5])) - (4.5 - 0.125)) < 1e-50
        assert problem.below(np.array([7.0])) == problem.below(np.array([0.5]))


def test_squares_that_underflow_are_rounded_up() -> None:
    square = squared_products(np.array([[1e-170]]), np.array([[1e-10]]), np.array([1e-10]))
    assert square[0, 0] >= 1e-307 * 0.2
