"""A ranking of k items from scores at once: the joint exponential mechanism."""

from __future__ import annotations

import math
import random
from bisect import bisect_right, insort
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray, IntArray
from mipselect.mechanisms.base import Support
from mipselect.mechanisms.scores import base
from mipselect.mechanisms.scores.top_k import TopKMechanism
from mipselect.parameters import completed_by
from mipselect.privacy.concentrated import bounded_range_rho
from mipselect.privacy.randomness import IntegerWeights, Rng, generator


@completed_by(TopKMechanism)
@dataclass(frozen=True, eq=False)
class JointExponential(TopKMechanism):
    """The exponential mechanism on ordered k-tuples, with utility -max_i (q_(i) - q_{s_i}).

    q_(i) is the i-th largest score and s_i the item in place i.

    Notes
    -----
    The utility has sensitivity 2Δ: a tuple has probability ∝ exp(ε utility / 4Δ), which is the
    paper's exp(ε utility/2) for counts with Δ = ½.

    An outcome has its items in order of rank. Draws are made in integers and probabilities are
    in closed form, with logs of the multiplicities that are right to about 1e-12. O(dk log dk)
    time, O(dk) memory.

    References
    ----------
    Gillenwater, Joseph, Muñoz Medina and Ribero Diaz, "A joint exponential mechanism for
    differentially private top-k", 2022, algorithms 1 and 2.

    Examples
    --------
    >>> from mipselect.mechanisms import JointExponential
    >>> mechanism = JointExponential([90, 70, 20, 1], 2, 5.0)
    >>> mechanism.sample(rng=0)
    (0, 1)
    >>> mechanism.log_probability([0, 1]) > mechanism.log_probability([1, 0])
    True
    """

    name = "joint-exponential"

    @property
    def rho(self) -> float | None:
        """ε²/8, for it is an exponential mechanism."""
        return bounded_range_rho(self.epsilon)

    def sample(self, rng: Rng = None) -> Support:
        """Draw k indices in order of rank. See `Mechanism.sample`."""
        source, _ = generator(rng)
        ranks = self._crossings.member(self._weights.draw(source), source)
        return tuple(self._order[ranks].tolist())

    def log_probability(self, outcome: ArrayLike) -> float:
        """Return the log probability of k indices in this order. See `Distribution`."""
        chosen = base.checked_items(outcome, self.k, np.size(self.scores))
        places = np.empty_like(self._order)
        places[self._order] = np.arange(places.size)
        index = self._crossings.index(places[list(chosen)])
        return self._weights.log_probability(index) - float(self._crossings.log_sizes[index])

    @cached_property
    def _crossings(self) -> Crossings:
        ranked = np.asarray(self.scores)[self._order]
        # One difference for every crossing: relative to a common score digits would be lost.
        gaps = base.differences(ranked[: self.k, None], ranked)
        losses = base.scaled(gaps, self._spendable, self.sensitivity) / 2.0
        return Crossings(np.minimum(losses, base.reach(self.epsilon, self._log_outcomes)))

    @cached_property
    def _weights(self) -> IntegerWeights:
        crossings = self._crossings
        return IntegerWeights.from_logs(
            -crossings.gaps, log_sizes=crossings.log_sizes, log_outcomes=self._log_outcomes
        )

    @property
    def _spendable(self) -> float:
        return base.spendable(self.epsilon, self._log_outcomes)

    @property
    def _log_outcomes(self) -> float:
        """The log of d! / (d - k)!"""
        return math.log(math.perm(np.size(self.scores), self.k))


@dataclass(frozen=True, eq=False)
class Crossings:
    """The tuples of k out of d ranks, from 0, by the last of their places to be allowed.

    Let a threshold grow from zero; place i allows rank j once losses[i, j] is below it.
    Ranks come in one at a time (first the smaller gap, then the later place, then the better
    rank), and place i always allows a prefix of n_i ranks, n_0 ≤ n_1 ≤ ..., so that Π (n_i - i)
    tuples are allowed. When place i gets its rank j = n_i, those that come in are the tuples
    with j in place i: Π over the other places. Index 0 is the tuple 0, 1, ..., k-1.

    Attributes
    ----------
    losses : float array, shape (k, d)
        How much worse rank j is than rank i, which is best for place i. Ascending in j and
        descending in i; at j ≤ i it counts as 0, whatever is there.
    """

    losses: FloatArray = field(repr=False)

    @property
    def k(self) -> int:
        """The number of places."""
        return len(self.losses)

    @cached_property
    def gaps(self) -> FloatArray:
        """losses[i, j] of every crossing, in order, shape (K + 1,); the first is 0."""
        return np.append(0.0, self.losses[self._sequence])

    @cached_property
    def log_sizes(self) -> FloatArray:
        """Log of how many tuples come in at each crossing, shape (K + 1,)."""
        places, ranks = self._sequence
        allowed = base.accumulated(np.log1p(1.0 / (ranks - places)))
        before = np.append(0.0, allowed[:-1])[: places.size]
        return np.append(0.0, before - np.log(ranks - places))

    def index(self, ranks: IntArray) -> int:
        """Return a crossing that has the largest gap of a tuple of ranks."""
        every = np.arange(self.k)
        gaps = np.where(ranks > every, self.losses[every, ranks], -1.0)
        place = int(np.argmax(gaps))
        if gaps[place] < 0.0:
            return 0
        places, others = self._sequence
        return 1 + int(np.flatnonzero((places == place) & (others == ranks[place]))[0])

    def member(self, index: int, source: random.Random) -> list[int]:
        """Draw one of the tuples that come in at a crossing, all equally likely."""
        if index == 0:
            return list(range(self.k))
        places, ranks = self._sequence
        at, rank = int(places[index - 1]), int(ranks[index - 1])
        allowed = np.arange(1, self.k + 1) + np.bincount(places[: index - 1], minlength=self.k)
        tuple_, used = [], [rank]
        for place, end in enumerate(allowed.tolist()):
            if place == at:
                tuple_.append(rank)
                continue
            taken = bisect_right(used, end - 1)
            drawn = source.randrange(end - taken)
            for other in used[:taken]:
                drawn += drawn >= other
            tuple_.append(drawn)
            insort(used, drawn)
        return tuple_

    @cached_property
    def _sequence(self) -> tuple[IntArray, IntArray]:
        """The place and the rank of every crossing, in order."""
        k, d = self.losses.shape
        places, ranks = np.nonzero(np.arange(d) > np.arange(k)[:, None])
        order = np.lexsort((ranks, -places, self.losses[places, ranks]))
        return places[order], ranks[order]
