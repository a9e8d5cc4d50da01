"""Every check of an argument, once; those of arrays are in `mipselect.arrays`.

Each returns what it checked, or raises `InvalidInput`.

A check knows no data and no mechanism: `what` is how the argument is called in the message.
"""

from __future__ import annotations

import difflib
import math
import reprlib
from collections.abc import Callable, Collection, Iterable, Sequence
from numbers import Integral, Real
from typing import Any

from mipselect.errors import InvalidInput

SMALLEST_SCALE = 1e-25
LARGEST_SCALE = 1e25
"""All bounds lie between these: with their products no digit is lost at the ends of floats."""

SMALLEST_BUDGET = 1e-9
LARGEST_BUDGET = 1e6
"""ε of a regression lies between these."""

LAST_INTEGER = 2**53
"""Up to here every integer is a double."""

TRUTHS = {"true": 1.0, "false": 0.0}
"""Truth values, however they are stored, count as numbers where numbers are wanted."""

LONGEST_NAME = 200
"""Characters in the name of a column or a mechanism."""

LONGEST_SHOWN = 80
"""Characters of a wrong value in a message."""

BRIEF = reprlib.Repr()
BRIEF.maxstring = BRIEF.maxother = LONGEST_SHOWN


def set_fields(instance: Any, **values: Any) -> None:
    """Put values that were checked in place of those that a frozen dataclass was given."""
    for name, value in values.items():
        object.__setattr__(instance, name, value)


def shown(value: object) -> str:
    """Write `value` for a message: one short line without control characters."""
    value = _plain(value)
    try:
        text = str(value) if isinstance(value, Real) else BRIEF.repr(value)
    except ValueError:  # Python refuses to write out integers of thousands of digits.
        text = f"{type(value).__name__} of too many digits"
    text = printable(" ".join(text.split()))
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


def _plain(value: Any) -> Any:
    """Return a scalar of NumPy as one of Python, and all else as it is."""
    return value.item() if hasattr(value, "dtype") and value.shape == () else value


def printable(text: str) -> str:
    """Write all that a terminal might obey in `text` as escapes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def category_name(value: str | float) -> str:
    """Return a category as a text: a number without digits that only its double has."""
    return value if isinstance(value, str) else f"{value:.15g}"


def listed(names: Sequence[str]) -> str:
    """List some names for a message: the first twenty, and how many more there are."""
    first = ", ".join(printable(name[:LONGEST_SHOWN]) or "''" for name in names[:20])
    return first if len(names) <= 20 else f"{first} and {len(names) - 20} more"


def joined(names: Sequence[str]) -> str:
    """Join names, one or more, as in a sentence: a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def plural(count: int, one: str) -> str:
    """Write a count with its noun."""
    return f"{count:,} {one if count == 1 else one + 's'}"


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Write a hint for the end of a message: the known name nearest to a wrong one, or "".

    Where none is near, it is the first that begins with the wrong one: los for los_days.
    """
    names, wrong = list(known), str(name)
    close = difflib.get_close_matches(wrong, names, n=1)
    if not close and len(wrong) > 1:
        close = [one for one in names if one.casefold().startswith(wrong.casefold())]
    return f"; did you mean {shown(close[0])}?" if close else ""


def checked_number(
    value: float, what: str, wanted: str, holds: Callable[[float], bool] = math.isfinite
) -> float:
    """Return a real number for which `holds` is true; no truth values, no text."""
    if not isinstance(value, bool) and isinstance(value, Real):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf if value > 0 else -math.inf
        if holds(number):
            return number
    raise InvalidInput(f"{what} must be {wanted}, got {shown(value)}")


def plain_digits(text: str) -> str:
    """Return a text; raise `ValueError` if Python alone reads a number in it, such as 10 in 1_0."""
    if "_" in text or not text.isascii():
        raise ValueError(f"{shown(text)} is no number")
    return text


def checked_positive(value: float, what: str) -> float:
    """Return a finite number > 0."""
    return checked_number(value, what, "a finite number > 0", lambda v: 0.0 < v < math.inf)


def checked_scale(
    value: float, what: str, smallest: float = SMALLEST_SCALE, largest: float = LARGEST_SCALE
) -> float:
    """Return a number > 0 between two limits that other units can always meet."""
    number = checked_positive(value, what)
    if not smallest <= number <= largest:
        raise InvalidInput(
            f"{what} must lie between {smallest:g} and {largest:g}, got {shown(value)}; choose "
            "other units"
        )
    return number


def checked_finite(values: Iterable[float], what: str, count: int) -> tuple[float, ...]:
    """Return `count` finite numbers as floats."""
    numbers = tuple(checked_number(value, what, "finite numbers") for value in values)
    if len(numbers) != count:
        raise InvalidInput(f"{what} must be {count} numbers, got {len(numbers)}")
    return numbers


def checked_nonnegative(value: float, what: str, unit: str = "") -> float:
    """Return a finite number ≥ 0."""
    return checked_number(value, what, f"a finite number ≥ 0{unit}", lambda v: 0.0 <= v < math.inf)


def checked_epsilon(epsilon: float, what: str = "epsilon") -> float:
    """Return a finite ε > 0."""
    return checked_positive(epsilon, what)


def checked_budget(epsilon: float, what: str = "epsilon") -> float:
    """Return ε where the noise of a regression is neither 0 nor infinite in doubles."""
    number = checked_epsilon(epsilon, what)
    if not SMALLEST_BUDGET <= number <= LARGEST_BUDGET:
        raise InvalidInput(
            f"{what} must lie between {SMALLEST_BUDGET:g} and {LARGEST_BUDGET:g}, got "
            f"{shown(epsilon)}"
        )
    return number


def checked_delta(delta: float, what: str = "delta") -> float:
    """Return a number with 1e-100 ≤ δ < 1/2."""
    wanted = f"a number with 1e-100 ≤ {what} < 1/2"
    return checked_number(delta, what, wanted, lambda v: 1e-100 <= v < 0.5)


def checked_share(value: float, what: str, *, closed: bool) -> float:
    """Return a number in [0, 1] if `closed`, else in (0, 1)."""
    if closed:
        return checked_number(value, what, f"a number with 0 ≤ {what} ≤ 1", lambda v: 0 <= v <= 1)
    return checked_number(value, what, f"a number with 0 < {what} < 1", lambda v: 0 < v < 1)


def checked_tolerance(tolerance: float, what: str = "tolerance") -> float:
    """Return a finite τ/Δ ≥ 0."""
    return checked_nonnegative(tolerance, what, " in units of the sensitivity")


def checked_time_limit(seconds: float, what: str = "time_limit") -> float:
    """Return a number of seconds > 0; ``inf`` is no limit."""
    return checked_number(seconds, what, "a number of seconds > 0", lambda v: v > 0.0)


def checked_integer(value: int, what: str, low: int, high: int | None = None) -> int:
    """Return an integer in low..high, or from `low` on."""
    wanted = f"an integer ≥ {low}" if high is None else f"an integer in {low}..{high}"
    if not isinstance(value, bool) and isinstance(value, Integral):
        number = int(value)
        if low <= number and (high is None or number <= high):
            return number
    raise InvalidInput(f"{what} must be {wanted}, got {shown(value)}")


def checked_choice(value: str, what: str, known: Collection[str]) -> str:
    """Return one of the known words."""
    if not isinstance(value, str) or value not in known:
        words = [repr(word) for word in known]
        wanted = " or ".join(words) if len(words) < 3 else f"one of {', '.join(words)}"
        raise InvalidInput(f"{what} must be {wanted}, got {shown(value)}")
    return value


def checked_flag(value: bool, what: str) -> bool:
    """Return True or False."""
    flag = _plain(value)
    if not isinstance(flag, bool):
        raise InvalidInput(f"{what} must be True or False, got {shown(value)}")
    return flag


def checked_line(text: str, what: str, longest: int | None = None) -> str:
    """Return a text of one printable line, not empty and no longer than `longest`."""
    if not isinstance(text, str):
        raise InvalidInput(f"{what} must be a text, got a {type(text).__name__}")
    if not text.isprintable() or not 1 <= len(text) <= (longest or len(text)):
        most = "" if longest is None else f" of 1 to {longest} characters"
        raise InvalidInput(f"{what} must be one printable line{most}, got {shown(text)}")
    return str(text)


def checked_name(name: str, what: str) -> str:
    """Return a text of one printable line of at most `LONGEST_NAME` characters."""
    return checked_line(name, what, LONGEST_NAME)


def checked_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns, each of them as `checked_name` wants it."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInput(f"feature_names must be a list of texts, got {shown(names)}")
    return tuple(checked_name(name, f"the name of column {j}") for j, name in enumerate(names))


def checked_feature_names(names: Sequence[str], size: int) -> tuple[str, ...]:
    """Return `size` names, all different."""
    result = checked_names(names)
    if len(result) != size:
        raise InvalidInput(
            f"feature_names must have {size} entries, one per column, got {len(result)}"
        )
    first: dict[str, int] = {}
    for j, name in enumerate(result):
        if first.setdefault(name, j) != j:
            raise InvalidInput(f"feature names must differ; columns {first[name]} and {j}: {name}")
    return result
