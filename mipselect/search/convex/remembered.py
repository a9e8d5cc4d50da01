"""Values of restricted problems, remembered: each of them costs more than everything around it."""

from __future__ import annotations

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.losses.base import RestrictedFit
from mipselect.losses.fenchel import FenchelBounds, FenchelLoss


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
