"""`mipselect describe`: the beginning of a public schema, and what a person must fill in."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape

from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.options import Delivery
from mipselect.cli.output import check_output, deliver, line, table_of, write_whole
from mipselect.cli.streams import say
from mipselect.errors import InvalidInput
from mipselect.tables.fields import Field
from mipselect.tables.schema import TableSchema

EXAMPLES = """Examples:

mipselect describe patients.parquet --output patients.schema.json

mipselect describe patients.parquet --schema patients.schema.json
"""

FROM_WHERE = (
    "Fill in ranges and categories from a codebook or the design of the study, never from the "
    "data: they are public, and every release shows them."
)
TYPICAL = (
    "Of a number write the typical range, where nearly all values lie, not the possible one: the "
    "noise of coefficients grows with the ranges, and ones that are five times too wide cost about "
    "four times the ε. Values beyond are clipped. Where nobody can state one, leave it out: fields "
    "can be drawn without, and 'mipselect fit --ranges private' draws the ranges of those too."
)
NO_TYPES = (
    "A CSV file has no types, so every field begins as a string: make it an integer, number or "
    "boolean where it is one."
)


@options
class DescribeArguments:
    """Arguments of `describe`."""

    data: str = argument(
        "DATA", "A .csv, .csv.gz, .parquet, .arrow or .feather file, a folder or a pattern."
    )
    schema: Path | None = option(
        "--schema", "Check this schema in place of a new one.", metavar="FILE"
    )
    delivery: Delivery = group(
        Delivery,
        help={"--output": "Write the schema to FILE, which must be new, for you to fill in."},
    )


@command
def describe(arguments: DescribeArguments) -> None:
    """Begin the public schema of DATA, and list what you must fill in.

    Only names and stored types are looked at: no range, no category and no number
    of rows is taken from the data.
    """
    data, schema, output = arguments.data, arguments.schema, arguments.delivery.output
    check_output(output)
    if output is not None and output.exists():
        raise InvalidInput(f"--output {output}: exists, and may hold what somebody has filled in")
    skeleton = TableSchema.skeleton(data)
    described = skeleton if schema is None else TableSchema.read(schema)
    there = {field.name for field in skeleton.fields}
    absent = [field.name for field in described.fields if field.name not in there]
    if absent and schema is not None:
        raise InvalidInput(f"{schema}: {data} has no column {', '.join(absent)}")
    if output is not None:
        write_whole(output, described.text.encode(), sensitive=False)

    def render(console: Console) -> None:
        titles = ("field", "type", "becomes", "to fill in")
        table = table_of(*titles, fold=titles)
        for field in described.fields:
            is_unit = field.name == described.privacy_unit
            becomes = "whose row it is" if is_unit else _becomes(field)
            table.add_row(escape(field.name), field.type, becomes, "" if is_unit else field.gap)
        console.print(table)
        if schema is None and all(field.type == "string" for field in described.fields):
            console.print(NO_TYPES, soft_wrap=True)
        console.print(FROM_WHERE, soft_wrap=True)
        console.print(TYPICAL, soft_wrap=True)
        if output is not None:
            line(console, f"Written to {output}.")

    report = {
        "sensitive": False,
        "command": "describe",
        "data": data,
        "fields": [
            {"name": field.name, "type": field.type, "to_fill_in": field.gap}
            for field in described.fields
        ],
        "schema": described.content,
        "advice": f"{FROM_WHERE} {TYPICAL}",
    }
    deliver(report, render, as_json=arguments.delivery.as_json, output=None)
    ignored = len(skeleton.fields) - len(described.fields)
    if schema is not None and ignored:
        say(f"note: {ignored} columns of {data} are not in the schema and will be ignored")


def _becomes(field: Field) -> str:
    """In words, what a field is for the selection."""
    if field.gap:
        return ""
    if field.role is not None:
        return f"how much a row counts, 0 to {field.maximum:g}"
    missing = "" if field.required else " and =missing"
    if field.type == "boolean":
        return f"-1 or +1{missing}"
    if field.categories is None:
        return f"{field.minimum:g} to {field.maximum:g}{missing}"
    k = len(field.categories)
    return f"{k} {'ordered ' if field.ordered else ''}categories{missing}"
