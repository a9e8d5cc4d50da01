"""State of a tree search for the squared loss, and when it turns to which bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.backends.cuts import Budget
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.least_squares.curvature import (
    ChildrenCurvature,
    Curvature,
    UniformCurvature,
    curvature_of,
    spectral_curvatures,
)
from mipselect.search.least_squares.expansion import ExpandedBound, best_expanded
from mipselect.search.least_squares.near_columns import LiveSets, NearColumns, near_columns
from mipselect.search.least_squares.node import SquaredNode, squared_node
from mipselect.search.tree import TreeSearch
from mipselect.search.tuning import TUNING, Strategy, Tuning

QUICK_COLUMNS = 1024
"""Eigenvalues of no more columns take less than half a second."""


def is_crowded(node: SquaredNode) -> bool:
    """Tell whether row sums of G are unknown, and features too many to find them on the way."""
    unknown = node.row_tops is None and node.size > 1 and node.problem.features.singles
    return unknown and len(node.live) > node.tuning.screening.tops_columns


@dataclass(frozen=True, eq=False)
class GramMeasures:
    """Measures of G that take time, each made when it is first needed."""

    problem: PreparedSquared
    tuning: Tuning = TUNING

    @cached_property
    def near(self) -> NearColumns:
        """The sets of columns that are near to one another."""
        return near_columns(self.problem, self.tuning.near)

    @property
    def near_known(self) -> bool:
        """True if they have been looked for."""
        return "near" in vars(self)

    @cached_property
    def cheap_curvature(self) -> Curvature:
        """Curvature by the smallest eigenvalue."""
        return curvature_of(self._whole)

    @cached_property
    def curvatures(self) -> list[Curvature]:
        """Curvatures by the smallest eigenvalue, and by the spectrum cut off at several limits."""
        return [self.cheap_curvature, *spectral_curvatures(self._whole)]

    def spectra_pay(self, work: float) -> bool:
        """Tell whether a search that took so many multiplications may take long beside spectra."""
        size = self.problem.features.size
        taken = float(size) ** 2 * min(size, self.problem.n)
        return work >= self.tuning.spectrum.share * taken

    def curvature(self, variant: int) -> Curvature:
        """Return one of `curvatures`, the first without the others."""
        return self.curvatures[variant] if variant else self.cheap_curvature

    def ready_curvatures(self) -> list[Curvature]:
        """List the curvatures that are known or take no time, those of the spectrum first."""
        features = self.problem.features
        quick = self.problem.gram.held and features.size <= QUICK_COLUMNS
        if quick or "curvatures" in vars(self):
            return self.curvatures[::-1]
        return [UniformCurvature(0.0)] if features.singles else []

    def each_curvature(self) -> Iterator[Curvature]:
        """Yield `curvatures`, and compute no spectrum before the first is not enough."""
        yield self.cheap_curvature
        yield from self.curvatures[1:]

    @cached_property
    def _whole(self) -> SquaredNode:
        none, everything = np.empty(0, dtype=np.intp), np.arange(self.problem.features.count)
        return squared_node(self.problem, none, 1, everything, 0.0, None, self.tuning)


@dataclass(frozen=True, eq=False)
class SquaredTree(TreeSearch[SquaredNode]):
    """A `TreeSearch` with bounds that take work, for nodes that cheap bounds did not prune.

    Attributes
    ----------
    measures : GramMeasures
        Shared by the searches of one problem.
    """

    measures: GramMeasures

    @property
    def is_long(self) -> bool:
        """True if cheap bounds have had their chance, on many nodes or where one is heavy."""
        return self.run.heavy or self.run.subproblems > self.tuning.patience

    def weigh(self, node: SquaredNode) -> None:
        """Note that the search is long where a node has so many families that each is work."""
        if self.tuning.expanding.least_size <= node.size <= len(node.live):
            families = len(node.division.open(node.needed_gain(self.cutoff)))
            self.run.heavy |= families * len(node.live) > self.tuning.near.heavy

    def worth_expanding(self, node: SquaredNode) -> bool:
        """Tell whether a node that is screened should be bounded around an expansion point."""
        if not (2 <= node.size < len(node.live) and self.tuning.uses(Strategy.EXPANSION)):
            return False
        if is_crowded(node):  # Otherwise all of G is looked at.
            return True
        long = self.is_long and node.size >= self.tuning.expanding.least_size
        return long and self.worth(Strategy.EXPANSION, node.size)

    def informed(self, node: SquaredNode, families: int) -> SquaredNode:
        """Add what is known of near columns to a node, once other bounds had their chance.

        They are looked for when the search took as much work as that takes, or if bounds leave so
        many families open that it takes long to look.
        """
        features, gram, limits = node.problem.features, node.problem.gram, self.tuning.near
        if node.near is not None or not (features.singles and 1 < features.count <= limits.columns):
            return node
        heavy = families * len(node.live) > limits.heavy
        costly = self.run.accounts.work > limits.work * features.count
        late = costly and self.run.subproblems > 2 * self.tuning.patience
        wanted = heavy or late or self.measures.near_known
        return replace(node, near=LiveSets(self.measures.near)) if gram.fits and wanted else node

    def expanded(
        self,
        node: SquaredNode,
        budgets: Sequence[Budget],
        start: FloatArray,
        needed: float,
        close_if_open: float,
    ) -> ExpandedBound:
        """Bound by `best_expanded` with the curvature that has been the best for this size.

        Before cheap bounds have had their chance no spectrum is computed for it.
        """
        accounts, known, limits = self.run.accounts, self.measures, self.tuning.spectrum

        def by(curvature: Curvature) -> ExpandedBound:
            at = curvature.at(node)
            bound = best_expanded(node, at, budgets, start, needed, close_if_open)
            accounts.work += bound.work
            return bound

        spectra = accounts.of(Strategy.SPECTRA, node.size)
        if not (self.is_long and known.spectra_pay(accounts.work)):
            return by(known.cheap_curvature)
        allowance = limits.ahead if spectra.lead >= 2 else limits.comparisons
        compared = self.worth(Strategy.SPECTRA, node.size, allowance=allowance)
        if spectra.winner is not None and not compared:
            return by(known.curvature(spectra.winner))
        lowest, found = math.inf, ExpandedBound(math.inf, np.zeros(len(node.live)), start)
        winner = 0
        with accounts.trying(Strategy.SPECTRA, node.size) as spectra:
            for variant, curvature in enumerate(known.each_curvature()):
                bound = by(curvature)
                worst = bound.largest(budgets)
                if worst < lowest:
                    lowest, found, winner = worst, bound, variant
                if lowest <= needed:
                    break
            # The work of the best of them would have been done without a comparison.
            accounts.work -= found.work
        accounts.work += found.work
        spectra.wins[winner] += 1
        return found

    def of_children(self, node: SquaredNode) -> list[ChildrenCurvature]:
        """Choose curvatures that bound all children of a node at once; none for one by one.

        Children that add pairs are bounded where the pairs are too many to be looked at. For the
        others the first has won at such nodes, and the second elsewhere: to divide a child that the
        wrong one leaves open may take a thousand times as long.
        """
        size, known = node.size - 1, self.measures
        if not node.problem.features.singles:
            return []
        pairs = size == 2 and len(node.live) ** 2 > self.tuning.together.pairs
        if not pairs and (size < self.tuning.expanding.least_size or not self.is_long):
            return []
        of = self.run.accounts.of
        won = (of(Strategy.SPECTRA, one).winner for one in (size, node.size))
        best = next((winner for winner in won if winner is not None), 0 if pairs else None)
        if best is None or not self.worth(Strategy.CHILDREN, size):
            return []
        chosen = [best]
        # Triples that are left open are looked at in less time than another bound takes.
        if size > self.tuning.expanding.least_size:
            wins = self.run.accounts.wins(Strategy.SPECTRA).most_common()
            chosen += [variant for variant, _ in wins if variant != best][:1]
        return [cast(ChildrenCurvature, known.curvature(one)) for one in chosen]
