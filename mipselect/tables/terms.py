"""`Term`: a coefficient of a linear rule in the units of a table, also of derived features."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mipselect.tables.derivations import DerivedField, Transformed
from mipselect.tables.derived_encoders import BrokenLine, Interaction, labels
from mipselect.tables.encoders import Encoder, Ranked, Scaled

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


def one(unit: str | None) -> str:
    """Write a unit in the singular, as far as it is a plural in English: year of years."""
    return re.sub(r"((?<=ch)e|(?<=[a-z]{2}[^\W\d_isu]))s$", "", unit or "unit")


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
                return f"per {one(self.unit)} of {self.field}"
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


Terms = tuple[float, list[Term]]
"""Summand of the constant, and terms of a feature."""


def terms_of_transformed(encoder: Scaled, block: Sequence[float]) -> Terms:
    """Return the terms of a logarithm or a root; `block` has its coefficients."""
    field, column = encoder.field, encoder.columns()[0]
    assert isinstance(field, DerivedField)
    assert isinstance(field.derivation, Transformed)
    slope, source = block[0] / column.scale, field.derivation.source.name
    phrases = {
        "log": f"per doubling of {source}",
        "log1p": f"per doubling of 1 + {source}",
        "sqrt": f"per unit of √{source}",
    }
    kind, unit = (ROOT, 1.0) if field.derivation.transform == "sqrt" else (DOUBLING, math.log(2.0))
    first = Term(
        field.name,
        kind,
        slope * unit,
        counts_as=column.offset / unit,
        phrase=phrases[field.derivation.transform],
    )
    return -slope * column.offset, [first, *_missing(field, block[1:], "its middle")]


def terms_of_line(encoder: BrokenLine, block: Sequence[float]) -> Terms:
    """Return the first slope of a broken line, and the change of it at every knot."""
    field, columns, m = encoder.field, encoder.columns(), encoder.numbers
    (source,) = field.derivation.sources
    slopes = [beta / column.scale for beta, column in zip(block, columns[:m], strict=False)]
    unit, middle = one(source.unit), columns[0].offset
    per = f"per {unit} of {source.name} below {encoder.knots[0]:g}"
    terms = [Term(field.name, SLOPE, slopes[0], counts_as=middle, unit=source.unit, phrase=per)]
    for knot, slope in zip(encoder.knots, slopes[1:], strict=True):
        change = f"change of the slope of {source.name} at {knot:g}, per {unit}"
        terms.append(
            Term(
                field.name, CHANGE_OF_SLOPE, slope, counts_as=0.0, unit=source.unit, knot=knot,
                phrase=change,
            )
        )  # fmt: skip
    start = f"{middle:g} on the line below {encoder.knots[0]:g}"
    return -slopes[0] * middle, [*terms, *_missing(field, block[m:], start)]


def terms_of_products(encoder: Interaction, block: Sequence[float]) -> Iterator[Term]:
    """Yield a term for every product; they add nothing to the constant."""
    field, columns = encoder.field, encoder.columns()
    cells = [(a, b) for a in labels(encoder.factors[0]) for b in labels(encoder.factors[1])]
    for cell, beta, column in zip(cells, block, columns, strict=False):
        yield Term(
            field.name,
            PRODUCT,
            beta / column.scale,
            category=" and ".join(name for name in cell if name is not None) or None,
            counts_as=0.0,
            phrase=_product(encoder.factors, cell),
        )
    yield from _missing(field, block[len(cells) :], "a product of 0")


def _product(factors: Sequence[Encoder], cell: tuple[str | None, str | None]) -> str:
    """Return what a product is per, in words: a number by its distance from the middle."""
    pairs = list(zip(factors, cell, strict=True))
    numbers = [factor for factor, name in pairs if name is None]
    where = " and ".join(f"{f.field.name} is {name}" for f, name in pairs if name is not None)
    if not numbers:
        return f"{where}, compared with all else"
    units = ["step" if isinstance(f, Ranked) else one(f.field.unit) for f in numbers]
    middles = (f"({f.field.name} - {f.columns()[0].offset:g})" for f in numbers)
    per = " × ".join(
        f"{unit} of {middle}" if k == 0 or units != ["unit", "unit"] else middle
        for k, (unit, middle) in enumerate(zip(units, middles, strict=True))
    )
    return f"per {per}{f' where {where}' if where else ''}"


def _missing(field: DerivedField, rest: Sequence[float], before: str) -> Iterator[Term]:
    aside = not field.may_be_missing
    for beta in rest:
        phrase = f"{field.name} is missing, compared with {before}"
        yield Term(field.name, MISSING, beta, aside=aside, phrase=phrase)
