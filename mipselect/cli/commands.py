"""The subcommands: where each is declared, and its first line, so that --help imports none."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from mipselect.cli.start import say

OWN = {
    "solve": (
        "solve_options",
        "Find the best supports of INSTANCE and prove it. The report is SENSITIVE.",
    ),
    "release": ("release_options", "Release supports of INSTANCE with differential privacy."),
    "select": (
        "select_options",
        "Release supports straight from a table, with differential privacy.",
    ),
    "fit": (
        "fit_options",
        "Release a linear model of a table: which features, and their coefficients.",
    ),
    "predict": (
        "predict_options",
        "Predict the target for every row of DATA, in the order of the rows.",
    ),
    "evaluate": (
        "evaluate_options",
        "Say how good a model is on the rows of DATA, with differential privacy.",
    ),
    "describe": (
        "describe_options",
        "Begin the public schema of DATA, and list what you must fill in.",
    ),
    "check": (
        "check_options",
        "Compare DATA with its schema, before ε is spent. The report is SENSITIVE.",
    ),
    "moments": (
        "moments_options",
        "Add up squares and products over all rows of DATA, exactly, in one pass.",
    ),
    "plan": (
        "plan",
        "Say what to expect of a table before it is opened, and help with the public choices.",
    ),
    "compare": (
        "compare_options",
        "Find the mistake levels of each INSTANCE with several solvers. The report is SENSITIVE.",
    ),
    "export": (
        "export",
        "Write the model of the best support of INSTANCE as a file. It is SENSITIVE.",
    ),
    "import-solution": (
        "import_solution",
        "Compute the value of the support that another solver found. The report is SENSITIVE.",
    ),
    "instances": ("listings_options", "List the stored instances."),
    "solvers": (
        "listings_options",
        "List the back ends that are installed, and whether they can be used here.",
    ),
    "demo": (
        "demo_options",
        "Run the main job on two stored instances: search, proof, exact private draw.",
    ),
    "report": (
        "report_options",
        "Write a report on releases for everybody: results, guarantee, costs, how to cite.",
    ),
    "ledger": ("ledger_options", "Keep a privacy budget in a file: create, show, verify, export."),
    "schema": (
        "schema_options",
        "Fill in a public schema in a spreadsheet, and confirm its types: to-csv, from-csv, "
        "confirm.",
    ),
}
"""The commands of this package, in the order of --help: the module that declares each, which
imports nothing that takes long, and the first line of its help."""


def function_name(command: str) -> str:
    """Return the name that a command has in its module."""
    return command.replace("-", "_")


GROUP = "mipselect.commands"
"""Entry points of other packages: each a mapping like `OWN`, but with full names of modules, in a
module that imports nothing."""


@cache
def known_commands() -> Mapping[str, tuple[str, str]]:
    """Return every command: first those of this package, then those of installed packages by name.

    A package that cannot be loaded is named on standard error, and its commands are missing.
    """
    found = {name: (f"{__package__}.{module}", line) for name, (module, line) in OWN.items()}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            others = point.load()
        except (ImportError, AttributeError) as error:
            say(f"the commands of {point.value} cannot be loaded: {error}")
            continue
        found |= {name: command for name, command in others.items() if name not in found}
    return found


class CommandGroup(TyperGroup):
    """Imports the one command that was named."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Put the command itself in the place of its first line."""
        if args[0] in known_commands():
            self.commands[args[0]] = imported(args[0])
        return super().resolve_command(ctx, args)


def imported(name: str) -> Any:
    """Import the module that declares a command, and make the command.

    A module with an `app` is a group of commands.
    """
    from mipselect.cli.project import with_project

    module = import_module(known_commands()[name][0])
    alone = typer.Typer()
    if hasattr(module, "app"):
        alone.add_typer(module.app, name=name)
    else:
        epilog, run = getattr(module, "EXAMPLES", None), getattr(module, function_name(name))
        alone.command(name, epilog=epilog)(run if name not in OWN else with_project(name, run))
    return get_group(alone).commands[name]


def add_first_lines(app: typer.Typer) -> None:
    """Add every command to `app` as its name and its first line."""
    for name, (_, first_line) in known_commands().items():
        app.command(name, help=first_line)(_first_line)


def _first_line() -> None:
    """Stand for a command until `CommandGroup` puts it here."""
