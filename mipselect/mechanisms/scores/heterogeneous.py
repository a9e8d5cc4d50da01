"""One item from scores with sensitivities of their own: GEM, and noise of scales of their own."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray, IntArray, ScoreArray
from mipselect.mechanisms.base import Distribution
from mipselect.mechanisms.noise.noise import noise_named
from mipselect.mechanisms.scores import base
from mipselect.mechanisms.scores.noisy_max import NoisyMax
from mipselect.parameters import completed_by
from mipselect.privacy.concentrated import bounded_range_rho
from mipselect.privacy.guarantee import checked_relation
from mipselect.privacy.randomness import IntegerWeights, Rng, generator
from mipselect.validation import checked_epsilon, checked_share, set_fields

CHUNK = 4_000_000
"""Pairs of items that are compared, and noises that are drawn, in one go."""

MONTE_CARLO = 100_000


@completed_by(NoisyMax)
@dataclass(frozen=True, eq=False)
class HeterogeneousScores:
    """Scores with sensitivities of their own.

    Parameters
    ----------
    sensitivities : array_like of float, shape (d,)
        Δ_a ≥ 0: how far each score can move between neighbours. Public.
    """

    scores: ArrayLike = field(repr=False)
    sensitivities: ArrayLike = field(repr=False)
    epsilon: float

    def __post_init__(self) -> None:
        scores = base.checked_scores(self.scores)
        set_fields(
            self,
            scores=scores,
            sensitivities=base.checked_sensitivities(self.sensitivities, scores.size),
            epsilon=checked_epsilon(self.epsilon),
        )


@completed_by(HeterogeneousScores)
@dataclass(frozen=True, eq=False)
class GeneralizedExponential(HeterogeneousScores, base.WeightedItem):
    """GEM: the exponential mechanism on scores normalised by their own sensitivities.

    With t = (2/ε) ln(d/β) and losses l = -q, the normalised loss of item a is
    s_a = max_b ((l_a + tΔ_a) - (l_b + tΔ_b)) / (Δ_a + Δ_b), of sensitivity 1, and item a has
    probability ∝ exp(-ε s_a / 2).

    Parameters
    ----------
    beta : float
        0 < β < 1, the probability with which the error bound of the source may fail.
    optimistic : bool
        Compare l - tΔ in place of l + tΔ. As it is, an item with a large sensitivity is held
        back, which is what the error bound needs: the loss of the outcome is at most
        min_a (l_a + 2tΔ_a) with probability 1 - β. The other sign favours such items; it is as
        private, has no such bound, and is what the published comparison shows to be good for
        scores that grow with their sensitivities.
    relation : {"replace-one", "add-remove"}
        The relation under which the sensitivities are meant.

    Notes
    -----
    Draws are made in integers and probabilities are in closed form. O(d²).

    References
    ----------
    Raskhodnikova and Smith, "Efficient Lipschitz extensions for high-dimensional graph
    statistics and node private degree distributions", 2015; "Private Selection with
    Heterogeneous Sensitivities", section 1.

    Examples
    --------
    >>> from mipselect.mechanisms import GeneralizedExponential
    >>> mechanism = GeneralizedExponential([9.0, 8.0, 1.0], [0.1, 2.0, 0.1], 20.0)
    >>> mechanism.sample(rng=0), mechanism.log_probability(0) > mechanism.log_probability(1)
    (0, True)
    """

    beta: float = field(default=0.05, kw_only=True)
    optimistic: bool = field(default=False, kw_only=True)
    relation: str = field(default="replace-one", kw_only=True)
    name = "generalized-exponential"

    def __post_init__(self) -> None:
        super().__post_init__()
        set_fields(self, beta=checked_share(self.beta, "beta", closed=False))
        base.spendable(self.epsilon, self._log_margin)
        checked_relation(self.relation)

    @property
    def rho(self) -> float | None:
        """ε²/8: it is an exponential mechanism."""
        return bounded_range_rho(self.epsilon)

    @cached_property
    def _weights(self) -> IntegerWeights:
        losses = normalized_losses(
            np.asarray(self.scores),
            np.asarray(self.sensitivities),
            base.spendable(self.epsilon, self._log_margin),
            -self._log_margin if self.optimistic else self._log_margin,
        )
        return IntegerWeights.from_logs(
            -np.minimum(losses, base.reach(self.epsilon, self._log_margin))
        )

    @property
    def _log_margin(self) -> float:
        """ε t / 2 = ln(d/β)."""
        return math.log(np.size(self.scores) / self.beta)


def normalized_losses(
    scores: ScoreArray, sensitivities: FloatArray, epsilon: float, log_margin: float
) -> FloatArray:
    """Compute ε s_a / 2 = max_b (ε (q_b - q_a) / 2 + m (Δ_a - Δ_b)) / (Δ_a + Δ_b), m = ε t / 2.

    The shape is (d,). Values are at least 0, for b = a. Two items that cannot move at all compare
    as ±`LARGEST` or 0. Each pair has a difference of its own: q + tΔ would lose digits. The second
    term is public, so that its rounding costs nothing.
    """
    step = max(1, CHUNK // scores.size)
    parts = []
    for start in range(0, scores.size, step):
        part = slice(start, start + step)
        gaps = base.differences(scores, scores[part, None])
        sums = sensitivities[part, None] + sensitivities
        moving = np.where(sums > 0.0, sums, 1.0)
        margins = log_margin * ((sensitivities[part, None] - sensitivities) / moving)
        ratios = np.where(
            sums > 0.0, base.scaled(gaps, epsilon, moving) + margins, base.LARGEST * np.sign(gaps)
        )
        parts.append(ratios.max(axis=1))
    largest: FloatArray = np.maximum(np.concatenate(parts), 0.0)
    return largest


@completed_by(HeterogeneousScores)
@dataclass(frozen=True, eq=False)
class HeterogeneousNoisyMax(HeterogeneousScores, Distribution[int]):
    """RNMH, not ε-private: the largest q_a + (2Δ_a/ε) noise, each item with its own scale.

    Its law costs more than ε, and any ε for most noises where an item cannot move
    (docs/mathematics/score-mechanisms.md, (8)). It is kept to be compared with: a distribution
    only, without a guarantee and without a release. The mechanisms that are
    ε-private for these inputs are `NoisyMax` with the largest of the sensitivities,
    `GeneralizedExponential` and `RandomStopping`.

    Parameters
    ----------
    epsilon : float
        ε > 0, finite; it scales the noise and is not what the law costs.
    noise : {"exponential", "gumbel", "laplace", "logistic", "half-logistic"}

    Notes
    -----
    Probabilities P are shares of 100,000 draws with a fixed seed, whose standard error is
    √(P(1 - P)/100,000); that of an outcome that was never drawn is 0.

    References
    ----------
    "Private Selection with Heterogeneous Sensitivities", equation 4, section 2, appendix A.

    Examples
    --------
    >>> from mipselect.mechanisms import HeterogeneousNoisyMax
    >>> law = HeterogeneousNoisyMax([1.0, 0.0], [0.0, 1.0], 1.0)
    >>> law.sample(rng=0) in (0, 1)
    True
    >>> hasattr(law, "guarantee")
    False
    """

    noise: str = field(default="exponential", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        set_fields(self, scores=base.differences(np.asarray(self.scores), 0.0))
        noise_named(self.noise)

    def sample(self, rng: Rng = None) -> int:
        """Draw an index, for comparisons only. See `Mechanism.sample`."""
        return int(self._largest(generator(rng)[0], 1)[0])

    def log_probability(self, outcome: ArrayLike) -> float:
        """Return the log probability of an index. See `Distribution.log_probability`."""
        share = float(self._frequencies[base.checked_index(outcome, np.size(self.scores))])
        return math.log(share) if share > 0.0 else -math.inf

    def _largest(self, source: random.Random, draws: int) -> IntArray:
        """Draw several indices; shape (draws,)."""
        scores = np.asarray(self.scores)
        noise = noise_named(self.noise).largest(source, np.zeros(draws * scores.size))
        scales = 2.0 * np.asarray(self.sensitivities) / self.epsilon
        winners: IntArray = np.argmax(scores + noise.reshape(draws, scores.size) * scales, axis=1)
        return winners

    @cached_property
    def _frequencies(self) -> FloatArray:
        source, _ = generator(0)
        size = np.size(self.scores)
        drawn = np.zeros(size)
        step = max(1, CHUNK // size)
        for start in range(0, MONTE_CARLO, step):
            winners = self._largest(source, min(step, MONTE_CARLO - start))
            drawn += np.bincount(winners, minlength=size)
        return drawn / MONTE_CARLO
