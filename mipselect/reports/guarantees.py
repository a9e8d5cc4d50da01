"""Guarantee and costs in plain words: what is said of one person, what was spent, what is left."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal

from mipselect.privacy import Guarantee, Ledger
from mipselect.privacy.guarantee import ROW, amount, compose, is_row, neighbours
from mipselect.reports.released import (
    ReportedRelease,
    tables_of,
    unit_conditions,
    units_of,
)
from mipselect.validation import joined, plural

DIGITS = Context(prec=3, rounding=ROUND_CEILING)

HOPELESS = 20.0
"""From this ε on no factor is worth a number."""

WEAK = 5.0
"""ε above which the limit is a weak one."""

BEFORE = 0.5
"""Probability in the example."""


def stated(releases: Sequence[ReportedRelease], total: Guarantee) -> list[tuple[str, str]]:
    """Return what all releases together guarantee, its unit and its conditions as rows."""
    units = units_of(releases)
    unit = units[0] if len(units) == 1 else ROW
    conditions = (*total.conditions, *unit_conditions(releases))
    return [
        ("privacy loss of all releases", amount(total)),
        ("neighbouring tables", f"differ by {neighbours(total.relation, unit)}"),
        ("conditions", "; ".join(conditions) or "none"),
    ]


def whose(releases: Sequence[ReportedRelease]) -> str:
    """Say whom the guarantee is about: one row, or all rows of one unit."""
    units = units_of(releases)
    if units == [ROW]:
        about = "The guarantee is about one row of the table."
        if not (conditions := unit_conditions(releases)):
            return f"{about} It is about a person if nobody has more than one row."
        return (
            f"{about} It is about one {joined(_counted(releases))} only on the condition that "
            f"{joined(conditions)}: the table does not say whose row is whose."
        )
    named = _counted([one for one in releases if one.unit != ROW])
    stands = f", which stands for one {joined(named)}" if named else ""
    known = [unit for unit in units if unit != ROW]
    said = (
        f"The guarantee is about all rows with the same {joined(known)}, made one row{stands}: it "
        "covers everything that the table holds about that one."
    )
    # What reads tables takes long to import.
    from mipselect.tables.public_map import RULES, people_in_words

    rules = ((one.unit, one.settings.get("unit_rule")) for one in releases)
    for unit, rule in dict.fromkeys(each for each in rules if each[1] in RULES):
        said += f" {people_in_words(unit, str(rule))}."
    if ROW in units:
        said += " Some releases are about one row only: together they are about one row."
    return said


def _counted(releases: Sequence[ReportedRelease]) -> list[str]:
    """Return what ledgers count a row as, each once, where that is more than a row."""
    units = dict.fromkeys(one.ledger.unit for one in releases if one.ledger)
    return [unit for unit in units if not is_row(unit)]


def limit(total: Guarantee) -> list[str]:
    """Say what nobody can conclude about one person, and what somebody who knew all else could."""
    without, question = (
        "if this person had given any other answers",
        "which of two answers a person gave",
    )
    if total.relation == "add-remove":
        without, question = (
            "if this person were not in the table",
            "whether a person is in the table",
        )
    if total.epsilon >= HOPELESS:
        return [
            f"With ε = {total.epsilon:.6g} there is no protection to speak of: the probability of "
            f"a result may differ by a factor of e^{total.epsilon:.6g} from what it would have "
            f"been {without}."
        ]
    example = (
        f"For example: somebody knows all other rows and wonders {question}, both being equally "
        "likely to them. After this report they can be sure of one to "
        f"{conclusion(total.epsilon, BEFORE)} at most."
    )
    weak = " That is a weak limit." if total.epsilon > WEAK else ""
    return [
        "What anybody can conclude about one person from this report is limited: no result would "
        f"have been more probable, or less, by more than a factor of {factor(total.epsilon)}, "
        f"which is e^ε for ε = {total.epsilon:.15g}, {without}.{weak}",
        example,
    ]


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


def costs(releases: Sequence[ReportedRelease], total: Guarantee) -> list[tuple[str, ...]]:
    """Return what each release cost, and all of them together, as rows."""
    named = [*((one.name, one.guarantee) for one in releases), ("together", total)]
    return [(name, f"{g.epsilon:.15g}", f"{g.delta:.15g}", _mark(g)) for name, g in named]


def warnings_of(releases: Sequence[ReportedRelease], ledger: Ledger | None) -> list[str]:
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
    if ledger is not None:
        hashes = _hashes(ledger)
        foreign = [
            one.name
            for one in releases
            if one.ledger is not None
            and (one.ledger.identity != ledger.identity or one.ledger.hash not in hashes)
        ]
        if foreign:
            found.append(
                f"{name_of(ledger)} has no row for {joined(foreign)}: it is another ledger."
            )
        if not ledger.spent.private:
            found.append("A draw that the ledger paid for was seeded: nothing is guaranteed.")
    return found


def account(ledger: Ledger) -> list[tuple[str, ...]]:
    """Return the public part of a ledger as rows: no times, and not how a draw ended."""
    amounts = {
        "budget": ledger.budget,
        f"spent, {plural(len(ledger.entries), 'charge')}": ledger.spent,
        "left": ledger.remaining,
    }
    of_rho = ledger.budget.rho is not None
    return [
        (words, f"{each.epsilon:.15g}", f"{each.delta:.15g}", *[f"{each.rho or 0:.6g}"] * of_rho)
        for words, each in amounts.items()
    ]


def account_notes(releases: Sequence[ReportedRelease], ledger: Ledger) -> list[str]:
    """Say what the rows of `account` count, and what is not in the report."""
    notes = [f"One row is counted as one {ledger.unit}; the ledger is {ledger.identity}."]
    if conditions := unit_conditions(releases):
        notes.append(f"That is right only if {joined(conditions)}.")
    hashes = _hashes(ledger)
    here = sum(one.ledger is not None and one.ledger.hash in hashes for one in releases)
    if (others := len(ledger.entries) - here) > 0:
        are = "is" if others == 1 else "are"
        notes.append(f"{plural(others, 'charge')} of the ledger {are} not in this report.")
    if ledger.budget.rho is not None:
        notes.append(
            "The ledger counts ρ of zero-concentrated privacy, in which small releases add up to "
            "less: its ε is not the sum above."
        )
    return notes


def name_of(ledger: Ledger) -> str:
    """Return the name of the file of a ledger; "" for one that has none."""
    return "" if ledger.path is None else ledger.path.name


def _hashes(ledger: Ledger) -> set[str]:
    return {row.hash for row in ledger.rows()}


def _mark(guarantee: Guarantee) -> str:
    return guarantee.relation if guarantee.private else f"{guarantee.relation}; NOT PRIVATE"


def factor(epsilon: float) -> str:
    """Write e^ε in three digits, rounded up: what is said holds."""
    return f"{DIGITS.create_decimal(Decimal(math.nextafter(math.exp(epsilon), math.inf))):f}"


def conclusion(epsilon: float, before: float) -> str:
    """Write the largest probability, in percent and rounded up, that `before` can become."""
    growth = math.exp(epsilon)
    after = before * growth / (1.0 - before + before * growth)
    return f"{min(math.ceil(1000.0 * after) / 10.0, 100.0):g} %"
