"""Spaces of supports: what is known of the supports of a node, for each kind of loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.backends.cuts import ModularBound, largest_sum
from mipselect.errors import InvalidInput
from mipselect.restricted.fenchel import FenchelBounds, FenchelLoss
from mipselect.restricted.prepared import PreparedLoss
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.convex import FenchelNode, fenchel_cut, starts
from mipselect.search.least_squares.curvature import Curvature
from mipselect.search.least_squares.expansion import PointBounds
from mipselect.search.least_squares.method import best_by_swaps
from mipselect.search.least_squares.node import SquaredNode, squared_node
from mipselect.search.least_squares.shares import dominated_diagonal, gain_shares, off_diagonal_sums
from mipselect.search.least_squares.tree import GramMeasures, is_crowded
from mipselect.search.progress import Run
from mipselect.search.tree import Node
from mipselect.search.tuning import TUNING, Refining, Tuning

AnyNode = TypeVar("AnyNode", bound=Node)


@dataclass(frozen=True, eq=False)
class Cut:
    """What makes a part of a node: live[taken] goes into the base, `keep` stays live."""

    parent: Any
    taken: int | None
    keep: IntArray

    def of(self, node: AnyNode) -> AnyNode:
        """Return this part of a node."""
        if self.taken is None:
            return node.restricted(self.keep)
        return node.with_feature(self.taken, self.keep)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Bounds on -R(B ∪ T) for the supports of a node.

    Attributes
    ----------
    floors : list of ModularBound
        Proven upper bounds.
    guess : ModularBound
        A rough estimate, from below.
    expanded : callable
        Makes a bound that is good for these probabilities of the features, if there is one.
    exact : bool
        True if the bounds are the values themselves, so that nothing can be refined.
    """

    floors: list[ModularBound]
    guess: ModularBound
    expanded: Callable[[FloatArray], ModularBound | None]
    exact: bool = False


class Space(Protocol):
    """All supports of one loss and one data set, as nodes."""

    def root(self, size: int) -> Node:
        """Return every support of `size` features."""

    def nodes(self, cuts: Sequence[Cut]) -> Sequence[Node]:
        """Return the nodes that were cut off, with what their bounds need, all at once."""

    def bounds(self, node: Any) -> Bounds:
        """Bound the supports of a node."""

    def values(self, node: Node) -> ModularBound | None:
        """Return the exact -R(B ∪ {j}) of a node of size 1, where its bounds may not be."""

    def ceiling(self, node: Node) -> ModularBound:
        """Return a proven lower bound on -R(B ∪ T), but for the error of values."""


def likely(inclusion: FloatArray, most: int, limits: Refining) -> IntArray:
    """Return the positions of what may be part of an expansion point, `most` of them at most."""
    found = np.flatnonzero(inclusion > limits.least_inclusion)
    return found if len(found) <= most else np.argpartition(-inclusion, most)[:most]


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
        self._others = max(largest - 1, 1)
        self._row_tops: FloatArray | None = None
        if problem.features.singles and problem.gram.held:
            self._find_tops()
        self._curvature = GramMeasures(problem, tuning).cheap_curvature

    def root(self, size: int) -> SquaredNode:
        """Return every support of `size` features."""
        none, tops = np.empty(0, dtype=np.intp), self._row_tops
        return squared_node(
            self._problem, none, size, self._everything, self._multiplier, tops, self._tuning
        )

    def nodes(self, cuts: Sequence[Cut]) -> list[SquaredNode]:
        """Make each node by one step of elimination.

        Where many of them are crowded, bounds without row sums of G do not do, and these are found.
        """
        nodes: list[SquaredNode] = [cut.of(cut.parent) for cut in cuts]
        self._crowded += sum(map(is_crowded, nodes))
        if self._row_tops is None and self._crowded > self._tuning.refining.crowded:
            self._find_tops()
        if self._row_tops is None:
            return nodes
        return [replace(node, row_tops=self._row_tops) for node in nodes]

    def _find_tops(self) -> None:
        """Look at all of G once."""
        gram = self._problem.gram
        self._row_tops = gram.row_tops(self._everything, self._others, self._tick)

    def bounds(self, node: SquaredNode) -> Bounds:
        """Bound by `squared_bounds`."""
        return squared_bounds(node, self._curvature)

    def values(self, node: Node) -> ModularBound:
        """Evaluate all supports, also where the norm constraint is active."""
        values = self._problem.values_of_additions(node.base, node.live)
        return ModularBound(0.0, -values)

    def ceiling(self, node: Node) -> ModularBound:
        """Bound R(B ∪ T) ≤ R(B ∪ {j}) for every j ∈ T, so no more than their mean."""
        base, live, size = node.base, node.live, node.size
        if size == 0:
            return ModularBound(-float(self._problem.values(base[None])[0]), np.zeros(len(live)))
        return ModularBound(0.0, -self._problem.values_of_additions(base, live) / size)


def squared_bounds(node: SquaredNode, curvature: Curvature) -> Bounds:
    """Bound 2n R ≥ v_B - νr² - slack - constant - Σ shares (docs/mathematics/cuts.md, (7) and (9)).

    There is a bound g_Tᵀ H_TT⁻¹ g_T ≤ Σ_{j∈T} g_j² / M_j by dominance, and R ≥ 0 in two cases: for
    the root, and alone if values are blurred. H ⪯ diag(h + o) makes the guess, from above but for
    the norm constraint and rounding.
    """
    features, convexity = node.problem.features, curvature.at(node)
    # If λ+ν is below the digits of G, pivots may be noise, and bounds anything.
    blurred = node.slack >= node.problem.target_norm
    if node.size == 1:
        most = least = node.gains_alone()
    else:
        off_sums = off_diagonal_sums(node, node.size - 1)
        if features.singles:
            most = node.g**2 / dominated_diagonal(node.h, off_sums, convexity.least)
            least = node.g**2 / (node.h + off_sums)
        else:
            above = np.repeat(1.0 + off_sums, features.widths[node.live])
            most = gain_shares(node)
            least = node.blocks.gains(above * node.blocks.eigenvalues)

    def bound(constant: float, shares: FloatArray) -> ModularBound:
        return ModularBound(-node.lower_bound(constant), shares / (2.0 * node.problem.n))

    def expanded(inclusion: FloatArray) -> ModularBound | None:
        """Bound around the coefficients that are expected at these inclusion probabilities.

        The total of the cell is smallest at x = (Q + D/π)⁻¹ g with the inclusion probabilities π
        of the law that x makes.
        """
        limits = node.tuning.refining
        members = likely(inclusion, limits.expanded_columns, limits)
        if len(members) == 0 or blurred:
            return None
        around_points = PointBounds(node, convexity)
        around_points.admit(members)
        found, _ = around_points.around(np.minimum(inclusion[around_points.members], 1.0))
        return bound(found.constant, found.terms)

    floors = [] if blurred else [bound(0.0, most)]
    if blurred or not len(node.base):
        floors.append(ModularBound(0.0, np.zeros(len(node.live))))
    return Bounds(floors, bound(0.0, least), expanded)


class ConvexSpace:
    """All supports for a loss with Fenchel bounds, by the dual optima on their bases."""

    def __init__(self, problem: FenchelLoss, tuning: Tuning = TUNING) -> None:
        self._problem, self._tuning = problem, tuning

    def root(self, size: int) -> FenchelNode:
        """Return every support of `size` features, with the dual optimum without features."""
        none = np.empty((1, 0), dtype=np.intp)
        bounds, everything = self._problem.bounds(none), np.arange(self._problem.p)
        return FenchelNode(none[0], size, everything, self._problem, bounds, 0, self._tuning)

    def nodes(self, cuts: Sequence[Cut]) -> list[FenchelNode]:
        """Make the nodes; the dual optima on larger bases of one size are found together."""
        nodes: list[FenchelNode] = [cut.of(cut.parent) for cut in cuts]
        larger = [k for k, cut in enumerate(cuts) if cut.taken is not None]
        for size in {len(nodes[k].base) for k in larger}:
            some = [k for k in larger if len(nodes[k].base) == size]
            begin = starts([cuts[k].parent for k in some])
            bounds = self._problem.bounds(np.array([nodes[k].base for k in some]), begin)
            for row, k in enumerate(some):
                own = replace(bounds, points=None).only(row)
                nodes[k] = replace(nodes[k], bounds=own, row=0)
        return nodes

    def bounds(self, node: FenchelNode) -> Bounds:
        """Bound by the dual optimum on B, and by dual points around what is expected.

        The guess is R(B): features that are added gain little as a rule. If nothing is added, the
        dual optimum is as good as the value.
        """

        def expanded(inclusion: FloatArray) -> ModularBound | None:
            """Compute the bound of the dual point that is best at inclusion probabilities π.

            For ν = 0 it maximises Σ_i -ℓ*(y_i, -α_i) - Σ_j π_j w_j² / 2λ, the dual of the problem
            in which feature j has the ridge λ/π_j.
            """
            limits = node.tuning.refining
            X = likely(inclusion, limits.dual_columns, limits)
            if len(X) == 0:
                return None
            features = np.concatenate([node.base, node.live[X]])
            roots = np.sqrt(np.minimum(inclusion[X], 1.0))
            scales = np.concatenate([np.ones(len(node.base)), roots])
            return modular_bounds(node.problem.scaled_bounds(features, scales), 0, node)[0]

        value = float(node.bound(np.zeros(1))[0])
        guess = ModularBound(-value, np.zeros(len(node.live)))
        return Bounds(
            modular_bounds(node.bounds, node.row, node), guess, expanded, exact=node.size == 0
        )

    def values(self, node: Node) -> None:
        """Return None, for members are evaluated one by one as they are cut off."""
        return None

    def ceiling(self, node: Node) -> ModularBound:
        """Bound R(B ∪ T) ≤ R(B)."""
        value = float(self._problem.values(node.base[None])[0])
        return ModularBound(-value, np.zeros(len(node.live)))


def modular_bounds(bounds: FenchelBounds, row: int, node: Node) -> list[ModularBound]:
    """Bound -R(B ∪ T) by two cuts: tightest where nothing and where the most is added."""
    own, credits = bounds.own(row, node.base), bounds.weights[row][node.live]
    ends = (own, own + largest_sum(credits, node.size))
    # Below this length the norm constraint is not active, and the cuts are the same.
    lengths = {max(math.sqrt(t), bounds.ridge * bounds.radius) for t in ends}
    return [fenchel_cut(bounds, row, own, credits, length) for length in sorted(lengths)]


def space_of(
    problem: PreparedLoss, largest: int, run: Run, tuning: Tuning = TUNING
) -> tuple[Space, float]:
    """Make the space of all supports of at most `largest` features, and R at a good one of them.

    Raises
    ------
    InvalidInput
        If the loss has no bounds, or λ = 0, by which they divide.
    """
    if isinstance(problem, PreparedSquared):
        support, value, _ = best_by_swaps(problem, largest, run, tuning)
        multiplier = problem.fit(support).multiplier
        return LeastSquaresSpace(problem, multiplier, largest, run.tick, tuning), value
    if isinstance(problem, FenchelLoss):
        weights = problem.bounds(np.empty((1, 0), dtype=np.intp)).weights[0]
        support = np.sort(np.argsort(-weights, kind="stable")[:largest])
        return ConvexSpace(problem, tuning), float(problem.values(support[None])[0])
    raise InvalidInput("this loss has no lower bounds, so only few supports can be drawn from")
