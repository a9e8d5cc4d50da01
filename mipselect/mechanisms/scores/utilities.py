"""Utilities from scores: no digit is lost that ε depends on, and what rounding costs is paid.

Scores count for their differences alone, and a mechanism multiplies them by ε/2Δ. Differences are
formed first, from the scores themselves, and rounded once: beside a score of 1e18 the difference of
65 and 64 is still 1. Utilities are cut off beyond a public reach r, those of outcomes below that of
the best, which makes an error of 2^-53 of one at most 2^-53 r. It costs no accuracy at any ε above
1e-5, where r = 2,048: what is cut off had a probability below e^-r anyway. Below, scores of 2^28
sensitivities apart are cut. What rounding may then cost is taken off ε; the proof is in
docs/mathematics/score-mechanisms.md, (14).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray, ScoreArray
from mipselect.errors import InvalidInput

REACH = 2.0**11
"""No outcome is more than this many units of log probability below the best one."""

SENSITIVITIES_AWAY = 2.0**28
"""Value of `REACH` for a small ε, as a multiple of it."""

ALLOWANCE = 2.0**-48
"""Most that rounding may cost, as a share of the reach and of ε itself."""

COARSE = 2.0**30

LARGEST = 1e300
"""Largest number that is still multiplied or added."""


def reach(epsilon: float, log_outcomes: float = 0.0) -> float:
    """Return r, beyond which utilities are cut off, from public numbers.

    Parameters
    ----------
    epsilon : float
        ε of one draw.
    log_outcomes : float
        Log of how many outcomes can share a utility; all of them together stay unlikely.
    """
    return min(REACH, SENSITIVITIES_AWAY * epsilon) + log_outcomes


def spendable(epsilon: float, log_outcomes: float = 0.0) -> float:
    """Return what is left of the ε of one draw when the worst that rounding can do is paid for.

    Raises
    ------
    InvalidInput
        If rounding would cost more than half of ε, which is then below 1e-13 or so.
    """
    cost = ALLOWANCE * (epsilon + 1.0 + log_outcomes + reach(epsilon, log_outcomes))
    if cost > epsilon / 2.0:
        raise InvalidInput(
            f"epsilon must be at least {2.0 * ALLOWANCE * (1.0 + 2.0 * log_outcomes):.2g} for each "
            f"draw here, where rounding could cost as much, got {epsilon:g}"
        )
    return epsilon - cost


def differences(scores: ScoreArray, others: ArrayLike) -> FloatArray:
    """Compute q - q', broadcast, each of them the double nearest to the exact difference."""
    if scores.dtype == np.float64:
        with np.errstate(over="ignore"):
            return np.asarray(scores - others, dtype=np.float64)
    return np.asarray(_exact_difference(scores, others), dtype=np.float64)


def scaled(gaps: FloatArray, epsilon: float, sensitivity: float | FloatArray) -> FloatArray:
    """Compute ε gap / 2Δ, within ±`LARGEST`."""
    with np.errstate(over="ignore"):
        products: FloatArray = (gaps / sensitivity) * (epsilon / 2.0)
    return np.clip(products, -LARGEST, LARGEST)


def ranked_gaps(scores: ScoreArray, epsilon: float, sensitivity: float, place: int) -> FloatArray:
    """Compute ε (q_a - q_[k]) / 2Δ in descending order, with place k from 1; not cut off."""
    ranked = -np.sort(-scores)
    return scaled(differences(ranked, ranked[place - 1]), epsilon, sensitivity)


def utilities(
    scores: ScoreArray, epsilon: float, sensitivity: float, place: int = 1, noise: float = 0.0
) -> FloatArray:
    """Compute ε' (q_a - q_[k]) / 2Δ, cut off at ± the reach; ε' is what can be spent of ε.

    Parameters
    ----------
    scores : array, shape (d,)
    epsilon : float
        ε of one draw.
    sensitivity : float
        Δ.
    place : int
        k, from 1: the score that gets utility 0 is the k-th largest.
    noise : float
        `Noise.rounded` of the noise that is added.
    """
    reference = np.partition(scores, scores.size - place)[scores.size - place]
    gaps = scaled(differences(scores, reference), spendable(epsilon, noise), sensitivity)
    end = reach(epsilon)
    return np.clip(gaps, -end, end)


def accumulated(terms: FloatArray) -> FloatArray:
    """Add up the first 1, 2, ... terms ≥ 0, as exact as the terms, however many there are."""
    coarse, fine = split(terms)
    sums: FloatArray = np.cumsum(coarse) + np.cumsum(fine)
    return sums


def split(terms: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split into multiples of 2^-30, whose sums are exact up to 2^23, and the rest of each term."""
    coarse = np.rint(terms * COARSE) / COARSE
    return coarse, terms - coarse


def _difference(one: Any, other: Any) -> float:
    exact = Fraction(one) - Fraction(other)
    return float(min(max(exact, -Fraction(LARGEST)), Fraction(LARGEST)))


_exact_difference = np.frompyfunc(_difference, 2, 1)
