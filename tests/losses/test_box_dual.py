"""Hinge, Huber and quantile: restricted problems against cvxpy, and bounds at every support."""

from __future__ import annotations

import numpy as np
import pytest

from mipselect.errors import InvalidInput, SolverFailure
from mipselect.losses import (
    BY_NAME,
    BoxDualLoss,
    HingeLoss,
    HuberLoss,
    Loss,
    QuantileLoss,
    loss_by_name,
)
from mipselect.problem.descriptions import read_description
from mipselect.problem.instance import Instance
from mipselect.problem.stored import StoredData, load_problem
from mipselect.restricted import box_dual, interior_point, open_rows
from mipselect.restricted.box_dual import PreparedBoxDual
from mipselect.restricted.fenchel import FenchelBounds
from mipselect.restricted.open_rows import solve
from tests.support.by_cvxpy import total_loss, value_by_cvxpy
from tests.support.designs import (
    LOSSES,
    all_supports,
    random_instance,
    random_loss_instance,
)

SEEDS = range(24)


def stop_after(iterations: int, patch: pytest.MonkeyPatch) -> None:
    """Stop all methods after so many steps."""
    patch.setattr(interior_point, "ITERATIONS", iterations)
    patch.setattr(open_rows, "NEWTON_STEPS", iterations)


def small(y: object, loss: object = "hinge", **changes: object) -> Instance:
    n = len(y)  # type: ignore[arg-type]
    X = np.random.default_rng(3).standard_normal((n, 4))
    settings = {
        "support_size": 2, "x_bound": 1.0, "y_bound": 2.0, "coef_bound": 1.5, "ridge": 0.5,
    }  # fmt: skip
    return Instance(changes.pop("X", X), y, loss=loss, **{**settings, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", SEEDS)
def test_values_agree_with_an_independent_solver(loss: str, seed: int) -> None:
    instance = random_loss_instance(seed, loss)
    rng = np.random.default_rng(seed)
    for support in rng.permutation(all_supports(instance))[:2]:
        value = value_by_cvxpy(instance, support)
        assert instance.objective(support) == pytest.approx(value, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_fit_is_feasible_and_has_its_value(loss: str, seed: int) -> None:
    instance = random_loss_instance(seed, loss)
    support = np.random.default_rng(seed).permutation(instance.p)[: instance.support_size]
    fit = instance.fit(support)
    assert np.linalg.norm(fit.coef) <= instance.coef_bound * (1 + 1e-12)
    u = instance.X[:, support] @ fit.coef
    total = total_loss(loss, instance.y, u).value
    penalty = 0.5 * instance.ridge * fit.coef @ fit.coef
    assert fit.value == pytest.approx((total + penalty) / instance.n, rel=1e-12)
    assert fit.multiplier >= 0.0
    if fit.multiplier > 1e-3 * instance.ridge and fit.value > 1e-9:
        assert np.linalg.norm(fit.coef) == pytest.approx(instance.coef_bound, rel=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_of_any_duals_hold_everywhere_and_the_best_are_tight(loss: str, seed: int) -> None:
    """At the optimum of every support, of unfinished solutions, and of arbitrary points."""
    instance = random_loss_instance(seed, loss)
    problem, supports = instance.prepared, all_supports(instance)
    assert isinstance(problem, PreparedBoxDual)
    values = instance.objectives(supports)
    best = problem.bounds(supports)
    assert [best.at(k, supports)[k] for k in range(len(values))] == pytest.approx(
        values, rel=1e-8, abs=1e-12
    )
    box, rng = problem.box, np.random.default_rng(seed)
    duals = [box.low + rng.random((3, instance.n)) * (box.high - box.low)]
    columns = instance.coef_bound * np.ascontiguousarray(instance.X.T)[supports[:3]]
    ridge = instance.ridge * instance.coef_bound**2
    for iterations in (0, 1, 2, 4, 8):
        with pytest.MonkeyPatch.context() as patch:
            stop_after(iterations, patch)
            unfinished = solve(columns, box, ridge, 1e-9)
        assert np.all(unfinished.lower <= unfinished.values * (1 + 1e-12))
        duals.append(unfinished.dual)
    bounds, sizes = (instance.n, instance.ridge, instance.coef_bound), map(len, duals)
    points = [FenchelBounds(*problem.bounds_of(dual), *bounds, np.zeros(k))
              for dual, k in zip(duals, sizes, strict=True)]  # fmt: skip
    for found in (best, *points):
        for row in range(len(found.constants)):
            assert np.all(found.at(row, supports) <= values * (1 + 1e-12))


@pytest.mark.parametrize(
    ("loss", "spread"),
    [
        (HingeLoss(), {0.4: 0.8, 1.0: 2.0, 2.0: 3.0}),
        (HuberLoss(0.5), {0.4: 0.5 * 2.4 - 0.125, 2.0: 0.5 * 4.0 - 0.125}),
        (HuberLoss(9.0), {0.4: 2.88, 2.0: 8.0}),
        (QuantileLoss(0.9), {0.4: 0.9 * 2.4, 2.0: 0.9 * 4.0}),
        (QuantileLoss(0.2), {0.4: 0.8 * 2.4, 2.0: 0.8 * 4.0}),
    ],
)
def test_spreads(loss: Loss, spread: dict[float, float]) -> None:
    for u_bound, expected in spread.items():
        assert loss.spread(2.0, u_bound) == pytest.approx(expected, rel=1e-15)


def test_the_largest_huber_threshold_is_the_squared_loss() -> None:
    for seed in range(6):
        squared = random_instance(seed, max_p=6, max_s=2)
        huber = random_loss_instance(seed, "huber(1e6)", max_p=6, max_s=2)
        supports = all_supports(squared)
        assert huber.objectives(supports) == pytest.approx(squared.objectives(supports), rel=1e-8)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([0, 1, 1, 0], ("0", "1")),
        ([-1.0, 1.0, 1.0, -1.0], ("-1.0", "1.0")),
        ([False, True, True, False], ("False", "True")),
        (["benign", "malignant", "malignant", "benign"], ("benign", "malignant")),
        (np.array(["a", "b", "b", "a"], dtype=object), ("a", "b")),
    ],
)
def test_two_classes_are_mapped_and_reported(y: object, classes: tuple[str, str]) -> None:
    instance = small(y, y_bound=0.5)
    assert instance.y.tolist() == [-1.0, 1.0, 1.0, -1.0]
    assert instance.classes == classes
    assert repr(classes) in repr(instance)
    assert instance.y_bound == 1.0
    assert small([0.0, 1.0], "huber").classes is None


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 1, 1], "two classes.*all 3 rows have the same"),
        (["a", "b", "c"], "3 different values, and row 2 another"),
        ([0.0, np.nan, 1.0], "y must be finite: row 1"),
        (np.array(["a", None, "b"], dtype=object), "row 1 holds None"),
    ],
)
def test_other_than_two_classes_are_refused(y: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        small(y)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("hing", "unknown; known: squared, hinge, huber, quantile"),
        ("huber(", "unknown"),
        ("huber(x)", "must be a number"),
        ("huber(1_0)", "must be a number"),
        ("huber(0)", "finite number > 0"),
        ("huber(nan)", "finite number > 0"),
        ("quantile(1)", "strictly between 0 and 1"),
        ("hinge(2)", "hinge has no parameter"),
    ],
)
def test_wrong_loss_names(loss: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        small([0.0, 1.0], loss)


def test_names_and_objects_are_the_same() -> None:
    y = np.linspace(-1.0, 1.0, 12)
    by_name, by_object = small(y, "huber(0.7)"), small(y, HuberLoss(0.7))
    assert by_name.loss == by_object.loss == "huber(0.7)"
    assert by_name.objective([0, 1]) == by_object.objective([0, 1])
    assert loss_by_name(QuantileLoss(0.25).name) == QuantileLoss(0.25)


def test_a_name_may_have_a_hyphen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BY_NAME, "smooth-huber", HuberLoss)
    monkeypatch.setattr("mipselect.losses.WITH_PARAMETER", {"smooth-huber"})
    assert loss_by_name("smooth-huber") == HuberLoss()
    assert loss_by_name("smooth-huber(0.3)") == HuberLoss(0.3)


class RoundedHinge(HingeLoss):
    """Of classes, and under another name than the hinge."""

    name = "rounded-hinge"


def test_a_loss_of_classes_is_known_by_what_it_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    y = [0, 1] * 6
    assert small(y, RoundedHinge()).problem.of_classes
    with pytest.raises(InvalidInput, match="the rounded-hinge loss needs y of two classes"):
        small([1.0, 2.0, 3.0], RoundedHinge())
    assert not small(y, "huber(0.3)").problem.of_classes
    monkeypatch.setitem(BY_NAME, "rounded-hinge", RoundedHinge)
    problem = load_problem("tiny-plain")
    settings = {**read_description("tiny-plain").settings, "loss": "rounded-hinge"}
    arrays = (problem.data.X, problem.data.y, None)
    problem = StoredData.of_arrays(problem.path, arrays, settings)
    with pytest.raises(InvalidInput, match=r"\(sensitive\) the rounded-hinge loss needs a target"):
        problem.instance()


class Stated(BoxDualLoss):
    """½|y - u|, with a range and a box that somebody states."""

    name = "stated"

    def __init__(self, spread: float = 0.5, moved: float = 1.0, low: float = -0.5) -> None:
        self.share, self.moved, self.low = spread, moved, low

    def box(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.full(len(y), self.low), np.full(len(y), 0.5)

    def spread(self, y_bound: float, u_bound: float) -> float:
        return self.share * (y_bound + u_bound)

    def oscillation(self, y_bound: float, u_bound: float) -> float:
        return self.moved * u_bound


def test_a_range_that_the_loss_leaves_is_refused() -> None:
    y = [0.5, -0.5] * 6
    assert small(y, Stated()).sensitivity > 0.0
    for wrong, words in (
        (Stated(spread=0.4), "spread is stated as"),
        (Stated(moved=0.9), "oscillation is stated as"),
        (Stated(low=0.5), r"lo\(y\) < hi\(y\)"),
    ):
        with pytest.raises(InvalidInput, match=words):
            small(y, wrong)


@pytest.mark.parametrize("loss", LOSSES)
def test_zero_columns_duplicates_and_separable_data(loss: str) -> None:
    y = np.array([-1.0, 1.0] * 10)
    X = np.zeros((20, 4))
    X[:, 1] = X[:, 2] = y
    instance = small(y, loss, X=X, coef_bound=9.0, ridge=1e-6)
    nothing, one, both = (instance.objective(S) for S in ([0, 3], [0, 1], [1, 2]))
    assert nothing > 0.1
    assert 0.0 < both < one < 1e-6
    assert instance.objective([0, 2]) == pytest.approx(one, rel=1e-9)
    assert instance.fit([0, 3]).coef.tolist() == [0.0, 0.0]


def test_a_value_that_cannot_be_certified_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_after(1, monkeypatch)
    instance = small([0.0, 1.0, 1.0, 0.5], "huber(0.2)")
    asked = []

    def useless(columns: np.ndarray, *_: object) -> tuple[np.ndarray, np.ndarray]:
        asked.append(1)
        return np.zeros(len(columns)), np.zeros(columns.shape[1])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(box_dual, "solve_by_clarabel", useless)
        with pytest.raises(SolverFailure, match="duality gap"):
            instance.objective([0, 1])
    assert asked
    by_clarabel = instance.objective([0, 1])
    monkeypatch.undo()
    assert by_clarabel == pytest.approx(instance.objective([0, 1]), rel=1e-9)
