"""`mipselect instances`: the instances that come with the package."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mipselect.cli.declared import command, group, options
from mipselect.cli.output import NO_FILE, Delivery, print_table

if TYPE_CHECKING:
    from mipselect.problem.descriptions import Description

EXAMPLES = "Example: mipselect instances --json"


@options
class InstancesArguments:
    """Arguments of `instances`."""

    delivery: Delivery = group(Delivery, without=NO_FILE)


@command
def instances(arguments: InstancesArguments) -> None:
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
