"""Permute-and-flip, drawn without a single rounding: coins of probability e^-x in fractions."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

from mipselect.arrays import FloatArray


def permute_and_flip(utilities: list[Fraction], source: random.Random) -> int:
    """Draw the index of the largest of u_a + standard exponential noise.

    Items are looked at in random order, and the first is taken whose coin of probability
    exp(-(max u - u_a)) shows heads.

    References
    ----------
    McKenna and Sheldon, "Permute-and-flip", 2020, algorithm 1; Ding et al., "The
    permute-and-flip mechanism is identical to report-noisy-max with exponential noise", 2021.
    """
    best = max(utilities)
    waiting = list(range(len(utilities)))
    while True:
        place = source.randrange(len(waiting))
        waiting[place], waiting[-1] = waiting[-1], waiting[place]
        index = waiting.pop()
        if exponential_coin(best - utilities[index], source):
            return index


def exponential_coin(x: Fraction, source: random.Random) -> bool:
    """Return True with probability exp(-x), x ≥ 0, exactly.

    References
    ----------
    Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", 2020,
    algorithm 1.
    """
    while x > 1:
        if not _small_coin(Fraction(1), source):
            return False
        x -= 1
    return _small_coin(x, source)


def _small_coin(x: Fraction, source: random.Random) -> bool:
    """Toss a coin of exp(-x) = Σ (-x)^n / n!, x ≤ 1, by coins x, x/2, x/3, ... until tails."""
    count = 1
    while source.randrange(x.denominator * count) < x.numerator:
        count += 1
    return count % 2 == 1


def permute_and_flip_log_probability(utilities: FloatArray, index: int) -> float:
    """Compute the log probability that permute-and-flip returns `index`, in closed form.

    It is p_a E[1 / (1 + N)], where p = exp(u) and N is how many of the other coins show heads;
    the distribution of N is built up coin by coin, without a subtraction of like terms.

    Parameters
    ----------
    utilities : float array, shape (d,)
        u ≤ 0, the largest of them 0. O(d · the largest likely N) operations.
    index : int
    """
    heads = np.exp(np.delete(utilities, index))
    counts = np.ones(1)
    for p in heads[heads > 0.0]:
        longer = np.zeros(counts.size + 1)
        longer[:-1] = (1.0 - p) * counts
        longer[1:] += p * counts
        counts = longer[: np.flatnonzero(longer)[-1] + 1]
    expected = float(np.sum(counts / (1.0 + np.arange(counts.size))))
    return float(utilities[index]) + float(np.log(expected))
