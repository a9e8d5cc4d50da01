"""k draws one after another, without replacement: how they are made, and the law of the set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

import numpy as np

from mipselect.arrays import IntArray
from mipselect.mechanisms.base import Support


def without_replacement(d: int, k: int, place: Callable[[IntArray], int]) -> Support:
    """Draw k of the items 0..d-1, sorted.

    Parameters
    ----------
    d, k : int
    place : callable
        From the items that are left, sorted, to the place among them of the next draw.
    """
    left = np.arange(d)
    for _ in range(k):
        left = np.delete(left, place(left))
    return tuple(np.delete(np.arange(d), left).tolist())


def log_in_any_order(
    items: Sequence[int], following: Callable[[Support], Iterable[tuple[int, float]]]
) -> float:
    """Compute the log probability that the draws are these items, in whatever order.

    P(T) = Σ_{j ∈ T} P(T \\ {j}) P(j is drawn next after T \\ {j}) for every subset T of the items.

    Parameters
    ----------
    items : sequence of int
    following : callable
        From a subset, in the order of `items`, to the other items, each with the log of the
        probability that it is drawn next.
    """
    reached = {frozenset[int](): 0.0}
    for size in range(len(items)):
        for gone in combinations(items, size):
            before = reached[frozenset(gone)]
            for item, log in following(gone):
                grown = frozenset((*gone, item))
                so_far = reached.get(grown, -np.inf)
                reached[grown] = float(np.logaddexp(so_far, before + log))
    return reached[frozenset(items)]
