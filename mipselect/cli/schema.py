"""`mipselect schema`: fill in a schema in a spreadsheet, and confirm its types."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.describe import gaps_of
from mipselect.cli.output import NO_FILE, Delivery, check_output, check_writable, line, write_whole
from mipselect.errors import InvalidInput, about
from mipselect.validation import listed, shown

if TYPE_CHECKING:
    from mipselect.tables.fields import Field
    from mipselect.tables.schema import TableSchema

EXAMPLES = """Examples:

mipselect schema to-csv patients.schema.json patients.schema.csv \\
    --delimiter ';'

mipselect schema from-csv patients.schema.csv filled.schema.json

mipselect schema confirm patients.schema.json --yes
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


CHARACTERS = {",": ",", ";": ";", "tab": "\t"}


@command
def to_csv(arguments: ToCsvArguments) -> None:
    """Write a schema as CSV for a spreadsheet: a row for each field, a column for each property.

    What has no column stands as JSON in the last one. 'schema from-csv' makes the
    same schema of it again.
    """
    from mipselect.tables.schema import TableSchema
    from mipselect.tables.spreadsheet import spreadsheet_of

    given, path = arguments.schema, arguments.csv
    if arguments.delimiter not in CHARACTERS:
        raise InvalidInput(f"--delimiter must be , or ; or tab, got {shown(arguments.delimiter)}")
    check_output(path, [given], "OUT.csv", replace=arguments.delivery.replace)
    schema = TableSchema.read(given)
    with about(str(given)):
        content = spreadsheet_of(schema, CHARACTERS[arguments.delimiter])
    write_whole(path, content, sensitive=False)
    _deliver("schema to-csv", given, path, schema, arguments.delivery)


@command
def from_csv(arguments: FromCsvArguments) -> None:
    """Make a schema of the CSV of a spreadsheet, and check it.

    The header tells whether cells end at a comma, a semicolon or a tab. A mistake is
    named with its line and column.
    """
    from mipselect.tables.spreadsheet import read_spreadsheet

    given, path = arguments.csv, arguments.schema
    check_output(path, [given], "OUT.json", replace=arguments.delivery.replace)
    schema = read_spreadsheet(given)
    # Half a pair of surrogates has no UTF-8; the backslash makes it the escape of JSON.
    write_whole(path, schema.text.encode("utf-8", "backslashreplace"), sensitive=False)
    _deliver("schema from-csv", given, path, schema, arguments.delivery)


def _deliver(name: str, given: Path, path: Path, schema: TableSchema, delivery: Delivery) -> None:
    """Say what was written, and what is left to do."""
    gaps = gaps_of(schema)
    to_confirm = [field.name for field in schema.fields if field.type_proposed]
    count = len(schema.fields)
    parts = [f"{count} field{'s' * (count != 1)}"]
    if gaps:
        parts.append(f"to fill in: {listed(list(gaps))}")
    if to_confirm:
        parts.append(f"types to confirm: {listed(to_confirm)}")
    report = {
        "command": name,
        "sensitive": False,
        "read": str(given),
        "written": str(path),
        "fields": count,
        "to_fill_in": gaps,
        "to_confirm": to_confirm,
    }
    delivery.deliver(report, lambda console: line(console, f"{path}: {'; '.join(parts)}"))


@command
def confirm(arguments: ConfirmArguments) -> None:
    """Confirm that the types which were proposed from the data are public knowledge.

    Without --yes they are listed; with it the marks are removed and the file is
    written. Correct a type that is wrong in the file first.
    """
    from mipselect.tables.described import confirmed
    from mipselect.tables.schema import TableSchema

    file = arguments.file
    schema = TableSchema.read(file)
    check_writable(file)
    proposed = [field for field in schema.fields if field.type_proposed]
    if proposed and not arguments.yes:
        raise InvalidInput(
            f"{file}: proposed from the data were {'; '.join(map(_type_of, proposed))}. Where each "
            "is known without them, from a codebook or the design of the study, give --yes"
        )
    if proposed:
        write_whole(file, confirmed(schema).text.encode(), sensitive=False)

    def render(console: Console) -> None:
        if not proposed:
            line(console, f"{file}: no type was proposed from the data; nothing to confirm.")
            return
        line(console, f"{file}: confirmed the types of {len(proposed)} fields.")

    report = {
        "sensitive": False,
        "command": "schema confirm",
        "schema": str(file),
        "confirmed": {field.name: field.type for field in proposed},
    }
    arguments.delivery.deliver(report, render)


def _type_of(field: Field) -> str:
    """Write name, type and role, with the texts of a boolean where they are not true and false."""
    from mipselect.tables.fields import TRUE

    texts = f" ({field.true_values[0]} or {field.false_values[0]})"
    others = texts if field.type == "boolean" and field.true_values != TRUE else ""
    role = "" if field.role is None else f", {field.role}"
    return f"{field.name} {field.type}{others}{role}"


PARTS = (to_csv, from_csv, confirm)
"""Commands of this group."""
