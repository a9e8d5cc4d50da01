"""Costs of the releases, each and together, and what a ledger has left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mipselect.documents.blocks import Alert, Block, BulletList, Heading, Paragraph, TextTable
from mipselect.privacy import Guarantee
from mipselect.privacy.guarantee import compose
from mipselect.reports.released import (
    LedgerAccount,
    ReportedRelease,
    tables_of,
    unit_conditions,
    units_of,
)
from mipselect.reports.words import plural
from mipselect.validation import joined

REPLACED = "replace-one"


def total_of(releases: Sequence[ReportedRelease]) -> Guarantee:
    """Return the guarantee of all releases together, by basic composition.

    Under the relation of all of them, or else under replace-one, to which add-remove is converted.

    Raises
    ------
    InvalidInput
        If their δ add up to 1 or more: together they guarantee nothing.
    """
    relations = {one.guarantee.relation for one in releases}
    relation = relations.pop() if len(relations) == 1 else REPLACED
    return compose([one.guarantee.to(relation) for one in releases], relation)


def spending_blocks(
    releases: Sequence[ReportedRelease], total: Guarantee, account: LedgerAccount | None
) -> Iterator[Block]:
    """Say what each release cost, what all of them cost, and what is left."""
    yield Heading(2, "What was spent, and what is left")
    rows = [
        (
            one.name,
            f"{one.guarantee.epsilon:.15g}",
            f"{one.guarantee.delta:.15g}",
            _mark(one.guarantee),
        )
        for one in releases
    ]
    rows.append(("together", f"{total.epsilon:.15g}", f"{total.delta:.15g}", _mark(total)))
    yield TextTable(("release", "ε", "δ", "under"), tuple(rows), numbers=("ε", "δ"))
    yield Paragraph(
        "The losses are added up as if all releases were of the same people, which holds in any "
        "case."
    )
    if len({one.guarantee.relation for one in releases}) > 1:
        yield Paragraph(
            "Some releases are under add-remove and others under replace-one. The sum is under "
            "replace-one, where a release under add-remove counts twice its ε."
        )
    yield from map(Alert, warnings_of(releases, account))
    if account is None:
        yield Paragraph(
            "What is left, and whether there were other releases from these data, is in the ledger "
            "of whoever holds them; it was not given for this report."
        )
    else:
        yield from _account(releases, account)


def warnings_of(releases: Sequence[ReportedRelease], account: LedgerAccount | None) -> list[str]:
    """Say what speaks against one account of all releases."""
    found = []
    without = [one.name for one in releases if one.ledger is None]
    ledgers = list(dict.fromkeys(one.ledger.identity for one in releases if one.ledger))
    tables = tables_of(releases)
    digests = {one.digest for one in releases}
    if strangers := [one.name for one in releases if one.features_of not in {None, *digests}]:
        found.append(
            f"The fields of {joined(strangers)} were released before, by a file that is not in "
            "this report: its cost comes on top."
        )
    if len(ledgers) > 1:
        found.append(
            f"The releases were charged to {len(ledgers)} ledgers ({joined(ledgers)}). If these "
            "are of the same people, no ledger alone says what was spent."
        )
    if without:
        verb = "was" if len(without) == 1 else "were"
        found.append(f"{joined(without)} {verb} charged to no ledger: no budget remembers that.")
    if len(tables) > 1:
        found.append(
            f"The releases are of {len(tables)} tables ({joined(tables)}). A person may be in more "
            "than one."
        )
    units = units_of(releases)
    if len(units) > 1:
        found.append(f"The releases protect different units: {joined(units)}.")
    if account is not None:
        foreign = [
            one.name
            for one in releases
            if one.ledger is not None
            and (one.ledger.identity != account.identity or one.ledger.hash not in account.hashes)
        ]
        if foreign:
            found.append(f"{account.name} has no row for {joined(foreign)}: it is another ledger.")
        if not account.spent.private:
            found.append("A draw that the ledger paid for was seeded: nothing is guaranteed.")
    return found


def _account(releases: Sequence[ReportedRelease], account: LedgerAccount) -> Iterator[Block]:
    amounts = {
        "budget": account.budget,
        f"spent, {plural(account.charges, 'charge')}": account.spent,
        "left": account.remaining,
    }
    counted = ("ε", "δ") if account.budget.rho is None else ("ε", "δ", "ρ")
    yield TextTable(
        (f"ledger {account.name}", *counted),
        tuple((words, *_counted(each)[: len(counted)]) for words, each in amounts.items()),
        numbers=counted,
    )
    notes = [f"One row is counted as one {account.unit}; the ledger is {account.identity}."]
    if conditions := unit_conditions(releases):
        notes.append(f"That is right only if {joined(conditions)}.")
    inside = [one for one in releases if one.ledger and one.ledger.hash in account.hashes]
    others = account.charges - len(inside)
    if others > 0:
        are = "is" if others == 1 else "are"
        notes.append(f"{plural(others, 'charge')} of the ledger {are} not in this report.")
    if account.budget.rho is not None:
        notes.append(
            "The ledger counts ρ of zero-concentrated privacy, in which small releases add up to "
            "less: its ε is not the sum above."
        )
    if account.in_parts:
        notes.append(
            "Some charges are for a part of the table. Those of disjoint parts count once, so that "
            "less may be spent than the sum above."
        )
    yield BulletList(tuple(notes))


def _counted(guarantee: Guarantee) -> tuple[str, str, str]:
    rho = guarantee.rho or 0.0
    return f"{guarantee.epsilon:.15g}", f"{guarantee.delta:.15g}", f"{rho:.6g}"


def _mark(guarantee: Guarantee) -> str:
    return guarantee.relation if guarantee.private else f"{guarantee.relation}; NOT PRIVATE"
