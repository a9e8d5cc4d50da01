"""Cells: all supports with a base and so many of its live features, and what they weigh together.

The cells of a partition are disjoint and hold every support. A cell begins with the bound of the
cell that it was cut from. It is tightened by bounds of its own, which takes some work, and then
divided by features: one cell for each that is the first to be taken, and one where none is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.bounds.modular import ModularBound
from mipselect.search.node import Node
from mipselect.search.soft.bounds import LogWeight
from mipselect.search.soft.polynomials import SubsetLaw, subset_law
from mipselect.search.strategies import Strategy
from mipselect.search.tuning import TUNING, Refining, Tuning


class Family(Protocol):
    """The supports B ∪ T of a node, with bounds on R."""

    @property
    def node(self) -> Node:
        """B, and what may be added to it."""

    @property
    def exact(self) -> bool:
        """True if the bounds are the values themselves, so that nothing can be refined."""

    def floors(self) -> list[ModularBound]:
        """Return proven upper bounds on -R(B ∪ T)."""

    def guess(self) -> ModularBound:
        """Estimate -R(B ∪ T) roughly, from below."""

    def expanded(self, inclusion: FloatArray) -> ModularBound | None:
        """Return a bound that is good for these probabilities of the features, if there is one."""


@dataclass(frozen=True, eq=False)
class Origin:
    """Parent that a family was cut from: live[taken] went into the base, `keep` stayed live."""

    parent: Family
    taken: int | None
    keep: IntArray


class Space(Protocol):
    """All supports of one loss and one data set, as families."""

    def root(self, size: int) -> Family:
        """Return every support of `size` features."""

    def families(self, cuts: Sequence[Origin]) -> list[Family]:
        """Return the families that were cut off, with what their bounds need, all at once."""

    def evaluated(self, family: Family) -> Family | None:
        """Return the same family of size 1 with exact values, where its bounds may not be."""

    def ceiling(self, node: Node) -> ModularBound:
        """Return a proven lower bound on -R(B ∪ T), but for the error of values."""


@dataclass(frozen=True, eq=False)
class Cell:
    """A family with an upper bound of every log weight, whose total is known.

    Attributes
    ----------
    node : Node
    bound : ModularBound
        On -R(B ∪ T), handed on.
    law : SubsetLaw
        ∝ the bounds of the weights.
    log_upper, log_guess : float
        Log of the total of the bounds, and a guess at that of the weights, which is ``-inf``
        until the cell is tight.
    family : Family or None
        With bounds of its own; None until the cell is tight.
    cut : Origin or None
        Until then, what makes it.
    """

    node: Node
    bound: ModularBound
    law: SubsetLaw
    log_upper: float
    log_guess: float
    family: Family | None
    cut: Origin | None

    @property
    def log_excess(self) -> float:
        """Log of what the total of the bounds is guessed to be too large by."""
        missing = self.log_guess - self.log_upper
        return self.log_upper + (math.log(-math.expm1(missing)) if missing < 0.0 else -math.inf)

    @property
    def log_largest(self) -> float:
        """Log of the largest bound of a weight."""
        missing = self.law.log_largest - self.law.log_total
        return self.log_upper + missing if missing < 0.0 else self.log_upper

    @property
    def final(self) -> bool:
        """True if no refinement can make the cell's bounds better."""
        return self.family is not None and self.family.exact

    def positions(self, support: IntArray) -> IntArray | None:
        """Find the places of what `support`, sorted, adds to the base; None if not in the cell."""
        node = self.node
        added = np.setdiff1d(support, node.base)
        if len(added) != node.size or len(node.base) + node.size != len(support):
            return None
        places = np.flatnonzero(np.isin(node.live, added))
        return places if len(places) == node.size else None

    def support(self, positions: IntArray) -> IntArray:
        """Return base ∪ live[positions], sorted."""
        return np.asarray(self.node.supports(positions[None])[0])


def tight(
    family: Family, inherited: Sequence[ModularBound], target: LogWeight, tuning: Tuning = TUNING
) -> Cell:
    """Make the cell of a family, by the best of its own bounds and of those it inherits."""
    node = family.node
    bounds = [*family.floors(), *inherited]
    laws = _finite_laws(family, bounds, target)
    log_upper, law, bound = min(laws, key=lambda found: found[0])
    guess, _ = _law(node, family.guess(), target)
    # A constant says nothing about features, so that no point begins there.
    informed = [found for found in laws if found[2].terms.any()] or laws
    inclusion = np.exp(min(informed, key=lambda found: found[0])[1].log_inclusion())
    limits = tuning.refining
    for _ in range(limits.expansions if tuning.uses(Strategy.CELL_EXPANSION) else 0):
        if log_upper <= guess:
            break
        trial = family.expanded(inclusion)
        if trial is None:
            break
        log_trial, trial_law = _law(node, trial, target)
        if not math.isfinite(log_trial):
            break
        gained = log_upper - log_trial
        if gained > 0.0:
            log_upper, law, bound = log_trial, trial_law, trial
        if abs(gained) < limits.gained:
            break
        # Halfway, for the full step swings to and fro between features that replace each other.
        inclusion = 0.5 * (inclusion + np.exp(trial_law.log_inclusion()))
    return Cell(node, bound, law, log_upper, min(log_upper, guess), family, None)


def parts_of(cell: Cell, space: Space, target: LogWeight, tuning: Tuning = TUNING) -> list[Cell]:
    """Divide a tight cell by the few features that are most in doubt."""
    family, limits = cell.family, tuning.refining
    assert family is not None
    node = cell.node
    if node.size == 1 and (evaluated := space.evaluated(family)) is not None:
        return [tight(evaluated, [], target, tuning)]
    inclusion = np.exp(cell.law.log_inclusion())
    terms = target.rate * cell.bound.terms
    doubt = inclusion * (1.0 - inclusion) * np.maximum(terms, 0.0) + 1e-9 * inclusion
    order = np.argsort(-doubt, kind="stable")[: limits.ways]
    order = order[doubt[order] >= limits.doubt * doubt[order[0]]]
    left = np.arange(len(node.live))
    found = []
    for taken in order.tolist():
        left = left[left != taken]
        if len(left) >= node.size - 1:
            found.append(_inherited(family, taken, left, cell.bound, target))
    if len(left) >= node.size:
        found.append(_inherited(family, None, left, cell.bound, target))
    return found


def likely(inclusion: FloatArray, most: int, limits: Refining) -> IntArray:
    """Return the positions of what may be part of an expansion point, `most` of them at most."""
    found = np.flatnonzero(inclusion > limits.least_inclusion)
    return found if len(found) <= most else np.argpartition(-inclusion, most)[:most]


def _inherited(
    parent: Family, taken: int | None, keep: IntArray, bound: ModularBound, target: LogWeight
) -> Cell:
    whole = parent.node
    node = Node(whole.base, whole.size, whole.live)
    if taken is None:
        node, bound = node.restricted(keep), bound.among(keep)
    else:
        node, bound = node.with_feature(taken, keep), bound.taking(taken, keep)
    log_upper, law = _law(node, bound, target)
    return Cell(node, bound, law, log_upper, -math.inf, None, Origin(parent, taken, keep))


def _finite_laws(
    family: Family, bounds: Sequence[ModularBound], target: LogWeight
) -> list[tuple[float, SubsetLaw, ModularBound]]:
    """Return log totals and laws with those bounds that are numbers; with R ≥ 0 where none is."""
    node = family.node
    found = [(*_law(node, bound, target), bound) for bound in bounds]
    nothing = ModularBound(0.0, np.zeros(len(node.live)))
    return [law for law in found if math.isfinite(law[0])] or [
        (*_law(node, nothing, target), nothing)
    ]


def _law(node: Node, bound: ModularBound, target: LogWeight) -> tuple[float, SubsetLaw]:
    constant, logs = target.log_bound(node, bound)
    law = subset_law(logs, node.size)
    return constant + law.log_total, law
