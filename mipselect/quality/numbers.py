"""Quality of predictions of a number: R² in a public range, from noisy sums of clipped squares."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray
from mipselect.quality.measures import R2, Measure
from mipselect.quality.noisy_sums import (
    UNIT,
    chosen,
    in_units,
    noisy,
    ratio_interval,
)

CENTRE, BOUND, SQUARES, SPREAD = (Fraction(k, 100) for k in (15, 15, 55, 15))
"""Parts of ε: for the mean, for where to clip, for the two sums of squares, for their spread."""

BOUNDS: tuple[float, ...] = tuple(2.0 ** (1.0 - 0.5 * k) for k in range(16))
"""Bounds that few rows may be beyond, in halves of the range of the target."""

BEYOND = 8
"""Some BEYOND/ε rows should lie beyond a bound: as few as the choice can tell from none."""

MOST_BEYOND = 20
"""At most one row in so many may be beyond."""

WIDER = 1.5
"""Squares are clipped so much further out: on five tables this costs little, and keeps what the
tails add to R²."""

OF_SQUARES = 5.0
"""Variance of x² for Laplace's law, in units of the square of its mean."""


def r2_of_numbers(
    target: FloatArray,
    predicted: FloatArray,
    known: NDArray[np.bool_],
    rows: int | None,
    relation: str,
    epsilon: Fraction,
    source: random.Random,
    weights: FloatArray | None = None,
) -> tuple[Measure, float]:
    """Draw R² = 1 - Σe²/Σt² with an interval: ε-private under both relations.

    Returns it, and where squares were clipped, in halves of the range of the target.

    Parameters
    ----------
    target, predicted : float arrays, shape (n,)
        In halves of the public range of the target, from its middle: targets in [-1, 1].
    known : bool array, shape (n,)
        False for rows without a target, which count nowhere.
    rows : int or None
        n, where it is public and every row has a target. Else their number gets noise too.
    relation : {"replace-one", "add-remove"}
    epsilon : Fraction
    source : random.Random
    weights : float array, shape (n,), optional
        How much each row counts in the sums, in [0, 1]; `rows` is None then.

    Notes
    -----
    e is the error of the prediction and t the distance from a mean m that is drawn first, both
    clipped half as far out again as a bound that few rows are beyond, which is drawn too. Each row
    adds to every sum a number in [0, 1], rounded to an integer: docs/mathematics/quality.md, (4).
    """
    y, fitted = target[known], np.nan_to_num(predicted[known])
    w = None if weights is None else weights[known]
    centre, excess = _noisy_mean(y, w, rows, relation, CENTRE * epsilon, source)
    errors, distances = np.abs(y - fitted), np.abs(y - centre)
    bound = _bound(np.maximum(errors, distances), BOUND * epsilon, source)
    # No target is further from the mean than 1 + |m|.
    clip = min(WIDER * bound, 1.0 + abs(centre))
    e2, t2 = (np.minimum(values / clip, 1.0) ** 2 for values in (errors, distances))
    if w is not None:
        e2, t2 = w * e2, w * t2
    part = SQUARES * epsilon
    drawn = noisy(in_units(np.column_stack([e2, t2])), 2 * UNIT, part, source)
    error, total = (value / UNIT for value in drawn)
    excess /= clip**2
    total -= excess
    ratio = max(error, 0.0) / total if total > 0.0 else 1.0
    largest = max(1.0, ratio)
    moves = ((e2 - ratio * t2) / largest) ** 2
    (spread,) = noisy(in_units(moves), UNIT, SPREAD * epsilon, source)
    of_squares = _variance(2, part)
    sampling = largest**2 * max(spread / UNIT, 0.0)
    low, high = ratio_interval(
        error, total, sampling + of_squares, of_squares + OF_SQUARES * excess**2
    )
    value = 1.0 - ratio if total > 0.0 else None
    return Measure(R2, value, 1.0 - high, 1.0 - low), clip


def _variance(sensitivity: int, epsilon: Fraction) -> float:
    """Return 2t², the variance of Laplace noise of scale t."""
    return 2.0 * float(sensitivity / epsilon) ** 2


def _noisy_mean(
    y: FloatArray,
    weights: FloatArray | None,
    rows: int | None,
    relation: str,
    epsilon: Fraction,
    source: random.Random,
) -> tuple[float, float]:
    """Return m, a mean of y with noise, and what the noise adds to Σ(y - m)² in expectation."""
    parts = (y + 1.0) / 2.0
    (above,) = in_units(parts if weights is None else weights * parts)
    if rows is not None:
        (drawn,) = noisy([above], UNIT, epsilon, source)
        size = max(float(rows), 1.0)
        mean = 2.0 * min(max(drawn / UNIT / size, 0.0), 1.0) - 1.0
        return mean, 4.0 * _variance(1, epsilon) / size
    # A row adds (1 + y)/2 to one sum and (1 - y)/2 to the other: 1 in all.
    moves = 1 if relation == "add-remove" else 2
    (whole,) = [len(y) * UNIT] if weights is None else in_units(weights)
    up, down = noisy([above, whole - above], moves * UNIT, epsilon, source)
    size = max((up + down) / UNIT, 1.0)
    mean = min(max((up - down) / UNIT / size, -1.0), 1.0)
    return mean, 2.0 * (1.0 + mean**2) * _variance(moves, epsilon) / size


def _bound(sizes: FloatArray, epsilon: Fraction, source: random.Random) -> float:
    """Draw a public candidate beyond which few of the sizes lie."""
    few = min(math.ceil(MOST_BEYOND * BEYOND / epsilon), len(sizes))
    beyond = [int((sizes > bound).sum()) for bound in BOUNDS]
    # One row more beyond a bound moves this by 20, and one row more by 1 the other way.
    distances = [abs(MOST_BEYOND * count - few) for count in beyond]
    return BOUNDS[chosen(distances, MOST_BEYOND, epsilon, source)]
