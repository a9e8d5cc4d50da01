"""Intervals for ratios of two noisy sums, and for shares of two noisy counts."""

from __future__ import annotations

import math

from mipselect.quality.measures import Measure

QUANTILE = 1.6449
"""Quantile of the normal law: 90 % lie within. A Laplace law of the same variance has 1.63."""


def ratio_interval(
    top: float,
    bottom: float,
    top_variance: float,
    bottom_variance: float,
    covariance: float = 0.0,
    quantile: float = QUANTILE,
) -> tuple[float, float]:
    """Find all r ≥ 0 with |a - rb| ≤ q √Var(a - rb): Fieller's interval for a/b.

    Parameters
    ----------
    top, bottom : float
        Estimates a and b of numbers that are not negative.
    top_variance, bottom_variance, covariance : float
        Variances and covariance of their errors.
    quantile : float
        q.

    Returns
    -------
    low, high : float
        ``inf`` as the upper end where b may be 0; (0, inf) where nothing is known.
    """
    top, square = max(top, 0.0), quantile**2
    # r is inside where αr² - 2βr + γ ≤ 0.
    alpha = bottom**2 - square * bottom_variance
    beta = top * bottom - square * covariance
    gamma = top**2 - square * top_variance
    half = math.sqrt(max(beta**2 - alpha * gamma, 0.0))
    if alpha > 0.0 and bottom > 0.0:
        return max(0.0, (beta - half) / alpha), max(0.0, (beta + half) / alpha)
    if alpha > 0.0 or gamma <= 0.0 or beta + half <= 0.0:
        return 0.0, math.inf
    return gamma / (beta + half), math.inf


def share_of_counts(name: str, part: float, rest: float, noise: tuple[float, float]) -> Measure:
    """Estimate part/(part + rest) of two noisy counts, by their odds, with an interval.

    Given their shares the counts are independent and Poisson; `noise` has its variance in each.
    """
    part_there, rest_there = max(part, 0.0), max(rest, 0.0)
    low, high = ratio_interval(part, rest, noise[0] + part_there, noise[1] + rest_there)
    whole = part_there + rest_there
    value = part_there / whole if whole > 0.0 else None
    return Measure(name, value, low / (1.0 + low), 1.0 if math.isinf(high) else high / (1.0 + high))
