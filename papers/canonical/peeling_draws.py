"""TOP, GREAT and GOOD of peeling with exponential noise, from draws.

Its law sums over all orders in which items can go, and no shorter form of it is known.
"""

from __future__ import annotations

import numpy as np

from ..arrays import FloatArray
from .order_events import EVENTS, ends

REACH = 60.0
"""Noise beyond it is never drawn, but for one time in 1e26."""


def peeled_shares(
    scores: FloatArray, k: int, epsilon: float, sensitivity: float, draws: int, seed: int
) -> dict[str, float]:
    """Count the seeded draws that are as good as each event says.

    Every round takes the largest of ε q/(2kΔ) + noise, with new noise, of the items that are left.
    """
    rng = np.random.default_rng(seed)
    ranked = -np.sort(-np.asarray(scores, dtype=np.float64))
    utilities = epsilon * (ranked - ranked[k - 1]) / (2.0 * k * sensitivity)
    left = np.tile(utilities[utilities >= -REACH], (draws, 1))
    every = np.arange(draws)
    chosen = np.empty((draws, k), dtype=np.int64)
    for place in range(k):
        chosen[:, place] = np.argmax(left + rng.standard_exponential(left.shape), axis=1)
        left[every, chosen[:, place]] = -np.inf
    shares = {}
    for event in EVENTS:
        head, last = ends(event, k)
        good = ((chosen < head).sum(axis=1) == head) & (chosen < last).all(axis=1)
        shares[event] = float(good.mean())
    return shares
