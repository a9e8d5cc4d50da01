"""Draws where all supports are listed with their weights μ(S) exp(-c R(S)): the yardstick."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from itertools import combinations, islice
from typing import Protocol

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import NotCertified
from mipselect.mechanisms.supports.intervals import Interval
from mipselect.mechanisms.supports.law import Prior, Rate
from mipselect.mechanisms.supports.ranks import rank, unrank
from mipselect.privacy.randomness import IntegerWeights
from mipselect.search.progress import Run, TimeUp

CHUNK = 4096
"""Supports that are evaluated between two looks at the clock."""


class HasValues(Protocol):
    """Values R(S) of one data set; a small one is of a good support."""

    def values(self, supports: IntArray) -> FloatArray:
        """Compute R of sorted supports of one size, shape (m, s): shape (m,)."""
        ...


class ListedLaw(Protocol):
    """A law on 0..N-1, such as `IntegerWeights`."""

    def draw(self, source: random.Random) -> int:
        """Draw a number."""

    def log_probability(self, index: int) -> float:
        """Return the log of the probability that `draw` returns `index`."""

    def log_probabilities(self) -> FloatArray:
        """Return the log probability of every number, shape (N,)."""


class ListedDraws:
    """Every support with its weight, by size and then in lexicographic order.

    Parameters
    ----------
    problem : HasValues
    p : int
    prior : Prior
    rate : Rate
    run : Run
        Its deadline is that of the evaluation.
    law : callable
        Makes the law of the supports, by number, from their weights.

    Raises
    ------
    NotCertified
        If the deadline passes first.
    """

    acceptance = 1.0

    def __init__(
        self,
        problem: HasValues,
        p: int,
        prior: Prior,
        rate: Rate,
        run: Run,
        law: Callable[[IntegerWeights], ListedLaw],
    ) -> None:
        self._p, self._sizes = p, prior.sizes
        counts = [math.comb(p, size) for size in prior.sizes]
        self._starts = dict(zip(prior.sizes, np.cumsum([0, *counts]).tolist(), strict=False))
        values, priors = [], []
        run.stage, run.done, run.total = "listing", 0, sum(counts)
        try:
            for supports in self._chunks():
                run.tick()
                values.append(problem.values(supports))
                run.done += len(supports)
                priors.append(
                    prior.log_sizes[supports.shape[1]] + prior.log_features[supports].sum(axis=1)
                )
        except TimeUp as stop:
            raise NotCertified(
                f"time limit of {run.deadline.limit:g} s reached: {run.done:,} of "
                f"{run.total:,} supports were evaluated, and nothing is released",
                bound=-math.inf,
            ) from stop
        R = np.concatenate(values)
        # Relative to the first, for R itself may be large against Δ.
        logs = np.concatenate(priors) - rate.rate * (R - R[0])
        self._law = law(IntegerWeights.from_logs(logs))

    def draw(self, source: random.Random) -> tuple[int, ...]:
        """Draw a support with exactly the law of the integer weights."""
        number = self._law.draw(source)
        size = max(size for size, start in self._starts.items() if start <= number)
        return unrank(number - self._starts[size], self._p, size)

    def log_probability(self, support: tuple[int, ...]) -> float:
        """Return the log of the probability of a support of one of the sizes."""
        return self._law.log_probability(self._starts[len(support)] + rank(support, self._p))

    def estimate(self, support: IntArray, width: float | None) -> Interval:
        """Return the log probability of a support, an interval of no width at all."""
        log = self.log_probability(tuple(support.tolist()))
        return Interval(log, log)

    def size_probabilities(self, width: float | None) -> dict[int, Interval]:
        """Return the probability of every size; see `estimate`."""
        chances = self._probabilities()
        found = {}
        for size, start in self._starts.items():
            chance = float(chances[start : start + math.comb(self._p, size)].sum())
            found[size] = Interval(chance, chance)
        return found

    def inclusion_probabilities(self, width: float | None) -> Interval:
        """Return the probability of every feature, shape (p,); see `estimate`."""
        chances, found, start = self._probabilities(), np.zeros(self._p), 0
        for supports in self._chunks():
            share = chances[start : start + len(supports)]
            np.add.at(found, supports, share[:, None])
            start += len(supports)
        return Interval(found, found)

    def _probabilities(self) -> FloatArray:
        return np.asarray(np.exp(self._law.log_probabilities()))

    def _chunks(self) -> Iterator[IntArray]:
        for size in self._sizes:
            supports = combinations(range(self._p), size)
            while chunk := list(islice(supports, CHUNK)):
                yield np.array(chunk, dtype=np.intp)
