"""One item from scores: the Lipschitz mechanism, and permute-and-flip without a single rounding."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.mechanisms.noise.noise import noise_named
from mipselect.mechanisms.noise.quadrature import Competitors
from mipselect.mechanisms.scores.base import (
    ScoreMechanism,
    checked_index,
    checked_scores,
    checked_sensitivity,
    spendable,
    utilities,
)
from mipselect.privacy.concentrated import bounded_range_rho
from mipselect.privacy.guarantee import checked_relation
from mipselect.privacy.randomness import IntegerWeights, Rng, generator
from mipselect.validation import checked_epsilon, set_fields


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


@dataclass(frozen=True, eq=False)
class NoisyMax(ScoreMechanism[int]):
    """The index of the largest ε q/(2Δ) + noise.

    Parameters
    ----------
    scores : array_like of float, shape (d,)
        q; larger is better. Finite. Sensitive.
    epsilon : float
        ε > 0, finite.
    sensitivity : float
        Δ > 0: how far a score can move between neighbours. Scores that all move in one
        direction, such as counts under add-remove, may be given Δ/2.
    noise : {"exponential", "gumbel", "laplace", "logistic", "half-logistic"}
        "exponential" is permute-and-flip, "gumbel" the exponential mechanism, "laplace" report
        noisy max.
    relation : {"replace-one", "add-remove"}
        The relation under which Δ is meant.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range or a score is not finite.

    Notes
    -----
    Draws with Gumbel noise are made in integers, and with exponential noise in fractions, by
    permute-and-flip. The other noises are drawn in double precision, from as
    many random bits as their tails take, and what rounding costs is taken off ε.

    `log_probability` is in closed form for the exact two and a quadrature for the others.

    References
    ----------
    "Differentially Private Top-k Selection via Canonical Lipschitz Mechanism", definition 2.1
    and theorem 4.1.

    Examples
    --------
    >>> from mipselect import Ledger
    >>> from mipselect.mechanisms import NoisyMax
    >>> draw = NoisyMax([912, 885, 301], 0.5, sensitivity=0.5, relation="add-remove")
    >>> release = draw.release(Ledger(1.0, relation="add-remove"))
    >>> print(release.guarantee)
    0.5-differentially private (pure), adding or removing one row; no further condition
    """

    scores: ArrayLike = field(repr=False)
    epsilon: float
    sensitivity: float = field(default=1.0, kw_only=True)
    noise: str = field(default="exponential", kw_only=True)
    relation: str = field(default="replace-one", kw_only=True)

    def __post_init__(self) -> None:
        set_fields(
            self,
            scores=checked_scores(self.scores),
            epsilon=checked_epsilon(self.epsilon),
            sensitivity=checked_sensitivity(self.sensitivity),
        )
        spendable(self.epsilon, noise_named(self.noise).rounded)
        checked_relation(self.relation)

    @property
    def name(self) -> str:
        """Name of the mechanism in a release."""
        return f"noisy-max-{self.noise}"

    @property
    def rho(self) -> float | None:
        """ε²/8 with Gumbel noise, the exponential mechanism; nothing is claimed for the others."""
        return bounded_range_rho(self.epsilon) if self.noise == "gumbel" else None

    def sample(self, rng: Rng = None) -> int:
        """Draw an index. See `Mechanism.sample`."""
        source, _ = generator(rng)
        if self.noise == "gumbel":
            return self._weights.draw(source)
        if self.noise == "exponential":
            return permute_and_flip([Fraction(u) for u in self._utilities.tolist()], source)
        noise = noise_named(self.noise).largest(source, np.zeros(self._utilities.size))
        return int(np.argmax(self._utilities + noise))

    def log_probability(self, outcome: ArrayLike) -> float:
        """Return the log probability of an index. See `Distribution.log_probability`."""
        index = checked_index(outcome, np.size(self.scores))
        if self.noise == "gumbel":
            return self._weights.log_probability(index)
        if self.noise == "exponential":
            return permute_and_flip_log_probability(self._utilities, index)
        competitors = Competitors(
            noise_named(self.noise), self._utilities, np.zeros(self._utilities.size)
        )
        return float(competitors.log_wins(self._utilities[[index]], np.zeros(1))[0])

    @cached_property
    def _utilities(self) -> FloatArray:
        rounded = noise_named(self.noise).rounded
        return utilities(np.asarray(self.scores), self.epsilon, self.sensitivity, noise=rounded)

    @cached_property
    def _weights(self) -> IntegerWeights:
        return IntegerWeights.from_logs(self._utilities)
