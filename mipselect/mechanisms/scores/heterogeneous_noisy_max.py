"""The largest of scores with noise of scales of their own: a law, and what it costs."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mipselect.array_checks import checked_index
from mipselect.arrays import FloatArray, IntArray
from mipselect.docstrings import completed_by
from mipselect.mechanisms.noise.noise import noise_named
from mipselect.mechanisms.scores.base import Estimate, ScoreDistribution
from mipselect.mechanisms.scores.heterogeneous import HeterogeneousScores
from mipselect.mechanisms.scores.utilities import differences
from mipselect.privacy.randomness import Rng, generator
from mipselect.validation import set_fields

CHUNK = 4_000_000
"""Noises that are drawn in one go."""

MONTE_CARLO = 100_000

SMOOTH_BOTH_WAYS = ("laplace", "logistic")
"""Noises whose density changes by a factor of at most e^t over a distance of t."""


@completed_by(HeterogeneousScores)
@dataclass(frozen=True, eq=False)
class HeterogeneousNoisyMax(HeterogeneousScores, ScoreDistribution[int]):
    """RNMH, not ε-private: the largest q_a + (2Δ_a/ε) noise, each item with its own scale.

    Its law is private for ``privacy_loss``, which is ε(1 + max Δ / min Δ)/2 in place of ε, and
    infinite for most noises where an item cannot move. It is kept to be compared with: a
    distribution only, without a guarantee and without a release. The mechanisms that are
    ε-private for these inputs are `NoisyMax` with the largest of the sensitivities,
    `GeneralizedExponential` and `RandomStopping`.

    Parameters
    ----------
    epsilon : float
        ε > 0, finite; it scales the noise and is not what the law costs.
    noise : {"exponential", "gumbel", "laplace", "logistic", "half-logistic"}

    Notes
    -----
    Probabilities are Monte Carlo, with a fixed seed; the error bar is two standard errors. An
    outcome that was never drawn has log probability ``-inf`` with an infinite error bar.

    References
    ----------
    "Private Selection with Heterogeneous Sensitivities", equation 4, section 2, appendix A.

    Examples
    --------
    >>> from mipselect.mechanisms import HeterogeneousNoisyMax
    >>> law = HeterogeneousNoisyMax([1.0, 0.0], [0.0, 1.0], 1.0)
    >>> law.sample(rng=0) in (0, 1)
    True
    >>> hasattr(law, "guarantee"), law.privacy_loss
    (False, inf)
    >>> HeterogeneousNoisyMax([1.0, 0.0], [1.8, 1.0], 1.0).privacy_loss
    1.4
    """

    noise: str = field(default="exponential", kw_only=True)
    exact = False

    def __post_init__(self) -> None:
        super().__post_init__()
        set_fields(self, scores=differences(np.asarray(self.scores), 0.0))
        noise_named(self.noise)

    @property
    def privacy_loss(self) -> float:
        """The ε that the law keeps under the relation of the sensitivities; ``inf`` for none.

        (ε/2)(1 + max Δ / min Δ), and 0 where no item moves. Laplace and logistic noise keep ε/2 for
        each item that moves as well, if that is less
        (docs/mathematics/score-mechanisms.md, (8)).
        """
        widths = np.asarray(self.sensitivities)
        least, most = float(widths.min()), float(widths.max())
        if most == 0.0 or widths.size == 1:
            return 0.0
        shifted = 0.5 * self.epsilon * (1.0 + most / least) if least > 0.0 else math.inf
        if self.noise not in SMOOTH_BOTH_WAYS:
            return shifted
        return min(shifted, 0.5 * self.epsilon * int(np.count_nonzero(widths)))

    def sample(self, rng: Rng = None) -> int:
        """Draw an index, for comparisons only. See `Mechanism.sample`."""
        return int(self._largest(generator(rng)[0], 1)[0])

    def estimate(self, outcome: ArrayLike) -> Estimate:
        """Return the log of the probability of an index. See `ScoreMechanism.estimate`."""
        index = checked_index(outcome, np.size(self.scores))
        share = float(self._frequencies[index])
        if share == 0.0:
            return Estimate(-math.inf, math.inf, "Monte Carlo")
        error = 2.0 * math.sqrt((1.0 - share) / (share * MONTE_CARLO))
        return Estimate(math.log(share), error, "Monte Carlo")

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
