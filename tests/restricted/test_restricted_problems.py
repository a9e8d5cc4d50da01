"""Hinge, Huber and quantile on ordinary tables and on hostile ones: solved, and proven."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from mipselect import Instance
from mipselect.losses import HingeLoss, QuantileLoss
from mipselect.losses.box_dual import BoxDualLoss
from mipselect.restricted import box_dual, one_more, open_rows
from mipselect.restricted.box_dual import ACCURACY, PreparedBoxDual, solve_by_clarabel
from mipselect.restricted.certified import BoxDual, certified
from mipselect.restricted.fenchel import FenchelLoss
from tests.soak.exact_values import unproven
from tests.support.designs import LOSSES, random_grouped_instance, random_loss_instance, with_loss

CHOICES = ["hinge", "quantile(0.5)", "quantile(0.99)", "huber(0.3)"]


def table(seed: int, n: int = 10_000) -> tuple[np.ndarray, np.ndarray]:
    """Three columns of 0 and 1, one number, and classes of a logistic model."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.random((n, 3)) < [0.5, 0.2, 0.05], rng.uniform(-1.0, 1.0, n)])
    chance = 1.0 / (1.0 + np.exp(0.3 - X @ [1.0, -1.0, 2.0, 1.0]))
    return X.astype(float), np.where(rng.random(n) < chance, 1.0, -1.0)


def make(X: np.ndarray, y: np.ndarray, loss: str, **changes: float) -> Instance:
    settings = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 100.0, **changes}
    return Instance(X, y, support_size=3, loss=loss, **settings)


def problem_of(instance: Instance) -> PreparedBoxDual:
    assert isinstance(instance.prepared, PreparedBoxDual)
    return instance.prepared


SUPPORTS = np.array(list(itertools.combinations(range(4), 3)))


@pytest.mark.parametrize("loss", CHOICES)
@pytest.mark.parametrize("seed", range(3))
def test_an_ordinary_table_of_categories(loss: str, seed: int) -> None:
    problem = problem_of(make(*table(seed), loss))
    solutions = problem.solved(SUPPORTS)
    assert np.all(solutions.gaps <= 1e-9 * solutions.values)


HURT = {
    "hinge": [102_314],  # a radius that moves no prediction beyond 1e-6
    "huber": [761_718],  # the slope of a smooth loss proves what Clarabel leaves open
    "quantile": [521_051, 521_753, 540_315],  # a system that rounding leaves singular
}


@pytest.mark.parametrize("loss", HURT)
def test_hostile_problems_without_a_failure(loss: str) -> None:
    assert [line for seed in (*HURT[loss], *range(60)) for line in unproven(loss, seed)] == []


@pytest.mark.parametrize("loss", CHOICES)
@pytest.mark.parametrize("ridge", [1e-9, 1.0, 500.0])
def test_settled_rows_change_no_value(
    loss: str, ridge: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    X = rng.uniform(-1.0, 1.0, (3_000, 4))
    y = np.clip(X @ [1.0, 0.0, -0.5, 0.2] + 0.2 * rng.standard_normal(3_000), -1.0, 1.0)
    instance = make(X, np.where(y > 0.0, 1.0, -1.0) if loss == "hinge" else y, loss, ridge=ridge)
    sizes = []

    def counted(problems: open_rows.Problems, *more: int) -> tuple[np.ndarray, np.ndarray]:
        sizes.append(problems.columns.shape[2])
        return by_interior_point(problems, *more)

    def without_newton(
        columns: np.ndarray, box: BoxDual, ridge: float, **_: object
    ) -> tuple[np.ndarray, np.ndarray]:
        m, s, n = columns.shape
        return np.zeros((m, s)), np.tile(box.best_dual(np.zeros(n)), (m, 1))

    by_interior_point = open_rows.solve_by_interior_point
    monkeypatch.setattr(open_rows, "solve_by_newton", without_newton)
    monkeypatch.setattr(open_rows, "solve_by_interior_point", counted)
    settled = instance.objectives(SUPPORTS)
    assert max(sizes) < instance.n
    monkeypatch.setattr(open_rows, "MANY_ROWS", 10**9)
    assert instance.objectives(SUPPORTS) == pytest.approx(settled, rel=2e-10)
    assert max(sizes) == instance.n


def test_many_rows_at_a_kink_are_solved_in_the_end() -> None:
    X = np.zeros((2_000, 4))
    X[:, 0] = np.arange(2_000) % 2
    X[::7, 1] = 1e-3
    y = np.where(np.arange(2_000) % 4 == 3, 1.0, -1.0)
    solutions = problem_of(make(X, y, "hinge", coef_bound=3.0)).solved(SUPPORTS)
    assert np.all(solutions.gaps <= 1e-9 * solutions.values)


@pytest.mark.parametrize("softness", [0.0, 1.0])
def test_the_gap_is_primal_less_dual_and_keeps_its_digits(softness: float) -> None:
    rng = np.random.default_rng(1)
    y, columns = rng.standard_normal(40), rng.standard_normal((5, 3, 40))
    box = BoxDual(y, np.full(40, -0.3), np.full(40, 0.6), softness)
    coef = rng.standard_normal((5, 3))
    coef /= np.linalg.norm(coef, axis=1)[:, None] * rng.uniform(1.0, 3.0, (5, 1))
    dual = rng.uniform(-0.3, 0.6, (5, 40))
    for ridge in (0.0, 0.7, 200.0):
        found = certified(columns, box, ridge, coef, dual)
        u = np.einsum("ms,msn->mn", coef, columns)
        primal = box.loss(u) + 0.5 * ridge * (coef**2).sum(axis=1)
        length = np.linalg.norm(np.einsum("msn,mn->ms", columns, dual), axis=1)
        inside = np.minimum(1.0, length / max(ridge, 1e-300))
        gain = length * inside - 0.5 * ridge * inside**2
        assert found.values == pytest.approx(primal, rel=1e-13)
        assert found.lower == pytest.approx(box.conjugate(dual) - gain, rel=1e-12)
    tiny = 1e-12 * columns
    found = certified(tiny, box, 0.0, 0.0 * coef, np.repeat(box.best_dual(0.0 * y)[None], 5, 0))
    length = np.linalg.norm(np.einsum("msn,mn->ms", tiny, found.dual), axis=1)
    assert found.gaps == pytest.approx(length, rel=1e-9)


def test_infeasible_points_are_made_feasible_before_they_prove_anything() -> None:
    box = BoxDual(np.ones(4), np.full(4, -1.0), np.ones(4), 0.0)
    found = certified(np.ones((1, 1, 4)), box, 0.0, np.array([[9.0]]), np.full((1, 4), 7.0))
    assert found.coef.tolist() == [[1.0]]
    assert found.dual.tolist() == [[1.0] * 4]
    assert found.values.tolist() == [0.0]
    assert found.gaps.tolist() == [0.0]


@pytest.mark.parametrize("softness", [0.0, 1.0])
def test_clarabel_gives_coefficients_and_a_dual_point(softness: float) -> None:
    rng = np.random.default_rng(2)
    columns = 1e4 * rng.standard_normal((1, 3, 50))
    y = 1e-3 * rng.standard_normal(50)
    box = BoxDual(y, np.full(50, -1e-5), np.full(50, 3e-5), softness)
    coef, dual = solve_by_clarabel(columns[0], box, 1.0)
    found = certified(columns, box, 1.0, coef[None], dual[None])
    assert found.gaps[0] <= ACCURACY * 3e-5 * 1e4


@pytest.mark.parametrize("loss", CHOICES)
def test_a_value_error_is_public_and_the_gap_within_it(loss: str) -> None:
    one, two = (make(*table(seed, 400), loss, ridge=1e-3) for seed in (0, 1))
    assert one.value_error == two.value_error
    assert 1e-6 * one.sensitivity < one.value_error < 1.01e-6 * one.sensitivity
    allowed = problem_of(one).allowed_gap
    assert allowed == pytest.approx(ACCURACY * one.sensitivity * one.n, rel=1e-3)
    assert allowed < one.n * one.value_error


def test_a_value_error_allows_for_rounding_where_the_sensitivity_is_small() -> None:
    hinge = HingeLoss().value_error(1_000, 1.0, 1e-12)
    assert hinge == pytest.approx(2.0 * box_dual.ROUNDING, rel=0.01)
    assert QuantileLoss(0.5).value_error(10, 2.0, 1.0) == pytest.approx(1.5e-7, rel=1e-5)


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


@pytest.mark.parametrize("solve", [open_rows.solve_by_newton, by_whichever])
@pytest.mark.parametrize("half", [0.001, 0.5, 2.0, 50.0])
@pytest.mark.parametrize("softness", [0.3, 1.0, 20.0])
def test_newton_ends_at_the_optimum(solve: Solve, half: float, softness: float) -> None:
    """With parabolas so narrow that the loss nearly has a kink it may need help."""
    if solve is open_rows.solve_by_newton and half * softness < 0.1:
        return
    for seed, (n, s) in enumerate([(5, 3), (40, 2), (300, 5), (2000, 4)]):
        columns, box, ridge = problems(seed, n, s, half, softness)
        coef, dual = solve(columns, box, ridge)
        solved = certified(columns, box, ridge, coef, dual)
        assert np.all(np.linalg.norm(coef, axis=1) <= 1.0 + 1e-12)
        done = solved.gaps <= 1e-10 * solved.values + 1e-13 * float(np.abs(box.y).sum())
        assert done.mean() > 0.8 if solve is open_rows.solve_by_newton else done.all()


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
    found = certified(
        columns, prepared.box, ridge, *open_rows.solve_by_newton(columns, prepared.box, ridge)
    )
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
    assert isinstance(problem, FenchelLoss)
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
        coef, dual = open_rows.solve_by_newton(columns, box, 1.0)
    assert not coef.any()
    assert np.isfinite(dual).all()
