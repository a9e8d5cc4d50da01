"""`mipselect solvers`: the back ends that are there."""

from __future__ import annotations

from dataclasses import asdict

from rich.console import Console

from mipselect.backends.discovery import known_solvers
from mipselect.cli.declared import command, group, options
from mipselect.cli.output import NO_FILE, Delivery, picked, print_table

EXAMPLES = "Example: mipselect solvers --json"


@options
class SolversArguments:
    """Arguments of `solvers`."""

    delivery: Delivery = group(Delivery, without=NO_FILE)


@command
def solvers(arguments: SolversArguments) -> None:
    """List the back ends that are installed, and whether they can be used here."""
    known = known_solvers().values()

    def render(console: Console) -> None:
        titles, rows = ("name", "usable", "version", "remark"), []
        for solver in known:
            limit = f"licence for {solver.limit.columns:,} columns" if solver.limit else ""
            usable = "yes" if solver.usable else "no"
            rows.append((solver.name, usable, solver.version, solver.reason or limit))
        print_table(console, titles, rows, left=titles)

    report = {
        "sensitive": False,
        "solvers": [
            {
                **picked(solver, "name", "usable", "version", "reason"),
                "limit": asdict(solver.limit) if solver.limit else None,
            }
            for solver in known
        ],
    }
    arguments.delivery.deliver(report, render)
