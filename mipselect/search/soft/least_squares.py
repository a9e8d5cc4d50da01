"""Families of supports for the squared loss: Schur complements and shares of the gain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.losses.squared import EPS, PreparedSquared
from mipselect.search.least_squares.additions import (
    Additions,
    additions_to,
    gain_shares,
    gains_alone,
    off_diagonal_sums,
)
from mipselect.search.least_squares.centring import Centring
from mipselect.search.least_squares.curvature import Convexity, Curvature
from mipselect.search.least_squares.dominance import dominated_diagonal
from mipselect.search.least_squares.measured_curvature import curvature_of
from mipselect.search.soft.bounds import LogWeight, ModularBound
from mipselect.search.soft.cells import Family, Origin
from mipselect.search.soft.pairs import PairLaw, pair_law

PAIR_COLUMNS = 1500
"""Most live features whose pairs are weighed one by one."""

CENTRE_COLUMNS = 64
"""Most features that the centre of a bound is made of."""

LEAST_INCLUSION = 0.01
"""Features that are in less often are not part of a centre."""


@dataclass(frozen=True, eq=False)
class AdditionsFamily:
    """B ∪ T with bounds on the gain of T (docs/mathematics/cuts.md, (7) and (9)).

    Attributes
    ----------
    sub : Additions
    curvature : Curvature
        D with H - D ⪰ 0 on all live features.
    """

    sub: Additions
    curvature: Curvature

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
        if sub.size == 1 or not sub.problem.features.singles:
            gains = gain_shares(sub)
        else:
            gains = sub.g**2 / dominated_diagonal(sub.h, self._off_sums, self._convexity.least)
        shares = self._bound(0.0, gains)
        return [shares] if len(sub.base) else [shares, nothing]

    @cached_property
    def _convexity(self) -> Convexity:
        return self.curvature.at(self.sub)

    @property
    def blurred(self) -> bool:
        """True if λ+ν is below the digits of G: pivots may be noise, and bounds anything."""
        return self.sub.slack >= self.sub.problem.target_norm

    def guess(self) -> ModularBound:
        """Shares by H ⪯ diag(h + o): from above but for the norm constraint and rounding."""
        sub = self.sub
        if sub.size == 1:
            return self._bound(0.0, gains_alone(sub))
        if not sub.problem.features.singles:
            above = np.repeat(1.0 + self._off_sums, sub.problem.features.widths[sub.live])
            return self._bound(0.0, sub.blocks.gains(above * sub.blocks.eigenvalues))
        return self._bound(0.0, sub.g**2 / (sub.h + self._off_sums))

    def centred(self, inclusion: FloatArray) -> ModularBound | None:
        """The bound around the coefficients that are expected at these inclusion probabilities.

        The total of the cell is smallest at x = (Q + D/π)⁻¹ g with the inclusion probabilities π
        of the law that x makes.
        """
        likely = np.flatnonzero(inclusion > LEAST_INCLUSION)
        if len(likely) > CENTRE_COLUMNS:
            likely = np.argpartition(-inclusion, CENTRE_COLUMNS)[:CENTRE_COLUMNS]
        if len(likely) == 0 or self.blurred:
            return None
        centring = Centring(self.sub, self._convexity)
        centring.admit(likely)
        bound, _ = centring.around(np.minimum(inclusion[centring.members], 1.0))
        return self._bound(bound.constant, bound.shares)

    def pairs(self, target: LogWeight) -> PairLaw | None:
        """The gains of all pairs, (h_l g_j² + h_j g_l² - 2 H_jl g_j g_l) / (h_j h_l - H_jl²)."""
        sub = self.sub
        if sub.size != 2 or len(sub.live) > PAIR_COLUMNS or self.blurred:
            return None
        if not sub.problem.features.singles:
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

    def _second_sum(self) -> float:
        """By how much a pair's gain may change where H is computed a second time, row by row.

        Entries of G that are not kept differ by n roundings, others not at all.
        """
        problem = self.sub.problem
        roundings = 4 + len(self.sub.whitened) + (0 if problem.gram.fits else problem.n)
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

    def pairs(self, target: LogWeight) -> PairLaw | None:
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
        everything = np.arange(problem.features.count)
        self._tops = None
        if problem.features.singles:
            self._tops = problem.gram.row_tops(everything, max(largest - 1, 1), tick)
        self.curvature = curvature_of(self._whole(largest, 0.0))

    def root(self, size: int) -> Family:
        """Every support of `size` features."""
        return AdditionsFamily(self._whole(size, self._multiplier), self.curvature)

    def _whole(self, size: int, multiplier: float) -> Additions:
        none, everything = np.empty(0, dtype=np.intp), np.arange(self._problem.features.count)
        return additions_to(self._problem, none, size, everything, multiplier, self._tops)

    def families(self, cuts: Sequence[Origin]) -> list[Family]:
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


def _child(cut: Origin) -> AdditionsFamily:
    parent = cut.parent
    assert isinstance(parent, AdditionsFamily)
    if cut.taken is None:
        return AdditionsFamily(parent.sub.restricted(cut.keep), parent.curvature)
    return AdditionsFamily(parent.sub.with_feature(cut.taken, cut.keep), parent.curvature)
