"""`mipselect ledger`: a budget that lasts, in a file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from mipselect.cli.declared import command, group, option, options
from mipselect.cli.ledger_entry import tables_of
from mipselect.cli.ledger_figure import ledger_figure
from mipselect.cli.ledger_file import LedgerFile, head_of, key_of
from mipselect.cli.ledger_tables import (
    budget_in_words,
    entry_report,
    left_in_words,
    print_entries,
    print_statements,
    several_tables,
)
from mipselect.cli.options import NO_FILE, Delivery
from mipselect.cli.output import check_figure, check_output, deliver, heading, line, write_whole
from mipselect.errors import InvalidInput, LedgerBroken
from mipselect.privacy import Ledger
from mipselect.privacy.composition import statements
from mipselect.privacy.guarantee import checked_relation
from mipselect.privacy.ledger.entries import CHARGED, FAILED
from mipselect.validation import checked_share

EXAMPLES = """Examples:

mipselect ledger create study.ledger --epsilon 3 --unit patient

mipselect release diabetes --epsilon 1 --ledger study.ledger

mipselect ledger show study.ledger
"""

USUAL_DELTA = 1e-6
"""The δ of a stated guarantee where the ledger has none of its own."""

KEEP = (
    "Keep this with the data: whether a draw failed, and when a draw was charged, may depend on "
    "them."
)

NOT_CHECKED = (
    "NOT CHECKED WITH ITS KEY {}, which was not given (--key-file): whoever can write to the file "
    "may have changed what follows."
)

app = typer.Typer(
    help="Keep a privacy budget in a file: create, show, verify, export.",
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@options
class CreateArguments:
    """Arguments of `ledger create`."""

    epsilon: float | None = option("--epsilon", "The budget of ε.", show_default="none")
    delta: float = option(
        "--delta", "The budget of δ; with --rho, the δ at which ε is stated.", default=0.0
    )
    rho: float | None = option(
        "--rho",
        "In place of --epsilon: count ρ of zero-concentrated privacy, up to this.",
        show_default="none",
    )
    relation: str = option(
        "--relation",
        "Under which the budget is meant.",
        default="replace-one",
        metavar="replace-one|add-remove",
    )
    unit: str = option(
        "--unit", 'Whom or what one row stands for, such as "patient".', default="row"
    )
    ledger: LedgerFile = group(
        LedgerFile,
        help={
            "--key-file": "Write every row with this key, which is made if there is no such file; "
            "without it nobody can charge, or edit unnoticed. Keep it elsewhere."
        },
    )
    delivery: Delivery = group(Delivery, without=NO_FILE)


@app.command()
@command
def create(arguments: CreateArguments) -> None:
    """Make a ledger in a new FILE. What it counts is fixed from then on.

    A file is never replaced. Keep it on a disk of one machine, and keep one copy: a second copy is
    a second budget.
    """
    if (arguments.epsilon is None) == (arguments.rho is None):
        raise InvalidInput("a ledger counts ε or ρ: give --epsilon or --rho, one of them")
    file, key = arguments.ledger.file, arguments.ledger.key
    ledger = Ledger.create(
        file,
        epsilon=arguments.epsilon,
        delta=arguments.delta,
        relation=checked_relation(arguments.relation, "--relation"),
        unit=arguments.unit,
        rho=arguments.rho,
        key_file=key,
    )

    def render(console: Console) -> None:
        console.print(f"{file}: a ledger with a budget of {budget_in_words(ledger)}.", markup=False)
        if key is not None:
            line(
                console,
                f"Its key is {ledger.key_identity}, in {key}: whoever charges needs it. Keep it "
                "elsewhere than the ledger, and keep a copy.",
            )

    report = {"command": "ledger create", "sensitive": False, "file": str(file), **head_of(ledger)}
    arguments.delivery.deliver(report, render)


@options
class ShowArguments:
    """Arguments of `ledger show`."""

    delta: float | None = option(
        "--delta",
        "At which the guarantee of all releases together is stated.",
        show_default="that of the ledger, or 1e-6",
    )
    plot: Path | None = option(
        "--plot", "Also draw the budget over time.", metavar="FILE.svg|png|pdf"
    )
    ledger: LedgerFile = group(LedgerFile)
    delivery: Delivery = group(Delivery)


@app.command()
@command
def show(arguments: ShowArguments) -> None:
    """Show what was charged to FILE, what is left, and the guarantee of all of it together."""
    file, delta, plot = arguments.ledger.file, arguments.delta, arguments.plot
    if plot is not None:
        check_figure(plot, "--plot", arguments.ledger.files, replace=arguments.delivery.replace)
    delivery, read = arguments.delivery, arguments.ledger.files
    check_output(delivery.output, read, replace=delivery.replace)
    ledger = arguments.ledger.opened()
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
        **head_of(ledger),
        "spent": spent.to_dict(),
        "remaining": remaining.to_dict(),
        "entries": [
            {"number": k, **entry_report(entry)} for k, entry in enumerate(entries, start=1)
        ],
        "tables": tables_of(entries),
        "together": [asdict(statement) for statement in found],
    }
    if plot is not None:
        write_whole(plot, ledger_figure(ledger, entries, plot.suffix), sensitive=sensitive)

    def render(console: Console) -> None:
        heading(console, f"{file.name}: a budget of {budget_in_words(ledger)}")
        if ledger.locked:
            console.print(NOT_CHECKED.format(ledger.key_identity))
        print_entries(console, entries)
        if about := several_tables(entries):
            line(console, about)
        console.print(f"Spent: {spent}.", markup=False)
        console.print(f"Left: {left_in_words(ledger, remaining)}.", markup=False)
        if found:
            print_statements(console, found)
        if not spent.private:
            console.print("A draw was seeded: all of it together has no guarantee.")
        if sensitive:
            console.print(KEEP)

    arguments.delivery.deliver(report, render)


@options
class VerifyArguments:
    """Arguments of `ledger verify`."""

    head: str | None = option(
        "--head",
        "A hash that was written down before, as it stands in a release; its row must still be "
        "there.",
        metavar="HASH",
    )
    ledger: LedgerFile = group(LedgerFile)
    delivery: Delivery = group(Delivery, without=NO_FILE)


@app.command()
@command
def verify(arguments: VerifyArguments) -> None:
    """Check every row and every page of FILE, and name the first row that does not fit.

    The chain of hashes shows damage, and edits that do not compute it again from there on; these
    the key of a ledger shows, if it has one. That the end was not cut off, or an older copy put
    back, shows only a hash that was kept elsewhere: --head.
    """
    file, head, ledger = arguments.ledger.file, arguments.head, arguments.ledger.opened()
    ledger.verify()
    rows = ledger.rows()
    if head is not None and head not in (row.hash for row in rows):
        raise LedgerBroken(
            f"{file}: no row has the hash of --head: rows were taken away, or it is another copy "
            "or another ledger"
        )
    last = rows[-1]
    key = ledger.key_identity
    written = "" if key is None else f" and written with the key {key}"

    def render(console: Console) -> None:
        line(
            console,
            f"{file}: {len(rows)} rows, all in order{written}; the last is row {last.number}, "
            f"{last.hash}",
        )

    report = {
        "command": "ledger verify",
        "sensitive": False,
        "file": str(file),
        "identity": ledger.identity,
        "key": key_of(ledger),
        "rows": len(rows),
        "head": {"number": last.number, "hash": last.hash},
    }
    arguments.delivery.deliver(report, render)


@options
class ExportArguments:
    """Arguments of `ledger export`."""

    ledger: LedgerFile = group(LedgerFile)
    delivery: Delivery = group(Delivery, without=("--json",))


@app.command()
@command
def export(arguments: ExportArguments) -> None:
    """Print every row of FILE as one JSON object, exactly as it is stored, with its hash.

    Anybody can check the chain from it: a hash is the SHA-256 of number, event, time, content and
    previous, one a line. With a key, "hmac" in a content is the HMAC of the same lines without it.
    """
    output = arguments.delivery.output
    check_output(output, arguments.ledger.files, replace=arguments.delivery.replace)
    ledger = arguments.ledger.opened()
    report = {
        "command": "ledger export",
        "sensitive": True,
        "warning": KEEP,
        **head_of(ledger),
        "rows": [asdict(row) for row in ledger.rows()],
    }
    deliver(report, lambda console: None, as_json=True, output=output)
