"""Intervals for ratios of two noisy sums."""

from __future__ import annotations

import math

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
