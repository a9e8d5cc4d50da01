"""Objective perturbation: its constants, its exact densities on hostile pairs, its minimisers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from itertools import pairwise, product
from typing import Any

import cvxpy as cp
import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import gamma, kstest, norm

from mipselect.errors import InvalidInput
from mipselect.mechanisms.noise.noise import standard_normals
from mipselect.regression import (
    AdaSSPRegressor,
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    objective_perturbation,
)
from mipselect.regression.objective_perturbation import product_laplace
from mipselect.regression.perturbed_objective import (
    Huber,
    LogisticLoss,
    Perturbation,
    SmoothLoss,
    balanced_ridge,
    lightest_ridge,
    perturbed_minimiser,
    with_ridge,
)
from mipselect.regression.rows import Balls, RowMap
from mipselect.selectors import SISSelector
from tests.support.hockey_stick import Box, MixedLaw, integral, largest_delta
from tests.support.perturbed_laws import PerturbedMinimiser, norms_in

SQUARES = Huber(math.inf)
LOSSES: list[SmoothLoss] = [SQUARES, Huber(0.4), LogisticLoss()]
RELATIONS = ["add-remove", "replace-one"]
Table = np.ndarray
"""Rows whose last entry is the target."""


def gradients(loss: SmoothLoss, rows: Table, y: Table, beta: Table) -> Table:
    return loss.values(y, rows @ beta)[1][:, None] * rows


def noise(source: random.Random, size: int, scale: float) -> Table:
    """Noise in the Euclidean norm."""
    return product_laplace(source, Balls((size,), (1.0,)), scale)


def calibrated(
    loss: SmoothLoss, epsilon: float, ridge: float, relation: str, norm_: float, y_bound: float,
    radius: float, columns: int,
) -> Perturbation:  # fmt: skip
    change = (
        loss.replaced(norm_, y_bound, radius)
        if relation == "replace-one"
        else norm_ * loss.slope(y_bound, radius * norm_)
    )
    curvature = norm_**2 * loss.curvature
    ridge = lightest_ridge(epsilon, ridge, change, curvature, radius, columns)
    return with_ridge(ridge, epsilon, change, curvature)


def published(epsilon: float, ridge: float, zeta: float, curvature: float) -> Perturbation:
    """η = ε/2ζ and a ridge of at least 2λ̄/ε, for any relation."""
    return Perturbation(max(ridge, 2.0 * curvature / epsilon), 2.0 * zeta / epsilon)


def test_the_constants_of_the_published_setting() -> None:
    """p = 100, s = 5, b = 0.5, r = 1.1, λ = 120, ε = 1: the mean length of the noise."""
    norm_, y_bound, r = 0.5 * math.sqrt(5.0), 0.5, 1.1
    for relation, radius in (("add-remove", 9.77), ("replace-one", 11.19)):
        ball = calibrated(SQUARES, 1.0, 120.0, relation, norm_, y_bound, r, 5)
        assert 5.0 * ball.noise_scale == pytest.approx(radius, abs=0.01)
        model = ObjectivePerturbationRegressor(
            x_bound=0.5, y_bound=0.5, coef_bound=r, ridge=120.0, fit_intercept=False,
            relation=relation,
        )  # fmt: skip
        chosen, balls = model._perturbation(5), model._change(5)[0]
        assert chosen.ridge == 120.0
        assert math.log1p(norm_**2 / chosen.ridge) == pytest.approx(0.0104, abs=1e-4)
        # Where a row is added, noise in the norm of the entries is less.
        deviation = balls.deviation * chosen.noise_scale
        in_the_ball = Balls((5,), (1.0,)).deviation * ball.noise_scale
        share = 1.0 if relation == "replace-one" else math.sqrt(7.0 / 15.0)
        assert deviation == pytest.approx(share * in_the_ball, rel=1e-9)
    zeta = norm_ * (y_bound + r * norm_)
    assert 5.0 * published(1.0, 120.0, zeta, 1.25).noise_scale == pytest.approx(19.34, abs=0.01)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 10.0, 1e3])
@pytest.mark.parametrize("ridge", [0.0, 0.5, 120.0])
def test_epsilon_is_spent_and_the_ridge_is_the_best(epsilon: float, ridge: float) -> None:
    change, curvature, radius, columns = 2.0, 1.5, 0.8, 4
    lightest = lightest_ridge(epsilon, ridge, change, curvature, radius, columns)
    chosen = with_ridge(lightest, epsilon, change, curvature)
    assert chosen.ridge >= ridge
    spent = change / chosen.noise_scale + math.log1p(curvature / chosen.ridge)
    assert spent <= epsilon
    assert spent == pytest.approx(epsilon, rel=1e-9)

    def added(c: float) -> float:
        return columns * change / (epsilon - math.log1p(curvature / c)) + radius * c

    for factor in (1.01, 1.5, 0.99):
        other = chosen.ridge * factor
        if other >= ridge and epsilon > math.log1p(curvature / other):
            assert added(other) >= added(chosen.ridge) * (1.0 - 1e-9)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_noise_and_curvature_together_are_within_epsilon(relation: str) -> None:
    """Of the squared loss, whose constants are known: B(B_y + rB), or D when a row is replaced."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        size = int(rng.integers(1, 6))
        x_bound, y_bound, radius = np.exp(rng.uniform(-3.0, 3.0, 3)).tolist()
        bounds = {"x_bound": x_bound, "y_bound": y_bound, "coef_bound": radius}
        # The curvature takes from next to nothing to nearly all of ε.
        epsilon, ridge = np.exp(rng.uniform((-6.0, -12.0), (3.0, 6.0))).tolist()
        model = ObjectivePerturbationRegressor(
            epsilon=epsilon, loss="squared", relation=relation, ridge=ridge, **bounds
        )
        norm, radii = model._rows(size).norm, model._change(size)[0].radii
        found = model._perturbation(size)
        with mpmath.workdps(60):
            B, y, r = mpmath.mpf(norm), mpmath.mpf(model._clip_bound), mpmath.mpf(radius)
            kappa = r * B / y
            s = (mpmath.sqrt(1 + 8 * kappa**2) - 1) / (4 * kappa)
            whole = 2 * (y + r * B * s) * mpmath.sqrt(1 - s**2)
            apart = y + r * B
            apart *= 1 if relation == "add-remove" else 2
            # In one ball of whole rows two gradients may be nearer than twice the largest.
            moves = whole if relation == "replace-one" and radii == (norm,) else apart
            curvature = mpmath.log1p(B**2 / mpmath.mpf(found.ridge))
            spent = moves / mpmath.mpf(found.noise_scale) + curvature
            assert mpmath.mpf(epsilon) * (1 - 1e-11) <= spent <= mpmath.mpf(epsilon)


def farthest(loss: SmoothLoss, y_bound: float, radius: float, relation: str, seed: int) -> float:
    """The largest change of a gradient that a search finds; rows in the unit disc."""
    rng = np.random.default_rng(seed)
    classes = isinstance(loss, LogisticLoss)

    def change(v: np.ndarray) -> float:
        total = np.zeros(2)
        for weight, (angle, length, target) in zip((1.0, -1.0), v.reshape(-1, 3), strict=False):
            row = np.array([[math.cos(angle), math.sin(angle)]]) * math.sin(length)
            y = np.array([math.copysign(1.0, math.sin(target)) if classes
                          else y_bound * math.sin(target)])  # fmt: skip
            total = total + weight * gradients(loss, row, y, np.array([radius, 0.0]))[0]
        return -float(np.linalg.norm(total))

    size = 6 if relation == "replace-one" else 3
    best = 0.0
    for _ in range(12):
        start = rng.uniform(-3.0, 3.0, size)
        found = minimize(change, start, method="Nelder-Mead", options={"maxiter": 1500})
        best = max(best, -found.fun)
    return best


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_no_row_moves_the_gradient_by_more(loss: SmoothLoss, relation: str) -> None:
    for y_bound, radius in ((1.0, 0.25), (1.0, 2.0)):
        allowed = (
            loss.replaced(1.0, y_bound, radius)
            if relation == "replace-one"
            else loss.slope(y_bound, radius)
        )
        found = farthest(loss, y_bound, radius, relation, 1)
        assert found <= allowed * (1.0 + 1e-9)
        tight = loss == SQUARES or relation == "add-remove"
        assert found >= allowed * (0.999 if tight else 0.6)


def hostile_pairs(relation: str, columns: int, y_bound: float, seed: int) -> list[tuple]:
    """Tables of rows on the sphere whose targets are at the bounds, and one row changed."""
    rng = np.random.default_rng(seed)

    def row() -> Table:
        direction = rng.normal(size=columns) if rng.random() < 0.8 else np.eye(columns)[0]
        return np.append(direction / np.linalg.norm(direction), rng.choice([-1.0, 1.0]) * y_bound)

    pairs = []
    for _ in range(25):
        table = np.array([row() for _ in range(int(rng.integers(1, 6)))])
        if rng.random() < 0.5:
            table[1:] = table[0] if len(table) > 1 else table[1:]
        kept = table if relation == "add-remove" else table[1:]
        pairs += [(table, np.vstack([row(), kept])) for _ in range(3)]
    return pairs


def law_of(loss: SmoothLoss, chosen: Perturbation, radius: float) -> Callable[[Table], MixedLaw]:
    """From a table to the whole law, with one or two columns."""
    return lambda table: PerturbedMinimiser(loss, table[:, :-1], table[:, -1], chosen, radius).law


@pytest.mark.parametrize(("radius", "theirs"), [(0.001, 1.11), (0.01, 1.107), (0.05, 1.09)])
def test_the_published_constants_need_a_delta(radius: float, theirs: float) -> None:
    """At ε = 0.1 with all of their slack, in one dimension: a loss of 1.107 ε and the like.

    A row of half the length has another sign of the gradient and a quarter of the Hessian; many
    short rows decide the sign of the noise and add hardly a curvature.
    """
    epsilon = 0.1
    rest = np.tile([0.01, 1.0], (300, 1))
    pair = tuple(np.vstack([row, rest]) for row in ([1.0, -1.0], [0.5, 1.0]))
    found = {
        name: largest_delta(law_of(SQUARES, chosen, radius), [pair], epsilon)
        for name, chosen in (
            ("published", published(epsilon, 0.0, 1.0 + radius, 1.0)),
            ("here", calibrated(SQUARES, epsilon, 0.0, "replace-one", 1.0, 1.0, radius, 1)),
        )
    }
    print(f"r = {radius}:", *(f"{name}: {one}" for name, one in found.items()))
    assert found["published"].loss > theirs * epsilon
    assert found["published"].delta > 1e-6
    assert found["published"].error < 1e-9
    assert found["here"].delta == 0.0
    assert 0.5 * epsilon < found["here"].loss <= epsilon


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_no_pair_needs_a_delta(loss: SmoothLoss, relation: str) -> None:
    """The whole law in one dimension, the boundary with it, at ε and below."""
    epsilon, radius = 1.0, 0.4
    chosen = calibrated(loss, epsilon, 0.0, relation, 1.0, 1.0, radius, 1)
    pairs = hostile_pairs(relation, 1, 1.0, 5)[:12]
    whole, part = (
        largest_delta(law_of(loss, chosen, radius), pairs, share * epsilon, tolerance=1e-6)
        for share in (1.0, 0.1)
    )
    assert (whole.delta, whole.loss <= epsilon) == (0.0, True)
    assert part.delta > 0.05
    assert part.error < 1e-5
    # With a third of the noise the audit fails it.
    loud = Perturbation(chosen.ridge, chosen.noise_scale / 3.0)
    broken = largest_delta(law_of(loss, loud, radius), pairs, epsilon, tolerance=1e-6)
    assert broken.delta > 0.01


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_minimisers_by_cvxpy(loss: SmoothLoss) -> None:
    rng = np.random.default_rng(11)
    for trial in range(12):
        n, d = int(rng.integers(1, 12)), int(rng.integers(1, 5))
        rows = rng.uniform(-1.0, 1.0, (n, d))
        if trial % 3 == 0:
            rows[:, -1] = rows[:, 0]
        y = rng.choice([-1.0, 1.0], n)
        noise, ridge, radius = rng.normal(size=d) * 5.0, 10.0 ** rng.uniform(-2, 1), 0.7
        beta = cp.Variable(d)
        u = rows @ beta
        terms = {
            "squared": lambda u=u, y=y: 0.5 * cp.sum_squares(y - u),
            "huber(0.4)": lambda u=u, y=y: 0.5 * cp.sum(cp.huber(y - u, 0.4)),
            "logistic": lambda u=u, y=y: cp.sum(cp.logistic(-cp.multiply(y, u))),
        }
        ours = perturbed_minimiser(loss, rows, y, ridge, noise, radius)
        assert np.linalg.norm(ours) <= radius * (1.0 + 1e-12)
        if loss.name in terms:
            objective = terms[loss.name]() + 0.5 * ridge * cp.sum_squares(beta) + noise @ beta
            cp.Problem(cp.Minimize(objective), [cp.norm(beta) <= radius]).solve(solver="CLARABEL")
            np.testing.assert_allclose(ours, beta.value, atol=2e-5)
        gradient = gradients(loss, rows, y, ours).sum(axis=0) + ridge * ours + noise
        # At the minimum the gradient is a multiple of -β, and zero inside.
        multiplier = float(-(gradient @ ours) / (ours @ ours))
        scale = 1.0 + np.abs(noise).max()
        np.testing.assert_allclose(gradient + multiplier * ours, 0.0, atol=1e-9 * scale)
        assert multiplier >= -1e-9 * scale
        if np.linalg.norm(ours) < radius * (1.0 - 1e-9):
            assert abs(multiplier) <= 1e-8 * scale


def test_derivatives_are_those_of_the_values() -> None:
    u = np.linspace(-3.0, 3.0, 400) + 1e-3
    for loss in LOSSES:
        for y in (-1.0, 1.0):
            target = np.full_like(u, y)
            value, slope, curvature = loss.values(target, u)
            more = loss.values(target, u + 1e-6)
            np.testing.assert_allclose((more[0] - value) / 1e-6, slope, atol=1e-5)
            kinks = np.abs((more[1] - slope) / 1e-6 - curvature) > 1e-5
            assert kinks.sum() <= 4
            assert np.all(value >= -1e-15)
            assert np.all(curvature <= loss.curvature + 1e-15)


def test_normals_have_no_largest_size_and_their_precision_near_zero() -> None:
    class FromAnEnd(random.Random):
        """A source whose words are of one byte over and over, as rare ones are."""

        def __init__(self, byte: bytes) -> None:
            super().__init__(3)
            self.byte = byte

        def randbytes(self, n: int) -> bytes:
            return self.byte * n

    plain = standard_normals(random.Random(5), 20_000)
    assert kstest(plain, norm.cdf).pvalue > 1e-4
    large = np.abs(standard_normals(FromAnEnd(b"\x00"), 4000))
    assert large.min() > 9.0
    assert large.max() > 9.6  # They ended at 9.2.
    assert kstest(2.0 * norm.sf(large) * 2.0**63, "uniform").pvalue > 1e-4
    small = np.abs(standard_normals(FromAnEnd(b"\xff"), 4000))
    assert small.min() > 0.0
    assert kstest(small * math.sqrt(2.0 / math.pi) * 2.0**63, "uniform").pvalue > 1e-4


def test_signal_is_found_and_coefficients_stay_in_the_ball() -> None:
    rng = np.random.default_rng(2)
    X = rng.uniform(-1.0, 1.0, (4000, 3))
    y = X @ [0.5, 0.0, -0.4] + 0.2
    for loss in ("squared", "huber(0.5)"):
        model = ObjectivePerturbationRegressor(
            epsilon=5.0, x_bound=1.0, y_bound=2.0, coef_bound=1.0, loss=loss
        ).fit(X, y)
        np.testing.assert_allclose(model.coef_, [0.5, 0.0, -0.4], atol=0.1)
        assert model.score(X, y) > 0.9
        assert model.release_.footnotes
    small = ObjectivePerturbationRegressor(
        epsilon=1e-3, x_bound=1.0, y_bound=2.0, coef_bound=0.3
    ).fit(X[:2], y[:2])
    assert np.hypot(np.linalg.norm(small.coef_), small.intercept_) <= 0.3
    separable = np.where(X[:, 0] > 0.0, "yes", "no")
    judge = ObjectivePerturbationClassifier(epsilon=5.0, x_bound=1.0, coef_bound=8.0)
    judge.fit(X, separable)
    assert judge.score(X, separable) > 0.95
    assert judge.release_.predict(X[:5]).tolist() == judge.predict(X[:5]).tolist()


def test_a_row_without_a_class_does_not_count() -> None:
    u = np.linspace(-3.0, 3.0, 13)
    values, slopes, curvatures = LogisticLoss().values(np.zeros_like(u), u)
    assert np.ptp(values) == 0.0
    assert not slopes.any()
    assert not curvatures.any()


def huber_slopes(threshold: float, y: Table, u: Table) -> Table:
    return np.clip(u - y, -threshold, threshold)


def logistic_slopes(y: Table, u: Table) -> Table:
    return -y / (1.0 + np.exp(y * u))


def left_over(monkeypatch: pytest.MonkeyPatch, model: Any, X: Table, y: Table, slopes: Any) -> Any:
    """Fit, and return what is left of the gradient at the minimiser, in units of the noise.

    By so much the noise that leads there exactly differs from the one that was drawn, so by so
    many nats a probability may differ from what it should be.
    """
    drawn: list[tuple[Balls, Table]] = []

    def recorded(source: random.Random, balls: Balls, scale: float) -> Table:
        drawn.append((balls, product_laplace(source, balls, scale)))
        return drawn[-1][1]

    monkeypatch.setattr(objective_perturbation, "product_laplace", recorded)
    monkeypatch.setattr(objective_perturbation, "STEPS", 2.0**200)  # No cell hides it.
    released = model.fit(X, y).release_
    ((balls, noise),) = drawn
    theta = np.append(released.coefficients, released.intercept)
    rows = np.column_stack([X, np.ones(len(X))])
    gradient = rows.T @ slopes(y, rows @ theta) + released.bounds["ridge"] * theta + noise
    radius = released.bounds["coef_bound"]
    if np.linalg.norm(theta) >= radius * (1.0 - 1e-12):
        gradient += max(0.0, -(gradient @ theta) / radius**2) * theta
    return float(norms_in(balls, gradient[None])[0]) / released.bounds["noise_scale"]


@pytest.mark.parametrize("seed", range(6))
def test_a_narrow_part_of_huber(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng, threshold = np.random.default_rng(seed), 1e-5
    X = 0.05 * np.clip(rng.normal(size=(400, 2)), -1.0, 1.0)
    y = rng.normal(size=400)
    model = ObjectivePerturbationRegressor(
        epsilon=20.0, x_bound=0.05, y_bound=1.0, loss=f"huber({threshold!r})",
        relation="add-remove", coef_bound=2.0, random_state=seed,
    )  # fmt: skip
    left = left_over(monkeypatch, model, X, y, lambda y, u: huber_slopes(threshold, y, u))
    assert left <= 1e-4


@pytest.mark.parametrize("seed", range(6))
def test_columns_of_very_different_units(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    rng, bounds = np.random.default_rng(seed), [1e-9, 1e-3, 1.0, 1e6]
    X = rng.uniform(-1.0, 1.0, (400, 4)) * bounds
    y = np.where(X[:, 0] / bounds[0] + rng.normal(size=400) > 0.0, 1.0, -1.0)
    model = ObjectivePerturbationClassifier(epsilon=8.0, x_bound=bounds, random_state=seed)
    left = left_over(monkeypatch, model, X, y, logistic_slopes)
    assert left <= 1e-4


def skewed(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Days of a stay: a tenth are long, and their mean is above their median."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n, 1))
    return X, X[:, 0] + rng.gamma(0.5, 4.0, n)


def huber(**options: object) -> ObjectivePerturbationRegressor:
    asked = {"loss": "huber", "x_bound": 1.0, "y_bound": 10.0, "random_state": 0, **options}
    return ObjectivePerturbationRegressor(**asked)


@pytest.mark.parametrize(
    ("n", "epsilon", "relation", "threshold"),
    [
        (2000, 1.0, "replace-one", 2.5),
        (100, 1.0, "replace-one", 2.5),
        (8000, 1.0, "replace-one", 5.0),
        (4000, 2.0, "replace-one", 5.0),
        (4000, 20.0, "replace-one", 10.0),
        (8000, 1.0, "add-remove", 2.5),
    ],
)
def test_without_a_number_it_follows_from_public_rows(
    n: int, epsilon: float, relation: str, threshold: float
) -> None:
    """And from nothing else: the model is that of the number."""
    shared = {"epsilon": epsilon, "relation": relation}
    found = huber(**shared).fit(*skewed(n))
    again = huber(**shared, loss=f"huber({threshold})").fit(*skewed(n))
    assert found.release_.mechanism == f"objective-perturbation, huber({threshold!r})"
    np.testing.assert_array_equal(found.coef_, again.coef_)
    assert found.get_params()["loss"] == "huber"


def test_the_least_bound_of_a_target_has_a_model_too() -> None:
    """A draw that fails would have been paid for."""
    X, y = skewed(100)
    assert huber(epsilon=1.0, y_bound=1e-25).fit(X, 1e-25 * y).release_.has_model


LOSSES_IN_BALLS = ["logistic", "huber(0.25)", "huber(9)", "squared"]
Model = ObjectivePerturbationClassifier | ObjectivePerturbationRegressor
SHAPES: dict[str, tuple[int, dict[str, Any]]] = {
    "two numbers": (2, {"fit_intercept": False}),
    "a number and the one": (1, {}),
    "a field of two": (2, {"fit_intercept": False, "fields": (2,)}),
    "numbers of two lengths": (2, {"fit_intercept": False, "x_bound": [1.0, 0.2]}),
    "a short row": (2, {"fit_intercept": False, "row_bound": 0.5}),
}
Pair = tuple[np.ndarray, np.ndarray]
"""Two tables of mapped rows whose last entry is the target, in ± 1."""


def model_of(shape: str, loss: str = "logistic", **options: Any) -> tuple[int, Model]:
    size, own = SHAPES[shape]
    given = {"x_bound": 1.0, **own, **options}
    if loss == "logistic":
        return size, ObjectivePerturbationClassifier(**given)
    return size, ObjectivePerturbationRegressor(y_bound=1.0, loss=loss, **given)


def hostile_pairs_in_balls(rows: RowMap, relation: str, n: int, seed: int) -> Iterator[Pair]:
    """Rows at the corners of what the map allows, and one of them changed."""
    rng = np.random.default_rng(seed)

    def row() -> np.ndarray:
        at = rng.choice([-9.0, 9.0, 0.0, 1e-3], rows.size, p=[0.4, 0.4, 0.1, 0.1])
        return np.append(rows(at[None])[0], rng.choice([-1.0, 1.0]))

    for _ in range(30):
        kept = np.array([row() for _ in range(n - 1)]).reshape(n - 1, rows.columns + 1)
        if n > 1 and rng.random() < 0.5:
            kept[:] = kept[0]
        whole = np.vstack([row(), kept])
        yield whole, np.vstack([row(), kept if relation == "replace-one" else whole])


def law(model: Model, size: int, table: np.ndarray, count: int | None,
        chosen: Perturbation | None = None) -> PerturbedMinimiser:  # fmt: skip
    return PerturbedMinimiser(
        model._loss(), table[:, :-1], table[:, -1],
        chosen or model._perturbation(size, count), model._radius(size), model._change(size)[0],
    )  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("loss", LOSSES_IN_BALLS)
def test_exact_densities_keep_epsilon(loss: str, relation: str, shape: str) -> None:
    rng = np.random.default_rng(3)
    for epsilon, n, ridge in ((0.1, 1, None), (1.0, 4, None), (3.0, 400, None), (1.0, 5, 0.0)):
        size, model = model_of(
            shape, loss, relation=relation, epsilon=epsilon, ridge=ridge, coef_bound=8.0
        )
        count = n if relation == "replace-one" else None
        worst = 0.0
        for one, other in hostile_pairs_in_balls(model._rows(size), relation, n, n):
            betas = rng.normal(size=(24, model._rows(size).columns))
            betas *= (8.0 * rng.random(24) ** 2 / np.linalg.norm(betas, axis=1))[:, None]
            logs = [law(model, size, table, count).log_density(betas) for table in (one, other)]
            worst = max(worst, float(np.abs(logs[0] - logs[1]).max()))
        assert 0.3 * epsilon < worst <= epsilon * (1.0 + 1e-9)


@pytest.mark.parametrize("shape", ["two numbers", "a number and the one"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("loss", ["logistic", "huber(0.25)"])
def test_no_pair_needs_a_delta_in_balls(loss: str, relation: str, shape: str) -> None:
    """The whole law, with the boundary of a small ball."""
    size, model = model_of(shape, loss, relation=relation, epsilon=1.0, coef_bound=0.7)
    count = 3 if relation == "replace-one" else None

    def law_of(chosen: Perturbation) -> Callable[[np.ndarray], MixedLaw]:
        return lambda table: law(model, size, table, count, chosen).law

    pairs = list(hostile_pairs_in_balls(model._rows(size), relation, 3, 1))[:1]
    chosen = model._perturbation(size, count)
    whole = largest_delta(law_of(chosen), pairs, 1.0, tolerance=1e-2)
    assert whole.delta == 0.0
    assert whole.loss <= 1.0


def test_densities_are_those_of_the_draws() -> None:
    """Shares of sectors of a disc, inside and on its boundary, for noise in a square."""
    size, model = model_of("two numbers", epsilon=1.0, coef_bound=0.4)
    table = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [0.2, 1.0, 1.0]])
    found = law(model, size, table, 3)
    inside, boundary = found.law.densities
    source, chosen = random.Random(1), found.chosen
    draws = np.array([
        perturbed_minimiser(
            LogisticLoss(), table[:, :-1], table[:, -1], chosen.ridge,
            product_laplace(source, model._change(size)[0], chosen.noise_scale), 0.4,
        )
        for _ in range(1500)
    ])  # fmt: skip
    lengths = np.linalg.norm(draws, axis=1)
    angles = np.arctan2(draws[:, 1], draws[:, 0]) % (2.0 * math.pi)
    outside = lengths >= 0.4 * (1.0 - 1e-9)
    total = 0.0
    for low, high in pairwise(np.linspace(0.0, 2.0 * math.pi, 4)):
        here = (angles >= low) & (angles < high)
        for part, seen, box in (
            (boundary, here & outside, Box((low,), (high,))),
            (inside, here & ~outside, Box((0.0, low), (0.16, high))),
        ):
            share = integral(lambda x, part=part: np.exp(part.log_density(x)), box, 1e-4)[0]
            total += share
            assert abs(seen.mean() - share) <= 5.0 * math.sqrt(share / len(draws)) + 2e-4
    assert total == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize(
    "balls",
    [Balls((1, 1), (1.0, 1.0)), Balls((3,), (1.0,)), Balls((2, 1, 1), (1.0, 0.3, 2.0))],
    ids=str,
)
def test_the_noise_has_its_law(balls: Balls) -> None:
    source = random.Random(5)
    draws = np.array([product_laplace(source, balls, 2.0) for _ in range(4000)])
    norms = norms_in(balls, draws)
    assert kstest(norms, gamma(balls.size, scale=2.0).cdf).pvalue > 1e-4
    assert np.sqrt((draws**2).mean()) == pytest.approx(2.0 * balls.deviation, rel=0.05)
    # What is within the norm 1 after division is the surface: each part alone has its law there.
    ends = np.cumsum(balls.widths)[:-1]
    for part, radius in zip(np.split(draws, ends, axis=1), balls.radii, strict=True):
        share = np.linalg.norm(part, axis=1) / radius / norms
        width = part.shape[1]
        other = share < 1.0 - 1e-12
        if other.any():
            # A part that is not the longest is uniform in its ball.
            assert kstest(share[other] ** width, "uniform").pvalue > 1e-4
        assert (~other).mean() == pytest.approx(width / balls.size, abs=0.04)


def test_the_ridge_is_the_root_of_its_rule() -> None:
    balls = Balls((1, 1, 4, 1), (1.0,) * 4)
    for epsilon, n in product((0.05, 0.5, 4.0), (1, 50, 5_000, 10**7)):
        ridge = balanced_ridge(6.0, epsilon, 2.0, 1.0, balls, n)
        chosen = with_ridge(ridge, epsilon, 2.0, 1.0)
        assert 2.0 / chosen.noise_scale + math.log1p(1.0 / ridge) <= epsilon
        deviation = balls.deviation * chosen.noise_scale
        assert ridge == pytest.approx(6.0 * deviation * math.sqrt(deviation / n), rel=1e-9)
        assert ridge > balanced_ridge(6.0, epsilon, 2.0, 1.0, balls, 2 * n)
        # In other units of the rows the same coefficients are shrunk by as much.
        scaled = Balls(balls.widths, (0.1,) * 4)
        again = balanced_ridge(6.0, epsilon, 2.0, 0.01, scaled, n)
        assert again == pytest.approx(0.01 * ridge, rel=1e-9)
    assert balanced_ridge(6.0, 1.0, 2.0, 1.0, balls, None) > 0.0


def test_the_number_of_rows_counts_where_it_is_public() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (600, 2))
    y = X[:, 0] > 0.0
    for relation, same in (("add-remove", True), ("replace-one", False)):
        model = ObjectivePerturbationClassifier(x_bound=1.0, relation=relation)
        ridges = {model.fit(X[:n], y[:n]).release_.bounds["ridge"] for n in (300, 600)}
        assert (len(ridges) == 1) == same


def test_rows_are_shortened_by_field() -> None:
    rows = RowMap(3, x_bound=(1.0,) * 3, fields=(2, 1))
    mapped = rows(np.array([[5.0, 5.0, 0.3], [0.6, 0.0, -7.0]]))
    np.testing.assert_allclose(mapped[0], [math.sqrt(0.5), math.sqrt(0.5), 0.3, 1.0])
    np.testing.assert_allclose(mapped[1], [0.6, 0.0, -1.0, 1.0])
    assert rows.norm == pytest.approx(math.sqrt(3.0))
    assert rows.parts == Balls((2, 1, 1), (1.0,) * 3)
    for wrong in ((2,), (2, 2), (3, 0), (1.5, 1.5)):
        with pytest.raises(InvalidInput, match="field"):
            RowMap(3, x_bound=(1.0,) * 3, fields=wrong)  # type: ignore[arg-type]


def test_noise_in_the_better_norm() -> None:
    """Of the fields, or of whole rows: where they are short, and where two gradients are near."""

    def deviation(**options: Any) -> tuple[tuple[int, ...], float]:
        bounds = {"x_bound": 1.0, "y_bound": 1.0, "relation": "replace-one", **options}
        balls, change = ObjectivePerturbationRegressor(**bounds)._change(8)
        return balls.widths, balls.deviation * change

    widths, least = deviation(loss="huber(0.25)")
    assert widths == (1,) * 9
    assert least < 0.65 * Balls((9,), (3.0,)).deviation * 0.5
    widths, least = deviation(loss="huber(0.25)", row_bound=0.5)
    assert widths == (9,)
    assert least == pytest.approx(Balls((9,), (0.5,)).deviation * 0.5)
    # A squared loss whose coefficients are long: D is hardly more than for a row that is added.
    widths, least = deviation(loss="squared", coef_bound=5.0)
    assert widths == (9,)
    assert least < 1.1 * Balls((9,), (3.0,)).deviation * (1.0 + 5.0 * 3.0)
    assert deviation(loss="squared", coef_bound=5.0, relation="add-remove")[0] == (1,) * 9


def test_coefficients_do_not_depend_on_the_unit_of_the_target() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (3000, 2))
    y = 0.4 * X[:, 0]
    found = [
        ObjectivePerturbationRegressor(
            x_bound=1.0, y_bound=scale, loss=f"huber({0.25 * scale!r})", random_state=0
        ).fit(X, scale * y)
        for scale in (1.0, 1024.0)
    ]
    np.testing.assert_allclose(1024.0 * found[0].coef_, found[1].coef_, rtol=1e-9)
    assert found[0].score(X, y) > 0.6


def noisy_classes(n: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n, 4))
    likely = 1.0 / (1.0 + np.exp(1.5 - 4.0 * X[:, 2]))
    return X, np.where(rng.random(n) < likely, "ill", "healthy")


def test_probabilities_are_those_of_the_classes() -> None:
    X, y = noisy_classes()
    model = ObjectivePerturbationClassifier(x_bound=1.0, epsilon=4.0, random_state=0).fit(X, y)
    found = model.predict_proba(X)
    assert found.shape == (2000, 2)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-15)
    u = model.decision_function(X)
    np.testing.assert_allclose(np.log(found[:, 1] / found[:, 0]), u, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.classes_[found.argmax(axis=1)])
    assert model.classes_.tolist() == ["healthy", "ill"]
    # The gradient of the intercept is what the noise is: probabilities add up to the rate.
    assert found[:, 1].mean() == pytest.approx((y == "ill").mean(), abs=0.02)
    release = model.release_
    np.testing.assert_array_equal(release.probabilities(X), found)
    few = release.predict(X, threshold=0.8)
    np.testing.assert_array_equal(few == "ill", found[:, 1] > 0.8)
    assert 0 < (few == "ill").sum() < (y == "ill").sum()
    for wrong in (0.0, 1.0, math.nan):
        with pytest.raises(InvalidInput, match="threshold"):
            release.predict(X, threshold=wrong)


def test_a_model_of_numbers_has_no_probabilities() -> None:
    X, _ = noisy_classes(200)
    model = AdaSSPRegressor(x_bound=1.0, y_bound=1.0).fit(X, X[:, 0])
    assert not hasattr(model, "predict_proba")
    for asked in (lambda: model.release_.probabilities(X),
                  lambda: model.release_.predict(X, threshold=0.2)):  # fmt: skip
        with pytest.raises(InvalidInput, match="logistic loss has probabilities"):
            asked()


def test_a_selection_before_probabilities() -> None:
    X, y = noisy_classes()
    selector = SISSelector(1, x_bound=1.0, y_bound=1.0, relation="replace-one")
    model = SelectThenRegress(selector, ObjectivePerturbationClassifier(x_bound=1.0), epsilon=20.0)
    assert hasattr(model, "predict_proba")
    model.set_params(regressor__classes=("healthy", "ill")).fit(X, y)
    found = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[found.argmax(axis=1)])
    np.testing.assert_array_equal(model.decision_function(X) > 0.0, found[:, 1] > 0.5)
    numbers = SelectThenRegress(selector, AdaSSPRegressor(x_bound=1.0, y_bound=1.0))
    assert not hasattr(numbers, "predict_proba")
    assert not hasattr(numbers, "decision_function")


def test_more_than_two_classes_are_refused_with_what_to_do() -> None:
    X, _ = noisy_classes(90)
    model = ObjectivePerturbationClassifier(x_bound=1.0)
    with pytest.raises(InvalidInput, match="one class against the rest"):
        model.fit(X, np.arange(90) % 3)


def test_coefficients_are_not_held_back_by_a_bound() -> None:
    """Of a field that is narrow in its range: a default of 3/√2 would say yes to nobody."""
    rng = np.random.default_rng(1)
    x = 0.05 * rng.normal(size=(20_000, 1))
    y = rng.random(20_000) < 1.0 / (1.0 + np.exp(1.8 - 30.0 * x[:, 0]))
    model = ObjectivePerturbationClassifier(x_bound=1.0, random_state=0).fit(x, y)
    assert model.coef_[0] > 15.0
    assert 0.5 < model.predict(x).mean() / 0.08 < 1.5
