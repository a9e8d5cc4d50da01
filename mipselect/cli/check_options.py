"""Arguments and help of `mipselect check`."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from mipselect.cli.declared import command_in, group, option, options, required
from mipselect.cli.options import Delivery
from mipselect.cli.table_options import SCHEMA, TABLE_PANEL, SchemaOptions, TableArgument

EXAMPLES = """Examples:

mipselect check patients.csv --schema patients.schema.json --target los_days

mipselect check patients.csv --schema patients.schema.json \\
    --target los_days --output check.html
"""


@options
class CheckArguments:
    """Arguments of `check`."""

    table: TableArgument = group(TableArgument)
    schema: Path = required("--schema", SCHEMA, metavar="FILE", panel=TABLE_PANEL)
    target: str | None = option("--target", "The column to predict; it is looked at as such.")
    question: SchemaOptions = group(
        SchemaOptions, without=("--always", "--no-intercept", "--unit-rule")
    )
    delivery: Delivery = group(
        Delivery,
        help={"--output": "Also write a page (FILE.html), or the JSON object, to FILE."},
    )

    @property
    def head(self) -> dict[str, Any]:
        """First entries of a report."""
        return {
            "command": "check",
            **self.table.head,
            "schema": str(self.schema),
            **({} if self.target is None else {"target": self.target}),
            "mipselect": version("mipselect"),
        }


@command_in("mipselect.cli.check")
def check(arguments: CheckArguments) -> None:
    """Compare DATA with its schema, before ε is spent. The report is SENSITIVE.

    For each field: how many values are clipped by the range, in no list of
    categories, missing or unreadable, with the most frequent of those that do not
    fit; fields that are constant; persons with several rows; with --target also
    rare classes. Each finding is one line that says what would be right. The exit
    code is 0, whatever is found.

    Ranges and categories are corrected from a codebook, never from this report:
    what is chosen because of the data is no public knowledge.
    """
