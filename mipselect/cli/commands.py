"""The subcommands: where each is, and its first line, so that --help imports none of them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from mipselect.cli.interruptions import Interruptions

COMMANDS = {
    "solve": ("solve", "Find the best supports of INSTANCE and prove it. The report is SENSITIVE."),
    "release": ("release", "Release supports of INSTANCE with differential privacy."),
    "select": ("select", "Release supports straight from a table, with differential privacy."),
    "fit": (
        "fit",
        "Release a linear model of a table: which features, and their coefficients.",
    ),
    "predict": (
        "predict",
        "Predict the target for every row of DATA, in the order of the rows.",
    ),
    "describe": ("describe", "Begin the public schema of DATA, and list what you must fill in."),
    "moments": (
        "moments",
        "Add up squares and products over all rows of DATA, exactly, in one pass.",
    ),
    "plan": (
        "plan",
        "Say what to expect of a table before it is opened, and help with the public choices.",
    ),
    "compare": (
        "compare",
        "Find the mistake levels of each INSTANCE with several solvers. The report is SENSITIVE.",
    ),
    "bench": (
        "bench",
        "Run every selector on the same data and compare what it finds with the certified optimum.",
    ),
    "plot": (
        "plot",
        "Draw the trials in FILE: a line for each selector, a panel for each instance.",
    ),
    "reproduce": (
        "reproduce",
        "Make the papers' figures and tables again, and say what of their claims was seen.",
    ),
    "instances": ("listings", "List the stored instances."),
    "solvers": (
        "listings",
        "List the back ends that are installed, and whether they can be used here.",
    ),
    "demo": (
        "demo",
        "Run the main job on two stored instances: search, proof, exact private draw.",
    ),
    "card": (
        "card",
        "Write the privacy card of a release: what was done, what is promised, who answers for it.",
    ),
    "ledger": ("ledger", "Keep a privacy budget in a file: create, show, verify, export."),
}
"""Their modules in `mipselect.cli`, and the first lines of their help, in the order of --help."""


class CommandGroup(TyperGroup):
    """Imports the one command that is asked for, and only then lets signals raise."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Put the command itself in the place of its first line."""
        if args[0] in COMMANDS:
            self.commands[args[0]] = imported(args[0])
        if interruptions := ctx.find_object(Interruptions):
            interruptions.raise_from_now_on()
        return super().resolve_command(ctx, args)


def imported(name: str) -> Any:
    """Import the module of a command, which takes NumPy and SciPy along, and make the command."""
    module = import_module(f"mipselect.cli.{COMMANDS[name][0]}")
    alone = typer.Typer()
    if name == "ledger":
        alone.add_typer(module.app, name=name)
    else:
        alone.command(name, epilog=getattr(module, "EXAMPLES", None))(getattr(module, name))
    return get_group(alone).commands[name]


def add_first_lines(app: typer.Typer) -> None:
    """Add every command to `app` as its name and its first line."""
    for name, (_, first_line) in COMMANDS.items():
        app.command(name, help=first_line)(_first_line)


def _first_line() -> None:
    """Stand for a command until `CommandGroup` puts it here."""
