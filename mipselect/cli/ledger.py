"""`mipselect ledger`: a budget that lasts, in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mipselect.cli.ledger_figure import ledger_figure
from mipselect.cli.options import AsJson, Output
from mipselect.cli.output import check_output, deliver, heading, write_whole
from mipselect.errors import InvalidInput, LedgerBroken
from mipselect.pictures import SUFFIXES, require_matplotlib
from mipselect.privacy import Guarantee, Ledger
from mipselect.privacy.composition import Statement, best, statements
from mipselect.privacy.entries import CHARGED, FAILED, LedgerEntry
from mipselect.validation import checked_share

EXAMPLES = """Examples:

mipselect ledger create study.ledger --epsilon 3 --unit patient

mipselect release diabetes --epsilon 1 --ledger study.ledger

mipselect ledger show study.ledger
"""

USUAL_DELTA = 1e-6
"""At which a promise is stated where the ledger has no δ of its own."""

KEEP = (
    "Keep this with the data: whether a draw failed, and when something was asked, may depend on "
    "them."
)

app = typer.Typer(
    help="Keep a privacy budget in a file: create, show, verify, export.",
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file of the ledger.")]


class Relation(StrEnum):
    """Which tables are neighbours."""

    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"


@app.command()
def create(
    file: File,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", help="The budget of ε.", show_default="none")
    ] = None,
    delta: Annotated[
        float,
        typer.Option("--delta", help="The budget of δ; with --rho, the δ at which ε is stated."),
    ] = 0.0,
    rho: Annotated[
        float | None,
        typer.Option(
            "--rho",
            help="In place of --epsilon: count ρ of zero-concentrated privacy, up to this.",
            show_default="none",
        ),
    ] = None,
    relation: Annotated[
        Relation, typer.Option("--relation", help="Under which the budget is meant.")
    ] = Relation.REPLACE_ONE,
    unit: Annotated[
        str, typer.Option("--unit", help='Whom or what one row stands for, such as "patient".')
    ] = "row",
    as_json: AsJson = False,
) -> None:
    """Make a ledger in a new FILE. What it counts is fixed from then on.

    A file is never replaced. Keep it on a disk of one machine, and keep one copy: a second copy is
    a second budget.
    """
    if (epsilon is None) == (rho is None):
        raise InvalidInput("a ledger counts ε or ρ: give --epsilon or --rho, one of them")
    ledger = Ledger.create(
        file, epsilon=epsilon, delta=delta, relation=relation.value, unit=unit, rho=rho
    )

    def render(console: Console) -> None:
        console.print(f"{file}: a ledger with a budget of {_budget(ledger)}.", markup=False)

    report = {"command": "ledger create", "sensitive": False, "file": str(file), **_head(ledger)}
    deliver(report, render, as_json=as_json, output=None)


@app.command()
def show(
    file: File,
    delta: Annotated[
        float | None,
        typer.Option(
            "--delta",
            help="At which the promise of all releases together is stated.",
            show_default="that of the ledger, or 1e-6",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE.svg|png|pdf", help="Also draw the budget over time."),
    ] = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Show what was charged to FILE, what is left, and what all of it promises together."""
    if plot is not None:
        if plot.suffix not in SUFFIXES:
            raise InvalidInput(f"--plot must end in {', '.join(SUFFIXES)}, got {str(plot)!r}")
        check_output(plot, [file])
        require_matplotlib()
    check_output(output, [file])
    ledger = Ledger.open(file)
    at = delta if delta is not None else (ledger.terms.delta or USUAL_DELTA)
    checked_share(at, "--delta", closed=False)
    entries = ledger.entries
    found = statements(entries, at, ledger.currency) if entries else ()
    sensitive = any(entry.status in (CHARGED, FAILED) for entry in entries)
    spent, remaining = ledger.spent, ledger.remaining
    report: dict[str, Any] = {
        "command": "ledger show",
        "sensitive": sensitive,
        "file": str(file),
        **_head(ledger),
        "spent": spent.to_dict(),
        "remaining": remaining.to_dict(),
        "entries": [{"number": k, **_entry(entry)} for k, entry in enumerate(entries, start=1)],
        "together": [asdict(statement) for statement in found],
    }
    if plot is not None:
        write_whole(plot, ledger_figure(ledger, entries, plot.suffix), sensitive=sensitive)

    def render(console: Console) -> None:
        heading(console, f"{file.name}: a budget of {_budget(ledger)}")
        _print_entries(console, entries)
        console.print(f"Spent: {spent}.", markup=False)
        console.print(f"Left: {_left(ledger, remaining)}.", markup=False)
        if found:
            _print_statements(console, found)
        if not spent.private:
            console.print("A draw was seeded: of all of it together nothing is promised.")
        if sensitive:
            console.print(KEEP)

    deliver(report, render, as_json=as_json, output=output)


@app.command()
def verify(
    file: File,
    head: Annotated[
        str | None,
        typer.Option(
            "--head",
            metavar="HASH",
            help="A hash that was written down before, as it stands in a release; its row must "
            "still be there.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check every row and every page of FILE, and name the first row that does not fit.

    The chain of hashes shows what was changed or taken out of the middle. That the end was not cut
    off, or an older copy put back, shows a hash that was kept elsewhere: --head.
    """
    ledger = Ledger.open(file)
    rows = ledger.rows()
    if head is not None and head not in (row.hash for row in rows):
        raise LedgerBroken(
            f"{file}: no row has the hash of --head: rows were taken away, or it is another copy "
            "or another ledger"
        )
    last = rows[-1]

    def render(console: Console) -> None:
        console.print(
            f"{file}: {len(rows)} rows, all in order; the last is row {last.number}, {last.hash}",
            markup=False,
            soft_wrap=True,
        )

    report = {
        "command": "ledger verify",
        "sensitive": False,
        "file": str(file),
        "identity": ledger.identity,
        "rows": len(rows),
        "head": {"number": last.number, "hash": last.hash},
    }
    deliver(report, render, as_json=as_json, output=None)


@app.command()
def export(file: File, output: Output = None) -> None:
    """Print every row of FILE as one JSON object, exactly as it is stored, with its hash.

    Anybody can check the chain from it: a hash is the SHA-256 of number, event, time, content and
    previous, one a line.
    """
    check_output(output, [file])
    ledger = Ledger.open(file)
    report = {
        "command": "ledger export",
        "sensitive": True,
        "warning": KEEP,
        **_head(ledger),
        "rows": [asdict(row) for row in ledger.rows()],
    }
    deliver(report, lambda console: None, as_json=True, output=output)


def _head(ledger: Ledger) -> dict[str, Any]:
    """What is fixed about a ledger."""
    return {
        "identity": ledger.identity,
        "currency": ledger.currency,
        "unit": ledger.unit,
        "relation": ledger.relation,
        "budget": ledger.budget.to_dict(),
    }


def _budget(ledger: Ledger) -> str:
    budget, delta = ledger.budget, ledger.terms.delta
    if ledger.currency == "rho":
        amount = f"ρ = {budget.rho:.15g}, which is ({budget.epsilon:.6g}, {delta:.6g})"
    elif ledger.currency == "epsilon":
        amount = f"ε = {budget.epsilon:.15g}"
    else:
        amount = f"(ε, δ) = ({budget.epsilon:.15g}, {delta:.15g})"
    return f"{amount} under {ledger.relation}; one row is one {ledger.unit}"


def _left(ledger: Ledger, remaining: Guarantee) -> str:
    if ledger.currency == "rho":
        return (
            f"ρ = {remaining.rho:.15g}, such as one pure draw at ε = {remaining.epsilon:.6g}, or "
            f"one draw from an exponential mechanism at ε = {2 * remaining.epsilon:.6g}"
        )
    if ledger.currency == "epsilon":
        return f"ε = {remaining.epsilon:.15g}"
    return f"(ε, δ) = ({remaining.epsilon:.15g}, {remaining.delta:.15g})"


def _entry(entry: LedgerEntry) -> Mapping[str, Any]:
    return {
        "time": entry.time,
        "what": entry.what,
        "part": None if entry.part is None else dict([entry.part]),
        "guarantee": entry.guarantee.to_dict(),
        "asked": entry.asked,
        "status": entry.status,
    }


def _print_entries(console: Console, entries: tuple[LedgerEntry, ...]) -> None:
    table = Table()
    for title in ("", "time (UTC)", "what", "part", "ε", "δ", "ρ", "status"):
        right = title in ("", "ε", "δ", "ρ")
        table.add_column(title, justify="right" if right else "left", overflow="fold")
    latest = ""
    for number, entry in enumerate(entries, start=1):
        guarantee, rho = entry.guarantee, entry.guarantee.concentrated
        late = " (the clock went back)" if entry.time < latest else ""
        latest = max(latest, entry.time)
        table.add_row(
            str(number),
            entry.time + late,
            escape(entry.what),
            "" if entry.part is None else escape("{} = {}".format(*entry.part)),
            f"{guarantee.epsilon:.15g}",
            f"{guarantee.delta:.15g}",
            "" if rho is None else f"{rho:.6g}",
            entry.status if guarantee.private else f"{entry.status}, seeded: no promise",
        )
    console.print(table)


def _print_statements(console: Console, found: tuple[Statement, ...]) -> None:
    heading(console, "All of it together, counted in three ways")
    table = Table()
    for title in ("way", "ε", "δ"):
        table.add_column(title, justify="left" if title == "way" else "right")
    table.add_column("what holds", overflow="fold")
    least = best(found)
    for statement in found:
        epsilon = "" if statement.epsilon is None else f"{statement.epsilon:.6g}"
        table.add_row(
            statement.way,
            f"{epsilon} *" if statement is least else epsilon,
            f"{statement.delta:.6g}",
            statement.meaning,
        )
    console.print(table)
    console.print("* the least ε. Only the currency of the ledger decides what is still allowed.")
