"""The largest of scores with noise of scales of their own: a law, and what it costs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.mechanisms.noise.noise import noise_named
from mipselect.mechanisms.scores.base import Estimate, ScoreDistribution, set_checked
from mipselect.mechanisms.scores.utilities import differences
from mipselect.privacy.randomness import Rng, generator
from mipselect.validation import (
    checked_epsilon,
    checked_index,
    checked_scores,
    checked_sensitivities,
)

CHUNK = 4_000_000
"""Noises that are drawn in one go."""

MONTE_CARLO = 100_000

SMOOTH_BOTH_WAYS = ("laplace", "logistic")
"""Noises whose density changes by a factor of at most e^t over a distance of t."""


@dataclass(frozen=True, eq=False)
class HeterogeneousNoisyMax(ScoreDistribution[int]):
    """RNMH, not ε-private: the largest q_a + (2Δ_a/ε) noise, each item with its own scale.

    Its law is private for ``privacy_loss``, which is ε(1 + max Δ / min Δ)/2 in place of ε, and
    infinite for most noises where an item cannot move. It is kept to be compared with: a
    distribution only, without a guarantee and without a release. The mechanisms that are
    ε-private for these inputs are `NoisyMax` with the largest of the sensitivities,
    `GeneralizedExponential` and `RandomStopping`.

    Parameters
    ----------
    scores : array_like of float, shape (d,)
        q; larger is better. Finite. Sensitive.
    sensitivities : array_like of float, shape (d,)
        Δ_a ≥ 0.
    epsilon : float
        ε > 0, finite; it scales the noise and is not what the law costs.
    noise : {"exponential", "gumbel", "laplace", "logistic", "half-logistic"}

    Raises
    ------
    InvalidInput
        If a parameter is out of its range or a score is not finite.

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

    scores: ArrayLike = field(repr=False)
    sensitivities: ArrayLike = field(repr=False)
    epsilon: float
    noise: str = field(default="exponential", kw_only=True)

    def __post_init__(self) -> None:
        scores = differences(checked_scores(self.scores), 0.0)
        set_checked(
            self,
            scores=scores,
            sensitivities=checked_sensitivities(self.sensitivities, scores.size),
            epsilon=checked_epsilon(self.epsilon),
        )
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

    @property
    def exact(self) -> bool:
        """False: probabilities are Monte Carlo."""
        return False

    def sample(self, rng: Rng = None) -> int:
        """Draw an index, for comparisons only. See `Mechanism.sample`."""
        source, _ = generator(rng)
        scores = np.asarray(self.scores)
        noise = noise_named(self.noise).largest(source, np.zeros(scores.size))
        return int(np.argmax(scores + noise * self._scales))

    def estimate(self, outcome: ArrayLike) -> Estimate:
        """Log of the probability of an index. See `ScoreMechanism.estimate`."""
        index = checked_index(outcome, np.size(self.scores))
        share = float(self._frequencies[index])
        if share == 0.0:
            return Estimate(-math.inf, math.inf, "Monte Carlo")
        error = 2.0 * math.sqrt((1.0 - share) / (share * MONTE_CARLO))
        return Estimate(math.log(share), error, "Monte Carlo")

    @property
    def _scales(self) -> FloatArray:
        return 2.0 * np.asarray(self.sensitivities) / self.epsilon

    @cached_property
    def _frequencies(self) -> FloatArray:
        source, _ = generator(0)
        scores = np.asarray(self.scores)
        drawn = np.zeros(scores.size)
        step = max(1, CHUNK // scores.size)
        for start in range(0, MONTE_CARLO, step):
            rows = min(step, MONTE_CARLO - start)
            noise = noise_named(self.noise).largest(source, np.zeros(rows * scores.size))
            noisy = scores + noise.reshape(rows, scores.size) * self._scales
            drawn += np.bincount(np.argmax(noisy, axis=1), minlength=scores.size)
        return drawn / MONTE_CARLO
