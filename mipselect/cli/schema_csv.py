"""`mipselect schema to-csv` and `from-csv`: a schema in a spreadsheet, one row a field."""

from __future__ import annotations

from pathlib import Path

from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.options import Delivery
from mipselect.cli.output import check_output, write_whole
from mipselect.cli.schema_summary import deliver_summary
from mipselect.errors import InvalidInput, about
from mipselect.tables.schema import TableSchema
from mipselect.tables.spreadsheet import read_spreadsheet, spreadsheet_of
from mipselect.validation import shown

EXAMPLES = """Examples:

mipselect schema to-csv patients.schema.json patients.schema.csv --delimiter ';'

mipselect schema from-csv patients.schema.csv patients.schema.json --replace
"""

CHARACTERS = {",": ",", ";": ";", "tab": "\t"}


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


@command
def to_csv(arguments: ToCsvArguments) -> None:
    """Write a schema as CSV for a spreadsheet: a row for each field, a column for each property.

    What has no column stands as JSON in the last one. 'schema from-csv' makes the
    same schema of it again.
    """
    given, path = arguments.schema, arguments.csv
    if arguments.delimiter not in CHARACTERS:
        raise InvalidInput(f"--delimiter must be , or ; or tab, got {shown(arguments.delimiter)}")
    check_output(path, [given], "OUT.csv", replace=arguments.delivery.replace)
    schema = TableSchema.read(given)
    with about(str(given)):
        content = spreadsheet_of(schema, CHARACTERS[arguments.delimiter])
    write_whole(path, content, sensitive=False)
    _deliver("schema to-csv", given, path, schema, arguments.delivery)


@options
class FromCsvArguments:
    """Arguments of `schema from-csv`."""

    csv: Path = argument("IN.csv", "What 'schema to-csv' wrote, filled in; UTF-8.")
    schema: Path = argument("OUT.json", "Receives the schema.")
    delivery: Delivery = group(Delivery, without=("--output",))


@command
def from_csv(arguments: FromCsvArguments) -> None:
    """Make a schema of the CSV of a spreadsheet, and check it.

    The header tells whether cells end at a comma, a semicolon or a tab. A mistake is
    named with its line and column.
    """
    given, path = arguments.csv, arguments.schema
    check_output(path, [given], "OUT.json", replace=arguments.delivery.replace)
    schema = read_spreadsheet(given)
    # Half a pair of surrogates has no UTF-8; the backslash makes it the escape of JSON.
    write_whole(path, schema.text.encode("utf-8", "backslashreplace"), sensitive=False)
    _deliver("schema from-csv", given, path, schema, arguments.delivery)


def _deliver(name: str, given: Path, path: Path, schema: TableSchema, delivery: Delivery) -> None:
    """Say what was written, and what is left to do."""
    head = {"command": name, "sensitive": False, "read": str(given), "written": str(path)}
    deliver_summary(schema, head, f"{path}:", delivery)
