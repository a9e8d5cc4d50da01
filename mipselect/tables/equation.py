"""Linear rules in the units of a table: what each coefficient is per, and against."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

from mipselect.tables.encoders import Encoder, Indicators, Ranked, Scaled, Target
from mipselect.tables.fields import Field
from mipselect.tables.schema import DerivedField

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

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON, with a line of words for each coefficient."""
        classes = None if self.classes is None else list(self.classes)
        terms = [{**asdict(term), "meaning": term.meaning} for term in self.terms]
        for term in terms:
            del term["phrase"]
        if self.log_odds:
            odds = [{"odds_ratio": term.odds_ratio} for term in self.terms]
            terms = [term | ratio for term, ratio in zip(terms, odds, strict=True)]
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
    def lines(self) -> list[str]:
        """The rule in words, a line for each coefficient but those aside, which are counted."""
        lines = [f"{self.aim} = {self.intercept:.6g}"]
        lines += [
            f"  {term.coefficient:+.6g}  {term.meaning}{self.odds_of(term)}"
            for term in self.terms
            if not term.aside
        ]
        return [*lines, f"  and {self.left_out}"] if self.left_out else lines

    def odds_of(self, term: Term) -> str:
        """Return by what a term multiplies the odds, in words; "" if it multiplies none."""
        ratio = term.odds_ratio if self.log_odds else None
        return "" if ratio is None else f": odds × {in_digits(ratio, 3)}"

    def __str__(self) -> str:
        return "\n".join(self.lines)


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
    rest = [target.scale * float(beta) for beta in coef]
    for encoder in encoders:
        width = len(encoder.columns())
        block, rest = rest[:width], rest[width:]
        constant, made = _terms(encoder, block)
        constants.append(constant / target.scale)
        terms += (_in_words(term, encoder.field) for term in made)
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


def _in_words(term: Term, field: Field) -> Term:
    """Return a term that is read by the labels of its categories, where there are any."""
    if not field.labels:
        return term
    words = dict(zip(field.category_names, field.labels, strict=True))
    category, reference = (words.get(name or "") for name in (term.category, term.reference))
    return replace(term, phrase=replace(term, category=category, reference=reference).meaning)


def _terms(encoder: Encoder, block: Sequence[float]) -> tuple[float, list[Term]]:
    """Return what a field adds to the constant, and its terms."""
    field, column = encoder.field, encoder.columns()[0]
    category = reference = phrase = None
    unit = 1.0
    match encoder:
        case Indicators():
            return block[0], list(_against_the_first(field, encoder.levels, block))
        case Scaled(field=DerivedField(way="log")):
            kind, unit, phrase = DOUBLING, math.log(2.0), f"per doubling of {field.source.name}"
        case Scaled(field=DerivedField(way="sqrt")):
            kind, phrase = ROOT, f"per unit of √{field.source.name}"
        case Scaled():
            kind = PER_UNIT
        case Ranked(levels=2):
            kind, (reference, category) = CATEGORY, field.category_names[:2]
        case Ranked():
            kind, reference = PER_STEP, field.category_names[0]
        case _:
            raise TypeError(f"a {type(encoder).__name__} has no known terms")
    slope, middle, aside = block[0] / column.scale, column.offset, not field.may_be_missing
    first = Term(
        field.name,
        kind,
        slope * unit,
        category,
        reference,
        counts_as=middle / unit,
        unit=field.unit,
        phrase=phrase,
    )
    missing = [Term(field.name, MISSING, beta, aside=aside) for beta in block[1:]]
    return -slope * middle, [first, *missing]


def _against_the_first(field: Field, levels: int, block: Sequence[float]) -> Iterator[Term]:
    names = field.category_names
    for name, beta in zip(names[1:], block[1:levels], strict=True):
        yield Term(field.name, CATEGORY, beta - block[0], name, names[0])
    if len(block) > levels:
        beta, aside = block[levels] - block[0], not field.may_be_missing
        yield Term(field.name, MISSING, beta, reference=names[0], aside=aside)
    # A part of a date is in its list, or missing.
    if field.required or not isinstance(field, DerivedField):
        yield Term(field.name, UNLISTED, -block[0], reference=names[0], aside=True)
