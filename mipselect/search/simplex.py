"""The weights of a centre, 0 ≤ z ≤ 1 with Σ z given: the best vertex, steps and projections."""

from __future__ import annotations

import numpy as np

from mipselect.arrays import FloatArray

LEAST = float(np.finfo(np.float64).min)


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
    past = None if before is None else (before[0][None], before[1][None])
    return float(steps_along(z[None], shares[None], past)[0])


def steps_along(
    z: FloatArray, shares: FloatArray, before: tuple[FloatArray, FloatArray] | None
) -> FloatArray:
    """The same for every row of arrays of shape (f, U); shape (f,)."""
    most = np.sort(shares, axis=1)[:, -min(shares.shape[1], 8) :].mean(axis=1)
    first = 1.0 / np.where(most > 0.0, most, 1.0)
    if before is None:
        return np.asarray(first)
    moved, changed = z - before[0], shares - before[1]
    curved = -np.einsum("fu,fu->f", moved, changed)
    length = np.einsum("fu,fu->f", moved, moved) / np.where(curved > 0.0, curved, 1.0)
    return np.asarray(np.where(curved > 0.0, length, 4.0 * first))


def on_capped_simplex(v: FloatArray, count: int) -> FloatArray:
    """The nearest z with 0 ≤ z ≤ 1 and Σ z = `count`, ones if there are not more."""
    if count >= len(v):
        return np.ones_like(v)
    return np.asarray(on_capped_simplices(v[None], count)[0])


def on_capped_simplices(v: FloatArray, count: int) -> FloatArray:
    """The nearest such z to every row of v, shape (f, U); entries of -inf become zero.

    It is clip(v - t) for the t where the sum is right: a piecewise linear function of t whose
    slope changes by one at every v_j and v_j - 1. Where there are too few, some z is smaller.
    """
    f, U = v.shape
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
