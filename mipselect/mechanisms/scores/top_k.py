"""k items from scores, one by one: one-shot and peeling."""

from __future__ import annotations

import math
import random
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.mechanisms.base import Support
from mipselect.mechanisms.noise import opendp_draws
from mipselect.mechanisms.noise.noise import noise_named
from mipselect.mechanisms.noise.order_statistics import Competitors
from mipselect.mechanisms.scores.base import Estimate, ScoreMechanism, set_checked
from mipselect.mechanisms.scores.permute_and_flip import permute_and_flip
from mipselect.mechanisms.scores.utilities import spendable, utilities
from mipselect.privacy.concentrated import bounded_range_rho
from mipselect.privacy.guarantee import checked_relation
from mipselect.privacy.randomness import IntegerWeights, Rng, generator
from mipselect.validation import (
    checked_count,
    checked_epsilon,
    checked_items,
    checked_scores,
    checked_sensitivity,
)

IntArray = np.ndarray[tuple[int], np.dtype[np.int64]]

MAX_ORDERED = 8
"""Up to here the 2^k subsets that peeling can pass through are all followed."""

REPEATS = 64


@dataclass(frozen=True, eq=False)
class _NoisyTopK(ScoreMechanism[Support]):
    """Common part of one-shot and peeling; with Gumbel noise they are the same law."""

    scores: ArrayLike = field(repr=False)
    k: int
    epsilon: float
    sensitivity: float = field(default=1.0, kw_only=True)
    noise: str = field(default="gumbel", kw_only=True)
    relation: str = field(default="replace-one", kw_only=True)

    def __post_init__(self) -> None:
        scores = checked_scores(self.scores)
        set_checked(
            self,
            scores=scores,
            k=checked_count(self.k, scores.size),
            epsilon=checked_epsilon(self.epsilon),
            sensitivity=checked_sensitivity(self.sensitivity),
        )
        spendable(self.epsilon / self.k)
        noise_named(self.noise)
        checked_relation(self.relation)

    @property
    def rho(self) -> float | None:
        """ε²/8k with Gumbel noise, k exponential mechanisms at ε/k; else nothing is claimed."""
        return bounded_range_rho(self.epsilon, self.k) if self.noise == "gumbel" else None

    @property
    def exact(self) -> bool:
        """False: a quadrature, good to about 1e-12, or Monte Carlo."""
        return False

    def estimate(self, outcome: ArrayLike) -> Estimate:
        """Log of the probability of a set of k indices. See `ScoreMechanism.estimate`."""
        chosen = np.array(checked_items(outcome, self.k, self._utilities.size))
        if self.k == self._utilities.size:
            return Estimate(0.0, 0.0, "closed form")
        return self._estimate(chosen)

    @abstractmethod
    def _estimate(self, chosen: IntArray) -> Estimate:
        """Log of the probability of k < d indices."""

    @cached_property
    def _utilities(self) -> FloatArray:
        """ε (q - q_[k]) / 2kΔ."""
        share = self.epsilon / self.k
        return utilities(np.asarray(self.scores), share, self.sensitivity, place=self.k)

    def _all_above_the_rest(self, chosen: IntArray) -> Estimate:
        """Log of the probability that the noisy utilities of `chosen` are the k largest."""
        competitors, best = self._without(chosen)
        log, error = competitors.log_all_above(self._utilities[chosen] - best)
        return Estimate(log, error, "quadrature")

    def _without(self, gone: Sequence[int] | IntArray) -> tuple[Competitors, float]:
        """The items but those, with utilities relative to the best of them, and that one's."""
        rest = np.delete(self._utilities, gone)
        best = float(rest.max())
        return Competitors(noise_named(self.noise), rest - best, np.zeros(rest.size)), best

    def _peel_with_gumbel(self, source: random.Random) -> Support:
        """Draw without replacement, each time with probability proportional to exp(utility)."""
        left = np.arange(self._utilities.size)
        chosen = []
        for _ in range(self.k):
            place = IntegerWeights.from_logs(self._utilities[left]).draw(source)
            chosen.append(int(left[place]))
            left = np.delete(left, place)
        return tuple(sorted(chosen))


@dataclass(frozen=True, eq=False)
class OneShotTopK(_NoisyTopK):
    """The k largest of ε q/(2kΔ) + noise, as a set.

    Parameters
    ----------
    scores : array_like of float, shape (d,)
        q; larger is better. Finite. Sensitive.
    k : int
        1 ≤ k ≤ d.
    epsilon : float
        ε > 0, finite.
    sensitivity : float
        Δ > 0: how far a score can move between neighbours; for counts see `NoisyMax`.
    noise : {"gumbel", "exponential", "laplace", "logistic", "half-logistic"}
    relation : {"replace-one", "add-remove"}
        The relation under which Δ is meant.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range or a score is not finite.

    Notes
    -----
    With Gumbel noise this is the same law as `Peeling`, and drawn in integers. The other noises
    are drawn in double precision from 64 random bits each: the tails end at 2^-65 and sums are
    rounded, so that ε holds up to events of a probability near d 2^-64.

    Probabilities are quadratures with an error bar.

    References
    ----------
    "Differentially Private Top-k Selection via Canonical Lipschitz Mechanism", definition 2.1
    and theorem 4.1; Qiao, Su and Zhang, "Oneshot differentially private top-k selection", 2021.

    Examples
    --------
    >>> from mipselect.mechanisms import OneShotTopK
    >>> OneShotTopK([50, 40, 9, 1], 2, 10.0, noise="exponential").sample(rng=0)
    (0, 1)
    """

    @property
    def name(self) -> str:
        """Name of the mechanism in a release."""
        return f"one-shot-{self.noise}"

    def sample(self, rng: Rng = None) -> Support:
        """Draw k sorted indices. See `Mechanism.sample`."""
        source, _ = generator(rng)
        if self.noise == "gumbel":
            return self._peel_with_gumbel(source)
        size = self._utilities.size
        noisy = self._utilities + noise_named(self.noise).largest(source, np.zeros(size))
        best = np.argpartition(-noisy, self.k - 1)[: self.k]
        return tuple(sorted(best.tolist()))

    def _estimate(self, chosen: IntArray) -> Estimate:
        return self._all_above_the_rest(chosen)


@dataclass(frozen=True, eq=False)
class Peeling(_NoisyTopK):
    """Draw `NoisyMax` k times without replacement, with ε/k each; the outcome is a set.

    Parameters
    ----------
    scores : array_like of float, shape (d,)
        q; larger is better. Finite. Sensitive.
    k : int
        1 ≤ k ≤ d.
    epsilon : float
        ε > 0, finite; for all k draws together.
    sensitivity : float
        Δ > 0: how far a score can move between neighbours; for counts see `NoisyMax`.
    noise : {"gumbel", "exponential", "laplace", "logistic", "half-logistic"}
    relation : {"replace-one", "add-remove"}
        The relation under which Δ is meant.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range or a score is not finite.

    Notes
    -----
    Draws with Gumbel noise are made in integers. With exponential noise a draw from the
    operating system is OpenDP's `make_noisy_top_k`, exact in rational numbers, and a seeded one
    is permute-and-flip in fractions. The other noises are drawn in double precision from 64
    random bits each: the tails end at 2^-65 and sums are rounded, so that ε holds up to events
    of a probability near k d 2^-64.

    Probabilities are quadratures with an error bar; with another noise than Gumbel and k above
    `MAX_ORDERED` the order of the draws is sampled, with a fixed seed, and the error bar is two
    standard errors.

    References
    ----------
    Durfee and Rogers, "Practical differentially private top-k selection with pay-what-you-get
    composition", 2019; the Lipschitz mechanism as in `NoisyMax`.

    Examples
    --------
    >>> from mipselect.mechanisms import Peeling
    >>> mechanism = Peeling([50, 40, 9, 1], 2, 10.0)
    >>> mechanism.sample(rng=0)
    (0, 1)
    >>> mechanism.guarantee.rho
    6.25
    """

    @property
    def name(self) -> str:
        """Name of the mechanism in a release."""
        return f"peeling-{self.noise}"

    def sample(self, rng: Rng = None) -> Support:
        """Draw k sorted indices. See `Mechanism.sample`."""
        source, private = generator(rng)
        if self.noise == "gumbel":
            return self._peel_with_gumbel(source)
        if self.noise == "exponential" and private:
            return opendp_draws.noisy_top_k(self._utilities, self.k)
        if self.noise == "exponential":
            return _peel_exactly([Fraction(u) for u in self._utilities.tolist()], self.k, source)
        left = np.arange(self._utilities.size)
        for _ in range(self.k):
            noise = noise_named(self.noise).largest(source, np.zeros(left.size))
            left = np.delete(left, np.argmax(self._utilities[left] + noise))
        return tuple(np.delete(np.arange(self._utilities.size), left).tolist())

    def _estimate(self, chosen: IntArray) -> Estimate:
        if self.noise == "gumbel":
            return self._all_above_the_rest(chosen)
        if self.k <= MAX_ORDERED:
            return self._over_all_orders(chosen.tolist())
        return self._over_some_orders(chosen.tolist())

    def _next(self, gone: Sequence[int], wanted: Sequence[int]) -> tuple[FloatArray, float]:
        """Log of the probability that each of `wanted` is drawn once `gone` are; error bar."""
        competitors, best = self._without(gone)
        logs, errors = competitors.log_wins(
            self._utilities[np.array(wanted)] - best, np.zeros(len(wanted))
        )
        return logs, float(errors.max())

    def _over_all_orders(self, chosen: list[int]) -> Estimate:
        """Sum over the sets that can have been drawn before the last, second last, ... item."""
        reached = {frozenset[int](): 0.0}
        error = 0.0
        for size in range(self.k):
            for gone in map(frozenset, combinations(chosen, size)):
                wanted = [j for j in chosen if j not in gone]
                logs, bar = self._next(list(gone), wanted)
                error = max(error, bar)
                for item, log in zip(wanted, logs.tolist(), strict=True):
                    grown = gone | {item}
                    before = reached.get(grown, -math.inf)
                    reached[grown] = float(np.logaddexp(before, reached[gone] + log))
        return Estimate(reached[frozenset(chosen)], self.k * error, "quadrature")

    def _over_some_orders(self, chosen: list[int]) -> Estimate:
        """Average Π_i P(the i-th draw is in the set | the ones before), seeded."""
        rng = np.random.default_rng(0)
        logs = np.zeros(REPEATS)
        for repeat in range(REPEATS):
            gone: list[int] = []
            while len(gone) < self.k:
                wanted = [j for j in chosen if j not in gone]
                each, _ = self._next(gone, wanted)
                together = float(np.logaddexp.reduce(each))
                logs[repeat] += together
                gone.append(int(rng.choice(wanted, p=np.exp(each - together))))
        weights = np.exp(logs - logs.max())
        spread = float(weights.std(ddof=1) / (weights.mean() * math.sqrt(REPEATS)))
        return Estimate(float(logs.max() + math.log(weights.mean())), 2.0 * spread, "Monte Carlo")


def _peel_exactly(utilities: list[Fraction], k: int, source: random.Random) -> Support:
    left = list(range(len(utilities)))
    chosen = []
    for _ in range(k):
        place = permute_and_flip([utilities[j] for j in left], source)
        chosen.append(left.pop(place))
    return tuple(sorted(chosen))
