"""Cells: all supports with a base and so many of its live features, and what they weigh together.

The cells of a partition are disjoint and hold every support. A cell begins with the bound of the
cell that it was cut from. It is tightened by bounds of its own, which takes some work, and then
divided by features: one cell for each that is the first to be taken, and one where none is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.bounds.modular import ModularBound
from mipselect.search.node import Node
from mipselect.search.soft.polynomials import SubsetLaw, subset_law
from mipselect.search.strategies import Strategy
from mipselect.search.tuning import TUNING, Refining, Tuning


@dataclass(frozen=True, eq=False)
class LogWeight:
    """log weight of a support: log μ(S) - c (R(S) - reference).

    Attributes
    ----------
    rate : float
        c.
    reference : float
        A value of R near the smallest, so that the numbers stay small. Its choice cancels.
    log_prior : mapping of int to float
        log μ by size, without the factors of the features.
    log_features : ndarray of shape (p,)
        log of the factor of every feature.
    """

    rate: float
    reference: float
    log_prior: Mapping[int, float]
    log_features: FloatArray

    def log_weight(self, support: IntArray, value: float) -> float:
        """Return log μ(S) - c (R(S) - reference) of a support S whose R is `value`."""
        prior = self.log_prior[len(support)] + float(self.log_features[support].sum())
        return prior - self.rate * (value - self.reference)

    def law(self, node: Node, bound: ModularBound) -> SubsetLaw:
        """Turn a bound on -R into bounds on the weights of the supports of a node."""
        constant = self.log_prior[len(node.base) + node.size]
        constant += float(self.log_features[node.base].sum())
        constant += self.rate * (bound.constant + self.reference)
        logs = self.rate * bound.terms + self.log_features[node.live]
        return subset_law(logs, node.size, constant)


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
        The bounds of the weights.
    log_guess : float
        Log of a guess at the total of the weights, which is ``-inf`` until the cell is tight.
    family : Family or None
        With bounds of its own; None until the cell is tight.
    cut : Origin or None
        Until then, what makes it.
    """

    node: Node
    bound: ModularBound
    law: SubsetLaw
    log_guess: float
    family: Family | None
    cut: Origin | None

    @property
    def log_upper(self) -> float:
        """Log of the total of the bounds."""
        return self.law.log_total

    @property
    def log_excess(self) -> float:
        """Log of what the total of the bounds is guessed to be too large by."""
        missing = self.log_guess - self.log_upper
        return self.log_upper + (math.log(-math.expm1(missing)) if missing < 0.0 else -math.inf)

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
    laws = _finite_laws(node, [*family.floors(), *inherited], target)
    law, bound = min(laws, key=lambda found: found[0].log_total)
    guess = target.law(node, family.guess()).log_total
    # A constant says nothing about features, so that no point begins there.
    informed = [found for found in laws if found[1].terms.any()] or laws
    begin, _ = min(informed, key=lambda found: found[0].log_total)
    inclusion, limits = np.exp(begin.log_inclusion()), tuning.refining
    for _ in range(limits.expansions if tuning.uses(Strategy.CELL_EXPANSION) else 0):
        if law.log_total <= guess or (trial := family.expanded(inclusion)) is None:
            break
        trial_law = target.law(node, trial)
        if not math.isfinite(trial_law.log_total):
            break
        gained = law.log_total - trial_law.log_total
        if gained > 0.0:
            law, bound = trial_law, trial
        if abs(gained) < limits.gained:
            break
        # Halfway, for the full step swings to and fro between features that replace each other.
        inclusion = 0.5 * (inclusion + np.exp(trial_law.log_inclusion()))
    return Cell(node, bound, law, min(law.log_total, guess), family, None)


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
    law = target.law(node, bound)
    return Cell(node, bound, law, -math.inf, None, Origin(parent, taken, keep))


def _finite_laws(
    node: Node, bounds: Sequence[ModularBound], target: LogWeight
) -> list[tuple[SubsetLaw, ModularBound]]:
    """Return the laws of those bounds that are numbers; that of R ≥ 0 where none is."""
    found = [(target.law(node, bound), bound) for bound in bounds]
    nothing = ModularBound(0.0, np.zeros(len(node.live)))
    known = [each for each in found if math.isfinite(each[0].log_total)]
    return known or [(target.law(node, nothing), nothing)]
