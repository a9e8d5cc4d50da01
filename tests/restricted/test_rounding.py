"""What restricted problems allow for rounding: bounds are bounds in exact arithmetic.

Each allowance decides here: without it one of these bounds is on the wrong side of what it bounds.
"""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from mipselect import Instance
from mipselect.losses import HuberLoss
from mipselect.restricted import box_dual
from mipselect.restricted.box_dual import PreparedBoxDual
from mipselect.restricted.certified import BoxDual
from mipselect.restricted.features import Features
from mipselect.restricted.fenchel import FenchelBounds, squared_products
from mipselect.restricted.grouping import FenchelFeatures
from mipselect.restricted.one_more import _Start
from mipselect.restricted.row_tops import streamed_row_tops
from tests.soak.exact_values import LOSSES, ExactProblem, exact_loss, failures_of, near_copies

SEEDS = range(60)


def exact(numbers: np.ndarray) -> list[Fraction]:
    return [Fraction(float(number)) for number in numbers]


def exact_product(left: np.ndarray, right: np.ndarray) -> Fraction:
    return sum((a * b for a, b in zip(exact(left), exact(right), strict=True)), Fraction(0))


def rows_and_dual(seed: int, *, p: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Xᵀ with columns of any length, and a dual point that some of them nearly cancel with."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 2, 5, 40]))
    rows = rng.standard_normal((p, n)) * 10.0 ** rng.uniform(-8, 8, (p, 1))
    return rows, rng.standard_normal(n) * 10.0 ** rng.uniform(-4, 4)


@pytest.mark.parametrize("seed", SEEDS)
def test_products_of_columns_and_dual_points(seed: int) -> None:
    rows, dual = rows_and_dual(seed)
    squares = squared_products(dual[None], rows, np.linalg.norm(rows, axis=1))[0]
    for square, row in zip(exact(squares), rows, strict=True):
        assert square >= exact_product(row, dual) ** 2


@pytest.mark.parametrize("softness", [0.0, 1.0])
@pytest.mark.parametrize("small", [0.0, 1e-9])
def test_constants_of_dual_points(softness: float, small: float) -> None:
    """Σ α y - (q/2)α², also where y is small against qα."""
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 300))
        y = (small if softness else 1.0) * rng.standard_normal(n)
        box, dual = BoxDual(y, np.full(n, -9.0), np.full(n, 9.0), softness), rng.uniform(-9, 9, n)
        problem = PreparedBoxDual(np.zeros((n, 1)), box, 1.0, 1.0)
        (constant,), _ = problem.bounds_of(dual[None])
        square = Fraction(softness) / 2 * exact_product(dual, dual)
        assert Fraction(constant) <= exact_product(dual, y) - square


def test_a_dual_point_of_many_rows_is_not_above_the_optimum() -> None:
    """Ten thousands of equal products, all of which a sum rounds to the same side."""
    n = 100_000
    for seed in (5, 6, 11):
        rng = np.random.default_rng(seed)
        slope, change = rng.uniform(0.3, 3.0), rng.uniform(0.02, 0.4)
        x = np.full(n, rng.uniform(0.5, 1.0))
        left = np.repeat([change, -3.0 * change], [3 * n // 4, n // 4])
        instance = Instance(
            x[:, None], x * slope + (-left if seed % 2 else left), support_size=1, x_bound=1.0,
            y_bound=9.0, coef_bound=9.0, ridge=float(10.0 ** rng.uniform(-6, 0)),
            loss=HuberLoss(100.0),
        )  # fmt: skip
        problem, alone = instance.prepared, np.array([[0]])
        assert isinstance(problem, PreparedBoxDual)
        a, (values, counts) = Fraction(float(x[0])), np.unique(instance.y, return_counts=True)
        total = sum(v * int(k) for v, k in zip(exact(values), counts, strict=True))
        squares = sum(v**2 * int(k) for v, k in zip(exact(values), counts, strict=True))
        # No residual is beyond κ: least squares.
        optimum = squares - (a * total) ** 2 / (n * a**2 + Fraction(instance.ridge))
        bound = problem.bounds(alone).at(0, alone)[0]
        assert Fraction(float(bound)) <= optimum / (2 * n)
        assert bound >= (1.0 - 1e-10) * float(optimum / (2 * n))


@pytest.mark.parametrize("softness", [0.0, 1.0])
def test_bounds_of_one_more_column(softness: float) -> None:
    """Of any dual point: no more than c - h(‖w‖²) in many digits."""
    for seed in range(200):
        rows, dual = rows_and_dual(seed)
        rng = np.random.default_rng(seed)
        n = len(dual)
        y = rng.choice([0.0, 1.0]) * rng.standard_normal(n)
        ridge, radius = 10.0 ** rng.uniform(-6, 6), 10.0 ** rng.uniform(-6, 6)
        box = BoxDual(y, np.full(n, -1e9), np.full(n, 1e9), softness)
        start = _Start(rows[:2], box, ridge, radius, dual)
        w, added = dual[None] @ rows[:2].T, rows[2:]
        (bound,) = start._proven(dual[None], w, np.einsum("ln,ln->l", dual[None], added), added)
        products = [exact_product(row, dual) for row in rows]
        constant = exact_product(dual, y) - Fraction(softness) / 2 * exact_product(dual, dual)
        with mpmath.workdps(60):
            length = mpmath.sqrt(number(sum(product**2 for product in products)))
            best = min(length / ridge, mpmath.mpf(radius))
            assert bound <= number(constant) - length * best + ridge * best**2 / 2, seed


def number(fraction: Fraction | int) -> mpmath.mpf:
    return mpmath.mpf(Fraction(fraction).numerator) / Fraction(fraction).denominator


def test_squares_of_a_feature_are_added_up_from_above() -> None:
    features = Features(np.array([7, 9, 5]), always=6)

    class OnePoint:
        def bounds(self, supports: np.ndarray, near: np.ndarray | None = None) -> FenchelBounds:
            ends = np.ones(len(supports)), np.zeros(len(supports))
            return FenchelBounds(ends[0], weights[None], 3, 1.0, 1.0, ends[1])

    for seed in SEEDS:
        weights = 10.0 ** np.random.default_rng(seed).uniform(-1, 1, features.size)
        found = FenchelFeatures(OnePoint(), features).bounds(np.array([[0]]))  # type: ignore[arg-type]
        parts = np.split(weights, np.append(features.starts[1:], features.starts[-1] + 6))
        sums = [sum(exact(part)) for part in parts[:4]]
        proven = exact(np.append(found.weights[0], found.always))
        assert all(a >= b for a, b in zip(proven, sums, strict=True))


def test_the_largest_products_of_one_row() -> None:
    """In single precision, where the lengths alone are rounded."""
    for seed in SEEDS:
        row = np.random.default_rng(seed).uniform(0.5, 1.0, 8)
        tops = streamed_row_tops(row[None], row**2, np.arange(8), 7, lambda: None)
        for j in range(8):
            products = sorted(Fraction(x) * Fraction(row[j]) for x in np.delete(row, j))
            assert all(a >= b for a, b in zip(exact(tops[j]), products[::-1], strict=True))


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
