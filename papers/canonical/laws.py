"""Exact laws and draws of TOP, GREAT and GOOD for one-shot selection, joint draws and peeling."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp

from mipselect.mechanisms.noise.noise import Noise, noise_named
from mipselect.mechanisms.scores.joint import Crossings

from ..sources import FloatArray

REACH = 40.0
"""Noise beyond it is negligible."""

PANELS_PER_UNIT = 2
POINTS = 8
"""Points of the Gauss rule on each panel."""

EVENTS = ("TOP", "GREAT", "GOOD")


def ends(event: str, k: int) -> tuple[int, int]:
    """Return how many of the best ranks are in, and the last rank that may be in."""
    return {
        "TOP": (k, k),
        "GREAT": (-(-k // 10), 11 * k // 10),
        "GOOD": (-(-k // 100), 3 * k // 2),
    }[event]


def one_shot_event(
    scores: FloatArray, k: int, epsilon: float, sensitivity: float, noise: str, event: str
) -> float:
    """Compute the probability that the k largest of ε q/(2kΔ) + noise are as good as an event says.

    Parameters
    ----------
    scores : float array, shape (d,)
    k : int
        1 ≤ k < d.
    epsilon, sensitivity : float
    noise : str
        One of `NOISES`.
    event : {"TOP", "GREAT", "GOOD"}

    Returns
    -------
    float

    Notes
    -----
    With the ranks cut into head (all of them are in), middle and tail (none is), the k-th largest
    noisy value is at z with the density of: no tail above z, all heads above or at z, and k in
    all. The number of the middle above z is a sum of independent coins.
    """
    ranked = -np.sort(-np.asarray(scores, dtype=np.float64))
    utilities = epsilon * (ranked - ranked[k - 1]) / (2.0 * k * sensitivity)
    head, last = ends(event, k)
    last = min(last, ranked.size)
    law = noise_named(noise)
    z, weights = _grid(law, utilities, k, last)
    if not z.size:
        return 1.0 if last == ranked.size and head == 0 else 0.0
    return float(_density(law, utilities, z, k, head, last) @ weights)


def _grid(law: Noise, utilities: FloatArray, k: int, last: int) -> tuple[FloatArray, FloatArray]:
    """Choose points and weights where the k-th largest can be, with an edge at every kink."""
    highest = float(logsumexp(utilities[k - 1 : last])) + REACH
    lowest = -REACH if law.lowest < 0.0 else 0.0
    if last < utilities.size:
        crowded = float(logsumexp(utilities[last:])) - np.log(REACH) - 2.0
        lowest = max(lowest, crowded)
    if lowest >= highest:
        return np.empty(0), np.empty(0)
    count = max(1, int(PANELS_PER_UNIT * (highest - lowest)))
    kinks = utilities[(utilities > lowest) & (utilities < highest)]
    near = kinks[:: max(1, kinks.size // 400)] if law.lowest == 0.0 or law.kinked else kinks[:0]
    edges = np.unique(np.concatenate([np.linspace(lowest, highest, count + 1), near]))
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    half = np.diff(edges)[:, None] / 2.0
    points = edges[:-1, None] + half + half * nodes
    return points.ravel(), (half * weights).ravel()


def _density(
    law: Noise, utilities: FloatArray, z: FloatArray, k: int, head: int, last: int
) -> FloatArray:
    """Return the density of the k-th largest noisy value, together with the event; shape of z."""
    wanted = k - head
    log_tail = np.zeros(z.size)
    tail = utilities[last:][utilities[last:] > z.min() - REACH]
    for start in range(0, tail.size, 2000):
        part = tail[start : start + 2000, None]
        log_tail -= np.exp(np.minimum(law.log_exponent(z - part), 700.0)).sum(axis=0)
    # Coins of the middle: how many lie above z, with and without one that lies at z.
    without: FloatArray = np.zeros((wanted + 1, z.size))
    without[0] = 1.0
    at_z: FloatArray = np.zeros_like(without)
    for utility in utilities[head:last]:
        above, density = _above_and_density(law, z - utility)
        # `at_z` first: it takes what `without` was before this coin.
        at_z = _with_coin(at_z, above)
        at_z[1:] += without[:-1] * density
        without = _with_coin(without, above)
    all_above = np.ones(z.size)
    one_at_z = np.zeros(z.size)
    for utility in utilities[:head]:
        above, density = _above_and_density(law, z - utility)
        one_at_z = one_at_z * above + all_above * density
        all_above = all_above * above
    density = one_at_z * without[wanted] + all_above * at_z[wanted]
    found: FloatArray = density * np.exp(log_tail)
    return found


def _with_coin(counts: FloatArray, above: FloatArray) -> FloatArray:
    """Compute the probabilities of counts 0, 1, ... after one more coin."""
    after = counts * (1.0 - above)
    after[1:] += counts[:-1] * above
    return after


def _above_and_density(law: Noise, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute 1 - F(x) and f(x)."""
    log_below = -np.exp(np.minimum(law.log_exponent(x), 700.0))
    above = -np.expm1(log_below)
    with np.errstate(over="ignore", invalid="ignore"):
        density = np.where(
            np.isfinite(log_below), np.exp(law.log_reversed_hazard(x) + log_below), 0.0
        )
    return above, np.nan_to_num(density)


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


LARGEST_NOISE = 60.0
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
    left = np.tile(utilities[utilities >= -LARGEST_NOISE], (draws, 1))
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
