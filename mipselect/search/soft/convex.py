"""Families of supports for any convex loss: Fenchel bounds of dual points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.losses.fenchel import EPS, FenchelBounds, FenchelLoss, ScaledFenchelLoss
from mipselect.search.soft.bounds import LogWeight, ModularBound
from mipselect.search.soft.cells import Family, Origin
from mipselect.search.soft.pairs import PairLaw

CENTRE_COLUMNS = 32
"""Most features that the centre of a bound is made of."""

LEAST_INCLUSION = 0.01
"""Features that are in less often are not part of a centre."""


@dataclass(frozen=True, eq=False)
class DualFamily:
    """B ∪ T bounded by the dual optimum on B, and by dual points around what is expected.

    Attributes
    ----------
    problem : FenchelLoss
    base, live : ndarray of int
    size : int
    bounds : FenchelBounds
    row : int
        The dual optimum on B among `bounds`.
    """

    problem: FenchelLoss
    base: IntArray
    live: IntArray
    size: int
    bounds: FenchelBounds
    row: int

    @property
    def exact(self) -> bool:
        """True if nothing is added: then the dual optimum is as good as the value."""
        return self.size == 0

    def floors(self) -> list[ModularBound]:
        """Two tangents of the bound: where nothing and where the most is added."""
        return modular_bounds(self.bounds, self.row, self.base, self.live, self.size)

    def guess(self) -> ModularBound:
        """R(B), roughly: features that are added gain little as a rule."""
        own = np.array([self.bounds.own(self.row, self.base)])
        value = float(self.bounds.bound(self.row, own)[0])
        return ModularBound(value, np.zeros(len(self.live)))

    def centred(self, inclusion: FloatArray) -> ModularBound | None:
        """The bound of the dual point that is best at these inclusion probabilities π.

        For ν = 0 it maximises Σ_i -ℓ*(y_i, -α_i) - Σ_j π_j w_j² / 2λ, the dual of the problem
        in which feature j has the ridge λ/π_j.
        """
        if not isinstance(self.problem, ScaledFenchelLoss):
            return None
        X = np.flatnonzero(inclusion > LEAST_INCLUSION)
        if len(X) > CENTRE_COLUMNS:
            X = np.argpartition(-inclusion, CENTRE_COLUMNS)[:CENTRE_COLUMNS]
        if len(X) == 0:
            return None
        features = np.concatenate([self.base, self.live[X]])
        scales = np.sqrt(np.concatenate([np.ones(len(self.base)), np.minimum(inclusion[X], 1.0)]))
        bounds = self.problem.scaled_bounds(features, scales)
        found = modular_bounds(bounds, 0, self.base, self.live, self.size)
        return found[0]

    def pairs(self, target: LogWeight) -> PairLaw | None:
        """Each would have to be solved."""
        return None


def modular_bounds(
    bounds: FenchelBounds, row: int, base: IntArray, live: IntArray, size: int
) -> list[ModularBound]:
    """R(B ∪ T) ≥ (1/n) [constant - νr²/2 - Σ_{j∈B∪T} w_j² / 2(λ+ν)] for two choices of ν."""
    weights = bounds.weights[row]
    own = bounds.own(row, base)
    credits = weights[live]
    most = own + float(np.sort(credits)[len(credits) - size :].sum()) if size else own
    lengths = sorted({max(0.0, math.sqrt(t) / bounds.radius - bounds.ridge) for t in (own, most)})
    found = []
    for nu in lengths:
        shrink = (1.0 + 16.0 * EPS) / (2.0 * (bounds.ridge + nu) * bounds.n)
        constant = float(bounds.constants[row]) - nu * bounds.radius**2 / 2.0 * (1.0 + 16.0 * EPS)
        found.append(ModularBound(constant / bounds.n - shrink * own, shrink * credits))
    return found


class ConvexSpace:
    """All supports for a loss with Fenchel bounds."""

    def __init__(self, problem: FenchelLoss) -> None:
        self._problem = problem

    def root(self, size: int) -> Family:
        """Every support of `size` features, with the dual optimum without features."""
        none = np.empty((1, 0), dtype=np.intp)
        bounds = self._problem.bounds(none)
        everything = np.arange(self._problem.p)
        return DualFamily(self._problem, none[0], everything, size, bounds, 0)

    def families(self, cuts: Sequence[Origin]) -> list[Family]:
        """Those with a larger base by one batch of restricted problems."""
        bases = [
            np.append(cut.parent.base, cut.parent.live[cut.taken])
            for cut in cuts
            if cut.taken is not None
        ]
        solved = iter(_in_batches(self._problem, bases))
        families: list[Family] = []
        for cut in cuts:
            parent = cut.parent
            assert isinstance(parent, DualFamily)
            live = parent.live[cut.keep]
            base, size, bounds, row = parent.base, parent.size, parent.bounds, parent.row
            if cut.taken is not None:
                base, size = np.append(base, parent.live[cut.taken]), size - 1
                bounds, row = next(solved), 0
            families.append(DualFamily(self._problem, base, live, size, bounds, row))
        return families

    def evaluated(self, family: Family) -> Family | None:
        """One by one, as its members are cut off."""
        return None

    def ceiling(self, base: IntArray, live: IntArray, size: int) -> ModularBound:
        """R(B ∪ T) ≤ R(B)."""
        return ModularBound(float(self._problem.values(base[None])[0]), np.zeros(len(live)))


def _in_batches(problem: FenchelLoss, bases: list[IntArray]) -> list[FenchelBounds]:
    """The dual optimum on every base, those of one size solved together."""
    found: dict[int, FenchelBounds] = {}
    for size in {len(base) for base in bases}:
        numbers = [k for k, base in enumerate(bases) if len(base) == size]
        bounds = problem.bounds(np.array([bases[k] for k in numbers]))
        for row, k in enumerate(numbers):
            found[k] = FenchelBounds(
                bounds.constants[row : row + 1],
                bounds.weights[row : row + 1],
                bounds.n,
                bounds.ridge,
                bounds.radius,
                bounds.always[row : row + 1],
            )
    return [found[k] for k in range(len(bases))]
