"""Families of supports for the squared loss: Schur complements and shares of the gain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.bounds.modular import ModularBound
from mipselect.search.least_squares.center import RowTops
from mipselect.search.least_squares.curvature import Convexity, Curvature
from mipselect.search.least_squares.expansion import PointBounds
from mipselect.search.least_squares.node import SquaredNode, gains_alone, squared_node
from mipselect.search.least_squares.shares import dominated_diagonal, gain_shares, off_diagonal_sums
from mipselect.search.least_squares.tree import GramMeasures, is_crowded
from mipselect.search.node import Node
from mipselect.search.soft.cells import Family, Origin, likely
from mipselect.search.tuning import TUNING, Tuning


@dataclass(frozen=True, eq=False)
class SquaredFamily:
    """B ∪ T with bounds on the gain of T (docs/mathematics/cuts.md, (7) and (9))."""

    node: SquaredNode
    curvature: Curvature

    @property
    def exact(self) -> bool:
        """Never: the norm constraint may raise R."""
        return False

    def floors(self) -> list[ModularBound]:
        """Bound g_Tᵀ H_TT⁻¹ g_T ≤ Σ_{j∈T} g_j² / M_j by dominance, and R ≥ 0 in two cases.

        The second bound is there for the root, and it is the only one if values are blurred.
        """
        node = self.node
        nothing = ModularBound(0.0, np.zeros(len(node.live)))
        if self.blurred:
            return [nothing]
        if node.size == 1 or not node.problem.features.singles:
            gains = gain_shares(node)
        else:
            gains = node.g**2 / dominated_diagonal(node.h, self._off_sums, self._convexity.least)
        shares = self._bound(0.0, gains)
        return [shares] if len(node.base) else [shares, nothing]

    @cached_property
    def _convexity(self) -> Convexity:
        return self.curvature.at(self.node)

    @property
    def blurred(self) -> bool:
        """True if λ+ν is below the digits of G: pivots may be noise, and bounds anything."""
        return self.node.slack >= self.node.problem.target_norm

    def guess(self) -> ModularBound:
        """Estimate shares by H ⪯ diag(h + o), from above but for norm constraint and rounding."""
        node = self.node
        if node.size == 1:
            return self._bound(0.0, gains_alone(node))
        if not node.problem.features.singles:
            above = np.repeat(1.0 + self._off_sums, node.problem.features.widths[node.live])
            return self._bound(0.0, node.blocks.gains(above * node.blocks.eigenvalues))
        return self._bound(0.0, node.g**2 / (node.h + self._off_sums))

    def expanded(self, inclusion: FloatArray) -> ModularBound | None:
        """Bound around the coefficients that are expected at these inclusion probabilities.

        The total of the cell is smallest at x = (Q + D/π)⁻¹ g with the inclusion probabilities π
        of the law that x makes.
        """
        limits = self.node.tuning.refining
        members = likely(inclusion, limits.expanded_columns, limits)
        if len(members) == 0 or self.blurred:
            return None
        around_points = PointBounds(self.node, self._convexity)
        around_points.admit(members)
        bound, _ = around_points.around(np.minimum(inclusion[around_points.members], 1.0))
        return self._bound(bound.constant, bound.terms)

    @property
    def _off_sums(self) -> FloatArray:
        return off_diagonal_sums(self.node, min(self.node.size, len(self.node.live)) - 1)

    def _bound(self, constant: float, shares: FloatArray) -> ModularBound:
        """Bound 2n R ≥ v_B - νr² - slack - constant - Σ shares."""
        return ModularBound(-self.node.lower_bound(constant), shares / (2.0 * self.node.problem.n))


@dataclass(frozen=True, eq=False)
class EvaluatedFamily:
    """B ∪ {j} with exact values, also where the norm constraint is active."""

    node: Node
    values: FloatArray

    @property
    def exact(self) -> bool:
        """Always."""
        return True

    def floors(self) -> list[ModularBound]:
        """Return the values."""
        return [ModularBound(0.0, -self.values)]

    def guess(self) -> ModularBound:
        """Return the values."""
        return ModularBound(0.0, -self.values)

    def expanded(self, inclusion: FloatArray) -> ModularBound | None:
        """Return None, for nothing could be better."""
        return None


class LeastSquaresSpace:
    """All supports of at most `largest` features for the squared loss.

    Bounds are valid for any multiplier ν ≥ 0, and tight where it is that of a good support; `tick`
    is called before every block of XᵀX.
    """

    def __init__(
        self,
        problem: PreparedSquared,
        multiplier: float,
        largest: int,
        tick: Callable[[], None],
        tuning: Tuning = TUNING,
    ) -> None:
        self._problem, self._multiplier, self._tuning = problem, multiplier, tuning
        self._everything, self._tick, self._crowded = np.arange(problem.features.count), tick, 0
        self._tops = RowTops(problem.gram, self._everything, max(largest - 1, 1))
        if problem.features.singles and problem.gram.held:
            self._tops.find(tick)
        self._curvature = GramMeasures(problem, tuning).cheap_curvature

    def root(self, size: int) -> Family:
        """Return every support of `size` features."""
        none, tops = np.empty(0, dtype=np.intp), self._tops.known
        whole = squared_node(
            self._problem, none, size, self._everything, self._multiplier, tops, self._tuning
        )
        return SquaredFamily(whole, self._curvature)

    def families(self, cuts: Sequence[Origin]) -> list[Family]:
        """Make each family by one step of elimination.

        Where many of them are crowded, bounds without row sums of G do not do, and these are found.
        """
        families = [_child(cut) for cut in cuts]
        self._crowded += sum(is_crowded(family.node) for family in families)
        if self._tops.known is None and self._crowded > self._tuning.refining.crowded:
            self._tops.find(self._tick)
        return [self._with_tops(family) for family in families]

    def _with_tops(self, family: SquaredFamily) -> SquaredFamily:
        """Give a family the row sums, where they were found after its parent was made."""
        if self._tops.known is None or family.node.row_tops is not None:
            return family
        return replace(family, node=replace(family.node, row_tops=self._tops.known))

    def evaluated(self, family: Family) -> Family | None:
        """Evaluate the family where its values are not known yet."""
        node = family.node
        return EvaluatedFamily(node, self._problem.values_of_additions(node.base, node.live))

    def ceiling(self, node: Node) -> ModularBound:
        """Bound R(B ∪ T) ≤ R(B ∪ {j}) for every j ∈ T, so no more than their mean."""
        base, live, size = node.base, node.live, node.size
        if size == 0:
            return ModularBound(-float(self._problem.values(base[None])[0]), np.zeros(len(live)))
        return ModularBound(0.0, -self._problem.values_of_additions(base, live) / size)


def _child(cut: Origin) -> SquaredFamily:
    parent = cut.parent
    assert isinstance(parent, SquaredFamily)
    if cut.taken is None:
        return SquaredFamily(parent.node.restricted(cut.keep), parent.curvature)
    return SquaredFamily(parent.node.with_feature(cut.taken, cut.keep), parent.curvature)
