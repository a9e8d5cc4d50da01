"""`mipselect instances` and `mipselect solvers`: what is there."""

from __future__ import annotations

from dataclasses import asdict

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mipselect.cli.options import AsJson
from mipselect.cli.output import deliver
from mipselect.data.files import stored_instances
from mipselect.search import SolverStatus, known_solvers

EXAMPLES = """Examples:

mipselect instances

mipselect solvers --json
"""


def instances(as_json: AsJson = False) -> None:
    """List the stored instances."""
    listed = stored_instances()

    def render(console: Console) -> None:
        table = Table()
        for heading in ("name", "n", "p", "features", "s", "source", "description"):
            number = len(heading) == 1 or heading == "features"
            table.add_column(heading, justify="right" if number else "left")
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
    deliver(report, render, as_json=as_json, output=None)


def solvers(as_json: AsJson = False) -> None:
    """List the back ends that are installed, and whether they can be used here."""
    known = known_solvers().values()

    def render(console: Console) -> None:
        table = Table()
        for heading in ("name", "usable", "version", "can do", "remark"):
            table.add_column(heading)
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
                "name": solver.name,
                "usable": solver.usable,
                "version": solver.version,
                "capabilities": sorted(solver.capabilities),
                "reason": solver.reason,
                "limit": asdict(solver.limit) if solver.limit else None,
            }
            for solver in known
        ],
    }
    deliver(report, render, as_json=as_json, output=None)


def _limit(solver: SolverStatus) -> str:
    """The largest model that the licence allows, if there is one."""
    if solver.limit is None:
        return ""
    return (
        f"licence for {solver.limit.columns:,} columns, "
        f"{solver.limit.quadratic_columns:,} with quadratic terms"
    )
