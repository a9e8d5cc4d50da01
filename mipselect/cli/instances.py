"""`mipselect instances` and `mipselect solvers`: what comes with the package, or is installed."""

from __future__ import annotations

import csv
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mipselect.cli.declared import command, group, options
from mipselect.cli.output import NO_FILE, Delivery, picked, print_table

if TYPE_CHECKING:
    from mipselect.problem.descriptions import Description

EXAMPLES = """Examples:

mipselect instances --json

mipselect solvers --json
"""


@options
class ListingArguments:
    """Arguments of both."""

    delivery: Delivery = group(Delivery, without=NO_FILE)


@command
def instances(arguments: ListingArguments) -> None:
    """List the stored instances."""
    from mipselect.problem.descriptions import read_description, stored_names

    listed = [{"name": name, **_in_short(read_description(name))} for name in stored_names()]

    def render(console: Console) -> None:
        texts = ("name", "source", "description")
        titles = ("name", "n", "p", "features", "s", "source", "description")
        print_table(console, titles, (list(entry.values()) for entry in listed), left=texts)

    arguments.delivery.deliver({"sensitive": False, "instances": listed}, render)


def _in_short(described: Description) -> dict[str, Any]:
    """Return what is listed of an instance of the package; no recipe is run for it."""
    folder, data, settings = described.path.parent, described.data, described.settings
    n: int | None
    if data["source"] == "table":
        with (folder / data["path"]).open(encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        n, p = len(rows), len(header) - 1
    else:
        n, p, _ = described.source.head(data, folder)
    return {
        "n": n,
        "p": p,
        "n_features": len(settings.get("groups") or range(p - len(settings.get("always", ())))),
        "support_size": settings["support_size"],
        "source": data["source"],
        "description": described.instance.get("description", ""),
    }


@command
def solvers(arguments: ListingArguments) -> None:
    """List the back ends that are installed, and whether they can be used here."""
    from mipselect.backends import known_solvers

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
