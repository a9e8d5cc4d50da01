"""Selection from scores: what its mechanisms have in common, and their checked inputs."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from mipselect.errors import InvalidInput
from mipselect.losses.base import FloatArray
from mipselect.mechanisms.base import Mechanism, Outcome, Support
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


def checked_positive(value: float, what: str) -> float:
    """Return a finite number > 0, or raise `InvalidInput`."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidInput(f"{what} must be a finite number > 0, got {value!r}")
    if not (math.isfinite(value) and value > 0.0):
        raise InvalidInput(f"{what} must be a finite number > 0, got {value}")
    return float(value)


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
