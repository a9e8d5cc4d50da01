"""The two classes of a target that are public, and the class of each row.

What a label stands for depends on it and on the classes alone, not on what other labels make of
the type of an array. A label that is no class, whatever it is, is that of a row without a class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.frames import refuse_lazy
from mipselect.validation import TRUTHS, category_name, checked_name, plain_digits, shown

Class = str | bool | int | float
Classes = tuple[Class, Class]

SIGNS: Classes = (-1, 1)
"""Classes that have been told apart already."""


def checked_classes(given: Iterable[Any], what: str = "classes") -> Classes:
    """Return two different classes as Python values: two numbers or truth values, or two texts.

    Raises
    ------
    InvalidInput
        If there are not two, or they are the same or of different kinds.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InvalidInput(f"{what} must be two values, got {shown(given)}")
    values = [_checked_class(value, what) for value in given]
    if len(values) != 2:
        raise InvalidInput(f"{what} must be two values, got {len(values)}")
    first, second = values
    if isinstance(first, str) != isinstance(second, str) or _same(first, second):
        raise InvalidInput(
            f"{what} must be two different texts, or two different numbers or truth values; got "
            f"{shown(first)} and {shown(second)}"
        )
    return first, second


def sorted_classes(given: Iterable[Any]) -> Classes:
    """Return `checked_classes` in sorted order: the first is the negative one."""
    first, second = checked_classes(given)
    return (first, second) if first < second else (second, first)  # type: ignore[operator]


def class_signs(y: ArrayLike, classes: Classes) -> FloatArray:
    """Return -1 for rows of the first class, +1 for the second, 0 for all others; like y in shape.

    Nothing is raised because of a row. Numbers, truth values and texts that read as one are the
    same to classes that are numbers; to classes that are texts a number is what it is written as.
    """
    refuse_lazy(y, "y")
    labels = _labels(y)
    first, second = classes
    if labels.dtype.kind in "biuf" and not isinstance(first, str):
        return np.where(labels == second, 1.0, np.where(labels == first, -1.0, 0.0))
    read: Callable[[Any], Any] = _text if isinstance(first, str) else _number
    signs = {read(first): -1.0, read(second): 1.0}
    found = [signs.get(read(label), 0.0) for label in labels.flat]
    return np.array(found, dtype=np.float64).reshape(labels.shape)


def _same(first: Class, second: Class) -> bool:
    return first == second or (not isinstance(first, str) and _number(first) == _number(second))


def _labels(y: ArrayLike) -> NDArray[Any]:
    """Put the labels into an array, numbers or as they are; a masked label becomes None."""
    if isinstance(y, np.ma.MaskedArray):
        labels: NDArray[Any] = np.ma.getdata(y).astype(object)
        labels[np.ma.getmaskarray(y)] = None
        return labels
    if not isinstance(y, list | tuple):
        array = np.asarray(y)
        if array.dtype.kind in "biuf":
            return array
    # NumPy makes texts of all numbers in a list where there is one text.
    return np.asarray(y, dtype=object)


def _checked_class(value: Any, what: str) -> Class:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return checked_name(value, what)
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and math.isfinite(value):
        return float(value)
    raise InvalidInput(f"{what} must be texts, truth values or finite numbers, got {shown(value)}")


def _number(label: Any) -> float | None:
    """Read the number that a label is or stands for; None if it is none."""
    if isinstance(label, str):
        text = label.strip().lower()
        label = TRUTHS.get(text, text)
    elif not isinstance(label, Real | Decimal | np.bool_):
        return None
    try:
        return float(plain_digits(label) if isinstance(label, str) else label)
    except (OverflowError, ValueError):
        return None


def _text(label: Any) -> str | None:
    """Return the text that a label is or is written as; None if it is neither text nor number."""
    if isinstance(label, str):
        return label
    if isinstance(label, bool | np.bool_ | Integral):
        return str(label)
    number = _number(label)
    return None if number is None else category_name(number)
