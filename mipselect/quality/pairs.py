"""Concordance of predictions of a number without a range, from disjoint pairs of rows."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray
from mipselect.quality.measures import CONCORDANCE, Measure
from mipselect.quality.noisy_sums import noisy
from mipselect.quality.ratios import share_of_counts

HALVES = 2
"""A pair is two halves: one goes to each side where the predictions are tied."""


def concordance_of_numbers(
    target: FloatArray, predicted: FloatArray, epsilon: Fraction, source: random.Random
) -> Measure:
    """Draw the share of pairs whose predictions order as their targets: ε-private, replacing a row.

    Parameters
    ----------
    target, predicted : float arrays, shape (n,), finite
    epsilon : Fraction
    source : random.Random

    Notes
    -----
    The pairs are disjoint and drawn without looking at the rows, so that one row is in one of
    them. A pair with tied targets counts nowhere. Replacing a row moves one pair from one side to
    the other: both counts by two halves.
    """
    counts = halves(target, predicted, random_pairs(len(target), source))
    right, wrong = (c / HALVES for c in noisy(counts, 2 * HALVES, epsilon, source))
    # Laplace noise of scale 2/ε in pairs.
    noise = 2.0 * float(2 / epsilon) ** 2
    return share_of_counts(CONCORDANCE, right, wrong, (noise, noise))


def random_pairs(n: int, source: random.Random) -> NDArray[np.int64]:
    """Return ⌊n/2⌋ disjoint pairs of 0..n-1, shape (⌊n/2⌋, 2), every matching equally likely."""
    order = list(range(n))
    source.shuffle(order)
    return np.array(order[: n - n % 2], dtype=np.int64).reshape(-1, 2)


def halves(target: FloatArray, predicted: FloatArray, pairs: NDArray[np.int64]) -> tuple[int, int]:
    """Count the halves of pairs that are in the right order, and in the wrong one."""
    first, second = pairs.T
    of_targets = np.sign(target[first] - target[second])
    of_predictions = np.sign(predicted[first] - predicted[second])
    agree = (of_targets * of_predictions)[of_targets != 0.0]
    return int((agree + 1.0).sum()), int((1.0 - agree).sum())
