"""`mipselect instances`: the instances that come with the package."""

from __future__ import annotations

from dataclasses import asdict

from rich.console import Console
from rich.markup import escape

from mipselect.cli.listings_options import ListingArguments
from mipselect.cli.output import table_of
from mipselect.problem.stored.files import stored_instances


def instances(arguments: ListingArguments) -> None:
    """Run the command."""
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
