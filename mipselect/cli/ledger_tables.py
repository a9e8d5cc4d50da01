"""A ledger for people: its budget, its entries, and their joint guarantee."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from mipselect.cli.ledger_entry import table_named, tables_of
from mipselect.cli.output import heading, picked, table_of
from mipselect.privacy import Guarantee, Ledger
from mipselect.privacy.composition import Statement, best
from mipselect.privacy.ledger.entries import LedgerEntry
from mipselect.validation import listed


def budget_in_words(ledger: Ledger) -> str:
    """Say in words what the budget is, under which relation, and which unit one row stands for."""
    budget, delta = ledger.budget, ledger.terms.delta
    if ledger.currency == "rho":
        amount = f"ρ = {budget.rho:.15g}, which is ({budget.epsilon:.6g}, {delta:.6g})"
    elif ledger.currency == "epsilon":
        amount = f"ε = {budget.epsilon:.15g}"
    else:
        amount = f"(ε, δ) = ({budget.epsilon:.15g}, {delta:.15g})"
    return f"{amount} under {ledger.relation}; one row is one {ledger.unit}"


def left_in_words(ledger: Ledger, remaining: Guarantee) -> str:
    """Say in words what is left, in the currency of the ledger."""
    if ledger.currency == "rho":
        return (
            f"ρ = {remaining.rho:.15g}, such as one pure draw at ε = {remaining.epsilon:.6g}, or "
            f"one draw from an exponential mechanism at ε = {2 * remaining.epsilon:.6g}"
        )
    if ledger.currency == "epsilon":
        return f"ε = {remaining.epsilon:.15g}"
    return f"(ε, δ) = ({remaining.epsilon:.15g}, {remaining.delta:.15g})"


def entry_report(entry: LedgerEntry) -> Mapping[str, Any]:
    """Describe an entry as a part of a JSON object."""
    return {
        "rows": list(entry.rows),
        **picked(entry, "time", "what", "asked", "status"),
        "part": None if entry.part is None else dict([entry.part]),
        "guarantee": entry.guarantee.to_dict(),
    }


def several_tables(entries: Sequence[LedgerEntry]) -> str:
    """Say that entries are about different tables; empty where they are about one."""
    tables = tables_of(entries)
    if len(tables) < 2:
        return ""
    return (
        f"The entries are about {len(tables)} different tables ({listed(tables)}). The sum is for "
        "somebody who is in all of them. If nobody is in two, a ledger for each spends less."
    )


def print_entries(console: Console, entries: Sequence[LedgerEntry]) -> None:
    """Print what was charged, a line each, with its rows of the file."""
    titles = ("rows", "time (UTC)", "what", "table", "target", "part", "ε", "δ", "ρ", "status")
    table = table_of(*titles, right=("ε", "δ", "ρ"), fold=titles)
    latest = ""
    for entry in entries:
        guarantee, rho = entry.guarantee, entry.guarantee.concentrated
        late = " (the clock went back)" if entry.time < latest else ""
        latest = max(latest, entry.time)
        table.add_row(
            ", ".join(map(str, entry.rows)),
            entry.time + late,
            escape(entry.what),
            escape(table_named(entry.asked or {})),
            escape(str((entry.asked or {}).get("target") or "")),
            "" if entry.part is None else escape("{} = {}".format(*entry.part)),
            f"{guarantee.epsilon:.15g}",
            f"{guarantee.delta:.15g}",
            "" if rho is None else f"{rho:.6g}",
            entry.status if guarantee.private else f"{entry.status}, seeded: no guarantee",
        )
    console.print(table)


def print_statements(console: Console, found: tuple[Statement, ...]) -> None:
    """Print the joint guarantee of all entries, counted in several ways."""
    heading(console, "All of it together, counted in three ways")
    table = table_of("way", "ε", "δ", "what holds", right=("ε", "δ"), fold=("what holds",))
    least = best(found)
    for statement in found:
        epsilon = "" if statement.epsilon is None else f"{statement.epsilon:.6g}"
        table.add_row(
            statement.way,
            f"{epsilon} *" if statement is least else epsilon,
            f"{statement.delta:.6g}",
            escape(statement.meaning),
        )
    console.print(table)
    console.print("* the least ε. Only the currency of the ledger decides what is still allowed.")
