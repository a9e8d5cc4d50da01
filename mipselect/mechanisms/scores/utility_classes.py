"""The utility classes of canonical Lipschitz: how many k-subsets share a head and a tail.

Ranks are 1, 2, ..., d, best first, as in the paper. A class is (h, t): its subsets contain the
ranks 1..h, lack h + 1, contain t and nothing after t, and k - h - 1 of the ranks h + 2..t - 1.
The k best ranks are a class of their own, with h = k - 1 and t = k
(docs/mathematics/score-mechanisms.md, (6)).
"""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.mechanisms.base import Support
from mipselect.privacy.randomness import uniform_subset

COARSE = 2.0**30


@dataclass(frozen=True)
class Classes(ABC):
    """The k-subsets of d ranks, grouped; class 0 is the k best ranks.

    Parameters
    ----------
    d, k : int
        1 ≤ k ≤ d.
    """

    d: int
    k: int

    @property
    @abstractmethod
    def log_sizes(self) -> FloatArray:
        """Log of the number of subsets in each class."""

    @abstractmethod
    def size(self, index: int) -> int:
        """Return how many subsets there are in a class, exactly."""

    @abstractmethod
    def utilities(self, ranked: FloatArray, gamma: float) -> FloatArray:
        """Compute minus the canonical loss of each class, less that of the k best.

        Parameters
        ----------
        ranked : float array, shape (d,)
            ε q/(2Δ) in descending order. Where that of rank k is 0, nothing is lost to rounding.
        gamma : float
            The loss is (1 - γ) ranked[h + 1] - γ ranked[t], at ranks.
        """

    @abstractmethod
    def index(self, ranks: Support) -> int:
        """Return the class of k sorted ranks."""

    @abstractmethod
    def member(self, index: int, source: random.Random) -> Support:
        """Draw the ranks of a subset of a class, all equally likely; sorted."""

    @abstractmethod
    def log_shares(self, prefix: int, last: int) -> FloatArray:
        """Return the log share of each class that has ranks 1..prefix and none after `last`.

        The k best ranks always count.
        """


@dataclass(frozen=True)
class HeadTailClasses(Classes):
    """All k (d - k) + 1 classes; class 1 + h (d - k) + (t - k - 1) is (h, t)."""

    @cached_property
    def log_sizes(self) -> FloatArray:
        """log C(t - h - 2, k - h - 1), a sum of k - h - 1 positive terms."""
        later = np.arange(self.d - self.k, dtype=np.float64)
        sizes = np.zeros((self.k, later.size))
        coarse, fine = np.zeros_like(later), np.zeros_like(later)
        for h in range(self.k - 2, -1, -1):
            more_coarse, more_fine = split(np.log1p(later / (self.k - h - 1)))
            coarse += more_coarse
            fine += more_fine
            sizes[h] = coarse + fine
        return np.append(0.0, sizes)

    def head_and_tail(self, index: int) -> tuple[int, int]:
        """Return (h, t)."""
        if index == 0:
            return self.k - 1, self.k
        h, later = divmod(index - 1, self.d - self.k)
        return h, self.k + 1 + later

    def size(self, index: int) -> int:
        """Return C(t - h - 2, k - h - 1), or 1 for the k best."""
        h, t = self.head_and_tail(index)
        return 1 if index == 0 else math.comb(t - h - 2, self.k - h - 1)

    def utilities(self, ranked: FloatArray, gamma: float) -> FloatArray:
        """Compute -(1 - γ) (x_[h+1] - x_[k]) - γ (x_[k] - x_[t])."""
        kth = ranked[self.k - 1]
        heads = (1.0 - gamma) * (kth - ranked[: self.k])
        tails = gamma * (ranked[self.k :] - kth)
        return np.append(0.0, heads[:, None] + tails)

    def index(self, ranks: Support) -> int:
        """Return the class of k sorted ranks."""
        if ranks[-1] == self.k:
            return 0
        head = next(h for h, rank in enumerate(ranks) if rank != h + 1)
        return 1 + head * (self.d - self.k) + ranks[-1] - self.k - 1

    def member(self, index: int, source: random.Random) -> Support:
        """Draw the body uniformly."""
        h, t = self.head_and_tail(index)
        if index == 0:
            return tuple(range(1, self.k + 1))
        body = uniform_subset(source, t - h - 2, self.k - h - 1)
        return (*range(1, h + 1), *(h + 2 + j for j in body), t)

    def log_shares(self, prefix: int, last: int) -> FloatArray:
        """Return zero where h ≥ prefix and t ≤ last, else ``-inf``."""
        shares = np.full((self.k, self.d - self.k), -np.inf)
        shares[prefix:, : max(last - self.k, 0)] = 0.0
        return np.append(0.0, shares)


@dataclass(frozen=True)
class TailClasses(Classes):
    """The d - k + 1 classes by t alone, which are enough for γ = 1; class t - k is t."""

    @cached_property
    def log_sizes(self) -> FloatArray:
        """log C(t - 1, k - 1), from t to t + 1 by t / (t - k + 1)."""
        t = np.arange(self.k, self.d, dtype=np.float64)
        return np.append(0.0, accumulated(np.log1p((self.k - 1) / (t - self.k + 1))))

    def size(self, index: int) -> int:
        """Return C(t - 1, k - 1)."""
        return math.comb(self.k + index - 1, self.k - 1)

    def utilities(self, ranked: FloatArray, gamma: float) -> FloatArray:
        """Compute -(x_[k] - x_[t]); γ is 1."""
        utilities: FloatArray = ranked[self.k - 1 :] - ranked[self.k - 1]
        return utilities

    def index(self, ranks: Support) -> int:
        """Return the class of k sorted ranks."""
        return ranks[-1] - self.k

    def member(self, index: int, source: random.Random) -> Support:
        """Draw everything before the tail uniformly."""
        t = self.k + index
        return (*(1 + j for j in uniform_subset(source, t - 1, self.k - 1)), t)

    def log_shares(self, prefix: int, last: int) -> FloatArray:
        """Compute C(t - 1 - prefix, k - 1 - prefix) / C(t - 1, k - 1) where t ≤ last."""
        t = np.arange(self.k, self.d + 1, dtype=np.float64)
        shares = np.where(t <= last, 0.0, -np.inf)
        for j in range(min(prefix, self.k - 1)):
            shares += np.log((self.k - 1 - j) / (t - 1 - j))
        if prefix >= self.k:
            shares[:] = -np.inf
        shares[0] = 0.0
        return shares


def accumulated(terms: FloatArray) -> FloatArray:
    """Add up the first 1, 2, ... terms ≥ 0, as exact as the terms, however many there are."""
    coarse, fine = split(terms)
    sums: FloatArray = np.cumsum(coarse) + np.cumsum(fine)
    return sums


def split(terms: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split into multiples of 2^-30, whose sums are exact up to 2^23, and the rest of each term."""
    coarse = np.rint(terms * COARSE) / COARSE
    return coarse, terms - coarse
