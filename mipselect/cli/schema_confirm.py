"""`mipselect schema confirm`: a person says that types which were proposed are public."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.options import NO_FILE, Delivery
from mipselect.cli.output import check_writable, line, table_of, write_whole
from mipselect.cli.streams import say
from mipselect.errors import InvalidInput
from mipselect.tables.fields import TRUE, Field
from mipselect.tables.proposed_types import confirmed
from mipselect.tables.schema import TableSchema

EXAMPLES = """Examples:

mipselect schema confirm patients.schema.json

mipselect schema confirm patients.schema.json --yes
"""

QUESTION = (
    "Is each of these types and roles known without the data, from a codebook or the design of the "
    "study?"
)


@options
class ConfirmArguments:
    """Arguments of `schema confirm`."""

    file: Path = argument("FILE", "The schema, as 'mipselect describe --types-from-data' wrote it.")
    yes: bool = option("--yes", "Do not ask: all types are public.", default=False)
    delivery: Delivery = group(Delivery, without=NO_FILE)


@command
def confirm(arguments: ConfirmArguments) -> None:
    """Confirm that the types which were proposed from the data are public knowledge.

    They are listed, and after a yes the marks are removed and the file is written.
    Correct a type that is wrong in the file first.
    """
    file = arguments.file
    schema = TableSchema.read(file)
    check_writable(file)
    proposed = [field for field in schema.fields if field.type_proposed]
    if proposed and not arguments.yes:
        _ask(proposed)
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
    """Write the type, with the texts of a boolean where they are not true and false."""
    if field.type != "boolean" or field.true_values == TRUE:
        return field.type
    return f"boolean, {escape(field.true_values[0])} or {escape(field.false_values[0])}"


def _ask(proposed: list[Field]) -> None:
    """Ask for a yes; raise `InvalidInput` for any other answer, or where nobody can answer."""
    if not sys.stdin.isatty():
        raise InvalidInput(
            "only a person can say that types are public: answer on a terminal, or give --yes"
        )
    table = table_of("field", "type", "role")
    for field in proposed:
        table.add_row(escape(field.name), _type_of(field), field.role or "")
    Console(stderr=True, highlight=False).print(table)
    say(f"{QUESTION} [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise InvalidInput("nothing was confirmed, and the file is as it was")
