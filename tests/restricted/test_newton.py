"""Newton's method for losses with a parabola, and the bounds on one more feature."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mipselect.losses.box_dual import BoxDualLoss
from mipselect.problem.instance import Instance
from mipselect.restricted import newton, one_more, open_rows
from mipselect.restricted.box_dual import PreparedBoxDual
from mipselect.restricted.certified import BoxDual, certified
from mipselect.restricted.fenchel import ScaledFenchelLoss
from tests.support.designs import LOSSES, random_grouped_instance, random_loss_instance, with_loss

Solve = Callable[[np.ndarray, BoxDual, float], tuple[np.ndarray, np.ndarray]]


def problems(
    seed: int, n: int, s: int, half: float, softness: float
) -> tuple[np.ndarray, BoxDual, float]:
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((20, s, n))
    y = 2.0 * columns[0, 0] + rng.standard_cauchy(n)
    ridge = float(rng.choice([1e-6, 1.0, 0.3 * n]))
    return columns, BoxDual(y, np.full(n, -half), np.full(n, 0.5 * half), softness), ridge


def by_whichever(columns: np.ndarray, box: BoxDual, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    solutions = open_rows.solve(columns, box, ridge, float(np.abs(box.y).sum()))
    return solutions.coef, solutions.dual


@pytest.mark.parametrize("solve", [newton.solve, by_whichever])
@pytest.mark.parametrize("half", [0.001, 0.5, 2.0, 50.0])
@pytest.mark.parametrize("softness", [0.3, 1.0, 20.0])
def test_newton_ends_at_the_optimum(solve: Solve, half: float, softness: float) -> None:
    """With parabolas so narrow that the loss nearly has a kink it may need help."""
    if solve is newton.solve and half * softness < 0.1:
        return
    for seed, (n, s) in enumerate([(5, 3), (40, 2), (300, 5), (2000, 4)]):
        columns, box, ridge = problems(seed, n, s, half, softness)
        coef, dual = solve(columns, box, ridge)
        solved = certified(columns, box, ridge, coef, dual)
        assert np.all(np.linalg.norm(coef, axis=1) <= 1.0 + 1e-12)
        done = solved.gaps <= 1e-10 * solved.values + 1e-13 * float(np.abs(box.y).sum())
        assert done.mean() > 0.8 if solve is newton.solve else done.all()


def test_a_step_that_rises_is_halved() -> None:
    """Where most rows are outliers, full steps go back and forth for ever."""
    X = np.random.default_rng(1).standard_normal((500, 50))
    y = np.clip(X[:, 0] + X[:, 1], -0.5, 0.5)
    instance = Instance(
        X, y, support_size=4, x_bound=0.5, y_bound=0.5, coef_bound=1.1, ridge=5.0,
        loss="huber(0.05)",
    )  # fmt: skip
    prepared = instance.prepared
    assert isinstance(prepared, PreparedBoxDual)
    columns = (
        prepared.radius * prepared.rows[np.array([[j, j + 1, j + 2, 0] for j in range(1, 40)])]
    )
    ridge = prepared.ridge * prepared.radius**2
    found = certified(columns, prepared.box, ridge, *newton.solve(columns, prepared.box, ridge))
    assert np.all(found.gaps <= 1e-10 * found.values)


class Tilted(BoxDualLoss):
    """Curved, with a box that is not symmetric, for it has to work for any."""

    name = "tilted"
    softness = 0.4

    def box(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.full(len(y), -0.3), np.full(len(y), 0.9)

    def spread(self, y_bound: float, u_bound: float) -> float:
        return 0.9 * (y_bound + u_bound)


def bounds_and_values(instance: Instance, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    problem = instance.prepared
    assert isinstance(problem, ScaledFenchelLoss)
    candidates = np.setdiff1d(np.arange(problem.p), base)
    points = problem.bounds(base[None]).points
    assert points is not None
    with np.errstate(all="ignore"):
        bounds = problem.bounds_with_one_more(base, points[0], candidates)
    supports = np.array([np.sort(np.append(base, j)) for j in candidates])
    return bounds, problem.values(supports)


@pytest.mark.parametrize("loss", [*LOSSES, Tilted()])
@pytest.mark.parametrize("first", range(0, 300, 100))
def test_bounds_with_one_more_hold(loss: str, first: int) -> None:
    for seed in range(first, first + 100):
        instance = random_loss_instance(seed, loss)
        rng = np.random.default_rng(seed)
        size = int(rng.integers(0, instance.support_size))
        base = np.sort(rng.permutation(instance.p)[:size])
        bounds, values = bounds_and_values(instance, base)
        assert np.all(bounds <= values * (1 + 1e-9)), seed


@pytest.mark.parametrize("loss", LOSSES)
def test_bounds_with_one_more_hold_beside_columns_that_are_always_in(loss: str) -> None:
    for seed in range(40):
        instance = with_loss(random_grouped_instance(seed, max_p=6, max_s=3), loss)
        base = np.arange(int(np.random.default_rng(seed).integers(0, instance.support_size)))
        bounds, values = bounds_and_values(instance, base)
        assert np.all(bounds <= values * (1 + 1e-9)), seed


@pytest.mark.parametrize("loss", LOSSES)
def test_bounds_with_one_more_are_close(loss: str) -> None:
    """Much closer than the bound of the base's own dual point."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((600, 40))
    y = X[:, :3].sum(axis=1) + rng.standard_normal(600)
    instance = Instance(
        X, y > 0.0 if loss == "hinge" else y, support_size=4, x_bound=3.0, y_bound=3.0,
        coef_bound=2.0, ridge=2.0, loss=loss,
    )  # fmt: skip
    base = np.array([0, 1, 2])
    bounds, values = bounds_and_values(instance, base)
    problem = instance.prepared
    supports = np.array([np.append(base, j) for j in range(3, 40)])
    fenchel = problem.bounds(base[None]).at(0, supports)
    share = 1e-4 if loss.startswith("huber") else 0.2
    assert np.median(values - bounds) < share * np.median(values - fenchel)


def test_nothing_is_proven_where_nothing_is_finite() -> None:
    """All residuals are zero."""
    rows = np.eye(3)
    box = BoxDual(np.zeros(3), np.full(3, -0.5), np.full(3, 0.5), 0.0)
    with np.errstate(all="ignore"):
        bounds = one_more.bounds_with_one_more(
            rows, box, 1.0, 1.0, np.array([0]), np.zeros(3), np.array([1, 2])
        )
    assert np.all(bounds <= 0.0)


def test_where_a_quadratic_overflows_the_start_is_returned() -> None:
    """Other methods go on from there: it is no failure of the problem."""
    y = np.linspace(-1.0, 1.0, 5)
    box = BoxDual(y, np.full(5, -1.0), np.full(5, 1.0), 1e-300)
    columns = 1e10 * np.random.default_rng(0).standard_normal((2, 2, 5))
    with np.errstate(all="ignore"):
        coef, dual = newton.solve(columns, box, 1.0)
    assert not coef.any()
    assert np.isfinite(dual).all()
