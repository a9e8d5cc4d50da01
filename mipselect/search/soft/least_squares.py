"""Families of supports for the squared loss: Schur complements and shares of the gain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.losses.squared import EPS, PreparedSquared
from mipselect.search.least_squares.additions import (
    Additions,
    additions_to,
    dominated_diagonal,
    off_diagonal_sums,
)
from mipselect.search.soft.bounds import ModularBound, Target
from mipselect.search.soft.cells import Cut, Family
from mipselect.search.soft.pairs import PairLaw, pair_law

PAIR_COLUMNS = 1500
"""Most live features whose pairs are weighed one by one."""

CENTRE_COLUMNS = 64
"""Most features that the centre of a bound is made of."""

LEAST_INCLUSION = 0.01
"""Features that are in less often are not part of a centre."""

EIGENVALUE_COLUMNS = 2000
"""Most features for which the smallest eigenvalue of G is computed."""


@dataclass(frozen=True, eq=False)
class AdditionsFamily:
    """B ∪ T with bounds on the gain of T (MATH, sections 4, 11 and 15).

    Attributes
    ----------
    sub : Additions
    convexity : float
        μ ≥ λ+ν with H ⪰ μI on all live features.
    """

    sub: Additions
    convexity: float

    @property
    def base(self) -> IntArray:
        """B."""
        return self.sub.base

    @property
    def size(self) -> int:
        """m."""
        return self.sub.size

    @property
    def live(self) -> IntArray:
        """The features that may be added."""
        return self.sub.live

    @property
    def exact(self) -> bool:
        """Never: the norm constraint may raise R."""
        return False

    def floors(self) -> list[ModularBound]:
        """By dominance, g_Tᵀ H_TT⁻¹ g_T ≤ Σ_{j∈T} g_j² / M_j; R ≥ 0 for the root or if blurred."""
        sub = self.sub
        nothing = ModularBound(0.0, np.zeros(len(sub.live)))
        if self.blurred:
            return [nothing]
        M = sub.h
        if sub.size > 1:
            M = dominated_diagonal(sub.h, self._off_sums, self.convexity)
        shares = self._bound(0.0, sub.g**2 / M)
        return [shares] if len(sub.base) else [shares, nothing]

    @property
    def blurred(self) -> bool:
        """Whether λ+ν is below the digits of G: pivots may be noise, and bounds anything."""
        return self.sub.slack >= self.sub.problem.target_norm

    def guess(self) -> ModularBound:
        """Shares by H ⪯ diag(h + o): from above but for the norm constraint and rounding."""
        sub = self.sub
        above = sub.h + self._off_sums if sub.size > 1 else sub.h
        return self._bound(0.0, sub.g**2 / above)

    def centred(self, inclusion: FloatArray) -> ModularBound | None:
        """The bound around the coefficients that are expected at these inclusion probabilities.

        With Q = H - μI ⪰ 0, for any x,

            g_Tᵀ H_TT⁻¹ g_T ≤ xᵀQx + Σ_{j∈T} (g - Qx)_j² / μ

        (MATH, section 15). The total of the cell is smallest at x = (Q + diag(μ / π))⁻¹ g with
        the inclusion probabilities π of the law that x makes.
        """
        sub, mu = self.sub, self.convexity
        X = np.flatnonzero(inclusion > LEAST_INCLUSION)
        if len(X) > CENTRE_COLUMNS:
            X = np.argpartition(-inclusion, CENTRE_COLUMNS)[:CENTRE_COLUMNS]
        if len(X) == 0 or self.blurred:
            return None
        Q = sub.problem.gram.columns(sub.live[X])[sub.live] - sub.whitened.T @ sub.whitened[:, X]
        Q[X, np.arange(len(X))] = sub.h[X] - mu
        x = np.linalg.solve(Q[X] + np.diag(mu / np.minimum(inclusion[X], 1.0)), sub.g[X])
        Qx = Q @ x
        return self._bound(float(x @ Qx[X]) + self._rounding_at(x), (sub.g - Qx) ** 2 / mu)

    def pairs(self, target: Target) -> PairLaw | None:
        """The gains of all pairs, (h_l g_j² + h_j g_l² - 2 H_jl g_j g_l) / (h_j h_l - H_jl²)."""
        sub = self.sub
        if sub.size != 2 or len(sub.live) > PAIR_COLUMNS or self.blurred:
            return None
        constant, features = target.log_bound(
            sub.base, sub.live, 2, self._bound(self._second_sum(), np.zeros(len(sub.live)))
        )
        rate = target.rate / (2.0 * sub.problem.n)

        def log_weights(rows: IntArray, across: FloatArray) -> FloatArray:
            weighted = np.multiply.outer(sub.g[rows] ** 2, sub.h)
            weighted += np.multiply.outer(sub.h[rows], sub.g**2)
            weighted -= 2.0 * across * np.multiply.outer(sub.g[rows], sub.g)
            # Of the eigenvalues of H_TT ⪰ (λ+ν)I one is at least the larger of h_j and h_l.
            least = sub.ridge * np.maximum.outer(sub.h[rows], sub.h)
            weighted /= np.maximum(np.multiply.outer(sub.h[rows], sub.h) - across**2, least)
            np.maximum(weighted, 0.0, out=weighted)
            return np.asarray(constant + rate * weighted + features[rows][:, None] + features)

        def row(j: int) -> FloatArray:
            across = sub.problem.gram.entries(sub.live, int(sub.live[j]))
            across = across - sub.whitened[:, j] @ sub.whitened
            return log_weights(np.array([j]), across[None])[0, j + 1 :]

        return pair_law(log_weights(np.arange(len(sub.live)), sub.dense()), row)

    def _rounding_at(self, x: FloatArray) -> float:
        """By how much rounding may lower a doubled gain that is bounded around x.

        The computed g and Q belong to moments that are off by about k·EPS of their size, and
        products with x add K·EPS. What this changes is at most
        2·e(√d + Σ|β_j|√G_jj + Σ|x_j|√G_jj)², at the β that has to be bounded.
        """
        problem, terms = self.sub.problem, len(x) + len(self.sub.base) + 8
        longest = min(problem.radius, np.sqrt(problem.target_norm / problem.ridge))
        lengths = np.sqrt(self.size) * longest + float(np.abs(x).sum())
        reach = np.sqrt(problem.target_norm) + np.sqrt(problem.gram.diagonal.max()) * lengths
        return float(4.0 * EPS * terms * reach**2)

    def _second_sum(self) -> float:
        """By how much a pair's gain may change where H is computed a second time, row by row.

        Entries of G that are not kept differ by n roundings, others not at all.
        """
        problem = self.sub.problem
        roundings = 4 + len(self.sub.base) + (0 if problem.gram.fits else problem.n)
        growth = 1.0 + float(problem.gram.diagonal.max()) / self.sub.ridge
        return 4.0 * EPS * roundings * growth * problem.target_norm

    @property
    def _off_sums(self) -> FloatArray:
        return off_diagonal_sums(self.sub, min(self.size, len(self.live)) - 1)

    def _bound(self, constant: float, shares: FloatArray) -> ModularBound:
        """2n R ≥ v_B - νr² - slack - constant - Σ shares."""
        return ModularBound(self.sub.lower_bound(constant), shares / (2.0 * self.sub.problem.n))


@dataclass(frozen=True, eq=False)
class EvaluatedFamily:
    """B ∪ {j} with exact values, also where the norm constraint is active."""

    base: IntArray
    live: IntArray
    values: FloatArray

    @property
    def size(self) -> int:
        """One."""
        return 1

    @property
    def exact(self) -> bool:
        """Always."""
        return True

    def floors(self) -> list[ModularBound]:
        """The values."""
        return [ModularBound(0.0, -self.values)]

    def guess(self) -> ModularBound:
        """The values."""
        return ModularBound(0.0, -self.values)

    def centred(self, inclusion: FloatArray) -> ModularBound | None:
        """Nothing could be better."""
        return None

    def pairs(self, target: Target) -> PairLaw | None:
        """There are none."""
        return None


class LeastSquaresSpace:
    """All supports for the squared loss.

    Parameters
    ----------
    problem : PreparedSquared
    multiplier : float
        ν ≥ 0 of the bounds; any is valid, that of a good support makes them tight there.
    largest : int
        The largest size that is asked for.
    tick : callable
        Called before every block of XᵀX.
    """

    def __init__(
        self,
        problem: PreparedSquared,
        multiplier: float,
        largest: int,
        tick: Callable[[], None],
    ) -> None:
        self._problem, self._multiplier = problem, multiplier
        everything = np.arange(problem.gram.p)
        self.convexity = problem.ridge + multiplier
        self._tops = problem.gram.row_tops(everything, max(largest - 1, 1), tick)
        if problem.gram.p <= min(EIGENVALUE_COLUMNS, problem.n - 1):
            eigenvalues = np.linalg.eigvalsh(problem.gram.full())
            lowest = float(eigenvalues[0]) - 1e-10 * float(eigenvalues[-1])
            self.convexity += max(lowest, 0.0)

    def root(self, size: int) -> Family:
        """Every support of `size` features."""
        none = np.empty(0, dtype=np.intp)
        everything = np.arange(self._problem.gram.p)
        sub = additions_to(self._problem, none, size, everything, self._multiplier, self._tops)
        return AdditionsFamily(sub, self.convexity)

    def families(self, cuts: Sequence[Cut]) -> list[Family]:
        """Each by one step of elimination."""
        return [_child(cut) for cut in cuts]

    def evaluated(self, family: Family) -> Family | None:
        """By its values, where they are not known yet."""
        values = self._problem.values_of_additions(family.base, family.live)
        return EvaluatedFamily(family.base, family.live, values)

    def ceiling(self, base: IntArray, live: IntArray, size: int) -> ModularBound:
        """R(B ∪ T) ≤ R(B ∪ {j}) for every j ∈ T, so no more than their mean."""
        if size == 0:
            return ModularBound(float(self._problem.values(base[None])[0]), np.zeros(len(live)))
        return ModularBound(0.0, -self._problem.values_of_additions(base, live) / size)


def _child(cut: Cut) -> AdditionsFamily:
    parent = cut.parent
    assert isinstance(parent, AdditionsFamily)
    if cut.taken is None:
        return AdditionsFamily(parent.sub.restricted(cut.keep), parent.convexity)
    return AdditionsFamily(parent.sub.with_feature(cut.taken, cut.keep), parent.convexity)
