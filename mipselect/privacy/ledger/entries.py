"""The terms of a ledger and its entries, checked."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, cast

from mipselect.errors import InvalidInput
from mipselect.privacy.concentrated import rho_epsilon
from mipselect.privacy.decimals import exact, round_up
from mipselect.privacy.guarantee import ROW, Guarantee, checked_relation, is_row
from mipselect.validation import (
    checked_line,
    checked_name,
    checked_nonnegative,
    checked_share,
    set_fields,
    shown,
)

CHARGED, DRAWN, FAILED = "charged", "drawn", "failed"

LONGEST_NOTE = 20_000
"""Characters of JSON in the settings of an entry."""

LONGEST_WHAT = 1_000
"""Characters of the line that says what was released."""

Part = tuple[str, str]
"""A column that divides the table, and one of its values."""

INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
"""Characters that nobody sees although Python calls them printable: fillers, variants, blanks."""


@dataclass(frozen=True)
class Terms:
    """The budget of a ledger and the currency that it is counted in.

    Attributes
    ----------
    epsilon : float or None
        The budget of ε; None where ρ is counted.
    delta : float
        The budget of δ or, where ρ is counted, the δ at which its ε is stated.
    relation : {"replace-one", "add-remove"}
    unit : str
        Whom or what one row stands for; for people.
    rho : float or None
        The budget of ρ, for a ledger that counts ρ.
    """

    epsilon: float | None
    delta: float
    relation: str
    unit: str
    rho: float | None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise InvalidInput("a ledger needs a budget in epsilon or in rho: one of them")
        if self.epsilon is not None:
            budget = Guarantee(self.epsilon, self.delta, self.relation)
            set_fields(self, epsilon=budget.epsilon, delta=budget.delta)
        if self.rho is not None:
            rho = checked_nonnegative(self.rho, "rho")
            set_fields(self, rho=rho, delta=checked_share(self.delta, "delta", closed=False))
        checked_relation(self.relation)
        set_fields(self, unit=checked_name(self.unit, "unit"))

    @property
    def currency(self) -> str:
        """ "epsilon", "epsilon-delta" or "rho"."""
        if self.rho is not None:
            return "rho"
        return "epsilon-delta" if self.delta > 0.0 else "epsilon"

    @property
    def budget(self) -> Guarantee:
        """Largest cost allowed for all releases together, as a guarantee."""
        if self.epsilon is not None:
            return Guarantee(self.epsilon, self.delta, self.relation)
        return self.promised(exact(cast(float, self.rho)))

    def promised(self, rho: Fraction) -> Guarantee:
        """Return the (ε, δ) that a sum of ρ gives at the δ of a ledger in ρ."""
        stated = round_up(rho)
        epsilon = rho_epsilon(stated, self.delta)
        return Guarantee(epsilon, self.delta, self.relation, rho=stated)


@dataclass(frozen=True)
class LedgerEntry:
    """One release that was paid for.

    Attributes
    ----------
    guarantee : Guarantee
        Its `private` is false for a seeded draw.
    what : str
        What was released; for people.
    part : (str, str) or None
        The part of the table that it was drawn from: a column and its value. None: all of it.
    asked : mapping or None
        Settings that were noted with it, ready for JSON; never data.
    status : {"charged", "drawn", "failed"}
        What came of it. All are paid; "charged" is also what a draw leaves behind that was
        killed. Whether a draw failed may depend on the data.
    time : str
        When it was charged, in UTC; "" in memory.
    rows : tuple of int
        Its rows of a file: that of the charge, and that of what came of it. () in memory.

    Entries are equal if they were charged for the same, whatever came of it, when, and where.

    Examples
    --------
    >>> from mipselect import Guarantee, Ledger
    >>> ledger = Ledger(1.0)
    >>> ledger.spend(Guarantee(0.25), what="counts")
    >>> entry = ledger.entries[0]
    >>> entry.what, entry.guarantee.epsilon
    ('counts', 0.25)
    """

    guarantee: Guarantee
    what: str
    part: Part | None = None
    asked: Mapping[str, Any] | None = None
    status: str = field(default=CHARGED, compare=False)
    time: str = field(default="", compare=False)
    rows: tuple[int, ...] = field(default=(), compare=False)


def checked_entry(
    guarantee: Guarantee,
    what: str,
    part: Part | None,
    asked: Mapping[str, Any] | None,
    unit: str = ROW,
) -> LedgerEntry:
    """Return an entry of a ledger of this unit as it may be charged."""
    if not isinstance(guarantee, Guarantee):
        raise InvalidInput(f"a ledger is charged with a Guarantee, got {shown(guarantee)}")
    if what:
        checked_line(what, "what is released", LONGEST_WHAT)
    if part is not None:
        needed = conditions_of_a_part(part[0], guarantee.relation, unit)
        conditions = tuple(dict.fromkeys((*guarantee.conditions, *needed)))
        guarantee = replace(guarantee, conditions=conditions)
    return LedgerEntry(guarantee, what, part, asked)


def conditions_of_a_part(column: str, relation: str, unit: str) -> Iterator[str]:
    """Say what makes the parts of a column disjoint: else two of them would cost somebody both.

    A row may be replaced by one of another part; somebody with several rows may be in several.
    """
    if relation == "replace-one":
        yield f"a row is replaced by one with the same, public, value of {column!r}"
    if not is_row(unit):
        yield f"no {unit} has rows with different values of {column!r}"


def checked_part(column: str, value: str) -> Part:
    """Return the name of a part as it is counted: in NFC, without outer blanks."""
    return _visible(column, "the column of a part"), _visible(value, "the value of a part")


def counted_part(stored: Part) -> Part:
    """Return the part that a stored entry counts for, which may be older than `checked_part`.

    Values that would be one today share a budget. Columns stay apart, for costs in different
    columns are added, which is never too little.
    """
    column, value = stored
    return column, _normal(INVISIBLE.sub("", value))


def _visible(name: str, what: str) -> str:
    if INVISIBLE.search(checked_name(name, what)):
        raise InvalidInput(f"{what} must have no invisible characters, got {name!a}")
    return checked_name(_normal(name), what)


def _normal(name: str) -> str:
    return unicodedata.normalize("NFC", name.strip(" "))


def checked_note(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of settings that are ready for JSON and not too long."""
    try:
        text = json.dumps(dict(asked), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"settings to note must be ready for JSON: {error}") from None
    if len(text) > LONGEST_NOTE:
        raise InvalidInput(
            f"settings to note have {len(text):,} characters of JSON, more than {LONGEST_NOTE:,}"
        )
    copy: dict[str, Any] = json.loads(text)
    return copy
