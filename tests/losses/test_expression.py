"""Losses given as cvxpy expressions: the same answers where both can, and valid bounds."""

from __future__ import annotations

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

from mipselect import Instance, mistake_levels, top_supports
from mipselect.errors import InvalidInput
from mipselect.losses.expression import ExpressionLoss, PreparedExpression
from mipselect.restricted.fenchel import FenchelBounds
from tests.support.designs import all_supports


def quantile(y: np.ndarray, u: cp.Variable) -> cp.Expression:
    return cp.maximum(0.9 * (y - u), -0.1 * (y - u))


def huber(y: np.ndarray, u: cp.Variable) -> cp.Expression:
    return 0.5 * cp.huber(y - u, 0.3)


def logistic(y: np.ndarray, u: cp.Variable) -> cp.Expression:
    return cp.logistic(-cp.multiply(y, u))


def squared(y: np.ndarray, u: cp.Variable) -> cp.Expression:
    return 0.5 * cp.square(y - u)


RNG = np.random.default_rng(4)
X = RNG.uniform(-1.0, 1.0, (30, 6))
Y = np.clip(X[:, 1] - X[:, 4] + 0.1 * RNG.standard_normal(30), -1.0, 1.0)


def make(loss: object, *, coef_bound: float = 1.0, y: np.ndarray = Y) -> Instance:
    return Instance(
        X, y, support_size=2, x_bound=1.0, y_bound=1.0, coef_bound=coef_bound, ridge=0.8, loss=loss
    )  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("expression", "name"),
    [(quantile, "quantile(0.9)"), (huber, "huber(0.3)"), (squared, "squared")],
)
@pytest.mark.parametrize("coef_bound", [0.4, 3.0])
def test_the_same_as_the_built_in_loss(expression: object, name: str, coef_bound: float) -> None:
    known = make(name, coef_bound=coef_bound)
    loss = ExpressionLoss("mine", expression, 0.0, known.n * known.sensitivity)  # type: ignore[arg-type]
    mine = make(loss, coef_bound=coef_bound)
    assert mine.loss == "mine"
    assert mine.sensitivity == pytest.approx(known.sensitivity)
    supports = all_supports(known)
    assert mine.objectives(supports) == pytest.approx(known.objectives(supports), rel=1e-5)
    fit, wanted = mine.fit([4, 1]), known.fit([4, 1])
    assert fit.coef == pytest.approx(wanted.coef, abs=1e-3)
    for solver in ("native", "highs"):
        levels = mistake_levels(mine, solver=solver)
        assert levels.values == pytest.approx(mistake_levels(known).values, rel=1e-5)
        pool = top_supports(mine, 5, solver=solver)
        assert pool.values == pytest.approx(top_supports(known, 5).values, rel=1e-5)


def test_logistic_loss_end_to_end() -> None:
    U = np.sqrt(2.0)
    loss = ExpressionLoss("logistic", logistic, 0.0, float(np.log1p(np.exp(U))))
    instance = make(loss, y=np.where(Y > 0.0, 1.0, -1.0))
    supports = all_supports(instance)
    values = instance.objectives(supports)
    pool = top_supports(instance, 4)
    assert pool.certified
    assert pool.supports[0].tolist() == supports[np.argmin(values)].tolist()
    assert pool.values == pytest.approx(np.sort(values)[:4], rel=1e-6)


@pytest.mark.parametrize("expression", [quantile, huber, logistic])
def test_bounds_of_any_dual_hold_everywhere_and_the_best_are_tight(expression: object) -> None:
    instance = make(ExpressionLoss("mine", expression, 0.0, 9.0))  # type: ignore[arg-type]
    problem = instance.prepared
    assert isinstance(problem, PreparedExpression)
    supports = all_supports(instance)
    values = instance.objectives(supports)
    bounds = problem.bounds(supports)
    for row, value in enumerate(values):
        assert np.all(bounds.at(row, supports) <= values)
        assert bounds.at(row, supports)[row] == pytest.approx(value, rel=1e-5)
    for scale in (0.0, 0.1, 1.0, 10.0):
        dual = scale * RNG.standard_normal(instance.n)
        weights = (dual @ instance.X)[None] ** 2
        constants = np.array([problem.conjugate(dual)])
        loose = FenchelBounds(
            constants, weights, instance.n, instance.ridge, instance.coef_bound, np.zeros(1)
        )
        assert np.all(loose.at(0, supports) <= values)


@pytest.mark.parametrize("curved", [False, True])
def test_the_conjugate_is_not_above_the_exact_one(curved: bool) -> None:
    """At large predictions, whose least tilted loss is at the end that is nearer to y."""
    expression = squared if curved else absolute
    loss, size = ExpressionLoss("mine", expression, 0.0, 9.0), 2.0**27
    for seed in range(30):
        rng = np.random.default_rng(seed)
        y, alpha, x = size * rng.uniform(1, 2), rng.uniform(-0.5, 0.5), rng.uniform(0.5, 1.0)
        problem = loss.prepare(np.array([[x]]), np.array([y]), ridge=1.0, radius=size / 2)
        end = Fraction(size / 2) * Fraction(x)
        missing = Fraction(y) - end
        exact = (missing**2 if curved else missing) / 2 + Fraction(alpha) * end
        found = problem.conjugate(np.array([alpha]))
        assert (1.0 - 1e-12) * float(exact) <= found
        assert Fraction(found) <= exact


def absolute(y: np.ndarray, u: cp.Variable) -> cp.Expression:
    return 0.5 * cp.abs(u - y)


def test_rows_of_zeros_have_one_prediction() -> None:
    loss = ExpressionLoss("absolute", absolute, 0.0, 9.0)
    X, y = np.array([[0.0], [1.0]]), np.array([0.5, 0.5])
    problem = loss.prepare(X, y, ridge=1.0, radius=1.0)
    # The best is β = ½, where the second row has no loss.
    assert problem.values(np.array([[0]]))[0] == pytest.approx(0.5 * (0.25 + 0.125), rel=1e-3)


def test_a_range_that_is_too_small_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"stated to lie in \[0, 0.5\], but it is"):
        _ = make(ExpressionLoss("mine", quantile, 0.0, 0.5)).sensitivity


def test_an_expression_that_is_not_convex_is_refused() -> None:
    loss = ExpressionLoss("mine", lambda y, u: -cp.square(u), -9.0, 0.0)
    with pytest.raises(InvalidInput, match="convex expression"):
        make(loss).objective([0, 1])


@pytest.mark.parametrize("size", [1e-5, 1e8])
def test_responses_of_other_sizes(size: float) -> None:
    def tilted(y: np.ndarray, u: cp.Variable) -> cp.Expression:
        return cp.maximum(0.75 * (y - u), -0.25 * (y - u))

    def scaled(loss: object) -> Instance:
        return Instance(
            X, size * Y, support_size=2, x_bound=1.0, y_bound=size, coef_bound=size,
            ridge=0.8 / size, loss=loss,
        )  # type: ignore[arg-type]  # fmt: skip

    known = scaled("quantile(0.75)")
    mine = scaled(ExpressionLoss("mine", tilted, 0.0, known.n * known.sensitivity))
    assert mine.value_error == pytest.approx(1e-3 * known.sensitivity)
    difference = mine.objectives(all_supports(known)) - known.objectives(all_supports(known))
    assert np.abs(difference).max() <= mine.value_error
