"""Projections that the weights of a centre are moved by."""

from __future__ import annotations

import numpy as np

from mipselect.arrays import FloatArray


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
