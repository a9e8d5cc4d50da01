"""TOP, GREAT and GOOD of the joint exponential mechanism, exactly: sums over its crossings.

A tuple s of ranks from 0 has weight exp(-L(s)), and L(s) ≤ τ if and only if every place i has a
rank below n_i(τ). So the tuples of an event with L(s) ≤ τ are counted place by place.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp

from mipselect.mechanisms.scores.joint import Crossings

from ..arrays import FloatArray
from .order_events import ends

BEYOND = 40.0
"""A share exp(-BEYOND) of the weight of all tuples is negligible."""


def joint_event(
    scores: FloatArray, k: int, epsilon: float, sensitivity: float, event: str
) -> float:
    """Compute the probability that the items of the drawn tuple are as good as an event says.

    Parameters
    ----------
    scores : float array, shape (d,)
    k : int
        1 ≤ k < d.
    epsilon, sensitivity : float
    event : {"TOP", "GREAT", "GOOD"}

    Returns
    -------
    float

    Notes
    -----
    Σ over tuples of exp(-L) is Σ_c (exp(-τ_c) - exp(-τ_{c+1})) · #{tuples with L ≤ τ_c}, over all
    values τ_c of L: nothing cancels.
    """
    ranked = -np.sort(-np.asarray(scores, dtype=np.float64))
    losses = epsilon * (ranked[:k, None] - ranked) / (4.0 * sensitivity)
    limit = math.log(math.perm(ranked.size, k)) + BEYOND
    # A rank loses least in the last place.
    losses = losses[:, losses[-1] <= limit]
    head, last = ends(event, k)
    every = Crossings(losses)
    log_all = logsumexp(every.log_sizes - every.gaps)
    log_event = _log_weight_of_event(losses[:, :last], head, limit)
    return float(np.exp(log_event - log_all))


def _log_weight_of_event(losses: FloatArray, head: int, limit: float) -> float:
    """Add up exp(-L) over tuples of the ranks that `losses` has, with the best `head`; its log."""
    k, last = losses.shape
    worse = np.arange(last) > np.arange(k)[:, None]
    values = np.unique(np.append(losses[worse & (losses <= limit)], 0.0))
    log_steps = -values
    log_steps[:-1] += np.log(-np.expm1(values[:-1] - values[1:]))
    log_counts = np.zeros(values.size)
    # How likely a uniform tuple of those counted has used so many ranks outside of the head.
    shares: FloatArray = np.zeros((k - head + 1, values.size))
    shares[0] = 1.0
    others = np.arange(k - head + 1)[:, None]
    for place, row in enumerate(losses):
        allowed = np.searchsorted(row, values, side="right")
        left = allowed - place
        log_counts += np.log(left)
        outside = shares * (np.maximum(allowed - head, 0) - others) / left
        shares *= (np.minimum(allowed, head) - (place - others)) / left
        shares[1:] += outside[:-1]
    with np.errstate(divide="ignore"):
        return float(logsumexp(log_steps + log_counts + np.log(shares[-1])))
