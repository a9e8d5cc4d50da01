"""Selection from scores: what its mechanisms have in common, and their checked inputs."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.mechanisms.base import (
    Mechanism,
    Outcome,
    Support,
    checked_epsilon,
    checked_positive,
)
from mipselect.privacy.guarantee import Guarantee

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


def checked_scores(scores: ArrayLike) -> FloatArray:
    """Return finite scores, shape (d,), d ≥ 1, as a read-only copy, or raise `InvalidInput`."""
    try:
        array = np.array(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"scores must be a list of numbers: {error}") from None
    if array.ndim != 1 or array.size == 0:
        raise InvalidInput(f"scores must be one-dimensional, not empty, got shape {array.shape}")
    if not np.isfinite(array).all():
        place = int(np.flatnonzero(~np.isfinite(array))[0])
        raise InvalidInput(f"scores must be finite; scores[{place}] is {array[place]}")
    array.flags.writeable = False
    return array


def checked_sensitivities(sensitivities: ArrayLike, size: int) -> FloatArray:
    """Return d finite numbers ≥ 0 as a read-only copy, or raise `InvalidInput`."""
    array = np.array(sensitivities, dtype=np.float64)
    if array.shape != (size,):
        raise InvalidInput(
            f"sensitivities must be one for each of the {size} scores, got shape {array.shape}"
        )
    if not (np.isfinite(array).all() and np.all(array >= 0.0)):
        raise InvalidInput("sensitivities must be finite and ≥ 0")
    array.flags.writeable = False
    return array


def checked_share(value: float, what: str, *, closed: bool) -> float:
    """Return a number in [0, 1] if `closed`, else in (0, 1), or raise `InvalidInput`."""
    wanted = f"0 ≤ {what} ≤ 1" if closed else f"0 < {what} < 1"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidInput(f"{what} must be a number with {wanted}, got {value!r}")
    if not (0.0 <= value <= 1.0 if closed else 0.0 < value < 1.0):
        raise InvalidInput(f"{what} must be a number with {wanted}, got {value}")
    return float(value)


def checked_count(k: int, size: int) -> int:
    """Return 1 ≤ k ≤ d, or raise `InvalidInput`."""
    if isinstance(k, bool) or not isinstance(k, Integral):
        raise InvalidInput(f"k must be an integer with 1 ≤ k ≤ {size}, got {k!r}")
    if not 1 <= k <= size:
        raise InvalidInput(f"k must be an integer with 1 ≤ k ≤ {size}, the scores, got {k}")
    return int(k)


def checked_index(outcome: ArrayLike, size: int) -> int:
    """Return an index below d, or raise `InvalidInput`."""
    index = np.asarray(outcome)
    if index.shape != () or index.dtype.kind not in "iu" or not 0 <= int(index) < size:
        raise InvalidInput(f"an outcome is an index in 0..{size - 1}, got {outcome!r}")
    return int(index)


def checked_items(outcome: ArrayLike, k: int, size: int) -> Support:
    """Return k distinct indices below d, in their order, or raise `InvalidInput`."""
    items: np.ndarray[Any, Any] = np.asarray(outcome)
    if items.shape != (k,) or items.dtype.kind not in "iu":
        raise InvalidInput(f"an outcome is {k} integer indices, got {outcome!r}")
    chosen = tuple(items.tolist())
    if min(chosen) < 0 or max(chosen) >= size or len(set(chosen)) < k:
        raise InvalidInput(f"an outcome is {k} distinct indices in 0..{size - 1}, got {chosen}")
    return chosen


def utilities(scores: FloatArray, epsilon: float, sensitivity: float) -> FloatArray:
    """ε (q - max q) / 2Δ: zero for the best score, and to be compared with unit noise."""
    with np.errstate(over="ignore"):
        gaps = ((scores.max() - scores) / (2.0 * sensitivity)) * epsilon
    result: FloatArray = -np.minimum(gaps, LARGEST_GAP)
    return result
