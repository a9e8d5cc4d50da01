"""Weights of expansion points, 0 ≤ z ≤ 1 with Σ z given: the best vertex, steps, projections."""

from __future__ import annotations

import numpy as np

from mipselect.arrays import FloatArray

LEAST = float(np.finfo(np.float64).min)


def largest_sum(shares: FloatArray, count: int) -> float:
    """Add up the `count` largest entries: the most that weights with this sum make of them."""
    if count <= 0:
        return 0.0
    if count >= len(shares):
        return float(shares.sum())
    return float(np.partition(shares, len(shares) - count)[len(shares) - count :].sum())


def steps_along(
    z: FloatArray, shares: FloatArray, before: tuple[FloatArray, FloatArray] | None
) -> FloatArray:
    """Compute lengths of Barzilai and Borwein's steps along the shares, the gradients; (f,).

    Weights and shares of shape (f, U), a step for every row.
    """
    count = shares.shape[1]
    largest = np.partition(shares, count - 8, axis=1)[:, count - 8 :] if count > 8 else shares
    most = largest.mean(axis=1)
    first = 1.0 / np.where(most > 0.0, most, 1.0)
    if before is None:
        return np.asarray(first)
    moved, changed = z - before[0], shares - before[1]
    curved = -np.einsum("fu,fu->f", moved, changed)
    length = np.einsum("fu,fu->f", moved, moved) / np.where(curved > 0.0, curved, 1.0)
    return np.asarray(np.where(curved > 0.0, length, 4.0 * first))


def on_capped_simplices(v: FloatArray, count: int) -> FloatArray:
    """Find the nearest z with 0 ≤ z ≤ 1 and Σ z = `count` to every row of v, shape (f, U).

    Entries of -inf become zero; all others become one if there are not more than are counted.
    It is clip(v - t) for the t where the sum is right: a piecewise linear function of t whose
    slope changes by one at every v_j and v_j - 1. Where there are too few, some z is smaller.
    """
    f, U = v.shape
    if count >= U:
        return np.where(v == -np.inf, 0.0, 1.0)
    every = np.arange(f)
    breaks = np.concatenate([v, v - 1.0], axis=1)
    order = (-breaks).argsort(axis=1, kind="stable")
    falling = np.maximum(breaks[every[:, None], order], LEAST)
    inside = np.where(order < U, 1.0, -1.0).cumsum(axis=1)
    sums = np.zeros((f, 2 * U))
    (inside[:, :-1] * (falling[:, :-1] - falling[:, 1:])).cumsum(axis=1, out=sums[:, 1:])
    last = np.maximum(np.count_nonzero(sums < count, axis=1) - 1, 0)
    past = (count - sums[every, last]) / np.maximum(inside[every, last], 1.0)
    return np.asarray(np.clip(v - (falling[every, last] - past)[:, None], 0.0, 1.0))
