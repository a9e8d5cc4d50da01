"""One item from scores: the Lipschitz mechanism."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mipselect.array_checks import checked_index, checked_scores
from mipselect.arrays import FloatArray
from mipselect.mechanisms.noise import opendp_draws
from mipselect.mechanisms.noise.noise import noise_named
from mipselect.mechanisms.noise.order_statistics import Competitors
from mipselect.mechanisms.scores.base import Estimate, ScoreMechanism
from mipselect.mechanisms.scores.permute_and_flip import (
    permute_and_flip,
    permute_and_flip_log_probability,
)
from mipselect.mechanisms.scores.utilities import spendable, utilities
from mipselect.privacy.concentrated import bounded_range_rho
from mipselect.privacy.guarantee import checked_relation
from mipselect.privacy.randomness import IntegerWeights, Rng, generator
from mipselect.validation import checked_epsilon, checked_sensitivity, set_fields


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
    Draws with Gumbel noise are made in integers. With exponential noise a draw from the
    operating system is OpenDP's `make_noisy_max`, exact in rational numbers, and a seeded one
    is permute-and-flip in fractions. The other noises are drawn in double precision, from as
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

    @property
    def exact(self) -> bool:
        """True if probabilities are in closed form: for Gumbel and exponential noise."""
        return self.noise in ("gumbel", "exponential")

    def sample(self, rng: Rng = None) -> int:
        """Draw an index. See `Mechanism.sample`."""
        source, private = generator(rng)
        if self.noise == "gumbel":
            return self._weights.draw(source)
        if self.noise == "exponential" and private:
            return opendp_draws.noisy_max(self._utilities)
        if self.noise == "exponential":
            return permute_and_flip([Fraction(u) for u in self._utilities.tolist()], source)
        noise = noise_named(self.noise).largest(source, np.zeros(self._utilities.size))
        return int(np.argmax(self._utilities + noise))

    def estimate(self, outcome: ArrayLike) -> Estimate:
        """Return the log of the probability of an index. See `ScoreMechanism.estimate`."""
        index = checked_index(outcome, np.size(self.scores))
        if self.noise == "gumbel":
            return Estimate(self._weights.log_probability(index), 0.0, "closed form")
        if self.noise == "exponential":
            log = permute_and_flip_log_probability(self._utilities, index)
            return Estimate(log, 0.0, "closed form")
        competitors = Competitors(
            noise_named(self.noise), self._utilities, np.zeros(self._utilities.size)
        )
        logs, errors = competitors.log_wins(self._utilities[[index]], np.zeros(1))
        return Estimate(float(logs[0]), float(errors[0]), "quadrature")

    @cached_property
    def _utilities(self) -> FloatArray:
        rounded = noise_named(self.noise).rounded
        return utilities(np.asarray(self.scores), self.epsilon, self.sensitivity, noise=rounded)

    @cached_property
    def _weights(self) -> IntegerWeights:
        return IntegerWeights.from_logs(self._utilities)
