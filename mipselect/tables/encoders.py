"""Encoders of a field as columns in [-1, 1], and linear rules of them in the units of the table.

An encoder is the public map of one value, nothing of it fitted.

Within the columns of one field a row has Euclidean norm at most 1, so that a category with 200
levels costs no more sensitivity than a number.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.errors import InvalidInput
from mipselect.tables import values
from mipselect.tables.fields import Field
from mipselect.tables.schema import DerivedField
from mipselect.validation import SMALLEST_SCALE, shown

MISSING_COLUMN = "missing"


@dataclass(frozen=True)
class Column:
    """One column of X, in units of the table.

    Attributes
    ----------
    name : str
        "age", "age=missing", "icd=J".
    scale, offset : float
        An entry x stands for offset + scale · x: units of the field for a number, places among
        the categories for ordered ones, 0 and 1 for truth values and indicators.

    Examples
    --------
    >>> from mipselect.tables import Column
    >>> age = Column("age", scale=40.0, offset=60.0)
    >>> age.offset + age.scale * -1.0
    20.0
    """

    name: str
    scale: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Encoder(ABC):
    """Map of a field into its columns, of which `=missing` is the last unless it is required.

    Attributes
    ----------
    field : Field
    """

    field: Field
    numbers: ClassVar[int] = 1
    """Number of first columns that are numbers or places and no indicators."""

    @property
    def gap(self) -> float:
        """Entry of the numbers where a value is missing: 0, or NaN."""
        return 0.0

    @abstractmethod
    def own_columns(self) -> tuple[Column, ...]:
        """Return the columns but `=missing`."""

    def columns(self) -> tuple[Column, ...]:
        """Return the columns, `=missing` last."""
        missing = () if self.field.required else (Column(f"{self.field.name}={MISSING_COLUMN}"),)
        return (*self.own_columns(), *missing)

    @abstractmethod
    def write(self, stored: pa.Array, out: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
        """Write all columns but `=missing`; return where the value is missing, shape (rows,)."""

    def encode(self, stored: pa.Array, out: NDArray[np.floating[Any]]) -> None:
        """Write the rows of a batch to `out`, shape (rows, number of columns).

        `stored` is the column of `field.source`.
        """
        missing = self.write(stored, out)
        if not self.field.required:
            out[:, -1] = missing


class OneNumber(Encoder):
    """A field of one number or place."""

    @abstractmethod
    def scaled(self, stored: pa.Array) -> NDArray[np.float64]:
        """Return the numbers, NaN where missing, shape (rows,)."""

    def write(self, stored: pa.Array, out: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
        """Write the number."""
        scaled = self.scaled(stored)
        missing = np.isnan(scaled)
        scaled[missing] = self.gap
        # Rounding keeps what is at most 1 at most 1.
        out[:, 0] = scaled
        return missing


@dataclass(frozen=True)
class Scaled(OneNumber):
    """A number: clip((2v - lo - hi)/(hi - lo)) and `=missing`; a missing value is 0."""

    low: float
    high: float

    def own_columns(self) -> tuple[Column, ...]:
        """Return the number."""
        half = 0.5 * (self.high - self.low)
        return (Column(self.field.name, half, 0.5 * (self.low + self.high)),)

    def scaled(self, stored: pa.Array) -> NDArray[np.float64]:
        """Scale the values to [-1, 1], NaN where missing, shape (rows,)."""
        return self.within(values.numbers(self.field.column(stored), self.field))

    def within(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map numbers of the field, shape (rows,), to [-1, 1]; NaN stays NaN."""
        v = np.clip(numbers, self.low, self.high)
        # (2v - lo - hi)/(hi - lo), without a new array for every step.
        v *= 2.0
        v -= self.low
        v -= self.high
        v /= self.high - self.low
        return np.clip(v, -1.0, 1.0, out=v)


class Unscaled(OneNumber):
    """A number as it is, NaN where it is missing or infinite, and `=missing`; no range is used."""

    gap: ClassVar[float] = math.nan

    def own_columns(self) -> tuple[Column, ...]:
        """Return the number."""
        return (Column(self.field.name),)

    def scaled(self, stored: pa.Array) -> NDArray[np.float64]:
        """Return the values, shape (rows,)."""
        v = values.numbers(self.field.column(stored), self.field)
        return np.where(np.isfinite(v), v, np.nan)


@dataclass(frozen=True)
class Ranked(OneNumber):
    """K ≥ 2 values in an order: 2k/(K-1) - 1 and `=missing`; one that is in no list is 0.

    A boolean, two categories or ordered ones. A missing one is `gap`: 0, or NaN where means are
    taken of those that are there.
    """

    levels: int
    gap: float = 0.0

    def own_columns(self) -> tuple[Column, ...]:
        """Return the place among the values."""
        name, categories = self.field.name, self.field.categories
        if categories is not None and not self.field.ordered:
            name = _indicator(self.field, 1)
        half = 0.5 * (self.levels - 1)
        return (Column(name, half, half),)

    def scaled(self, stored: pa.Array) -> NDArray[np.float64]:
        """Scale the places to [-1, 1], NaN where missing, shape (rows,)."""
        codes = values.codes(self.field.column(stored), self.field)
        places = 2.0 * codes / (self.levels - 1) - 1.0
        places[codes == values.UNLISTED] = 0.0
        places[codes == values.MISSING] = np.nan
        return places


@dataclass(frozen=True)
class Indicators(Encoder):
    """K categories: as many indicators, of which at most one is 1, and `=missing`."""

    levels: int
    numbers: ClassVar[int] = 0

    def own_columns(self) -> tuple[Column, ...]:
        """Return one column for each category."""
        return tuple(Column(_indicator(self.field, k)) for k in range(self.levels))

    def write(self, stored: pa.Array, out: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
        """Write the indicators."""
        codes = values.codes(self.field.column(stored), self.field)
        out[:] = 0.0
        listed = np.flatnonzero(codes >= 0)
        out[listed, codes[listed]] = 1.0
        return np.asarray(codes == values.MISSING)


def places_of_columns(encoders: Iterable[Encoder]) -> tuple[range, ...]:
    """Return the places of the columns of each encoder, one after another."""
    places, start = [], 0
    for encoder in encoders:
        width = len(encoder.columns())
        places.append(range(start, start + width))
        start += width
    return tuple(places)


def encoder_of(field: Field, *, scaled: bool = True) -> Encoder:
    """Choose how a field is encoded.

    Parameters
    ----------
    field : Field
    scaled : bool
        False takes numbers as they are, with a missing value as NaN.

    Raises
    ------
    InvalidInput
        If the schema says too little of it.
    """
    gap = 0.0 if scaled else math.nan
    if field.type == "boolean":
        return Ranked(field, 2, gap)
    if field.categories is not None:
        levels = len(field.categories)
        in_order = levels == 2 or (field.ordered and levels > 1)
        return Ranked(field, levels, gap) if in_order else Indicators(field, levels)
    if field.is_number and not scaled:
        return Unscaled(field)
    if field.minimum is None or field.maximum is None:
        raise InvalidInput(f"field {shown(field.name)} ({field.type}) has no {field.gap}")
    ends = checked_range(field.minimum, field.maximum, f"field {field.name}")
    return Scaled(field, *ends)


@dataclass(frozen=True)
class Target:
    """The target in [-1, 1]: a number by its range, or two classes as -1 and +1.

    Attributes
    ----------
    encoder : OneNumber
        Scaled, Unscaled or Ranked.
    classes : (str, str) or None
        The names of the classes that become -1 and +1.
    scale, offset : float
        y stands for offset + scale · y in units of the table; 1 and 0 for classes.
    """

    encoder: OneNumber
    classes: tuple[str, str] | None
    scale: float
    offset: float

    def given(self, y: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which rows of y, as `PublicMap.encode` maps it, have a target, shape (n,).

        A class that is in no list is none.
        """
        there: NDArray[np.bool_] = ~np.isnan(y)
        return there if self.classes is None else there & (y != 0.0)


def target_of(field: Field, *, scaled: bool) -> Target:
    """Choose how the target is encoded; `InvalidInput` for categories without an order."""
    encoder = encoder_of(field, scaled=scaled)
    if isinstance(encoder, Indicators):
        raise InvalidInput(
            f"the target {shown(field.name)} must be a number with a range, ordered categories or "
            f"two classes; its schema has {encoder.levels} categories without an order: for one of "
            "them against the rest give the table and the schema a field of two classes"
        )
    if isinstance(encoder, Ranked) and encoder.levels == 2:
        low, high = field.category_names[:2]
        if field.type == "boolean":
            low, high = field.false_values[0], field.true_values[0]
        return Target(encoder, (low, high), 1.0, 0.0)
    assert isinstance(encoder, OneNumber)
    column = encoder.columns()[0]
    return Target(encoder, None, column.scale, column.offset)


def checked_range(low: float, high: float, what: str) -> tuple[float, float]:
    """Return a range that is wide enough for its middle to lie between its ends."""
    if not (high - low >= SMALLEST_SCALE and low < 0.5 * (low + high) < high):
        raise InvalidInput(
            f"{what}: a range must be lo < hi and not too narrow for numbers of this size, got "
            f"{shown(low)} to {shown(high)}"
        )
    return low, high


def _indicator(field: Field, k: int) -> str:
    """Name the column of a category; a category that is called "missing" is put in quotes."""
    text = field.category_names[k]
    return f"{field.name}='{text}'" if text == MISSING_COLUMN else f"{field.name}={text}"


PER_UNIT, PER_STEP, CATEGORY, MISSING, UNLISTED, INTERCEPT = (
    "number",
    "ordered categories",
    "category",
    "missing",
    "in no list",
    "intercept",
)
DOUBLING, ROOT = "doubling", "square root"
"""Kinds of derived features."""

SPELLED_OUT = 4
"""Steps that are named; of more the first ones and the last."""


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
        logarithm to base 2 of the value. "square root": the root of the value.
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
    meaning : str
        Says how to read the coefficient, by the labels of categories where there are any.

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
    meaning: str = ""

    @property
    def odds_ratio(self) -> float | None:
        """e^coefficient; None if that is no double."""
        try:
            return math.exp(self.coefficient)
        except OverflowError:
            return None


def steps_of(names: Sequence[str]) -> str:
    """Say what a step is among ordered categories: from each to the next."""
    steps = [f"from {one} to {after}" for one, after in pairwise(names)]
    if len(steps) > SPELLED_OUT:
        steps = [*steps[: SPELLED_OUT - 1], "...", steps[-1]]
    *first, last = steps
    return f"a step is {', '.join([*first, f'or {last}']) if first else last}"


@dataclass(frozen=True)
class TableEquation:
    """A linear rule of the values of a table; as private as the coefficients it was made of.

    The target, or for classes the score whose sign decides, is `intercept` plus the sum of the
    coefficients times what their `Term` says.

    Attributes
    ----------
    target : str
    classes : (str, str) or None
        That a negative and a positive score stand for.
    intercept : float
    terms : tuple of Term
    places : tuple of str
        Where the target is one of ordered categories: it is a number, the place among these from 0.
    log_odds : bool
        Whether the score is the logarithm of the odds of the second class, p/(1 - p). Its odds are
        multiplied by `Term.odds_ratio` per unit then.
    has_intercept : bool
        False of a model of arrays without one.

    Examples
    --------
    >>> from mipselect.tables import TableEquation, Term
    >>> rule = TableEquation("days", None, 3.0, (Term("age", "number", 0.2),))
    >>> rule.to_dict()["intercept"]
    3.0
    """

    target: str
    classes: tuple[str, str] | None
    intercept: float
    terms: tuple[Term, ...]
    places: tuple[str, ...] = ()
    log_odds: bool = False
    has_intercept: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON, with a line of words for each coefficient."""
        classes = None if self.classes is None else list(self.classes)
        terms = [
            asdict(term) | ({"odds_ratio": term.odds_ratio} if self.log_odds else {})
            for term in self.terms
        ]
        return {
            "target": self.target,
            "classes": classes,
            "target_categories": list(self.places) or None,
            "intercept": self.intercept,
            "terms": terms,
            **({"log_odds": True} if self.log_odds else {}),
        }

    @property
    def aim(self) -> str:
        """The target, or the log-odds or the score of the second class, whose sign decides."""
        if self.classes is not None:
            score = "log-odds" if self.log_odds else "score"
            return f"{score} of {self.target}={self.classes[1]}"
        if self.places:
            last = len(self.places) - 1
            return f"{self.target} from 0 ({self.places[0]}) to {last} ({self.places[-1]})"
        return self.target

    @property
    def step(self) -> str:
        """Words for a step of the target; "" where it is no place among categories."""
        return steps_of(self.places) if self.places and self.classes is None else ""

    @property
    def left_out(self) -> str:
        """Number of terms that `lines` leaves out, and what they are, in words; "" if none."""
        count = sum(term.aside for term in self.terms)
        if not count:
            return ""
        return (
            f"{count} {'term' if count == 1 else 'terms'} of the model for values that are missing "
            "or in no list, which say nothing where no row has such a value"
        )

    @property
    def all_terms(self) -> tuple[Term, ...]:
        """The terms; the intercept is the first, where there is one."""
        first = Term(INTERCEPT, INTERCEPT, self.intercept, meaning=INTERCEPT)
        return (first, *self.terms) if self.has_intercept else self.terms

    def listed(self) -> list[tuple[Term, tuple[str, str, str]]]:
        """Return terms with their cells: coefficient, odds, and what it is per; none aside."""
        return [(term, self._cells(term)) for term in self.all_terms if not term.aside]

    def _cells(self, term: Term) -> tuple[str, str, str]:
        if term.kind == INTERCEPT:
            return f"{term.coefficient:.6g}", "", term.meaning
        ratio = term.odds_ratio if self.log_odds else None
        odds = "" if ratio is None else f"odds × {in_digits(ratio, 3)}"
        return f"{term.coefficient:+.6g}", odds, term.meaning

    @property
    def lines(self) -> list[str]:
        """The rule as a sum, with a line for each term that is listed."""
        rows = [cells for _, cells in self.listed()]
        # What it is per is not padded: names may be of any letters.
        value, width = (max((len(cells[k]) for cells in rows), default=0) for k in range(2))
        lines = [f"{self.aim} = the sum of:"]
        for first, odds, meaning in rows:
            padded = [odds.ljust(width)] if width else []
            lines.append("  ".join(["", first.rjust(value), *padded, meaning]))
        return lines

    def __str__(self) -> str:
        return "\n".join([*self.lines, *([f"  and {self.left_out}"] if self.left_out else [])])


def equation(
    encoders: Sequence[Encoder],
    target: Target,
    coef: Sequence[float],
    intercept: float,
    *,
    log_odds: bool = False,
) -> TableEquation:
    """Convert coefficients of columns in [-1, 1] to the units of the table.

    Parameters
    ----------
    encoders : sequence of Encoder
        Encoders of the fields, in the order of their columns.
    target : Target
    coef : sequence of float
        One for each of their columns, for a target in [-1, 1].
    intercept : float
    log_odds : bool
        See `TableEquation`.
    """
    terms: list[Term] = []
    constants = [float(intercept)]
    for encoder, block in zip(encoders, places_of_columns(encoders), strict=True):
        betas = [target.scale * float(beta) for beta in coef[block.start : block.stop]]
        constant, made = _terms(encoder, betas)
        constants.append(constant / target.scale)
        terms += made
    aim = target.encoder.field
    ranked = isinstance(target.encoder, Ranked) and target.classes is None
    return TableEquation(
        target=aim.name,
        classes=target.classes,
        intercept=target.offset + target.scale * sum(constants),
        terms=tuple(terms),
        places=aim.category_names if ranked else (),
        log_odds=log_odds,
    )


def _terms(encoder: Encoder, block: Sequence[float]) -> tuple[float, list[Term]]:
    """Return what a field adds to the constant, and its terms."""
    field, column, words = encoder.field, encoder.columns()[0], encoder.field.category_words
    if isinstance(encoder, Indicators):
        return block[0], list(_against_the_first(field, encoder.levels, block))
    category = reference = None
    unit, meaning = 1.0, f"per {one(field.unit)} of {field.name}"
    match encoder:
        case Scaled(field=DerivedField(way="log")):
            kind, unit, meaning = DOUBLING, math.log(2.0), f"per doubling of {field.source.name}"
        case Scaled(field=DerivedField(way="sqrt")):
            kind, meaning = ROOT, f"per unit of √{field.source.name}"
        case Scaled():
            kind = PER_UNIT
        case Ranked(levels=2):
            kind, (reference, category) = CATEGORY, field.category_names[:2]
            meaning = f"{field.name} is {words[1]} and not {words[0]}"
        case Ranked():
            kind, reference = PER_STEP, field.category_names[0]
            meaning = f"per step of {field.name}, from {words[0]} on"
        case _:
            raise TypeError(f"a {type(encoder).__name__} has no known terms")
    slope, middle = block[0] / column.scale, column.offset
    first = Term(
        field.name,
        kind,
        slope * unit,
        category,
        reference,
        counts_as=middle / unit,
        unit=field.unit,
        meaning=meaning,
    )
    missing = [_missing(field, beta, None, "its middle") for beta in block[1:]]
    return -slope * middle, [first, *missing]


def _against_the_first(field: Field, levels: int, block: Sequence[float]) -> Iterator[Term]:
    (first, *names), (word, *words) = field.category_names, field.category_words
    for name, own, beta in zip(names, words, block[1:levels], strict=True):
        meaning = f"{field.name} is {own} and not {word}"
        yield Term(field.name, CATEGORY, beta - block[0], name, first, meaning=meaning)
    for beta in block[levels:]:
        yield _missing(field, beta - block[0], first, word)
    # A part of a date is in its list, or missing.
    if field.required or not isinstance(field, DerivedField):
        meaning = f"{field.name} is in no list, compared with {word}"
        yield Term(field.name, UNLISTED, -block[0], None, first, aside=True, meaning=meaning)


def _missing(field: Field, beta: float, reference: str | None, word: str) -> Term:
    meaning, aside = f"{field.name} is missing, compared with {word}", not field.may_be_missing
    return Term(field.name, MISSING, beta, None, reference, aside=aside, meaning=meaning)
