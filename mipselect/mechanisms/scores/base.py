"""Selection from scores: what its mechanisms have in common, and their checked inputs."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.mechanisms.base import Mechanism, Outcome, Support
from mipselect.privacy.guarantee import Guarantee
from mipselect.validation import (
    checked_count,
    checked_epsilon,
    checked_positive,
    checked_scores,
    checked_sensitivities,
)

LARGEST_GAP = 1e300
"""Utilities are cut off this far below the best one, so that nothing overflows."""


@dataclass(frozen=True)
class Estimate:
    """A log probability and how it was found.

    Attributes
    ----------
    log_probability : float
    error : float
        An error bar of `log_probability`: zero for a closed form, which is right up to rounding;
        the difference between two rules for a quadrature; two standard errors for Monte Carlo.
    method : {"closed form", "quadrature", "Monte Carlo"}
    """

    log_probability: float
    error: float
    method: Literal["closed form", "quadrature", "Monte Carlo"]


class ScoreMechanism(Mechanism[Outcome]):
    """A distribution over items, sets of items or rankings of them, given scores.

    Subclasses are dataclasses with an `epsilon` and a `relation`.
    """

    epsilon: float
    relation: str

    @property
    def guarantee(self) -> Guarantee:
        """(ε, 0) under `relation`, without conditions."""
        return Guarantee(self.epsilon, relation=self.relation)

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Whether probabilities are in closed form; otherwise `estimate` has an error bar."""

    @abstractmethod
    def estimate(self, outcome: ArrayLike) -> Estimate:
        """Log of the probability of `outcome`, with an error bar. Sensitive.

        Raises
        ------
        InvalidInput
            If `sample` never returns anything like `outcome`.
        """

    def log_probability(self, outcome: ArrayLike) -> float:
        """Log of the probability that `sample` returns `outcome`. Sensitive.

        Raises
        ------
        InvalidInput
            If `sample` never returns anything like `outcome`.
        """
        return self.estimate(outcome).log_probability


class OneItem(ScoreMechanism[int]):
    """Outcomes are one index."""

    scores: ArrayLike

    def _chosen(self, outcome: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
        return (outcome,), ()


class SeveralItems(ScoreMechanism[Support]):
    """Outcomes are k distinct indices."""

    scores: ArrayLike
    k: int

    def _chosen(self, outcome: Support) -> tuple[tuple[int, ...], tuple[str, ...]]:
        return outcome, ()


@dataclass(frozen=True, eq=False)
class TopItems(SeveralItems):
    """k items from scores of one sensitivity: the fields, checked; subclasses add a `relation`.

    Parameters
    ----------
    scores : array_like of float, shape (d,)
        Finite. Sensitive.
    k : int
        1 ≤ k ≤ d.
    epsilon, sensitivity : float
        ε, Δ > 0, finite.
    """

    scores: ArrayLike = field(repr=False)
    k: int
    epsilon: float
    sensitivity: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        scores = checked_scores(self.scores)
        object.__setattr__(self, "scores", scores)
        object.__setattr__(self, "k", checked_count(self.k, scores.size))
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))
        object.__setattr__(self, "sensitivity", checked_positive(self.sensitivity, "sensitivity"))
        Guarantee(self.epsilon, relation=self.relation)


@dataclass(frozen=True, eq=False)
class UnequalItems(OneItem):
    """One item from scores with sensitivities of their own: the fields, checked.

    Parameters
    ----------
    scores, sensitivities : array_like of float, shape (d,)
        q, finite, sensitive, and Δ_a ≥ 0, public.
    epsilon : float
        ε > 0, finite.
    """

    scores: ArrayLike = field(repr=False)
    sensitivities: ArrayLike = field(repr=False)
    epsilon: float

    def __post_init__(self) -> None:
        scores = checked_scores(self.scores)
        object.__setattr__(self, "scores", scores)
        object.__setattr__(
            self, "sensitivities", checked_sensitivities(self.sensitivities, scores.size)
        )
        object.__setattr__(self, "epsilon", checked_epsilon(self.epsilon))


def utilities(scores: FloatArray, epsilon: float, sensitivity: float) -> FloatArray:
    """ε (q - max q) / 2Δ: zero for the best score, and to be compared with unit noise."""
    with np.errstate(over="ignore"):
        gaps = ((scores.max() - scores) / (2.0 * sensitivity)) * epsilon
    result: FloatArray = -np.minimum(gaps, LARGEST_GAP)
    return result
