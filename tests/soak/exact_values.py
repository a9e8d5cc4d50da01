"""Hostile restricted problems: what is not proven of them, and what is wrong in 60 digits.

Columns of 1e-300 to 1e300 before they are clipped, near copies, up to 100,000 rows, radii of 1e-24
to 1e24, ridges from the smallest. R(S) lies between the objective at the coefficients and the dual
value of the dual point, both computed from the definition. Failures are what is refused or not
finite, values off by more than `value_error`, and bounds above R.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from mpmath import mpf
from numpy.random import Generator
from numpy.typing import NDArray

from mipselect import Instance, MipselectError
from mipselect.problem.problem import LARGEST_RIDGE, SMALLEST_RIDGE
from mipselect.restricted.box_dual import PreparedBoxDual
from mipselect.validation import LARGEST_SCALE, SMALLEST_SCALE
from tests.support.designs import least_ridge

Array = NDArray[np.float64]
DIGITS = 60

UNDERFLOW = float(np.finfo(np.float64).tiny)
"""Less is no difference between doubles."""


@dataclass(frozen=True)
class ExactLoss:
    """ℓ(y, u), the α nearest to a number, and the least ℓ(y, u) + αu over |u| ≤ reach; all mpf."""

    loss: Callable[[Any, Any], Any]
    tilted: Callable[[Any, Any, Any], Any]
    nearest: Callable[[Any, Any], Any] = lambda _, a: a


def of_box(box: Callable[[Any], tuple[Any, Any]], softness: int) -> ExactLoss:
    """The largest a(y - u) - (q/2)a² over lo(y) ≤ a ≤ hi(y)."""

    def nearest(y: Any, a: Any) -> Any:
        low, high = box(y)
        return min(max(a, low), high)

    def gain(a: Any, residual: Any) -> Any:
        return a * residual - softness * a * a / 2

    def loss(y: Any, u: Any) -> Any:
        residual = y - u
        if softness:
            return gain(nearest(y, residual / softness), residual)
        return max(a * residual for a in box(y))

    return ExactLoss(loss, lambda y, a, _: gain(a, y), nearest)


def exact_loss(name: str) -> ExactLoss:
    """The built-in loss of that name."""
    word, _, number = name.rstrip(")").partition("(")
    if word == "hinge":
        return of_box(lambda y: (min(y, 0), max(y, 0)), 0)
    parameter = mpf(float(number))
    if word == "huber":
        return of_box(lambda _: (-parameter, parameter), 1)
    return of_box(lambda _: (parameter - 1, parameter), 0)


class ExactProblem:
    """One support of one data set: equal rows are counted, so that many of them cost nothing.

    Parameters
    ----------
    X : ndarray of shape (n, s)
        Columns of the support.
    y : ndarray of shape (n,)
    loss : ExactLoss
    ridge, radius : float
    """

    def __init__(self, X: Array, y: Array, loss: ExactLoss, ridge: float, radius: float) -> None:
        rows, which, self._count = np.unique(
            np.column_stack([X, y]), axis=0, return_inverse=True, return_counts=True
        )
        self._order = np.argsort(which.reshape(-1), kind="stable")
        self.n, self.loss = len(y), loss
        with mpmath.workdps(DIGITS):
            self.ridge, self.radius = mpf(ridge), mpf(radius)
            self.rows = [[mpf(x) for x in row] for row in rows.tolist()]
            self.counts = [mpf(int(count)) for count in self._count]

    def above(self, coef: Array) -> Any:
        """R is at most the objective at β, which is put into the ball first."""
        with mpmath.workdps(DIGITS):
            beta = [mpf(float(b)) for b in coef]
            length = mpmath.sqrt(mpmath.fsum(b * b for b in beta))
            if length > self.radius:
                beta = [b * self.radius * (1 - mpf(10) ** (5 - DIGITS)) / length for b in beta]
            total = self.ridge / 2 * mpmath.fsum(b * b for b in beta)
            for row, count in zip(self.rows, self.counts, strict=True):
                total += count * self.loss.loss(row[-1], mpmath.fdot(beta, row[:-1]))
            return total / self.n

    def below(self, dual: Array) -> Any:
        """R is at least the dual value of α; equal rows are given their mean."""
        with mpmath.workdps(DIGITS):
            together = np.split(dual[self._order], np.cumsum(self._count)[:-1])
            alpha = [mpmath.fsum(part.tolist()) / len(part) for part in together]
            total, w = mpf(0), [mpf(0)] * (len(self.rows[0]) - 1)
            for row, count, a in zip(self.rows, self.counts, alpha, strict=True):
                a = self.loss.nearest(row[-1], a)
                reach = self.radius * mpmath.sqrt(mpmath.fsum(x * x for x in row[:-1]))
                total += count * self.loss.tilted(row[-1], a, reach)
                w = [v + count * a * x for v, x in zip(w, row[:-1], strict=True)]
            length = mpmath.sqrt(mpmath.fsum(v * v for v in w))
            if length <= self.ridge * self.radius:
                gain = length * length / (2 * self.ridge) if length else mpf(0)
            else:
                gain = self.radius * length - self.ridge * self.radius**2 / 2
            return (total - gain) / self.n


LOSSES = ("hinge", "huber", "quantile")


SUPPORTS = 8
"""Supports of every data set."""


def hostile_columns(rng: Generator, n: int, p: int) -> Array:
    """Gaussian, 0/1, rounded, heavy-tailed; some of them constant, zero, copies or sums."""
    X = rng.standard_normal((n, p))
    kinds = rng.integers(9, size=p) if rng.random() < 0.6 else np.full(p, rng.integers(9))
    for j, kind in enumerate(kinds):
        other = X[:, rng.integers(p)]
        if kind == 1:
            X[:, j] = X[:, j] > rng.choice([-1.0, 0.0, 2.0])
        elif kind == 2:
            X[:, j] = np.round(X[:, j])
        elif kind == 3:
            X[:, j] = rng.choice([0.0, 1.0, -0.3])
        elif kind == 4:
            X[:, j] = other
        elif kind == 5:
            X[:, j] = other + rng.choice([1e-3, 1e-7, 1e-12]) * X[:, j]
        elif kind == 6:
            X[:, j] = X @ rng.standard_normal(p)
        elif kind == 7:
            X[:, j] = rng.standard_cauchy(n)
    if rng.random() < 0.4:
        X *= 10.0 ** rng.uniform(-6.0, 3.0, p)
    return X * 10.0 ** rng.choice([-8.0, -3.0, 0.0, 0.0, 0.0, 4.0, 8.0])


def hostile_responses(rng: Generator, X: Array, labels: bool) -> Array:
    """Exactly linear, noisy, separable, constant or zero; two classes for the hinge loss."""
    n = len(X)
    scale = np.maximum(np.abs(X).max(axis=0), 1e-300)
    signal = (X / scale) @ rng.choice([0.0, 1.0, -1.0, 0.1], X.shape[1])
    y = signal + rng.choice([0.0, 0.0, 0.1, 1.0]) * rng.standard_normal(n)
    kind = rng.integers(6)
    if kind == 0:
        y = rng.standard_normal(n)
    elif kind == 1:
        y = np.full(n, rng.choice([0.0, 1.0, -0.7]))
    elif kind == 2:
        y = np.round(y)
    elif kind == 3:
        y = rng.standard_cauchy(n)
    if not labels:
        return np.asarray(y * 10.0 ** rng.choice([-6.0, 0.0, 0.0, 0.0, 5.0]))
    classes = np.where(y > rng.choice([np.median(y), 0.0]), 1.0, -1.0)
    if (classes == classes[0]).all():
        classes[rng.integers(n)] *= -1.0
    return np.asarray(classes)


def hostile_instance(rng: Generator, loss: str) -> Instance:
    n = int(
        rng.choice(
            [1, 2, 3, 5, 20, 100, 400, 2_000, 10_000], p=[0.1] * 5 + [0.25, 0.18, 0.05, 0.02]
        )
    )
    if loss == "hinge":
        n = max(n, 2)
    s = int(rng.integers(1, 9))
    p = s + int(rng.integers(0, 4))
    X = hostile_columns(rng, n, p)
    y = hostile_responses(rng, X, loss == "hinge")
    x_bound = float(max(np.abs(X).max(), 1e-30) * rng.choice([0.01, 0.5, 1.0, 1.0, 100.0]))
    x_bound = float(np.clip(x_bound, SMALLEST_SCALE, LARGEST_SCALE))
    y_bound = float(max(np.abs(y).max(), 1e-6) * rng.choice([0.1, 1.0, 10.0]))
    y_size = 1.0 if loss == "hinge" else y_bound
    radius = y_size / x_bound * 10.0 ** rng.choice([-6.0, -2.0, -1.0, 0.0, 0.0, 0.5, 2.0, 8.0])
    radius = float(np.clip(radius, SMALLEST_SCALE, LARGEST_SCALE))
    ridge = n * 10.0 ** rng.choice([-12.0, -6.0, -3.0, -1.0, 1.0]) * rng.choice([1.0, x_bound**2])
    least = least_ridge(n, s, x_bound)
    ridge = float(np.clip(max(ridge, least), SMALLEST_RIDGE, LARGEST_RIDGE))
    parameter = ""
    if loss == "quantile":
        parameter = f"({rng.choice([1e-9, 1e-3, 0.1, 0.5, 0.5, 0.75, 0.999, 1.0 - 1e-9])!s})"
    elif loss == "huber":
        parameter = f"({y_bound * 10.0 ** rng.choice([-8.0, -3.0, -1.0, 0.0, 4.0])!s})"
    return Instance(
        X, y, support_size=s, x_bound=x_bound, y_bound=y_bound, coef_bound=radius,
        ridge=ridge, loss=loss + parameter,
    )  # fmt: skip


def unproven(loss: str, seed: int) -> list[str]:
    """What could not be solved, or has a larger gap than is allowed, of one data set."""
    rng = np.random.default_rng(seed)
    instance = hostile_instance(rng, loss)
    problem = instance.prepared
    assert isinstance(problem, PreparedBoxDual)
    rows = [rng.permutation(instance.p)[: instance.support_size] for _ in range(SUPPORTS)]
    found = []
    for supports in np.array(rows)[None] if instance.n > 1 else np.array(rows)[:, None]:
        try:
            with np.errstate(all="raise", under="ignore"):
                solutions = problem.solved(np.sort(supports, axis=1))
                worst = float(np.max(solutions.gaps)) / (instance.n * instance.value_error)
            if not (np.isfinite(solutions.values).all() and worst <= 1.0):
                found.append(f"{loss}, seed {seed}: {instance}: gap {worst:.2g}")
        except (MipselectError, ArithmeticError, np.linalg.LinAlgError, RuntimeWarning) as error:
            found.append(f"{loss}, seed {seed}: {instance}: {error}")
    return found


def instance_of(rng: Generator, loss: str) -> Instance:
    """Draw a data set and bounds, all of which are allowed."""
    return near_copies(rng, loss) if rng.random() < 0.3 else of_any_size(rng, loss)


def clipped(size: float, least: float, most: float) -> float:
    return float(np.clip(size, least, most))


def parameter(rng: Generator, loss: str, y_bound: float) -> str:
    if loss == "quantile":
        return f"({rng.choice([1e-17, 1e-9, 1e-3, 0.1, 0.5, 0.5, 0.75, 0.999, 1.0 - 1e-9])!s})"
    if loss == "huber":
        threshold = y_bound * 10.0 ** rng.choice([-8.0, -5.0, -3.0, -1.0, 0.0, 4.0])
        return f"({clipped(threshold, SMALLEST_SCALE, LARGEST_SCALE)!s})"
    return ""


def both_classes(y: Array) -> Array:
    if (y == y[0]).all():
        y[0] *= -1.0
    return y


def of_any_size(rng: Generator, loss: str) -> Instance:
    n = int(rng.choice([2, 3, 5, 10, 20, 40, 2_000, 100_000], p=[0.15] * 5 + [0.23, 0.015, 0.005]))
    s = int(rng.integers(1, 4))
    p, m = s + 1, min(n, 40)
    X = hostile_columns(rng, m, p) if rng.random() < 0.5 else rng.standard_normal((m, p))
    for j in np.flatnonzero(rng.random(p) < 0.4)[1:]:
        noise = np.abs(X[:, 0]).max() * rng.standard_normal(m)
        X[:, j] = X[:, 0] + 10.0 ** rng.uniform(-15, -6) * noise
    y = hostile_responses(rng, X, loss == "hinge")
    sizes = [rng.uniform(-300, 300, p), rng.uniform(-30, 10, p), rng.uniform(-300, 300), 0.0]
    with np.errstate(over="ignore", under="ignore"):
        X = np.clip(X * 10.0 ** sizes[rng.integers(4)], -1e300, 1e300)
    if loss != "hinge" and rng.random() < 0.1:
        y *= 10.0 ** rng.uniform(-300, 0)
    if n > m:
        rows = rng.integers(m, size=n)
        X, y = X[rows], y[rows]
    if loss == "hinge":
        y = both_classes(y)
    largest = clipped(np.abs(X).max(), 1e-30, 1e30) * 10.0 ** rng.choice([-8, -2, 0, 0, 0, 2, 8])
    x_bound = 1.0 if rng.random() < 0.3 else clipped(largest, SMALLEST_SCALE, LARGEST_SCALE)
    y_bound = float(max(np.abs(y).max(), 1e-6) * rng.choice([0.1, 1.0, 10.0]))
    radius = (1.0 if loss == "hinge" else y_bound) / x_bound * 10.0 ** rng.uniform(-6, 8)
    if rng.random() < 0.5:
        radius = 10.0 ** rng.uniform(-24, 24)
    least = least_ridge(n, s, x_bound)
    ridge = least * 10.0 ** rng.choice([0, 0, 1, 3, 6, 12])
    if rng.random() < 0.3:
        ridge = max(least, 10.0 ** rng.uniform(-50, 50))
    return Instance(
        X, y, support_size=s, x_bound=x_bound, y_bound=y_bound,
        coef_bound=clipped(radius, SMALLEST_SCALE, LARGEST_SCALE),
        ridge=clipped(ridge, SMALLEST_RIDGE, LARGEST_RIDGE),
        loss=loss + parameter(rng, loss, y_bound),
    )  # fmt: skip


def near_copies(rng: Generator, loss: str) -> Instance:
    """Most columns are copies of others but for 1e-15 to 1e-4, and y lies along a difference."""
    n, s = int(rng.choice([5, 10, 20, 40, 100])), int(rng.integers(2, 5))
    X = rng.uniform(-1.0, 1.0, (n, s + 1))
    if rng.random() < 0.3:
        X[:, 0] = rng.choice([-1.0, 1.0], n)
    for j in range(1, s + 1):
        if rng.random() < 0.85:
            other = X[:, rng.integers(j)] * rng.choice([1.0, 1.0, rng.uniform(0.1, 1.0)])
            X[:, j] = other + 10.0 ** rng.uniform(-15, -4) * rng.choice([-1.0, 1.0], n)
    X = np.clip(X, -1.0, 1.0)
    along = X[:, rng.integers(1, s + 1)] - X[:, 0]
    along /= np.abs(along).max() or 1.0
    y = rng.uniform(-1.0, 1.0) * X[:, 0] + 10.0 ** rng.uniform(-6, 0) * along
    y += rng.choice([0.0, 0.0, 1e-8, 1e-4, 0.1]) * rng.standard_normal(n)
    if loss == "hinge":
        y = both_classes(np.where(y > np.median(y), 1.0, -1.0))
    return Instance(
        X, y, support_size=s, x_bound=1.0, y_bound=1.0,
        coef_bound=float(rng.choice([0.1, 0.5, 1.0, 3.0, 10.0, 100.0, 1e3])),
        ridge=least_ridge(n, s, 1.0) * rng.choice([1.0, 1e2, 1e6]),
        loss=loss + parameter(rng, loss, 1.0),
    )  # fmt: skip


def failures_of(loss: str, seed: int) -> list[str]:
    """Look at all that is said of two supports."""
    rng = np.random.default_rng(seed)
    instance = instance_of(rng, loss)
    supports = np.array([rng.permutation(instance.p)[: instance.support_size] for _ in range(2)])
    try:
        with np.errstate(all="raise", under="ignore"):
            wrong = wrongs(instance, supports, exact_loss(instance.loss), rng)
    except (MipselectError, ArithmeticError, np.linalg.LinAlgError, RuntimeWarning) as error:
        wrong = [repr(error)]
    return [f"{loss}, seed {seed}: {instance}: {each}" for each in wrong]


def wrongs(instance: Instance, supports: Array, law: ExactLoss, rng: Generator) -> list[str]:
    """List what is wrong: a value, a length, a bound that its own dual point does not prove."""
    problem, error = instance.prepared, instance.value_error
    assert isinstance(problem, PreparedBoxDual)
    fits = [instance.fit(support) for support in supports]
    bounds = problem.bounds(supports)
    values = [problem.values(supports), np.array([fit.value for fit in fits])]
    claims = [(bounds.at(k, supports), k) for k in range(2)]
    assert bounds.points is not None
    assert bounds.coef is not None
    scaled = problem.scaled_bounds(np.arange(problem.p), 10.0 ** rng.uniform(-3.0, 3.0, problem.p))
    values.append(problem.values(supports, instance.coef_bound * bounds.coef[0]))
    points = [*bounds.points, scaled.points[0]]  # type: ignore[index]
    claims.append((scaled.at(0, supports), 2))
    found = []
    with mpmath.workdps(DIGITS):
        for k, (support, fit) in enumerate(zip(supports, fits, strict=True)):
            exact = ExactProblem(
                instance.X[:, support], instance.y, law, instance.ridge, instance.coef_bound
            )
            most, proven = exact.above(fit.coef), [exact.below(point) for point in points]
            if not np.linalg.norm(fit.coef) <= instance.coef_bound * (1.0 + 1e-12):
                found.append("coefficients are too long")
            if not np.isfinite([each[k] for each in values]).all():
                found.append("a value is not finite")
                continue
            for each in values:
                off = max(abs(each[k] - most), abs(each[k] - proven[k])) / error
                if off > 1:
                    found.append(f"a value is {float(off):.2g} errors off")
            for claim, point in claims:
                if mpf(float(claim[k])) > max(proven[point], proven[k]) + UNDERFLOW:
                    found.append(f"a bound is too large by {float((claim[k] - most) / error):.2g}")
    return found


def failures(seed: int) -> list[str]:
    found = [line for loss in LOSSES for line in unproven(loss, seed)]
    return found + [line for loss in LOSSES for line in failures_of(loss, seed)]
