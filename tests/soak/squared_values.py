"""Values of least squares in 60 digits, and laws of neighbours, at the least ridge and above.

Problems have columns of any size from 1e-300 to 1e300, copies and near copies, few or many rows,
tiny and huge balls. Errors are in units of `Instance.value_error`, losses of draws in units of ε.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import mpmath
import numpy as np
from numpy.random import Generator

from mipselect import ExponentialMechanism, Instance
from mipselect.mechanisms import PermuteAndFlip
from mipselect.restricted.squared import PreparedSquared
from tests.support.designs import all_supports, least_ridge

DIGITS = 60


@dataclass(frozen=True, eq=False)
class Rows:
    """Distinct rows, shape (k, p) and (k,), how often each occurs, and the numbers of a problem."""

    X: np.ndarray
    y: np.ndarray
    counts: np.ndarray
    support_size: int
    x_bound: float
    y_bound: float
    coef_bound: float
    ridge: float

    @property
    def instance(self) -> Instance:
        """The instance of all rows."""
        return Instance(
            np.repeat(self.X, self.counts, axis=0), np.repeat(self.y, self.counts),
            support_size=self.support_size, x_bound=self.x_bound, y_bound=self.y_bound,
            coef_bound=self.coef_bound, ridge=self.ridge,
        )  # fmt: skip

    def with_row(self, x: np.ndarray, y: float) -> Rows:
        """One of the first rows in place of which another stands."""
        counts = np.append(self.counts, 1)
        counts[0] -= 1
        return replace(self, X=np.vstack([self.X, x]), y=np.append(self.y, y), counts=counts)


def hostile_rows(rng: Generator) -> Rows:
    k, p = int(rng.choice([1, 2, 3, 5, 12, 40])), int(rng.integers(1, 5))
    X = rng.choice([-1.0, 1.0, 0.5], (k, p)) if rng.random() < 0.4 else rng.uniform(-1, 1, (k, p))
    for j in range(1, p):
        if (kind := rng.integers(4)) == 0:
            X[:, j] = X[:, rng.integers(j)] + 10.0 ** rng.uniform(-15, -6) * X[:, j]
        elif kind == 1:
            X[:, j] = X[:, rng.integers(j)]
    y = rng.uniform(-1, 1, k)
    if rng.random() < 0.5:
        y = X @ rng.uniform(-1, 1, p) + rng.choice([0.0, 1e-9, 0.0170]) * rng.choice([-1.0, 1.0], k)
    if (kind := rng.integers(4)) == 0:
        X = X * 10.0 ** rng.choice([-300.0, -160.0, -100.0, -9.0, 0.0, 0.0, 9.0, 300.0], p)
    elif kind == 1:
        X[rng.integers(k)] *= 10.0 ** rng.choice([-300.0, -8.0, 8.0, 300.0])
    bound = 10.0 ** rng.choice([-24.0, -3.0, 0.0, 0.0, 0.0, 3.0, 24.0])
    radius = 10.0 ** rng.choice([-24.0, -6.0, -1.0, 0.0, 0.0, 1.0, 6.0, 24.0])
    n = int(max(k, rng.choice([1, 2, 10, 400, 8_192, 100_000], p=[0.2, 0.2, 0.3, 0.2, 0.05, 0.05])))
    counts = 1 + rng.multinomial(n - k, np.full(k, 1.0 / k))
    s = int(rng.integers(1, p + 1))
    least = least_ridge(n, s, bound)
    ridge = float(np.clip(least * 10.0 ** rng.choice([0.0, 0.0, 2.0, 4.0, 8.0]), 1e-50, 1e50))
    y_bound = float(np.clip(bound * 10.0 ** rng.choice([-3.0, 0.0, 0.0, 3.0]), 1e-25, 1e25))
    X = np.clip(X, -1e275, 1e275) * bound
    return Rows(X, y * y_bound, counts, s, bound, y_bound, float(radius), ridge)


def exact_value(instance: Instance, counts: np.ndarray, support: np.ndarray) -> mpmath.mpf:
    """Compute R in 60 digits; rows that follow one another are equal, `counts` of each."""
    with mpmath.workdps(DIGITS):
        first = np.append(0, np.cumsum(counts)[:-1])
        X = mpmath.matrix(instance.X[first][:, support].astype(float).tolist())
        y = mpmath.matrix(instance.y[first].tolist())
        weights = mpmath.diag([int(count) for count in counts])
        G, b, d = X.T * weights * X, X.T * weights * y, (y.T * weights * y)[0]
        ridge, radius = mpmath.mpf(instance.ridge), mpmath.mpf(instance.coef_bound)
        eigenvalues, Q = mpmath.eigsy(G + ridge * mpmath.eye(len(support)))
        rotated = Q.T * b

        def coef(nu: mpmath.mpf) -> mpmath.matrix:
            parts = zip(rotated, eigenvalues, strict=True)
            return mpmath.matrix([c / (max(e, ridge) + nu) for c, e in parts])

        nu, high = mpmath.mpf(0), mpmath.norm(b) / radius
        if mpmath.norm(coef(nu)) > radius:
            for _ in range(400):
                beta = coef(nu)
                norm = mpmath.norm(beta)
                inside = sum(
                    a**2 / (max(e, ridge) + nu) for a, e in zip(beta, eigenvalues, strict=True)
                )
                step = (norm / radius - 1) * norm**2 / inside
                if step <= nu * mpmath.mpf(10) ** (-DIGITS + 8):
                    break
                nu = min(nu + step, high)
        beta = Q * coef(nu)
        value = d - 2 * (b.T * beta)[0] + (beta.T * G * beta)[0] + ridge * (beta.T * beta)[0]
        return value / (2 * instance.n)


def error_of(rows: Rows) -> float:
    """Return the largest |value - R| / `value_error` of all supports; inf if β is too long."""
    instance = rows.instance
    supports = all_supports(instance)
    problem = instance.prepared
    assert isinstance(problem, PreparedSquared)
    with np.errstate(all="ignore"):
        values = instance.objectives(supports)
    worst = 0.0
    for support, value in zip(supports, values.tolist(), strict=True):
        exact = exact_value(instance, rows.counts, support)
        with np.errstate(all="ignore"):
            fit = instance.fit(support)
            (more,) = problem.values_of_additions(support[:-1], support[-1:])
        if not np.linalg.norm(fit.coef / instance.coef_bound) <= 1.0 + 2e-15:
            return float("inf")
        for found in (value, fit.value, float(more)):
            worst = max(worst, float(abs(mpmath.mpf(found) - exact) / instance.value_error))
    return worst if np.isfinite(values).all() else float("inf")


def largest_loss(one: Rows, other: Rows, epsilon: float) -> float:
    """Return the largest |log P - log P'| / ε of both exact draws."""
    worst = 0.0
    for kind in (ExponentialMechanism, PermuteAndFlip):
        with np.errstate(all="ignore"):
            laws = kind(one.instance, epsilon), kind(other.instance, epsilon)
            for support in map(tuple, all_supports(laws[0].instance).tolist()):
                first, second = (law.log_probability(support) for law in laws)
                worst = max(worst, abs(first - second) / epsilon)
    return worst


def loss_of(rng: Generator, epsilon: float) -> float:
    """Return the largest loss of rows of which one is replaced by a hostile one."""
    rows = hostile_rows(rng)
    if rng.random() < 0.5:
        x = rows.x_bound * rng.choice([-1.0, 1.0, 0.0, 1e-270, 1e270], rows.X.shape[1])
    else:
        x = rows.X[rng.integers(len(rows.X))] * rng.choice([1.0, -1.0], rows.X.shape[1])
    return largest_loss(rows, rows.with_row(x, rows.y_bound * rng.choice([-1.0, 1.0])), epsilon)


def failures(seed: int) -> list[str]:
    """What does not hold of one problem, and of a pair of neighbours."""
    error = error_of(hostile_rows(np.random.default_rng(seed)))
    loss = loss_of(np.random.default_rng(seed), 1.0 + seed % 3)
    found = [] if error <= 1.0 else [f"problem {seed}: {error:.3g} of the stated error"]
    return found if loss <= 1.0 + 1e-9 else [*found, f"pair {seed}: a loss of {loss:.6f} ε"]
