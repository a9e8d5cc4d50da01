"""Entries of a ledger, the account that they make, and what they guarantee together.

Sums of what was paid and is left are exact. A joint guarantee is that of a set which was fixed
before the first of its members was drawn. The sum also limits what is chosen step by step, and so
does ρ where it is the currency; else it informs, and allows nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, cast

from mipselect.errors import BudgetExceeded, InvalidInput, RelationMismatch
from mipselect.privacy.concentrated import largest_pure_epsilon, rho_epsilon
from mipselect.privacy.decimals import exact, round_down, round_up
from mipselect.privacy.guarantee import Guarantee, checked_relation
from mipselect.validation import (
    checked_line,
    checked_name,
    checked_nonnegative,
    checked_share,
    set_fields,
    shown,
)

LONGEST_NOTE = 20_000
"""Characters of JSON in the settings of an entry."""

LONGEST_WHAT = 1_000
"""Characters of the line that says what was released."""

NO_RAISE = (
    "A budget cannot be raised, nor given a δ later: ask for less, or decide on a second ledger, "
    "whose budget is spent beside this one and adds to it"
)

SIGNS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}


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
        return self.of_rho(exact(cast(float, self.rho)))

    def of_rho(self, rho: Fraction) -> Guarantee:
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
    asked : mapping or None
        Settings that were noted with it, ready for JSON; never data.
    time : str
        When it was charged, in UTC; "" in memory.
    row : int or None
        Its row of a file; None in memory.

    Entries are equal if they were charged for the same, whenever and wherever.

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
    asked: Mapping[str, Any] | None = None
    time: str = field(default="", compare=False)
    row: int | None = field(default=None, compare=False)


def checked_entry(guarantee: Guarantee, what: str, asked: Mapping[str, Any] | None) -> LedgerEntry:
    """Return an entry of a ledger as it may be charged."""
    if not isinstance(guarantee, Guarantee):
        raise InvalidInput(f"a ledger is charged with a Guarantee, got {shown(guarantee)}")
    if what:
        checked_line(what, "what is released", LONGEST_WHAT)
    return LedgerEntry(guarantee, what, asked)


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


class Account:
    """The terms of a ledger, its entries, and exact sums of what was paid.

    Adding to it is not safe between threads.
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.entries: list[LedgerEntry] = []
        self._sums = dict.fromkeys(self._limits, Fraction(0))

    @property
    def _limits(self) -> dict[str, float]:
        """The budget, by what is counted."""
        terms = self.terms
        if terms.rho is not None:
            return {"rho": terms.rho}
        return {"epsilon": terms.budget.epsilon, "delta": terms.delta}

    def admit(self, entry: LedgerEntry) -> None:
        """Raise unless the budget covers the entry; nothing is added.

        Raises
        ------
        BudgetExceeded, RelationMismatch
        """
        terms, guarantee = self.terms, entry.guarantee
        if guarantee.relation != terms.relation:
            remedy = (
                "convert it with guarantee.to('replace-one'), or give a selector "
                "relation='replace-one'"
                if terms.relation == "replace-one"
                else "it cannot be converted; use a ledger under replace-one"
            )
            raise RelationMismatch(
                f"the ledger is kept under {terms.relation}, the guarantee is under "
                f"{guarantee.relation}: {remedy}"
            )
        prices = self._prices(guarantee)
        left = {name: self._left(name) for name in prices}
        if any(price > left[name] for name, price in prices.items()):
            asked = {name: round_up(price) for name, price in prices.items()}
            rest = {name: round_down(amount) for name, amount in left.items()}
            raise BudgetExceeded(
                f"asked for {_in_words(asked)}, but only {_in_words(rest)} is left "
                f"of the budget {_in_words(self._limits)}; nothing was drawn. {NO_RAISE}"
            )

    def add(self, entry: LedgerEntry) -> None:
        """Add an entry that was admitted."""
        for name, price in self._prices(entry.guarantee).items():
            self._sums[name] += price
        self.entries.append(entry)

    def spent(self) -> Guarantee:
        """Return the joint guarantee of all entries.

        With ρ counted it is the (ε, δ) that follows from the sum; else the sum of ε and of δ.
        """
        conditions = tuple(dict.fromkeys(c for e in self.entries for c in e.guarantee.conditions))
        private = all(e.guarantee.private for e in self.entries)
        if self.terms.rho is not None:
            together = self.terms.of_rho(self._sums["rho"])
        else:
            rho = total_rho(self.entries)
            together = Guarantee(
                round_up(self._sums["epsilon"]),
                round_up(self._sums["delta"]),
                self.terms.relation,
                rho=None if rho is None else round_up(rho),
            )
        return replace(together, conditions=conditions, private=private)

    def remaining(self) -> Guarantee:
        """Return the largest guarantee that is still admitted.

        With ρ counted, ε is the largest of which nothing but ε is known.
        """
        relation = self.terms.relation
        if self.terms.rho is not None:
            rho = self._left("rho")
            return Guarantee(largest_pure_epsilon(rho), 0.0, relation, rho=round_down(rho))
        epsilon, delta = self._left("epsilon"), self._left("delta")
        return Guarantee(round_down(epsilon), round_down(delta), relation)

    def after(self, entry: LedgerEntry) -> Guarantee:
        """Return what would remain after an entry; raise unless it is admitted."""
        tried = Account(self.terms)
        tried._sums = dict(self._sums)
        tried.admit(entry)
        tried.add(entry)
        return tried.remaining()

    def _left(self, name: str) -> Fraction:
        return exact(self._limits[name]) - self._sums[name]

    def _prices(self, guarantee: Guarantee) -> dict[str, Fraction]:
        if self.terms.rho is None:
            return {"epsilon": exact(guarantee.epsilon), "delta": exact(guarantee.delta)}
        rho = guarantee.concentrated
        if rho is None:
            raise BudgetExceeded(
                f"the ledger counts ρ, and none follows from ε = {guarantee.epsilon!r}, δ = "
                f"{guarantee.delta!r}; use a draw with δ = 0, or a ledger that counts ε and δ; "
                "nothing was drawn"
            )
        return {"rho": exact(rho)}


def total_rho(entries: Sequence[LedgerEntry]) -> Fraction | None:
    """Add up ρ over entries; None unless all have one, or if no float can hold the sum."""
    total = Fraction(0)
    for entry in entries:
        rho = entry.guarantee.concentrated
        if rho is None:
            return None
        total += exact(rho)
    return total if total <= sys.float_info.max else None


def _in_words(amounts: Mapping[str, float]) -> str:
    return ", ".join(f"{SIGNS[name]} = {amount!r}" for name, amount in amounts.items())


SUM, RHO = "sum", "rho"

MEANINGS = {
    SUM: "ε and δ added up; holds for any draws, also step by step",
    RHO: "ρ of zero-concentrated privacy added up; for a set that was fixed beforehand",
}
"""The ways of counting, and the statement that belongs to each."""

LIMITED = "ρ of zero-concentrated privacy added up; the ledger's limit on it holds step by step"


@dataclass(frozen=True)
class Statement:
    """Joint guarantee of a set of releases, in one way of counting.

    Attributes
    ----------
    way : {"sum", "rho"}
    epsilon : float or None
        None where this way says nothing.
    delta : float
    rho : float or None
        The sum, for "rho".
    meaning : str
        When it holds; or why it says nothing.

    Examples
    --------
    >>> from mipselect.privacy import LedgerEntry, statements
    >>> from mipselect import Guarantee
    >>> found = statements([LedgerEntry(Guarantee(0.5), "a draw")] * 4, delta=1e-6)
    >>> found[0].way, found[0].epsilon
    ('sum', 2.0)
    """

    way: str
    epsilon: float | None
    delta: float
    rho: float | None
    meaning: str


def statements(
    entries: Sequence[LedgerEntry], delta: float, currency: str = "epsilon"
) -> tuple[Statement, ...]:
    """Count a set of entries by their sum and by ρ, at δ = `delta`.

    Parameters
    ----------
    entries : sequence of LedgerEntry
        All under one relation.
    delta : float
        0 < δ < 1, for the second way; the sum has the δ that was charged.
    currency : str
        Currency of the ledger: where it counts ρ, its budget of ρ holds step by step.

    References
    ----------
    Bun and Steinke, "Concentrated differential privacy", 2016.

    Examples
    --------
    >>> from mipselect import Guarantee
    >>> from mipselect.privacy import LedgerEntry, statements
    >>> entries = [LedgerEntry(Guarantee(0.5, rho=0.5**2 / 8), "a draw")] * 40
    >>> by_way = {one.way: one.epsilon for one in statements(entries, delta=1e-6)}
    >>> by_way["sum"], by_way["rho"] < by_way["sum"]
    (20.0, True)
    """
    delta = checked_share(delta, "delta", closed=False)
    return (_sum(entries), _concentrated(entries, delta, currency))


def _sum(entries: Sequence[LedgerEntry]) -> Statement:
    epsilon = sum((exact(entry.guarantee.epsilon) for entry in entries), Fraction(0))
    delta = sum((exact(entry.guarantee.delta) for entry in entries), Fraction(0))
    return Statement(SUM, round_up(epsilon), round_up(delta), None, MEANINGS[SUM])


def _concentrated(entries: Sequence[LedgerEntry], delta: float, currency: str) -> Statement:
    rho = total_rho(entries)
    if rho is None:
        return Statement(
            RHO, None, delta, None, "no ρ follows from some of the entries, or one too large"
        )
    total = round_up(rho)
    meaning = LIMITED if currency == "rho" else MEANINGS[RHO]
    return Statement(RHO, rho_epsilon(total, delta), delta, total, meaning)
