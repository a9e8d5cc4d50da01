"""Arguments and help of `mipselect ledger`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mipselect.cli.declared import argument, command_in, group, option, options
from mipselect.cli.options import NO_FILE, Delivery

EXAMPLES = """Examples:

mipselect ledger create study.ledger --epsilon 3 --unit patient

mipselect release diabetes --epsilon 1 --ledger study.ledger

mipselect ledger show study.ledger
"""


FILE = ("FILE", "The file of the ledger.")


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
        metavar="replace-one|add-remove",
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


@command_in("mipselect.cli.ledger")
def create(arguments: CreateArguments) -> None:
    """Make a ledger in a new FILE. What it counts is fixed from then on.

    A file is never replaced. Keep it on a disk of one machine, and keep one copy: a second copy is
    a second budget.
    """


@command_in("mipselect.cli.ledger")
def show(arguments: ShowArguments) -> None:
    """Show what was charged to FILE, what is left, and the guarantee of all of it together."""


@command_in("mipselect.cli.ledger")
def verify(arguments: VerifyArguments) -> None:
    """Check every row and every page of FILE, and name the first row that does not fit.

    The chain of hashes shows damage, and edits that do not compute it again from there on. Those
    that do, an end that was cut off, and an older copy that was put back are found by a hash that
    was kept elsewhere: --head.
    """


@command_in("mipselect.cli.ledger")
def export(arguments: ExportArguments) -> None:
    """Print every row of FILE as one JSON object, exactly as it is stored, with its hash.

    Anybody can check the chain from it: a hash is the SHA-256 of number, event, time, content and
    previous, one a line.
    """


PARTS: dict[Callable[..., None], None] = dict.fromkeys((create, show, verify, export))
"""Commands of this group, without examples of their own."""
