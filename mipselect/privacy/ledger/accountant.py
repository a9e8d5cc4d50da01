"""Account of a ledger: what it has paid and may still pay, in exact sums."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from mipselect.errors import BudgetExceeded, RelationMismatch
from mipselect.privacy.concentrated import largest_pure_epsilon
from mipselect.privacy.decimals import exact, round_down, round_up
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.ledger.entries import LedgerEntry, Part, Terms


class Tally:
    """An exact sum in which disjoint parts of the table count once.

    A person is in one part of each partition only: the costs of the parts of a column are not
    added, the largest of them counts.
    """

    def __init__(self) -> None:
        self._whole = Fraction(0)
        self._parts: dict[str, dict[str, Fraction]] = {}

    def add(self, amount: Fraction, part: Part | None) -> None:
        """Add what was drawn from the whole table, or from a part of it."""
        if part is None:
            self._whole += amount
        else:
            sums = self._parts.setdefault(part[0], {})
            sums[part[1]] = sums.get(part[1], Fraction(0)) + amount

    def at(self, part: Part | None) -> Fraction:
        """Return the most that any row pays; with a part, the most that any row in it pays."""
        total = self._whole
        for column, sums in self._parts.items():
            if part is not None and part[0] == column:
                total += sums.get(part[1], Fraction(0))
            else:
                total += max(sums.values())
        return total


class Account:
    """The terms of a ledger, and exact sums of what was paid.

    Adding to it is not safe between threads.
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.entries: list[LedgerEntry] = []
        self._sums = {name: Tally() for name in self._limits}

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
        left = {name: self._left(name, entry.part) for name in prices}
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
            self._sums[name].add(price, entry.part)
        self.entries.append(entry)

    @property
    def paid(self) -> float:
        """The sum of what is counted first: of ρ, or of ε."""
        name = "epsilon" if self.terms.rho is None else "rho"
        return round_up(self._sums[name].at(None))

    def touching(self, part: Part | None = None) -> tuple[LedgerEntry, ...]:
        """Return the entries that touch a part, or all entries."""
        return tuple(e for e in self.entries if part is None or not _apart(e.part, part))

    def spent(self, part: Part | None = None) -> Guarantee:
        """Return the joint guarantee of the entries that touch a part, or of all entries.

        With ρ counted it is the (ε, δ) that follows from the sum; else the sum of ε and of δ.
        """
        touching = self.touching(part)
        conditions = tuple(dict.fromkeys(c for e in touching for c in e.guarantee.conditions))
        private = all(e.guarantee.private for e in touching)
        if self.terms.rho is not None:
            promised = self.terms.promised(self._sums["rho"].at(part))
        else:
            rho = total_rho(touching, part)
            promised = Guarantee(
                round_up(self._sums["epsilon"].at(part)),
                round_up(self._sums["delta"].at(part)),
                self.terms.relation,
                rho=None if rho is None else round_up(rho),
            )
        return replace(promised, conditions=conditions, private=private)

    def remaining(self, part: Part | None = None) -> Guarantee:
        """Return the largest guarantee that is still admitted, for a part or for the whole table.

        With ρ counted, ε is the largest of which nothing but ε is known.
        """
        relation = self.terms.relation
        if self.terms.rho is not None:
            rho = self._left("rho", part)
            return Guarantee(largest_pure_epsilon(rho), 0.0, relation, rho=round_down(rho))
        epsilon, delta = self._left("epsilon", part), self._left("delta", part)
        return Guarantee(round_down(epsilon), round_down(delta), relation)

    def _left(self, name: str, part: Part | None) -> Fraction:
        """Return what is left of a limit; 0 where more was spent, as in parts that became one."""
        return max(exact(self._limits[name]) - self._sums[name].at(part), Fraction(0))

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


def total_rho(entries: Sequence[LedgerEntry], part: Part | None = None) -> Fraction | None:
    """Add up ρ over entries, disjoint parts counted once; None unless all have one, or if no
    float can hold the sum.
    """
    sum_of_rho = Tally()
    for entry in entries:
        rho = entry.guarantee.concentrated
        if rho is None:
            return None
        sum_of_rho.add(exact(rho), entry.part)
    total = sum_of_rho.at(part)
    return total if total <= sys.float_info.max else None


def _apart(one: Part | None, other: Part) -> bool:
    """Return whether two parts are of one column and have no row in common."""
    return one is not None and one[0] == other[0] and one[1] != other[1]


NO_RAISE = (
    "A budget cannot be raised, nor given a δ later: ask for less, or decide on a second ledger, "
    "whose budget is spent beside this one and adds to it"
)

SIGNS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}


def _in_words(amounts: Mapping[str, float]) -> str:
    return ", ".join(f"{SIGNS[name]} = {amount!r}" for name, amount in amounts.items())
