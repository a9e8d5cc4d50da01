"""`mipselect ledger`: a budget that lasts, in a file."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from mipselect.cli.ledger_entry import given_key, ledger_files
from mipselect.cli.ledger_figure import ledger_figure
from mipselect.cli.ledger_tables import (
    budget_in_words,
    entry_report,
    left_in_words,
    print_entries,
    print_statements,
)
from mipselect.cli.options import AsJson, Output
from mipselect.cli.output import check_output, deliver, heading, write_whole
from mipselect.errors import InvalidInput, LedgerBroken
from mipselect.pictures import SUFFIXES, require_matplotlib
from mipselect.privacy import Ledger
from mipselect.privacy.composition import statements
from mipselect.privacy.ledger.entries import CHARGED, FAILED
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

NOT_CHECKED = (
    "NOT CHECKED WITH ITS KEY {}, which was not given (--key-file): whoever can write to the file "
    "may have changed what follows."
)

app = typer.Typer(
    help="Keep a privacy budget in a file: create, show, verify, export.",
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file of the ledger.")]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="KEY",
        help="The key that the ledger was created with.",
        show_default="MIPSELECT_LEDGER_KEY, or none",
    ),
]


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
    key_file: Annotated[
        Path | None,
        typer.Option(
            "--key-file",
            metavar="KEY",
            help="Write every row with this key, which is made if there is no such file; without "
            "it nobody can charge, or edit unnoticed. Keep it elsewhere.",
            show_default="MIPSELECT_LEDGER_KEY, or none",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a ledger in a new FILE. What it counts is fixed from then on.

    A file is never replaced. Keep it on a disk of one machine, and keep one copy: a second copy is
    a second budget.
    """
    if (epsilon is None) == (rho is None):
        raise InvalidInput("a ledger counts ε or ρ: give --epsilon or --rho, one of them")
    key = given_key(key_file)
    ledger = Ledger.create(
        file,
        epsilon=epsilon,
        delta=delta,
        relation=relation.value,
        unit=unit,
        rho=rho,
        key_file=key,
    )

    def render(console: Console) -> None:
        console.print(f"{file}: a ledger with a budget of {budget_in_words(ledger)}.", markup=False)
        if key is not None:
            console.print(
                f"Its key is {ledger.key_identity}, in {key}: whoever charges needs it. Keep it "
                "elsewhere than the ledger, and keep a copy.",
                markup=False,
                soft_wrap=True,
            )

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
    key_file: KeyFile = None,
    output: Output = None,
) -> None:
    """Show what was charged to FILE, what is left, and what all of it promises together."""
    if plot is not None:
        if plot.suffix not in SUFFIXES:
            raise InvalidInput(f"--plot must end in {', '.join(SUFFIXES)}, got {str(plot)!r}")
        check_output(plot, ledger_files(file, key_file))
        require_matplotlib()
    check_output(output, ledger_files(file, key_file))
    ledger = Ledger.open(file, key_file=given_key(key_file))
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
        "entries": [
            {"number": k, **entry_report(entry)} for k, entry in enumerate(entries, start=1)
        ],
        "together": [asdict(statement) for statement in found],
    }
    if plot is not None:
        write_whole(plot, ledger_figure(ledger, entries, plot.suffix), sensitive=sensitive)

    def render(console: Console) -> None:
        heading(console, f"{file.name}: a budget of {budget_in_words(ledger)}")
        if ledger.locked:
            console.print(NOT_CHECKED.format(ledger.key_identity))
        print_entries(console, entries)
        console.print(f"Spent: {spent}.", markup=False)
        console.print(f"Left: {left_in_words(ledger, remaining)}.", markup=False)
        if found:
            print_statements(console, found)
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
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Check every row and every page of FILE, and name the first row that does not fit.

    The chain of hashes shows damage, and edits that do not compute it again from there on; these
    the key of a ledger shows, if it has one. That the end was not cut off, or an older copy put
    back, shows only a hash that was kept elsewhere: --head.
    """
    ledger = Ledger.open(file, key_file=given_key(key_file))
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
        console.print(
            f"{file}: {len(rows)} rows, all in order{written}; the last is row {last.number}, "
            f"{last.hash}",
            markup=False,
            soft_wrap=True,
        )

    report = {
        "command": "ledger verify",
        "sensitive": False,
        "file": str(file),
        "identity": ledger.identity,
        "key": _key(ledger),
        "rows": len(rows),
        "head": {"number": last.number, "hash": last.hash},
    }
    deliver(report, render, as_json=as_json, output=None)


@app.command()
def export(file: File, key_file: KeyFile = None, output: Output = None) -> None:
    """Print every row of FILE as one JSON object, exactly as it is stored, with its hash.

    Anybody can check the chain from it: a hash is the SHA-256 of number, event, time, content and
    previous, one a line. With a key, "hmac" in a content is the HMAC of the same lines without it.
    """
    check_output(output, ledger_files(file, key_file))
    ledger = Ledger.open(file, key_file=given_key(key_file))
    report = {
        "command": "ledger export",
        "sensitive": True,
        "warning": KEEP,
        **_head(ledger),
        "rows": [asdict(row) for row in ledger.rows()],
    }
    deliver(report, lambda console: None, as_json=True, output=output)


def _head(ledger: Ledger) -> dict[str, Any]:
    """Return what is fixed about a ledger, as part of a JSON object."""
    return {
        "identity": ledger.identity,
        "currency": ledger.currency,
        "unit": ledger.unit,
        "relation": ledger.relation,
        "budget": ledger.budget.to_dict(),
        "key": _key(ledger),
    }


def _key(ledger: Ledger) -> dict[str, Any] | None:
    """Which key there is, and whether the rows were checked with it."""
    if ledger.key_identity is None:
        return None
    return {"identity": ledger.key_identity, "checked": not ledger.locked}
