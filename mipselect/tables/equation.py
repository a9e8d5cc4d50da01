"""A linear rule in the units of a table: what each coefficient is per, and against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

from mipselect.docstrings import completed_by
from mipselect.tables.derivations import DerivedField, Transformed
from mipselect.tables.derived_encoders import BrokenLine, Interaction
from mipselect.tables.encoders import Encoder, Indicators, Ranked, Scaled
from mipselect.tables.fields import Field
from mipselect.tables.public_map import Target
from mipselect.tables.terms import (
    CATEGORY,
    MISSING,
    PER_STEP,
    PER_UNIT,
    UNLISTED,
    Term,
    in_digits,
    terms_of_line,
    terms_of_products,
    terms_of_transformed,
)
from mipselect.tables.units import LinearRule

SPELLED_OUT = 4
"""Steps that are named; of more the first ones and the last."""


def steps_of(names: Sequence[str]) -> str:
    """Say what a step is among ordered categories: from each to the next."""
    steps = [f"from {one} to {after}" for one, after in pairwise(names)]
    if len(steps) > SPELLED_OUT:
        steps = [*steps[: SPELLED_OUT - 1], "...", steps[-1]]
    *first, last = steps
    return f"a step is {', '.join([*first, f'or {last}']) if first else last}"


@completed_by(LinearRule)
@dataclass(frozen=True)
class TableEquation(LinearRule):
    """A linear rule of the values of a table; as private as the coefficients it was made of.

    The target, or for classes the score whose sign decides, is `intercept` plus the sum of the
    coefficients times what their `Term` says.

    Attributes
    ----------
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
        """The target, or the log-odds or the score of the second class."""
        if self.classes is not None and self.log_odds:
            return f"log-odds of {self.target}={self.classes[1]}"
        if self.places and self.classes is None:
            last = len(self.places) - 1
            return f"{self.target} from 0 ({self.places[0]}) to {last} ({self.places[-1]})"
        return super().aim

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
        lines = [self.all_lines[0], *self._lines(term for term in self.terms if not term.aside)]
        return [*lines, f"  and {self.left_out}"] if self.left_out else lines

    @property
    def all_lines(self) -> list[str]:
        """The rule in words, a line for each coefficient."""
        return [f"{self.aim} = {self.intercept:.6g}", *self._lines(self.terms)]

    def _lines(self, terms: Iterable[Term]) -> list[str]:
        return [f"  {term.coefficient:+.6g}  {term.meaning}{self.odds_of(term)}" for term in terms]

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
    match encoder:
        case BrokenLine():
            return terms_of_line(encoder, block)
        case Interaction():
            return 0.0, list(terms_of_products(encoder, block))
        case Scaled(field=DerivedField(derivation=Transformed())):
            return terms_of_transformed(encoder, block)
        case Indicators():
            return block[0], list(_against_the_first(field, encoder.levels, block))
        case Scaled():
            kind, category, reference = PER_UNIT, None, None
        case Ranked(levels=2):
            kind, (reference, category) = CATEGORY, field.category_names[:2]
        case Ranked():
            kind, category, reference = PER_STEP, None, field.category_names[0]
        case _:
            raise TypeError(f"a {type(encoder).__name__} has no known terms")
    slope = block[0] / column.scale
    terms = [Term(field.name, kind, slope, category, reference, column.offset, unit=field.unit)]
    aside = not field.may_be_missing
    terms += [Term(field.name, MISSING, beta, aside=aside) for beta in block[1:]]
    return -slope * column.offset, terms


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
