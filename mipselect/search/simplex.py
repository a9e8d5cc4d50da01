"""The weights of a centre, 0 ≤ z ≤ 1 with Σ z given: the best vertex, steps and projections."""

from __future__ import annotations

import numpy as np

from mipselect.arrays import FloatArray


def largest_sum(shares: FloatArray, count: int) -> float:
    """Sum of the `count` largest entries: the most that weights with this sum make of them."""
    if count <= 0:
        return 0.0
    if count >= len(shares):
        return float(shares.sum())
    return float(np.partition(shares, len(shares) - count)[len(shares) - count :].sum())


def step_along(
    z: FloatArray, shares: FloatArray, before: tuple[FloatArray, FloatArray] | None
) -> float:
    """The length of a step along the shares, the gradient: that of Barzilai and Borwein."""
    first = 1.0 / float(np.sort(shares)[-min(len(shares), 8) :].mean() or 1.0)
    if before is None:
        return first
    moved, changed = z - before[0], shares - before[1]
    curved = -float(moved @ changed)
    return float(moved @ moved) / curved if curved > 0.0 else 4.0 * first


def on_capped_simplex(v: FloatArray, count: int) -> FloatArray:
    """The nearest z with 0 ≤ z ≤ 1 and Σ z = `count`, ones if there are not more.

    It is clip(v - t) for the t where the sum is right: a piecewise linear function of t whose
    slope changes by one at every v_j and v_j - 1.
    """
    if count >= len(v):
        return np.ones_like(v)
    breaks = np.concatenate([v, v - 1.0])
    order = np.argsort(-breaks, kind="stable")
    falling = breaks[order]
    inside = np.cumsum(np.where(order < len(v), 1.0, -1.0))
    sums = np.concatenate([[0.0], np.cumsum(inside[:-1] * (falling[:-1] - falling[1:]))])
    return np.asarray(np.clip(v - np.interp(count, sums, falling), 0.0, 1.0))
