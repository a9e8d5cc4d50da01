"""What mechanisms on scores have in common: their checks, utilities from scores, and base classes.

Each check returns what it checked; what is wrong raises `InvalidInput`.

Of utilities no digit is lost that ε depends on, and what rounding costs is paid. Scores count for
their differences alone, and a mechanism multiplies them by ε/2Δ. Differences are formed first, from
the scores themselves, and rounded once: beside a score of 1e18 the difference of 65 and 64 is still
1. Utilities are cut off beyond a public reach r, those of outcomes below that of the best, which
makes an error of 2^-53 of one at most 2^-53 r. It costs no accuracy at any ε above 1e-5, where r =
2,048: what is cut off had a probability below e^-r anyway. Below, scores of 2^28 sensitivities
apart are cut. What rounding may then cost is taken off ε; the proof is in
docs/mathematics/score-mechanisms.md, (14).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mipselect.arrays import FloatArray, ScoreArray, checked_indices
from mipselect.errors import InvalidInput
from mipselect.mechanisms.base import Distribution, Mechanism, Outcome
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.randomness import IntegerWeights, Rng, generator
from mipselect.validation import LAST_INTEGER, checked_integer, checked_scale, shown

SMALLEST_SENSITIVITY = 1e-250
LARGEST_SENSITIVITY = 1e250
"""Within these no quotient of scores and Δ overflows or underflows before it is cut off."""


def checked_count(k: int, size: int) -> int:
    """Return 1 ≤ k ≤ d, the number of scores."""
    return checked_integer(k, "k", 1, size)


def checked_sensitivity(value: float, what: str = "sensitivity") -> float:
    """Return Δ > 0 in the range where double precision holds for scores in units of Δ."""
    return checked_scale(value, what, SMALLEST_SENSITIVITY, LARGEST_SENSITIVITY)


def checked_items(outcome: ArrayLike, k: int, size: int) -> tuple[int, ...]:
    """Return k distinct indices below d, in their order."""
    return tuple(checked_indices(outcome, k, size, "an outcome").tolist())


def checked_index(outcome: ArrayLike, size: int) -> int:
    """Return an index below d."""
    index = np.asarray(outcome)
    if index.shape != () or index.dtype.kind not in "iu" or not 0 <= int(index) < size:
        raise InvalidInput(f"an outcome is an index in 0..{size - 1}, got {shown(outcome)}")
    return int(index)


def checked_scores(scores: ArrayLike) -> ScoreArray:
    """Return finite scores, shape (d,), d ≥ 1, as a read-only copy that rounds none of them.

    They are doubles, or Python numbers if one is an integer that no double stands for.
    """
    array = _finite_numbers(scores, "scores")
    array.flags.writeable = False
    return array


def checked_sensitivities(sensitivities: ArrayLike, size: int) -> FloatArray:
    """Return d numbers, each 0 or what `checked_sensitivity` wants, as a read-only copy."""
    array = _finite_numbers(sensitivities, "sensitivities")
    if array.size != size:
        raise InvalidInput(f"sensitivities must be {size}, one for each score, got {array.size}")
    inside = (array >= SMALLEST_SENSITIVITY) & (array <= LARGEST_SENSITIVITY)
    if not np.all((array == 0.0) | inside):
        raise InvalidInput(
            f"sensitivities must be 0 or between {SMALLEST_SENSITIVITY:g} and "
            f"{LARGEST_SENSITIVITY:g}; choose other units"
        )
    doubles: FloatArray = array.astype(np.float64)
    doubles.flags.writeable = False
    return doubles


def checked_sensitivity_of_draws(sensitivities: ArrayLike, draws: int) -> tuple[float, ...]:
    """Return one Δ for each draw, as `checked_sensitivity` wants it."""
    array = np.asarray(sensitivities, dtype=object)
    if array.shape != (draws,):
        raise InvalidInput(
            f"sensitivities must be {draws} numbers, one for each draw, got {shown(sensitivities)}"
        )
    return tuple(checked_sensitivity(value, "a sensitivity") for value in array.tolist())


def _finite_numbers(values: ArrayLike, what: str) -> ScoreArray:
    """Make an array of shape (d,), d ≥ 1: doubles, or Python numbers where doubles would round."""
    wanted = f"{what} must be a list of integers and doubles"
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidInput(f"{wanted}, got a masked array; fill it first")
    try:
        given = np.asarray(values)
    except OverflowError:
        given = np.asarray(values, dtype=object)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{wanted}: {error}") from None
    if given.ndim != 1 or given.size == 0:
        raise InvalidInput(f"{what} must be one-dimensional, not empty, got shape {given.shape}")
    if given.dtype.kind not in "biufO":
        raise InvalidInput(f"{wanted}, got {given.dtype}")
    array = _without_rounding(values, given, wanted)
    finite = _is_finite(array) if array.dtype == object else np.isfinite(array)
    if not finite.all():
        place = int(np.argmin(finite))
        raise InvalidInput(f"{what} must be finite; {what}[{place}] is {array[place]}")
    return array


def _without_rounding(values: ArrayLike, given: NDArray[Any], wanted: str) -> ScoreArray:
    kind, size = given.dtype.kind, given.dtype.itemsize
    small = kind in "biu" and -LAST_INTEGER <= int(given.min()) <= int(given.max()) <= LAST_INTEGER
    # NumPy makes doubles of integers that come in a list with doubles, so each is looked at.
    if small or (kind == "f" and size <= 8 and not isinstance(values, list | tuple)):
        return given.astype(np.float64)
    numbers = [_number(value, wanted) for value in np.asarray(values, dtype=object)]
    doubles = all(isinstance(value, float) or abs(value) <= LAST_INTEGER for value in numbers)
    return np.array(numbers, dtype=np.float64 if doubles else object)


def _number(value: Any, wanted: str) -> int | float:
    if isinstance(value, Integral | np.bool_):
        return int(value)
    if isinstance(value, float | np.float16 | np.float32):
        return float(value)
    raise InvalidInput(f"{wanted}, got one of type {type(value).__name__}")


_is_finite = np.frompyfunc(lambda value: isinstance(value, int) or math.isfinite(value), 1, 1)

REACH = 2.0**11
"""No outcome is more than this many units of log probability below the best one."""

SENSITIVITIES_AWAY = 2.0**28
"""Value of `REACH` for a small ε, as a multiple of it."""

ALLOWANCE = 2.0**-48
"""Most that rounding may cost, as a share of the reach and of ε itself."""

COARSE = 2.0**30

LARGEST = 1e300
"""Largest number that is still multiplied or added."""


def reach(epsilon: float, log_outcomes: float = 0.0) -> float:
    """Return r, beyond which utilities are cut off, from public numbers.

    Parameters
    ----------
    epsilon : float
        ε of one draw.
    log_outcomes : float
        Log of how many outcomes can share a utility; all of them together stay unlikely.
    """
    return min(REACH, SENSITIVITIES_AWAY * epsilon) + log_outcomes


def spendable(epsilon: float, log_outcomes: float = 0.0) -> float:
    """Return what is left of the ε of one draw when the worst that rounding can do is paid for.

    Raises
    ------
    InvalidInput
        If rounding would cost more than half of ε, which is then below 1e-13 or so.
    """
    cost = ALLOWANCE * (epsilon + 1.0 + log_outcomes + reach(epsilon, log_outcomes))
    if cost > epsilon / 2.0:
        raise InvalidInput(
            f"epsilon must be at least {2.0 * ALLOWANCE * (1.0 + 2.0 * log_outcomes):.2g} for each "
            f"draw here, where rounding could cost as much, got {epsilon:g}"
        )
    return epsilon - cost


def differences(scores: ScoreArray, others: ArrayLike) -> FloatArray:
    """Compute q - q', broadcast, each of them the double nearest to the exact difference."""
    if scores.dtype == np.float64:
        with np.errstate(over="ignore"):
            return np.asarray(scores - others, dtype=np.float64)
    return np.asarray(_exact_difference(scores, others), dtype=np.float64)


def scaled(gaps: FloatArray, epsilon: float, sensitivity: float | FloatArray) -> FloatArray:
    """Compute ε gap / 2Δ, within ±`LARGEST`."""
    with np.errstate(over="ignore"):
        products: FloatArray = (gaps / sensitivity) * (epsilon / 2.0)
    return np.clip(products, -LARGEST, LARGEST)


def ranked_gaps(scores: ScoreArray, epsilon: float, sensitivity: float, place: int) -> FloatArray:
    """Compute ε (q_a - q_[k]) / 2Δ in descending order, with place k from 1; not cut off."""
    ranked = -np.sort(-scores)
    return scaled(differences(ranked, ranked[place - 1]), epsilon, sensitivity)


def utilities(
    scores: ScoreArray, epsilon: float, sensitivity: float, place: int = 1, noise: float = 0.0
) -> FloatArray:
    """Compute ε' (q_a - q_[k]) / 2Δ, cut off at ± the reach; ε' is what can be spent of ε.

    Parameters
    ----------
    scores : array, shape (d,)
    epsilon : float
        ε of one draw.
    sensitivity : float
        Δ.
    place : int
        k, from 1: the score that gets utility 0 is the k-th largest.
    noise : float
        `Noise.rounded` of the noise that is added.
    """
    reference = np.partition(scores, scores.size - place)[scores.size - place]
    gaps = scaled(differences(scores, reference), spendable(epsilon, noise), sensitivity)
    end = reach(epsilon)
    return np.clip(gaps, -end, end)


def accumulated(terms: FloatArray) -> FloatArray:
    """Add up the first 1, 2, ... terms ≥ 0, as exact as the terms, however many there are."""
    coarse, fine = split(terms)
    sums: FloatArray = np.cumsum(coarse) + np.cumsum(fine)
    return sums


def split(terms: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split into multiples of 2^-30, whose sums are exact up to 2^23, and the rest of each term."""
    coarse = np.rint(terms * COARSE) / COARSE
    return coarse, terms - coarse


def _difference(one: Any, other: Any) -> float:
    exact = Fraction(one) - Fraction(other)
    return float(min(max(exact, -Fraction(LARGEST)), Fraction(LARGEST)))


_exact_difference = np.frompyfunc(_difference, 2, 1)


class ScoreMechanism(Distribution[Outcome], Mechanism[Outcome]):
    """A law given scores that is private, by what `spendable` says about rounding.

    Subclasses have an `epsilon` and a `relation`.

    Examples
    --------
    >>> from mipselect.mechanisms import RandomizedResponse, ScoreMechanism
    >>> mechanism = RandomizedResponse([1.0, 0.0], 1.0, relation="add-remove")
    >>> isinstance(mechanism, ScoreMechanism), mechanism.guarantee.relation
    (True, 'add-remove')
    """

    epsilon: float
    relation: str

    @property
    def rho(self) -> float | None:
        """ρ of zero-concentrated privacy, where less than ε²/2 is proven; else None."""
        return None

    @property
    def guarantee(self) -> Guarantee:
        """(ε, 0) under `relation`, without conditions, with `rho`."""
        return Guarantee(self.epsilon, relation=self.relation, rho=self.rho)


class WeightedItem(ScoreMechanism[int]):
    """One item by integer weights: draws are exact, and probabilities in closed form."""

    scores: ArrayLike

    @property
    @abstractmethod
    def _weights(self) -> IntegerWeights:
        """The weight of every item."""

    def sample(self, rng: Rng = None) -> int:
        """Draw an index. See `Mechanism.sample`."""
        return self._weights.draw(generator(rng)[0])

    def log_probability(self, outcome: ArrayLike) -> float:
        """Return the log probability of an index. See `Distribution.log_probability`."""
        return self._weights.log_probability(checked_index(outcome, np.size(self.scores)))
