"""`mipselect describe`: the beginning of a public schema, and what a person must fill in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mipselect.cli.declared import command, group, option, options
from mipselect.cli.options import Delivery
from mipselect.cli.output import (
    SENSITIVE,
    banner,
    check_output,
    deliver,
    line,
    table_of,
    write_whole,
)
from mipselect.cli.table_options import TableArgument
from mipselect.validation import printable

if TYPE_CHECKING:
    from mipselect.tables.described import Described
    from mipselect.tables.fields import Field
    from mipselect.tables.schema import TableSchema

EXAMPLES = """Examples:

mipselect describe patients.parquet --output patients.schema.json

mipselect describe survey.sav --output survey.schema.json

mipselect describe survey.csv --delimiter ";" --codebook codebook.json
"""


@options
class DescribeArguments:
    """Arguments of `describe`."""

    table: TableArgument = group(TableArgument)
    codebook: Path | None = option(
        "--codebook",
        "Labels, categories and codes of no value from this file: a Table Schema or data package "
        "of Frictionless (JSON), or a file of SPSS, Stata or SAS.",
        metavar="FILE",
        show_default="a data package next to DATA",
    )
    types_from_data: bool = option(
        "--types-from-data",
        "Of CSV and Excel: propose integer, number, boolean, date or string from the rows, and to "
        "ignore texts that never repeat. SENSITIVE until 'mipselect schema confirm'.",
        default=False,
    )
    delivery: Delivery = group(
        Delivery,
        help={"--output": "Write the schema to FILE, for you to fill in."},
    )


FROM_WHERE = (
    "Fill in ranges and categories from a codebook or the design of the study, never from the "
    "data: they are public, and every release shows them."
)
TYPICAL = (
    "Of a number write the typical range, where nearly all values lie, not the possible one: the "
    "noise of coefficients grows with the ranges, and ones that are twenty times too wide cost up "
    "to three times the ε. Values beyond are clipped. Where nobody can state one, leave it out: "
    "fields can be drawn without, and 'mipselect fit --ranges private' draws the ranges too."
)
IDENTIFIERS = (
    "What identifies a person is no feature: name its field in csvw-eo:privacyUnit, or give it "
    '"mipselect:role": "ignored", which leaves it out of every command, as --never does of one. '
    "Leave out dates too, unless a feature is made of them, and what follows from the target."
)
COMPLETE = (
    "Nothing is left to fill in. Next 'mipselect check' compares the schema with the rows, before "
    "any ε is spent."
)
NO_TYPES = (
    "A CSV file has no types, nor has a sheet of Excel, so every field begins as a string: make it "
    "an integer, number or boolean where it is one. --codebook reads them from a codebook, and "
    "--types-from-data proposes them from the rows."
)
PROPOSED_TYPES = (
    "Types marked with ? were proposed from the data. Where each is known without them, 'mipselect "
    "schema confirm {}' removes the marks; select, fit and all others refuse the schema before."
)


@command
def describe(arguments: DescribeArguments) -> None:
    """Begin the public schema of DATA, and list what you must fill in.

    Names and stored types are read from the header; of SPSS, Stata and SAS also
    labels, categories and codes of no value. --codebook adds what somebody wrote
    down. No range, no category and no number of rows is taken from the data, and
    no type without --types-from-data.
    """
    from mipselect.tables.described import NO_CODEBOOK, described, proposed_types, read_codebook

    table, delivery, given = arguments.table, arguments.delivery, arguments.codebook
    output = delivery.output
    check_output(output, [Path(table.data), *filter(None, [given])], replace=delivery.replace)
    source = table.source
    proposed = proposed_types(source) if arguments.types_from_data else {}
    codebook = NO_CODEBOOK if given is None else read_codebook(given, source)
    found = described(source, codebook, proposed)
    sensitive = any(field.type_proposed for field in found.schema.fields)
    if output is not None:
        write_whole(output, found.schema.text.encode(), sensitive=sensitive)

    def render(console: Console) -> None:
        if sensitive:
            banner(console, SENSITIVE)
        _show(console, found, output)
        if output is not None:
            line(console, f"Written to {output}.")

    report = {
        "sensitive": sensitive,
        "command": "describe",
        **table.head,
        "fields": [
            {"name": field.name, "type": field.type, "to_fill_in": _lacks(found.schema, field)}
            for field in found.schema.features
        ],
        "schema": found.schema.content,
        "notes": list(found.notes),
        "advice": f"{FROM_WHERE} {TYPICAL} {IDENTIFIERS}",
    }
    deliver(report, render, as_json=delivery.as_json, output=None)


def _show(console: Console, found: Described, file: Path | None) -> None:
    """Print the fields, and what a person should do."""
    fields = found.schema.fields
    typeless = not found.has_types and all(field.type == "string" for field in fields)
    console.print(_table(found.schema, typeless))
    if typeless:
        console.print(NO_TYPES, soft_wrap=True)
    for note in found.notes:
        line(console, f"note: {note}.")
    if any(field.type_proposed for field in fields):
        line(console, PROPOSED_TYPES.format(file or "FILE"))
    if not any(_lacks(found.schema, field) for field in found.schema.features):
        line(console, COMPLETE)
        return
    console.print(FROM_WHERE, soft_wrap=True)
    console.print(TYPICAL, soft_wrap=True)
    console.print(IDENTIFIERS, soft_wrap=True)


def _table(schema: TableSchema, typeless: bool) -> Table:
    """List the fields, with what is lacking."""
    from mipselect.tables.derived import FEATURES

    content = schema.content
    titled = [*content["fields"], *content.get(FEATURES, ())]
    labels = [printable(str(entry.get("title", ""))) for entry in titled]
    titles = ("field", *(("label",) if any(labels) else ()), "type", "becomes", "to fill in")
    table = table_of(*titles, fold=titles)
    for field, label in zip(schema.features, labels, strict=True):
        special = _special(schema, field)
        said = (escape(label),) if any(labels) else ()
        kind = f"{field.type} ?" if field.type_proposed else field.type
        gap = _lacks(schema, field)
        if gap and typeless:
            gap = "type; categories of text"
        table.add_row(escape(field.name), *said, kind, special or _becomes(field), gap)
    return table


def _lacks(schema: TableSchema, field: Field) -> str:
    """Say what is to fill in of a field; "" for one that is no feature itself."""
    return "" if _special(schema, field) else field.gap


def _special(schema: TableSchema, field: Field) -> str:
    """Say what a field is for that is no feature itself; "" for others."""
    from mipselect.tables.fields import IGNORED

    if field.name == schema.privacy_unit:
        return "whose row it is"
    if field.role == IGNORED:
        return "nothing, it is ignored"
    made = [one.name for one in schema.derived if one.source.name == field.name]
    only_read = made and field.name in schema.only_read
    return f"made into {escape(', '.join(made))}" if only_read else ""


def _becomes(field: Field) -> str:
    """Say in words what a field is for the selection."""
    from mipselect.tables.derived import DerivedField

    if field.gap:
        return ""
    if field.role is not None:
        return f"how much a row counts, 0 to {field.maximum:g}"
    missing = "" if field.required else " and =missing"
    if isinstance(field, DerivedField) and field.categories is None:
        return f"made of {escape(field.source.name)}{missing}"
    if field.type == "boolean":
        no, yes = escape(field.false_values[0]), escape(field.true_values[0])
        return f"{no} is -1, {yes} is +1{missing}"
    if field.categories is None:
        return f"{field.minimum:g} to {field.maximum:g}{missing}"
    k = len(field.categories)
    return f"{k} {'ordered ' if field.ordered else ''}categories{missing}"
