"""`mipselect ledger`: a budget that lasts, in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mipselect import privacy
from mipselect.cli import output
from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.output import NO_FILE, Delivery, check_output, heading, line, print_table
from mipselect.errors import InvalidInput, LedgerBroken
from mipselect.privacy.guarantee import RELATIONS, Guarantee, amount
from mipselect.validation import checked_share

if TYPE_CHECKING:  # --help imports no ledger.
    from mipselect.privacy import Ledger, LedgerEntry, Statement

EXAMPLES = """Examples:

mipselect ledger create study.ledger --epsilon 3 --unit patient

mipselect release diabetes --epsilon 1 --ledger study.ledger

mipselect ledger show study.ledger
"""


FILE = ("FILE", "The file of the ledger.")

USUAL_DELTA = 1e-6
"""The δ of a stated guarantee where the ledger has none of its own."""

KEEP = (
    "Keep this with the data: that a charge has no release, and when a draw was charged, may "
    "depend on them."
)


@options
class CreateArguments:
    """Arguments of `ledger create`."""

    file: Path = argument(*FILE)
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
        choices=RELATIONS,
    )
    unit: str = option(
        "--unit", 'Whom or what one row stands for, such as "patient".', default="row"
    )
    delivery: Delivery = group(Delivery, without=NO_FILE)


@options
class ShowArguments:
    """Arguments of `ledger show`."""

    file: Path = argument(*FILE)
    delta: float | None = option(
        "--delta",
        "At which the guarantee of all releases together is stated.",
        show_default="that of the ledger, or 1e-6",
    )
    delivery: Delivery = group(Delivery)


@options
class VerifyArguments:
    """Arguments of `ledger verify`."""

    file: Path = argument(*FILE)
    head: str | None = option(
        "--head",
        "A hash that was written down before, as it stands in a release; its row must still be "
        "there.",
        metavar="HASH",
    )
    delivery: Delivery = group(Delivery, without=NO_FILE)


@options
class ExportArguments:
    """Arguments of `ledger export`."""

    file: Path = argument(*FILE)
    delivery: Delivery = group(Delivery, without=("--json",))


@command
def create(arguments: CreateArguments) -> None:
    """Make a ledger in a new FILE. What it counts is fixed from then on.

    A file is never replaced. Keep it on a disk of one machine, and keep one copy: a second copy is
    a second budget.
    """
    if (arguments.epsilon is None) == (arguments.rho is None):
        raise InvalidInput("a ledger counts ε or ρ: give --epsilon or --rho, one of them")
    file, terms = arguments.file, ("epsilon", "delta", "relation", "unit", "rho")
    ledger = privacy.Ledger.create(file, **output.picked(arguments, *terms))
    arguments.delivery.deliver(
        {"command": "ledger create", "sensitive": False, "file": str(file), **ledger.to_dict()},
        lambda console: line(console, f"{file}: a ledger with a budget of {ledger.in_words}."),
    )


@command
def show(arguments: ShowArguments) -> None:
    """Show what was charged to FILE, what is left, and the guarantee of all of it together."""
    file, delta, delivery = arguments.file, arguments.delta, arguments.delivery
    check_output(delivery.output, [file], replace=delivery.replace)
    ledger = privacy.Ledger.open(file)
    at = delta if delta is not None else (ledger.budget.delta or USUAL_DELTA)
    checked_share(at, "--delta", closed=False)
    entries = ledger.entries
    found = privacy.statements(entries, at, ledger.currency) if entries else ()
    spent, remaining = ledger.spent, ledger.remaining
    report: dict[str, Any] = {
        "command": "ledger show",
        "sensitive": bool(entries),
        "file": str(file),
        **ledger.to_dict(),
        "spent": spent.to_dict(),
        "remaining": remaining.to_dict(),
        "entries": [
            {"number": k, **vars(entry), "guarantee": entry.guarantee.to_dict()}
            for k, entry in enumerate(entries, start=1)
        ],
        "together": [asdict(statement) for statement in found],
    }

    def render(console: Console) -> None:
        heading(console, f"{file.name}: a budget of {ledger.in_words}")
        _print_entries(console, entries)
        console.print(f"Spent: {spent}.", markup=False)
        console.print(f"Left: {_left(ledger, remaining)}.", markup=False)
        if found:
            _print_statements(console, found)
        if not spent.private:
            console.print("A draw was seeded: all of it together has no guarantee.")
        if entries:
            console.print(KEEP)

    delivery.deliver(report, render)


@command
def verify(arguments: VerifyArguments) -> None:
    """Check every row and every page of FILE, and name the first row that does not fit.

    The chain of hashes shows damage, and edits that do not compute it again from there on. Those
    that do, an end that was cut off, and an older copy that was put back are found by a hash that
    was kept elsewhere: --head.
    """
    file, ledger = arguments.file, privacy.Ledger.open(arguments.file)
    rows = ledger.rows()
    if arguments.head is not None and arguments.head not in (row.hash for row in rows):
        raise LedgerBroken(
            f"{file}: no row has the hash of --head: rows were taken away, or it is another copy "
            "or another ledger"
        )
    last = rows[-1]
    report = {
        "command": "ledger verify",
        "sensitive": False,
        "file": str(file),
        "identity": ledger.identity,
        "rows": len(rows),
        "head": {"number": last.number, "hash": last.hash},
    }
    words = f"{file}: {len(rows)} rows, all in order; the last is row {last.number}, {last.hash}"
    arguments.delivery.deliver(report, lambda console: line(console, words))


@command
def export(arguments: ExportArguments) -> None:
    """Print every row of FILE as one JSON object, exactly as it is stored, with its hash.

    Anybody can check the chain from it: a hash is the SHA-256 of number, event, time, content and
    previous, one a line.
    """
    delivery = replace(arguments.delivery, as_json=True)
    check_output(delivery.output, [arguments.file], replace=delivery.replace)
    ledger = privacy.Ledger.open(arguments.file)
    report = {
        "command": "ledger export",
        "sensitive": True,
        "warning": KEEP,
        **ledger.to_dict(),
        "rows": [row._asdict() for row in ledger.rows()],
    }
    delivery.deliver(report, lambda console: None)


def _left(ledger: Ledger, remaining: Guarantee) -> str:
    """Say in words what is left, in the currency of the ledger."""
    if ledger.currency == "rho":
        return (
            f"ρ = {remaining.rho:.15g}, such as one pure draw at ε = {remaining.epsilon:.6g}, or "
            f"one draw from an exponential mechanism at ε = {2 * remaining.epsilon:.6g}"
        )
    return amount(remaining)


def _print_entries(console: Console, entries: Sequence[LedgerEntry]) -> None:
    """Print what was charged, a line each, with its row of the file."""
    titles = ("row", "time (UTC)", "what", "table", "target", "ε", "δ", "ρ", "remark")
    rows = []
    for entry in entries:
        guarantee, rho, asked = entry.guarantee, entry.guarantee.concentrated, entry.asked or {}
        number, epsilon = str(entry.row), f"{guarantee.epsilon:.15g}"
        delta, rho_told = f"{guarantee.delta:.15g}", None if rho is None else f"{rho:.6g}"
        remark = None if guarantee.private else "seeded: no guarantee"
        what = (entry.time, entry.what, output.table_named(asked), asked.get("target"))
        rows.append((number, *what, epsilon, delta, rho_told, remark))
    print_table(console, titles, rows, left=[title for title in titles if title not in "εδρ"])


def _print_statements(console: Console, found: tuple[Statement, ...]) -> None:
    """Print the joint guarantee of all entries, counted in several ways."""
    heading(console, "All of it together, counted in two ways")
    said = [one for one in found if one.epsilon is not None]
    least, rows = min(said, key=lambda one: (one.epsilon, one.delta)), []
    for one in found:
        epsilon = "" if one.epsilon is None else f"{one.epsilon:.6g}{' *' * (one is least)}"
        rows.append((one.way, epsilon, f"{one.delta:.6g}", one.meaning))
    print_table(console, ("way", "ε", "δ", "what holds"), rows, left=("way", "what holds"))
    console.print("* the least ε. Only the currency of the ledger decides what is still allowed.")


PARTS = {"ledger": (create, show, verify, export)}
"""Commands of the group."""
