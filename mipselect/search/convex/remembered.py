"""Values of restricted problems, remembered: each of them costs more than everything around it."""

from __future__ import annotations

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.fenchel import (
    FenchelBounds,
    FenchelLoss,
    ScaledFenchelLoss,
    SteppingLoss,
)
from mipselect.restricted.prepared import RestrictedFit


class Remembered:
    """A prepared loss that evaluates no support twice.

    Swaps of the centre, greedy completions and the levels come back to the same supports.

    Parameters
    ----------
    problem : FenchelLoss
    """

    def __init__(self, problem: FenchelLoss) -> None:
        self._problem, self.p = problem, problem.p
        self._known: dict[bytes, float] = {}

    def fit(self, support: IntArray) -> RestrictedFit:
        """Solve the problem on `support`, shape (s,)."""
        return self._problem.fit(support)

    def values(self, supports: IntArray) -> FloatArray:
        """R of every row of `supports`, shape (m, s), sorted rows; returns shape (m,)."""
        keys = [row.tobytes() for row in supports]
        new = {key: k for k, key in enumerate(keys) if key not in self._known}
        if new:
            values = self._problem.values(supports[list(new.values())])
            self._known.update(zip(new, values.tolist(), strict=True))
        return np.array([self._known[key] for key in keys])

    def bounds(self, supports: IntArray) -> FenchelBounds:
        """Nearly optimal dual points of every row of `supports`, shape (m, k), k ≥ 0."""
        return self._problem.bounds(supports)


class RememberedSteps(Remembered):
    """The same for a loss that can step to one more feature, and give features their own ridges.

    Parameters
    ----------
    problem : SteppingLoss
    scaled : ScaledFenchelLoss
        The same loss.
    """

    def __init__(self, problem: SteppingLoss, scaled: ScaledFenchelLoss) -> None:
        super().__init__(problem)
        self._steps, self._scaled = problem, scaled

    def scaled_bounds(
        self, features: IntArray, scales: FloatArray, *, reach: float, precision: float
    ) -> FenchelBounds:
        """One dual point: nearly the optimum where feature j has the ridge λ/scales_j²."""
        return self._scaled.scaled_bounds(features, scales, reach=reach, precision=precision)

    def bounds_with_one_more(
        self, base: IntArray, point: FloatArray, candidates: IntArray
    ) -> FloatArray:
        """Lower bounds on R(B ∪ {j}) for candidates j, shape (L,); -inf where none is known."""
        return self._steps.bounds_with_one_more(base, point, candidates)


def remembered(problem: FenchelLoss) -> FenchelLoss:
    """The same loss, evaluating no support twice."""
    if isinstance(problem, SteppingLoss) and isinstance(problem, ScaledFenchelLoss):
        return RememberedSteps(problem, problem)
    return Remembered(problem)
