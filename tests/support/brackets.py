"""An interval that holds R(S), in 60 digits: the objective at one point, the dual value at another.

Both points may come from anywhere: what they prove is computed here from the definition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from mpmath import mpf
from numpy.typing import NDArray

Array = NDArray[np.float64]

DIGITS = 60


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
