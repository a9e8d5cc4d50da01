"""Integrals over boxes of a few dimensions, with an estimate of their error."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray

Function = Callable[[FloatArray], FloatArray]
"""Function from points, shape (m, d), to values, shape (m,)."""

ORDERS = (6, 5, 4)
"""Points of the rules of Gauss and Lobatto in each panel: the first gives its value, the others its
error. Three, for at some places of a kink two of them agree by accident."""

SAFETY = 4.0
"""The error of a panel is so many times the largest difference of its rules."""

FIRST_PANELS = 16
"""Along each axis. What lies between the points of the first grid alone may be missed."""

SPLIT = 0.1
"""Panels with this share of the largest error are halved along every axis."""

MOST_POINTS = 2_000_000
"""Then it ends, as precise as it is."""

CHUNK = 1 << 16
"""The function is handed about so many points at once."""


@dataclass(frozen=True)
class Box:
    """A product of closed intervals.

    Attributes
    ----------
    low, high : tuple of float, shape (d,)
        Finite, low < high.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class _Panels:
    """Boxes with their integrals and errors.

    Attributes
    ----------
    middles, halves : float arrays, shapes (m, d) and (m, d)
    values, errors : float arrays, shape (m,)
    """

    middles: FloatArray
    halves: FloatArray
    values: FloatArray
    errors: FloatArray


def integral(function: Function, box: Box, tolerance: float) -> tuple[float, float]:
    """Return the integral of a function over a box, and how far it may be off.

    Parameters
    ----------
    function : callable
        From points, shape (m, d), to values, shape (m,). It may have kinks and jumps.
    box : Box
    tolerance : float
        Panels are halved until their errors sum to less, or there were too many points.

    Returns
    -------
    value, error : float
        The sum of the errors of all panels: an estimate, not a bound, for nothing is known of
        the function between the points. These include the edges of panels, so that no kink hides
        between two of them.
    """
    size = len(box.low)
    low, high = np.array(box.low), np.array(box.high)
    places = np.stack(np.meshgrid(*[np.arange(FIRST_PANELS)] * size, indexing="ij"), axis=-1)
    half = 0.5 * (high - low) / FIRST_PANELS
    middles = low + half * (2.0 * places.reshape(-1, size) + 1.0)
    panels = _measured(function, middles, np.broadcast_to(half, middles.shape))
    points = len(middles)
    most = MOST_POINTS // sum(order**size for order in ORDERS)
    corners = np.stack(np.meshgrid(*[(-1.0, 1.0)] * size, indexing="ij"), axis=-1).reshape(-1, size)
    while panels.errors.sum() > tolerance and points < most:
        worst = panels.errors >= SPLIT * panels.errors.max()
        halves = np.repeat(0.5 * panels.halves[worst], len(corners), axis=0)
        inner = np.repeat(panels.middles[worst], len(corners), axis=0)
        inner = inner + halves * np.tile(corners, (int(worst.sum()), 1))
        points += len(inner)
        panels = _joined(panels, ~worst, _measured(function, inner, halves))
    return math.fsum(panels.values), float(panels.errors.sum())


def _measured(function: Function, middles: FloatArray, halves: FloatArray) -> _Panels:
    """Measure the function on panels with these middles and half widths."""
    size = middles.shape[1]
    areas = np.prod(2.0 * halves, axis=1)
    means = []
    for order in ORDERS:
        nodes, weights = lobatto(order)
        grid = np.stack(np.meshgrid(*[nodes] * size, indexing="ij"), axis=-1).reshape(-1, size)
        shares = np.stack(np.meshgrid(*[weights / 2.0] * size, indexing="ij"), axis=-1)
        values = _evaluated(function, middles, halves, grid)
        means.append(values @ shares.reshape(-1, size).prod(axis=1))
    errors = SAFETY * np.abs(np.array(means[1:]) - means[0]).max(axis=0)
    return _Panels(middles, halves, areas * means[0], areas * errors)


@lru_cache
def lobatto(order: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes in [-1, 1], with both ends, and weights; exact up to degree 2·order - 3."""
    polynomial = np.polynomial.legendre.Legendre.basis(order - 1)
    nodes = np.array([-1.0, *np.sort(polynomial.deriv().roots().real), 1.0])
    weights: FloatArray = 2.0 / (order * (order - 1) * polynomial(nodes) ** 2)
    return nodes, weights


def _evaluated(
    function: Function, middles: FloatArray, halves: FloatArray, grid: FloatArray
) -> FloatArray:
    """Evaluate the function at the points of a grid in each panel, shape (m, points)."""
    step = max(1, CHUNK // len(grid))
    found = [
        function(
            (middles[i : i + step, None] + halves[i : i + step, None] * grid).reshape(
                -1, grid.shape[1]
            )
        ).reshape(-1, len(grid))
        for i in range(0, len(middles), step)
    ]
    result: FloatArray = np.concatenate(found)
    return result


def _joined(panels: _Panels, kept: np.ndarray[Any, Any], others: _Panels) -> _Panels:
    return _Panels(
        np.concatenate([panels.middles[kept], others.middles]),
        np.concatenate([panels.halves[kept], others.halves]),
        np.concatenate([panels.values[kept], others.values]),
        np.concatenate([panels.errors[kept], others.errors]),
    )
