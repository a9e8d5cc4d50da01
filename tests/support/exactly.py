"""Least squares and eigenvalues in exact arithmetic: rational numbers, or 60 digits."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import mpmath
import numpy as np

from mipselect.restricted.squared import PreparedSquared

DIGITS = 60


def solved(A: list[list[Fraction]], b: list[Fraction]) -> list[Fraction]:
    """A⁻¹b for a positive definite A, by elimination."""
    A, b, size = [row[:] for row in A], b[:], len(b)
    for k in range(size):
        for i in range(k + 1, size):
            factor = A[i][k] / A[k][k]
            for j in range(k, size):
                A[i][j] -= factor * A[k][j]
            b[i] -= factor * b[k]
    for k in reversed(range(size)):
        b[k] = (b[k] - sum(A[k][j] * b[j] for j in range(k + 1, size))) / A[k][k]
    return b


class ExactMoments:
    """G, b and d as they are stored, and restricted problems on them without the norm constraint.

    Parameters
    ----------
    problem : PreparedSquared
    ridge : float
        ρ = λ + ν, as it is in the bounds.
    """

    def __init__(self, problem: PreparedSquared, ridge: float) -> None:
        self._G = problem.gram.full()
        self._b, self._d = problem.moment, Fraction(problem.target_norm)
        self._ridge = Fraction(ridge)
        self._taken = (self._ridge - Fraction(problem.ridge)) * Fraction(problem.radius) ** 2

    def doubled(self, columns: Sequence[int]) -> Fraction:
        """d - bᵀ(G + ρI)⁻¹b - νr² on these columns: at most 2n·R."""
        return self._d - self.explained(columns) - self._taken

    def explained(self, columns: Sequence[int]) -> Fraction:
        """bᵀ(G + ρI)⁻¹b on these columns."""
        A = [[Fraction(float(self._G[i, j])) for j in columns] for i in columns]
        for k in range(len(A)):
            A[k][k] += self._ridge
        b = [Fraction(float(self._b[j])) for j in columns]
        return sum((x * y for x, y in zip(b, solved(A, b), strict=True)), Fraction(0))

    def gain(self, base: Sequence[int], added: Sequence[int]) -> Fraction:
        """g_Tᵀ H_TT⁻¹ g_T of these additions to a base."""
        return self.explained([*base, *added]) - self.explained(base)


def least_eigenvalue(A: np.ndarray, scale: np.ndarray | None = None) -> mpmath.mpf:
    """The least eigenvalue of a matrix of doubles, scaled to a diagonal of ones if `scale` says."""
    with mpmath.workdps(DIGITS):
        M = mpmath.matrix(A.tolist())
        if scale is not None:
            roots = [mpmath.sqrt(mpmath.mpf(float(x))) for x in scale]
            for i in range(len(roots)):
                for j in range(len(roots)):
                    M[i, j] /= roots[i] * roots[j]
        return min(mpmath.eigsy(M, eigvals_only=True))
