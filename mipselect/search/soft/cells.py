"""Cells: all supports with a base and so many of its live features, and what they weigh together.

The cells of a partition are disjoint and hold every support. A cell begins with the bound of the
cell that it was cut from. It is tightened by bounds of its own, which takes some work, and then
divided by features: one cell for each that is the first to be taken, and one where none is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.soft.bounds import LogWeight, ModularBound
from mipselect.search.soft.pairs import PairLaw
from mipselect.search.soft.polynomials import SubsetLaw, subset_law

CENTRINGS = 6
"""How often a bound is centred anew at the features that it expects itself."""

CLOSE = 0.01
"""A total that is known this well, in logs, is not bounded any better."""

WAYS = 8
"""Features by which a cell is divided at most."""

Law = SubsetLaw | PairLaw


class Family(Protocol):
    """Supports B ∪ T, |T| = m, T among the live features, with bounds on R."""

    @property
    def base(self) -> IntArray:
        """B, shape (k,)."""

    @property
    def size(self) -> int:
        """m ≥ 0."""

    @property
    def live(self) -> IntArray:
        """Shape (L,)."""

    @property
    def exact(self) -> bool:
        """True if the bounds are the values themselves, so that nothing can be refined."""

    def floors(self) -> list[ModularBound]:
        """Proven lower bounds on R(B ∪ T)."""

    def guess(self) -> ModularBound:
        """Roughly R(B ∪ T), from above."""

    def centred(self, inclusion: FloatArray) -> ModularBound | None:
        """A lower bound that is good where features are in with these probabilities, if any."""

    def pairs(self, target: LogWeight) -> PairLaw | None:
        """The law by each pair's own lower bound, where m = 2 and it is little work."""


@dataclass(frozen=True, eq=False)
class Origin:
    """Parent that a family was cut from: live[taken] went into the base, `keep` stayed live."""

    parent: Family
    taken: int | None
    keep: IntArray


class Space(Protocol):
    """All supports of one loss and one data set, as families."""

    def root(self, size: int) -> Family:
        """Every support of `size` features."""

    def families(self, cuts: Sequence[Origin]) -> list[Family]:
        """The families that were cut off, with what their bounds need, all at once."""

    def evaluated(self, family: Family) -> Family | None:
        """The same family of size 1 with exact values, where its bounds may not be."""

    def ceiling(self, base: IntArray, live: IntArray, size: int) -> ModularBound:
        """A proven upper bound on R(B ∪ T), but for the error of values."""


@dataclass(frozen=True, eq=False)
class Cell:
    """A family with an upper bound of every log weight, whose total is known.

    Attributes
    ----------
    base, live : ndarray of int
    size : int
        m.
    bound : ModularBound
        The modular lower bound on R that is handed on.
    law : SubsetLaw or PairLaw
        ∝ the bounds of the weights.
    log_upper, log_guess : float
        Log of the total of the bounds, and a guess at that of the weights, which is ``-inf``
        until the cell is tight.
    family : Family or None
        With bounds of its own; None until the cell is tight.
    cut : Origin or None
        Until then, what makes it.
    """

    base: IntArray
    live: IntArray
    size: int
    bound: ModularBound
    law: Law
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
    def final(self) -> bool:
        """True if no refinement can make the cell's bounds better."""
        return self.family is not None and self.family.exact

    def support(self, positions: IntArray) -> IntArray:
        """Base ∪ live[positions], sorted."""
        return np.sort(np.concatenate([self.base, self.live[positions]]))


def tight(family: Family, inherited: Sequence[ModularBound], target: LogWeight) -> Cell:
    """The cell of a family, by the best of its own bounds and those of what it was cut from."""
    members = family.base, family.live, family.size
    bounds = [*family.floors(), *inherited]
    laws = _finite_laws(family, bounds, target)
    log_upper, law, bound = min(laws, key=lambda found: found[0])
    guess, _ = _law(*members, family.guess(), target)
    # A constant says nothing about features, so that it is not where centring begins.
    informed = [found for found in laws if found[2].shares.any()] or laws
    inclusion = np.exp(min(informed, key=lambda found: found[0])[1].log_inclusion())
    for _ in range(CENTRINGS):
        if log_upper - guess < CLOSE:
            break
        trial = family.centred(inclusion)
        if trial is None:
            break
        log_trial, trial_law = _law(*members, trial, target)
        if not math.isfinite(log_trial):
            break
        gained = log_upper - log_trial
        if gained > 0.0:
            log_upper, law, bound = log_trial, trial_law, trial
        if abs(gained) < 0.05:
            break
        # Halfway, for the full step swings to and fro between features that replace each other.
        inclusion = 0.5 * (inclusion + np.exp(trial_law.log_inclusion()))
    return Cell(*members, bound, law, log_upper, min(log_upper, guess), family, None)


def parts_of(cell: Cell, space: Space, target: LogWeight) -> list[Cell]:
    """Divide a tight cell by the features that are most in doubt, at most `WAYS` of them."""
    family = cell.family
    assert family is not None
    if cell.size == 1 and (evaluated := space.evaluated(family)) is not None:
        return [tight(evaluated, [], target)]
    if cell.size == 2 and not isinstance(cell.law, PairLaw):
        pairs = family.pairs(target)
        if pairs is not None and -math.inf < pairs.log_total < cell.log_upper:
            total = pairs.log_total
            return [replace(cell, law=pairs, log_upper=total, log_guess=total)]
    inclusion = np.exp(cell.law.log_inclusion())
    terms = target.rate * cell.bound.shares
    doubt = inclusion * (1.0 - inclusion) * np.maximum(terms, 0.0) + 1e-9 * inclusion
    order = np.argsort(-doubt, kind="stable")[:WAYS]
    order = order[doubt[order] >= 0.1 * doubt[order[0]]]
    left = np.arange(len(cell.live))
    found = []
    for taken in order.tolist():
        left = left[left != taken]
        if len(left) >= cell.size - 1:
            found.append(_inherited(family, taken, left, cell.bound, target))
    if len(left) >= cell.size:
        found.append(_inherited(family, None, left, cell.bound, target))
    return found


def _inherited(
    parent: Family, taken: int | None, keep: IntArray, bound: ModularBound, target: LogWeight
) -> Cell:
    base, size = parent.base, parent.size
    if taken is None:
        bound = bound.without(keep)
    else:
        bound, base, size = bound.taking(taken, keep), np.append(base, parent.live[taken]), size - 1
    live = parent.live[keep]
    log_upper, law = _law(base, live, size, bound, target)
    return Cell(
        base, live, size, bound, law, log_upper, -math.inf, None, Origin(parent, taken, keep)
    )


def _finite_laws(
    family: Family, bounds: Sequence[ModularBound], target: LogWeight
) -> list[tuple[float, SubsetLaw, ModularBound]]:
    """Return log totals and laws with those bounds that are numbers; with R ≥ 0 where none is."""
    members = family.base, family.live, family.size
    found = [(*_law(*members, bound, target), bound) for bound in bounds]
    nothing = ModularBound(0.0, np.zeros(len(family.live)))
    return [law for law in found if math.isfinite(law[0])] or [
        (*_law(*members, nothing, target), nothing)
    ]


def _law(
    base: IntArray, live: IntArray, size: int, bound: ModularBound, target: LogWeight
) -> tuple[float, SubsetLaw]:
    constant, logs = target.log_bound(base, live, size, bound)
    law = subset_law(logs, size)
    return constant + law.log_total, law
