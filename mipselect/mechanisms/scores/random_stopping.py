"""One item from scores with sensitivities of their own: random stopping."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray, ScoreArray
from mipselect.errors import InvalidInput
from mipselect.mechanisms.noise.noise import Laplace, plus_laplace
from mipselect.mechanisms.noise.quadrature import OFFSETS, Panels, summed_in_chunks
from mipselect.mechanisms.scores.base import ScoreMechanism, checked_index
from mipselect.mechanisms.scores.heterogeneous import HeterogeneousScores
from mipselect.parameters import completed_by
from mipselect.privacy.decimals import exact, round_down
from mipselect.privacy.guarantee import checked_relation
from mipselect.privacy.randomness import Rng, generator
from mipselect.validation import LAST_INTEGER, checked_share, set_fields

LAPLACE = Laplace()

SMALLEST_NOISE, LARGEST_NOISE = 1e-300, 1e300
"""Scales of noise that doubles hold."""

FAR = 1600.0
"""Scores so many scales apart are never the other way round: e^-800 each."""


@completed_by(HeterogeneousScores)
@dataclass(frozen=True, eq=False)
class RandomStopping(HeterogeneousScores, ScoreMechanism[int]):
    """RS_γ: noisy scores of random items until a coin says stop; the best one seen.

    Repeat: pick an item uniformly, add Laplace noise of scale 3Δ_a/ε to its score, and stop with
    probability γ. The outcome is the item with the largest noisy score so far.

    Parameters
    ----------
    gamma : float
        0 < γ < 1; 1/γ items are looked at on average.
    relation : {"replace-one", "add-remove"}
        The relation under which the sensitivities are meant.

    Notes
    -----
    The best of a geometric number of runs of an ε₁-DP mechanism is 3ε₁-DP, so each look may
    cost ε/3. A scale of 2Δ_a/ε, an ε/2 for each look, is **not** ε-DP
    (docs/mathematics/score-mechanisms.md, (9)).

    Every look adds noise to a double. Integers beyond ±2^53, which are not all doubles, count as
    ±2^53: that moves no two neighbours apart.

    With a draw from the operating system the noise is OpenDP's `make_laplace`, exact, and so is
    the proof. A seeded draw uses noise in double precision.

    Probabilities are quadratures; O(d²). Between equal noisy scores, which
    two items with Δ_a = 0 can have, the earlier index counts as better.

    References
    ----------
    Liu and Talwar, "Private selection from private candidates", 2019, theorem 3.1; Papernot and
    Steinke, "Hyperparameter tuning with Rényi differential privacy", 2022, corollary 3.

    Examples
    --------
    >>> from mipselect.mechanisms import RandomStopping
    >>> mechanism = RandomStopping([5.0, 1.0], [2.0, 0.1], 1.0, gamma=0.1)
    >>> mechanism.sample(rng=0) in (0, 1)
    True
    >>> mechanism.log_probability(0) > mechanism.log_probability(1)
    True
    """

    gamma: float = field(default=0.05, kw_only=True)
    relation: str = field(default="replace-one", kw_only=True)
    name = "random-stopping"

    def __post_init__(self) -> None:
        super().__post_init__()
        gamma = checked_share(self.gamma, "gamma", closed=False)
        set_fields(self, scores=_as_doubles(np.asarray(self.scores)), gamma=gamma)
        checked_relation(self.relation)
        self._check_noise()

    def sample(self, rng: Rng = None) -> int:
        """Draw an index. See `Mechanism.sample`."""
        source, private = generator(rng)
        stop = Fraction(self.gamma)
        best, winner = -math.inf, -1
        while True:
            index = source.randrange(np.size(self.scores))
            noisy = self._look(index, source, private)
            if noisy > best or (noisy == best and index < winner) or winner < 0:
                best, winner = noisy, index
            if source.randrange(stop.denominator) < stop.numerator:
                return winner

    def log_probability(self, outcome: ArrayLike) -> float:
        """Return the log probability of an index. See `Distribution.log_probability`."""
        index = checked_index(outcome, np.size(self.scores))
        place, scale = float(self._places[index]), float(self._scales[index])
        if scale == 0.0:
            return self._log_of_fixed(index)
        panels, log_seen = self._panels, self._log_squared
        with np.errstate(over="ignore"):
            x = (panels.points - place) / scale
        log_density = -np.abs(x) - math.log(2.0 * scale * np.size(self.scores))
        return float(panels.integrate(log_density - log_seen)) + math.log(self.gamma)

    def _check_noise(self) -> None:
        """Raise `InvalidInput` before anything is paid if a score that moves could get no noise."""
        scales = self._scales[np.asarray(self.sensitivities) > 0.0]
        if not ((scales >= SMALLEST_NOISE) & (scales <= LARGEST_NOISE)).all():
            raise InvalidInput(
                f"3Δ/ε must lie between {SMALLEST_NOISE:g} and {LARGEST_NOISE:g} where Δ > 0, "
                f"got {scales.min():g} to {scales.max():g}; choose other units of the scores"
            )

    def _look(self, index: int, source: random.Random, private: bool) -> float:
        score = float(np.asarray(self.scores)[index])
        if self._scales[index] == 0.0:
            return score
        sensitivity = float(np.asarray(self.sensitivities)[index])
        return plus_laplace(score, self._look_epsilon, sensitivity, source, private=private)

    def _log_of_fixed(self, index: int) -> float:
        """Return the log probability of an item without noise, in closed form.

        With x = H above and y = H below its score, counting ties, the best seen is there with
        probability γ(x - y) / ((1 - (1-γ)x)(1 - (1-γ)y)).
        """
        scores, size = np.asarray(self.scores), np.size(self.scores)
        fixed = self._scales == 0.0
        score = float(scores[index])
        better = fixed & (scores >= score)
        better &= (scores > score) | (np.arange(size) < index)
        with np.errstate(over="ignore"):
            moving = (score - scores[~fixed]) / self._scales[~fixed]
        above = (np.exp(LAPLACE.log_survival(moving)).sum() + better.sum()) / size
        seen = (self.gamma + (1.0 - self.gamma) * (above + np.array([0.0, 1.0 / size]))).prod()
        return math.log(self.gamma / (size * seen))

    @property
    def _look_epsilon(self) -> float:
        """ε/3, rounded down."""
        return round_down(exact(self.epsilon) / 3)

    @property
    def _scales(self) -> FloatArray:
        with np.errstate(over="ignore"):
            scales: FloatArray = np.asarray(self.sensitivities) / self._look_epsilon
        return scales

    @cached_property
    def _places(self) -> FloatArray:
        """The scores for the quadrature, from 0: wide gaps are narrowed, for digits.

        Across a gap of `FAR` of the largest scales one item is above the other anyway.
        """
        order = np.argsort(np.asarray(self.scores), kind="stable")
        with np.errstate(over="ignore"):
            gaps = np.diff(np.asarray(self.scores)[order])
        places = np.zeros(order.size)
        places[order[1:]] = np.cumsum(np.minimum(gaps, FAR * self._scales.max()))
        return places

    @cached_property
    def _panels(self) -> Panels:
        """Graded around every item on its own scale."""
        places, scales = self._places, self._scales
        offsets = np.concatenate([-OFFSETS, [0.0], OFFSETS])
        edges = np.unique(places[:, None] + scales[:, None] * offsets)
        width = float(scales[scales > 0.0].min())
        return Panels(edges[np.diff(edges, prepend=-np.inf) > 1e-9 * width])

    @cached_property
    def _log_squared(self) -> FloatArray:
        """2 log(γ + (1 - γ)(1 - H)) at the points, H the distribution of one noisy score."""
        z = self._panels.points
        rows = np.column_stack([self._places, self._scales])

        def survival(part: FloatArray) -> FloatArray:
            places, scales = part[:, :1], part[:, 1:]
            fixed = np.where(z < places, np.inf, -np.inf)
            with np.errstate(over="ignore"):
                x = np.divide(z - places, scales, out=-fixed, where=scales > 0.0)
            return np.exp(LAPLACE.log_survival(np.clip(x, -800.0, 800.0)))

        above = summed_in_chunks(survival, rows, z.size) / rows.shape[0]
        log_squared: FloatArray = 2.0 * np.log(self.gamma + (1.0 - self.gamma) * above)
        return log_squared


def _as_doubles(scores: ScoreArray) -> FloatArray:
    """Convert integers to doubles, those beyond ±2^53 as ±2^53; doubles stay as they are."""
    numbers = [
        float(max(-LAST_INTEGER, min(value, LAST_INTEGER))) if isinstance(value, int) else value
        for value in scores.tolist()
    ]
    doubles = np.array(numbers)
    doubles.flags.writeable = False
    return doubles
