"""Checks of scores, sensitivities and outcomes; each returns what it checked.

What is wrong raises `InvalidInput`.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mipselect.arrays import FloatArray, ScoreArray, checked_indices
from mipselect.errors import InvalidInput
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
