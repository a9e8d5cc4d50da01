"""Arguments and help of `mipselect schema`."""

from __future__ import annotations

from pathlib import Path

from mipselect.cli.declared import argument, command_in, group, option, options
from mipselect.cli.options import NO_FILE, Delivery

CSV_EXAMPLES = """Examples:

mipselect schema to-csv patients.schema.json patients.schema.csv --delimiter ';'

mipselect schema from-csv patients.schema.csv patients.schema.json --replace
"""


CONFIRM_EXAMPLES = """Examples:

mipselect schema confirm patients.schema.json

mipselect schema confirm patients.schema.json --yes
"""


EXAMPLES = """Examples:

mipselect schema to-csv patients.schema.json patients.schema.csv

mipselect schema from-csv patients.schema.csv filled.schema.json

mipselect schema confirm patients.schema.json
"""


@options
class ToCsvArguments:
    """Arguments of `schema to-csv`."""

    schema: Path = argument("SCHEMA.json", "A Table Schema; see 'mipselect describe'.")
    csv: Path = argument("OUT.csv", "Receives one row for each field.")
    delimiter: str = option(
        "--delimiter",
        "Between cells; with ';' minima and maxima have a decimal comma.",
        default=",",
        metavar=",|;|tab",
    )
    delivery: Delivery = group(Delivery, without=("--output",))


@options
class FromCsvArguments:
    """Arguments of `schema from-csv`."""

    csv: Path = argument("IN.csv", "What 'schema to-csv' wrote, filled in; UTF-8.")
    schema: Path = argument("OUT.json", "Receives the schema.")
    delivery: Delivery = group(Delivery, without=("--output",))


@options
class ConfirmArguments:
    """Arguments of `schema confirm`."""

    file: Path = argument("FILE", "The schema, as 'mipselect describe --types-from-data' wrote it.")
    yes: bool = option("--yes", "All of them are public knowledge.", default=False)
    delivery: Delivery = group(Delivery, without=NO_FILE)


@command_in("mipselect.cli.schema")
def to_csv(arguments: ToCsvArguments) -> None:
    """Write a schema as CSV for a spreadsheet: a row for each field, a column for each property.

    What has no column stands as JSON in the last one. 'schema from-csv' makes the
    same schema of it again.
    """


@command_in("mipselect.cli.schema")
def from_csv(arguments: FromCsvArguments) -> None:
    """Make a schema of the CSV of a spreadsheet, and check it.

    The header tells whether cells end at a comma, a semicolon or a tab. A mistake is
    named with its line and column.
    """


@command_in("mipselect.cli.schema")
def confirm(arguments: ConfirmArguments) -> None:
    """Confirm that the types which were proposed from the data are public knowledge.

    Without --yes they are listed; with it the marks are removed and the file is
    written. Correct a type that is wrong in the file first.
    """


PARTS = {to_csv: CSV_EXAMPLES, from_csv: CSV_EXAMPLES, confirm: CONFIRM_EXAMPLES}
"""Commands of this group, each with its examples."""
