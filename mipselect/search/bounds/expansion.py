"""Expansion points of bounds: the weights of the features that they are made of, step by step.

The best bound around a point maximises a concave function of weights 0 ≤ z ≤ 1 with a given sum in
every budget, whose gradient are the terms of the bound (docs/mathematics/cuts.md, (11) and (16)).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray
from mipselect.search.bounds.modular import Budget
from mipselect.search.simplex import on_capped_simplices, steps_along

Before = tuple[FloatArray, FloatArray] | None
"""Weights and terms of the step before, if there was one."""


def ascended(
    z: FloatArray,
    terms: FloatArray,
    before: Before,
    budgets: Sequence[Budget],
    admitted: NDArray[np.bool_],
) -> FloatArray:
    """Weights after a projected step of Barzilai and Borwein; shape (f, L).

    Parameters
    ----------
    z, terms : ndarray of shape (f, L)
        Weights, and the terms of the bounds around them; a row for every node.
    before : tuple of ndarray or None
        The same one step ago.
    budgets : sequence of Budget
        Disjoint.
    admitted : ndarray of bool, shape (f, L)
        Features that the points may be made of; all others get no weight.
    """
    length, result = steps_along(z, terms, before)[:, None], np.zeros_like(z)
    for budget in budgets:
        here = budget.positions[admitted[:, budget.positions].any(axis=0)]
        moved = z[:, here] + length * terms[:, here]
        if len(z) > 1:  # What one row admits is all here.
            moved[~admitted[:, here]] = -np.inf
        result[:, here] = on_capped_simplices(moved, budget.count)
    return result
