"""The codebook in the header of a file of SPSS, Stata or SAS, as properties of a Table Schema."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mipselect.tables.stat_types import StatType
from mipselect.tables.values import written
from mipselect.validation import LAST_INTEGER, shown

MOST_CODES = 100
"""Codes of no value that a range is written out as."""


@dataclass(frozen=True)
class Missing:
    """Values that a file declares to be none.

    Attributes
    ----------
    codes : tuple of float or str
        Those that can be listed, and are read as they are.
    ranges : tuple of (float, float)
        Those of which there are too many: they are read as no value.
    """

    codes: tuple[float | str, ...] = ()
    ranges: tuple[tuple[float, float], ...] = ()

    def notes(self, name: str) -> Iterator[str]:
        """Yield sentences about the ranges."""
        for low, high in self.ranges:
            yield (
                f"{shown(name)}: the file declares all values {_ends(low, high)} to be none, which "
                "are too many to list; they are read as no value"
            )


def missing_codes(ranges: Iterable[Mapping[str, Any]], text: Callable[[str], str]) -> Missing:
    """List what a file declares: codes, and ranges that are short.

    Parameters
    ----------
    ranges : iterable of mapping
        With `lo` and `hi`, which are the same for one code.
    text : callable
        Decodes a text.
    """
    codes: list[float | str] = []
    long: list[tuple[float, float]] = []
    for ends in ranges:
        low, high = ends["lo"], ends["hi"]
        if isinstance(low, str) or isinstance(high, str):
            codes += [text(str(end)) for end in dict.fromkeys((low, high))]
        elif low == high:
            codes.append(float(low))
        elif high - low < MOST_CODES and all(float(end).is_integer() for end in (low, high)):
            codes += [float(code) for code in range(int(low), int(high) + 1)]
        else:
            long.append((float(low), float(high)))
    return Missing(tuple(dict.fromkeys(codes)), tuple(long))


def properties(
    kind: StatType,
    title: str,
    labels: Mapping[Any, str],
    missing: Missing,
    *,
    ordered: bool,
) -> dict[str, Any]:
    """Return the properties of a field that a header states; a label never replaces its code.

    Parameters
    ----------
    kind : StatType
    title : str
        "" if there is none.
    labels : mapping
        The label of every code that has one.
    missing : Missing
    ordered : bool
        Whether the file says that the codes have an order.
    """
    found: dict[str, Any] = {"title": title} if title else {}
    codes = {code: label for code, label in labels.items() if _is_code(code, kind)}
    none = {code: codes.get(code, "") for code in missing.codes if _is_code(code, kind)}
    if none:
        entries = [_entry(_as_text(code), label) for code, label in none.items()]
        found["missingValues"] = [{"value": ""}, *entries]
    listed = _values(codes, missing)
    if len(listed) > 1 and kind.kind in ("string", "integer", "number"):
        categories = [_entry(_plain(code), label) for code, label in listed.items()]
        whole = all(isinstance(entry["value"], int) for entry in categories)
        found["type"] = "integer" if whole else kind.kind
        found["categories"] = categories
        if ordered:
            found["categoriesOrdered"] = True
    return found


def lone_label(name: str, kind: StatType, labels: Mapping[Any, str], missing: Missing) -> list[str]:
    """Say that a column where only one value has a label is no category."""
    listed = _values({code: text for code, text in labels.items() if _is_code(code, kind)}, missing)
    if len(listed) != 1:
        return []
    code, label = next(iter(listed.items()))
    return [
        f"{shown(name)}: one value only has a label, {_as_text(code)} ({shown(label)}), so it "
        "makes no category; if it stands for no value, write it into missingValues"
    ]


def _values(codes: Mapping[Any, str], missing: Missing) -> dict[Any, str]:
    """Return the labels of codes that stand for a value."""
    return {
        code: label
        for code, label in codes.items()
        if code not in missing.codes
        and not any(low <= code <= high for low, high in missing.ranges)
    }


def _is_code(code: Any, kind: StatType) -> bool:
    """Return True for a value that can stand in the column; in Stata a letter is no value."""
    if kind.is_text:
        return isinstance(code, str) and bool(code.strip())
    number = isinstance(code, int | float) and math.isfinite(code)
    return number and abs(code) < LAST_INTEGER


def _entry(value: Any, label: str) -> dict[str, Any]:
    return {"value": value, "label": label} if label else {"value": value}


def _plain(code: float | str) -> Any:
    if isinstance(code, str):
        return code
    return int(code) if float(code).is_integer() else float(code)


def _as_text(code: float | str) -> str:
    return code if isinstance(code, str) else written(float(code)) or ""


def _ends(low: float, high: float) -> str:
    """Write a range in words; where an end is missing it is the largest float."""
    least, most = abs(low) > 1e300, abs(high) > 1e300
    if least and most:
        return "that are numbers"
    if least:
        return f"up to {high:g}"
    return f"from {low:g} on" if most else f"from {low:g} to {high:g}"
