"""Exact draws for sums of rows, a choice among public candidates, and intervals for ratios."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray
from mipselect.mechanisms.scores.noisy_max import exponential_coin, permute_and_flip

UNIT = 1 << 20
"""A contribution of 1 in integers: each row's is rounded to a multiple of 1/UNIT, and so the sums
and their sensitivities are exact."""

QUANTILE = 1.6449
"""Quantile of the normal law: 90 % lie within. A Laplace law of the same variance has 1.63."""


def discrete_laplace(scale: Fraction, source: random.Random) -> int:
    """Draw an integer k with probability exactly proportional to exp(-|k|/scale).

    References
    ----------
    Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", 2020,
    algorithm 2.
    """
    numerator, denominator = scale.numerator, scale.denominator
    while True:
        low = source.randrange(numerator)
        if not exponential_coin(Fraction(low, numerator), source):
            continue
        high = 0
        while exponential_coin(Fraction(1), source):
            high += 1
        size = (low + numerator * high) // denominator
        if source.getrandbits(1):
            return size
        if size:
            return -size


def in_units(values: FloatArray) -> list[int]:
    """Round contributions in [0, 1], shape (n,) or (n, k), and add them up over the rows: integers.

    A row's integers lie in [0, UNIT], whatever the other rows are.
    """
    sums: list[int] = np.atleast_1d(integers(values).sum(axis=0)).tolist()
    return sums


def integers(values: FloatArray) -> NDArray[np.int64]:
    """Round each contribution in [0, 1] to an integer in [0, UNIT]."""
    return np.rint(np.clip(np.nan_to_num(values), 0.0, 1.0) * UNIT).astype(np.int64)


def noisy(
    sums: Sequence[int], sensitivity: int, epsilon: Fraction, source: random.Random
) -> list[int]:
    """Add discrete Laplace noise of scale Δ₁/ε to each of some integers.

    Parameters
    ----------
    sums : sequence of int
        Which neighbours move by Δ₁ together at most.
    sensitivity : int
        Δ₁ > 0.
    epsilon : Fraction
        ε > 0 of all of them together.
    """
    scale = sensitivity / epsilon
    return [value + discrete_laplace(scale, source) for value in sums]


def chosen(distances: Sequence[int], moves: int, epsilon: Fraction, source: random.Random) -> int:
    """Draw the index of a small distance by permute-and-flip, ε-private.

    Parameters
    ----------
    distances : sequence of int
        Which neighbours move by `moves` each at most.
    moves : int
    epsilon : Fraction
    """
    return permute_and_flip([-epsilon * d / (2 * moves) for d in distances], source)


def ratio_interval(
    top: float, bottom: float, top_variance: float, bottom_variance: float
) -> tuple[float, float]:
    """Find all r ≥ 0 with |a - rb| ≤ q √Var(a - rb): Fieller's interval for a/b.

    Parameters
    ----------
    top, bottom : float
        Estimates a and b of numbers that are not negative.
    top_variance, bottom_variance : float
        Variances of their errors, which are independent.

    Returns
    -------
    low, high : float
        ``inf`` as the upper end where b may be 0; (0, inf) where nothing is known.
    """
    top, square = max(top, 0.0), QUANTILE**2
    # r is inside where αr² - 2βr + γ ≤ 0.
    alpha = bottom**2 - square * bottom_variance
    beta = top * bottom
    gamma = top**2 - square * top_variance
    half = math.sqrt(max(beta**2 - alpha * gamma, 0.0))
    if alpha > 0.0 and bottom > 0.0:
        return max(0.0, (beta - half) / alpha), max(0.0, (beta + half) / alpha)
    if alpha > 0.0 or gamma <= 0.0 or beta + half <= 0.0:
        return 0.0, math.inf
    return gamma / (beta + half), math.inf
