"""Families of supports for any convex loss: Fenchel bounds of dual points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.fenchel import FenchelBounds, FenchelLoss
from mipselect.search.bounds.modular import ModularBound, largest_sum
from mipselect.search.convex.cuts import fenchel_cut
from mipselect.search.convex.node import FenchelNode, starts
from mipselect.search.node import Node
from mipselect.search.soft.cells import Family, Origin, likely
from mipselect.search.tuning import TUNING, Tuning


@dataclass(frozen=True, eq=False)
class DualFamily:
    """B ∪ T bounded by the dual optimum on B, and by dual points around what is expected.

    Attributes
    ----------
    node : FenchelNode
        With the dual optimum on B.
    """

    node: FenchelNode

    @property
    def exact(self) -> bool:
        """True if nothing is added: then the dual optimum is as good as the value."""
        return self.node.size == 0

    def floors(self) -> list[ModularBound]:
        """Return two tangents of the bound: where nothing and where the most is added."""
        return modular_bounds(self.node.bounds, self.node.row, self.node)

    def guess(self) -> ModularBound:
        """Estimate -R by R(B): features that are added gain little as a rule."""
        value = float(self.node.bound(np.zeros(1))[0])
        return ModularBound(-value, np.zeros(len(self.node.live)))

    def expanded(self, inclusion: FloatArray) -> ModularBound | None:
        """Compute the bound of the dual point that is best at these inclusion probabilities π.

        For ν = 0 it maximises Σ_i -ℓ*(y_i, -α_i) - Σ_j π_j w_j² / 2λ, the dual of the problem
        in which feature j has the ridge λ/π_j.
        """
        node, limits = self.node, self.node.tuning.refining
        X = likely(inclusion, limits.dual_columns, limits)
        if len(X) == 0:
            return None
        features = np.concatenate([node.base, node.live[X]])
        scales = np.sqrt(np.concatenate([np.ones(len(node.base)), np.minimum(inclusion[X], 1.0)]))
        return modular_bounds(node.problem.scaled_bounds(features, scales), 0, node)[0]


def modular_bounds(bounds: FenchelBounds, row: int, node: Node) -> list[ModularBound]:
    """Bound -R(B ∪ T) by two cuts: tightest where nothing and where the most is added."""
    own, credits = bounds.own(row, node.base), bounds.weights[row][node.live]
    ends = (own, own + largest_sum(credits, node.size))
    # Below this length the norm constraint is not active, and the cuts are the same.
    lengths = {max(math.sqrt(t), bounds.ridge * bounds.radius) for t in ends}
    return [fenchel_cut(bounds, row, own, credits, length) for length in sorted(lengths)]


class ConvexSpace:
    """All supports for a loss with Fenchel bounds."""

    def __init__(self, problem: FenchelLoss, tuning: Tuning = TUNING) -> None:
        self._problem, self._tuning = problem, tuning

    def root(self, size: int) -> Family:
        """Return every support of `size` features, with the dual optimum without features."""
        none = np.empty((1, 0), dtype=np.intp)
        bounds = self._problem.bounds(none)
        everything = np.arange(self._problem.p)
        return DualFamily(
            FenchelNode(none[0], size, everything, self._problem, bounds, 0, self._tuning)
        )

    def families(self, cuts: Sequence[Origin]) -> list[Family]:
        """Make the families; those with a larger base are solved in one batch."""
        larger = [
            (cut.parent.node, cut.taken)
            for cut in cuts
            if cut.taken is not None and isinstance(cut.parent, DualFamily)
        ]
        bases = [np.append(node.base, node.live[taken]) for node, taken in larger]
        solved = iter(_in_batches(self._problem, bases, [node for node, _ in larger]))
        families: list[Family] = []
        for cut in cuts:
            parent = cut.parent
            assert isinstance(parent, DualFamily)
            if cut.taken is None:
                node = parent.node.restricted(cut.keep)
            else:
                child = parent.node.with_feature(cut.taken, cut.keep)
                node = replace(child, bounds=next(solved), row=0)
            families.append(DualFamily(node))
        return families

    def evaluated(self, family: Family) -> Family | None:
        """Return None, for members are evaluated one by one as they are cut off."""
        return None

    def ceiling(self, node: Node) -> ModularBound:
        """Bound R(B ∪ T) ≤ R(B)."""
        value = float(self._problem.values(node.base[None])[0])
        return ModularBound(-value, np.zeros(len(node.live)))


def _in_batches(
    problem: FenchelLoss, bases: list[IntArray], near: list[FenchelNode]
) -> list[FenchelBounds]:
    """Find the dual optimum on every base; those of one size are solved together."""
    found: dict[int, FenchelBounds] = {}
    for size in {len(base) for base in bases}:
        numbers = [k for k, base in enumerate(bases) if len(base) == size]
        begin = starts([near[k] for k in numbers])
        bounds = problem.bounds(np.array([bases[k] for k in numbers]), begin)
        for row, k in enumerate(numbers):
            found[k] = replace(bounds, points=None).only(row)
    return [found[k] for k in range(len(bases))]
