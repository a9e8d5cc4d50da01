"""Objective perturbation: its constants, its exact densities on hostile pairs, its minimisers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import kstest, norm

from mipselect.regression import (
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    objective_perturbation,
)
from mipselect.regression.noise import product_laplace, standard_normals
from mipselect.regression.perturbed_objective import (
    Huber,
    LogisticLoss,
    Perturbation,
    SmoothLoss,
    lightest_ridge,
    perturbed_minimiser,
    with_ridge,
)
from mipselect.regression.rows import Balls
from tests.support.hockey_stick import MixedLaw, largest_delta
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
    return Perturbation(max(ridge, 2.0 * curvature / epsilon), 2.0 * zeta / epsilon, math.nan)


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
        assert chosen.jacobian == pytest.approx(0.0104, abs=1e-4)
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
    assert change / chosen.noise_scale + chosen.jacobian <= epsilon
    assert change / chosen.noise_scale + chosen.jacobian == pytest.approx(epsilon, rel=1e-9)

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
    loud = Perturbation(chosen.ridge, chosen.noise_scale / 3.0, chosen.jacobian)
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
