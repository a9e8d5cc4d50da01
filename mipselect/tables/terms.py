"""`Term`: one coefficient of a linear rule in the units of a table, and how to read it."""

from __future__ import annotations

import math
from dataclasses import dataclass

PER_UNIT, PER_STEP, CATEGORY, MISSING, UNLISTED, INTERCEPT = (
    "number",
    "ordered categories",
    "category",
    "missing",
    "in no list",
    "intercept",
)
DOUBLING, ROOT, SLOPE, CHANGE_OF_SLOPE, PRODUCT = (
    "doubling",
    "square root",
    "slope",
    "change of slope",
    "product",
)
"""Kinds of derived features."""


def in_digits(ratio: float, digits: int) -> str:
    """Write a ratio in so many digits, or in as many more as tell it from 1."""
    while float(f"{ratio:.{digits}g}") == 1.0 != ratio:
        digits += 1
    return f"{ratio:.{digits}g}"


@dataclass(frozen=True)
class Term:
    """One coefficient of a `TableEquation`.

    Attributes
    ----------
    field : str
    kind : str
        What it is multiplied with. "number": the value, clipped to the range of the field.
        "ordered categories": the place of the value among them, from 0. "category": 1 where the
        value is `category`, else 0. "missing": 1 where there is no value. "in no list": 1 where the
        value is none of the categories. "intercept": 1. For derived features: "doubling": the
        logarithm to base 2 of the value, or of the value and 1. "square root": the root of the
        value. "slope": the value. "change of slope": its excess over `knot`, or 0. "product": the
        numbers among the two fields less the middles of their ranges, where the categories are
        `category`, else 0.
    coefficient : float
        In units of the target; of a score for classes.
    category, reference : str or None
        The category, and the one that it is compared with: its coefficient is 0 and not listed.
    counts_as : float or None
        What it is multiplied with where a value is missing or in no list: the middle.
    aside : bool
        Whether it is about values that are in no list, or missing from a field of which the schema
        does not say that they may be. Its coefficient says nothing where no row has such a value.
    unit : str or None
        The unit of a number, as the schema states it.
    knot : float or None
        Where the slope changes.
    phrase : str or None
        Says how to read the coefficient of a derived feature, or by the labels of categories.

    Examples
    --------
    >>> from mipselect.tables import Term
    >>> Term("age", "number", 0.2).coefficient
    0.2
    """

    field: str
    kind: str
    coefficient: float
    category: str | None = None
    reference: str | None = None
    counts_as: float | None = None
    aside: bool = False
    unit: str | None = None
    knot: float | None = None
    phrase: str | None = None

    @property
    def odds_ratio(self) -> float | None:
        """e^coefficient; None if that is no double."""
        try:
            return math.exp(self.coefficient)
        except OverflowError:
            return None

    @property
    def meaning(self) -> str:
        """One line that says how to read the coefficient."""
        if self.phrase is not None:
            return self.phrase
        match self.kind:
            case "number":
                return f"per {self.unit or 'unit'} of {self.field}"
            case "ordered categories":
                return f"per step of {self.field}, from {self.reference} on"
            case "category":
                return f"{self.field} is {self.category} and not {self.reference}"
            case "missing":
                before = "its middle" if self.reference is None else self.reference
                return f"{self.field} is missing, compared with {before}"
            case "intercept":
                return "intercept"
            case _:
                return f"{self.field} is in no list, compared with {self.reference}"
