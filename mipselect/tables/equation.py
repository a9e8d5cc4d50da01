"""A linear rule in the units of a table: what each coefficient is per, and against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mipselect.tables.encoders import Encoder, Indicators, Ranked, Scaled
from mipselect.tables.fields import Category, Field
from mipselect.tables.public_map import Target

PER_UNIT, PER_STEP, CATEGORY, MISSING, UNLISTED = (
    "number",
    "ordered categories",
    "category",
    "missing",
    "in no list",
)


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
        value is none of the categories.
    coefficient : float
        In units of the target; of a score for classes.
    category, reference : str or None
        The category, and the one that it is compared with: its coefficient is 0 and not listed.
    counts_as : float or None
        What it is multiplied with where a value is missing or in no list: the middle.

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

    @property
    def meaning(self) -> str:
        """One line that says how to read the coefficient."""
        match self.kind:
            case "number":
                return f"per unit of {self.field}"
            case "ordered categories":
                return f"per step of {self.field}, from {self.reference} on"
            case "category":
                return f"{self.field} is {self.category} and not {self.reference}"
            case "missing":
                before = "its middle" if self.reference is None else self.reference
                return f"{self.field} is missing, compared with {before}"
            case _:
                return f"{self.field} is in no list, compared with {self.reference}"


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

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON, with a line of words for each coefficient."""
        classes = None if self.classes is None else list(self.classes)
        terms = [{**asdict(term), "meaning": term.meaning} for term in self.terms]
        return {
            "target": self.target,
            "classes": classes,
            "intercept": self.intercept,
            "terms": terms,
        }

    @property
    def lines(self) -> list[str]:
        """The rule in words, a line for each coefficient."""
        aim = self.target if self.classes is None else f"score of {self.target}={self.classes[1]}"
        terms = [f"  {term.coefficient:+.6g}  {term.meaning}" for term in self.terms]
        return [f"{aim} = {self.intercept:.6g}", *terms]

    def __str__(self) -> str:
        return "\n".join(self.lines)


def equation(
    encoders: Sequence[Encoder], target: Target, coef: Sequence[float], intercept: float
) -> TableEquation:
    """Coefficients of columns in [-1, 1] in the units of the table.

    Parameters
    ----------
    encoders : sequence of Encoder
        Of the fields, in the order of their columns.
    target : Target
    coef : sequence of float
        One for each of their columns, for a target in [-1, 1].
    intercept : float
    """
    terms: list[Term] = []
    constants = [float(intercept)]
    rest = [target.scale * float(beta) for beta in coef]
    for encoder in encoders:
        width = len(encoder.columns())
        block, rest = rest[:width], rest[width:]
        constant, made = _terms(encoder, block)
        constants.append(constant / target.scale)
        terms += made
    return TableEquation(
        target=target.encoder.field.name,
        classes=target.classes,
        intercept=target.offset + target.scale * sum(constants),
        terms=tuple(terms),
    )


def _terms(encoder: Encoder, block: Sequence[float]) -> tuple[float, list[Term]]:
    """What a field adds to the constant, and its terms."""
    field, column = encoder.field, encoder.columns()[0]
    match encoder:
        case Indicators():
            return block[0], list(_against_the_first(field, encoder.levels, block))
        case Scaled():
            kind, category, reference = PER_UNIT, None, None
        case Ranked(levels=2):
            kind, (reference, category) = CATEGORY, _names(field)[:2]
        case Ranked():
            kind, category, reference = PER_STEP, None, _names(field)[0]
        case _:
            raise TypeError(f"no terms are known of a {type(encoder).__name__}")
    slope = block[0] / column.scale
    terms = [Term(field.name, kind, slope, category, reference, column.offset)]
    terms += [Term(field.name, MISSING, beta) for beta in block[1:]]
    return -slope * column.offset, terms


def _against_the_first(field: Field, levels: int, block: Sequence[float]) -> Iterator[Term]:
    names = _names(field)
    for name, beta in zip(names[1:], block[1:levels], strict=True):
        yield Term(field.name, CATEGORY, beta - block[0], name, names[0])
    if len(block) > levels:
        yield Term(field.name, MISSING, block[levels] - block[0], reference=names[0])
    yield Term(field.name, UNLISTED, -block[0], reference=names[0])


def _names(field: Field) -> list[str]:
    categories: Sequence[Category] = field.categories or ("false", "true")
    return [value if isinstance(value, str) else f"{value:.15g}" for value in categories]
