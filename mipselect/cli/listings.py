"""`mipselect instances` and `mipselect solvers`: what is there."""

from __future__ import annotations

from dataclasses import asdict

from rich.console import Console
from rich.markup import escape

from mipselect.cli.declared import command, group, options
from mipselect.cli.options import NO_FILE, Delivery
from mipselect.cli.output import picked, table_of
from mipselect.problem.stored.files import stored_instances
from mipselect.search import SolverStatus, known_solvers

EXAMPLES = """Examples:

mipselect instances

mipselect solvers --json
"""


@options
class ListingArguments:
    """Arguments of `instances` and of `solvers`."""

    delivery: Delivery = group(Delivery, without=NO_FILE)


@command
def instances(arguments: ListingArguments) -> None:
    """List the stored instances."""
    listed = stored_instances()

    def render(console: Console) -> None:
        numbers = ("n", "p", "features", "s")
        table = table_of("name", *numbers, "source", "description", right=numbers)
        for entry in listed:
            table.add_row(
                entry.name,
                f"{entry.n:,}",
                f"{entry.p:,}",
                f"{entry.n_features:,}",
                str(entry.support_size),
                entry.source,
                escape(entry.description),
            )
        console.print(table)

    report = {"sensitive": False, "instances": [asdict(entry) for entry in listed]}
    arguments.delivery.deliver(report, render)


@command
def solvers(arguments: ListingArguments) -> None:
    """List the back ends that are installed, and whether they can be used here."""
    known = known_solvers().values()

    def render(console: Console) -> None:
        table = table_of("name", "usable", "version", "can do", "remark")
        for solver in known:
            table.add_row(
                solver.name,
                "yes" if solver.usable else "no",
                solver.version,
                ", ".join(sorted(solver.capabilities)),
                escape(solver.reason or _limit(solver)),
            )
        console.print(table)

    report = {
        "sensitive": False,
        "solvers": [
            {
                **picked(solver, "name", "usable", "version", "reason"),
                "capabilities": sorted(solver.capabilities),
                "limit": asdict(solver.limit) if solver.limit else None,
            }
            for solver in known
        ],
    }
    arguments.delivery.deliver(report, render)


def _limit(solver: SolverStatus) -> str:
    """Describe the largest model that the licence allows, if there is a limit."""
    if solver.limit is None:
        return ""
    return (
        f"licence for {solver.limit.columns:,} columns, "
        f"{solver.limit.quadratic_columns:,} with quadratic terms"
    )
