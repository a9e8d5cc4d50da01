"""Hinge, Huber and quantile on ordinary tables and on hostile ones: solved, and proven."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest

from mipselect import Instance
from mipselect.losses import HingeLoss, QuantileLoss
from mipselect.restricted import box_dual, open_rows
from mipselect.restricted.box_dual import ACCURACY, PreparedBoxDual, solve_by_clarabel
from mipselect.restricted.certified import BoxDual, certified
from tests.soak.exact_values import BOXES, unproven

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


@pytest.mark.parametrize("loss", BOXES)
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
    monkeypatch.setattr(box_dual, "solve", partial(open_rows.solve, many_rows=10**9))
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
