"""`mipselect describe`: the beginning of a public schema, and what a person must fill in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from mipselect.cli.declared import command, group, option, options
from mipselect.cli.output import (
    SENSITIVE,
    Delivery,
    banner,
    check_output,
    line,
    print_table,
    write_whole,
)
from mipselect.cli.table_options import TableArgument

if TYPE_CHECKING:
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
NO_TYPE = "type; categories of text"
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
    from mipselect.tables.described import described, proposed_types, read_codebook

    table, delivery, given = arguments.table, arguments.delivery, arguments.codebook
    output, source = delivery.output, table.source
    check_output(output, [Path(table.data), *filter(None, [given])], replace=delivery.replace)
    proposed = proposed_types(source) if arguments.types_from_data else {}
    codebook = None if given is None else read_codebook(given, source)
    found = described(source, codebook, proposed)
    schema, sensitive = found.schema, any(field.type_proposed for field in found.schema.fields)
    gaps = gaps_of(schema)
    if output is not None:
        write_whole(output, schema.text.encode(), sensitive=sensitive)

    def render(console: Console) -> None:
        if sensitive:
            banner(console, SENSITIVE)
        rows = []
        for field in schema.features:
            kind = f"{field.type} ?" if field.type_proposed else field.type
            gap = gaps.get(field.name, "")
            rows.append((field.name, kind, NO_TYPE if gap and found.typeless else gap))
        titles = ("field", "type", "to fill in")
        print_table(console, titles, rows, left=titles)
        texts = [NO_TYPES] * found.typeless + [f"note: {note}." for note in found.notes]
        texts += [PROPOSED_TYPES.format(output or "FILE")] * sensitive
        texts += [FROM_WHERE, TYPICAL, IDENTIFIERS] if gaps else [COMPLETE]
        texts += [] if output is None else [f"Written to {output}."]
        for text in texts:
            line(console, text)

    report = {
        "sensitive": sensitive,
        "command": "describe",
        **table.head,
        "fields": [
            {"name": field.name, "type": field.type, "to_fill_in": gaps.get(field.name, "")}
            for field in schema.features
        ],
        "schema": schema.content,
        "notes": list(found.notes),
        "advice": f"{FROM_WHERE} {TYPICAL} {IDENTIFIERS}",
    }
    replace(delivery, output=None).deliver(report, render)


def gaps_of(schema: TableSchema) -> dict[str, str]:
    """Return what is to fill in of each field, and of what is made of them, by name."""
    apart = {*schema.only_read, schema.privacy_unit}
    gaps = {field.name: field.gap for field in schema.features if field.name not in apart}
    return {name: gap for name, gap in gaps.items() if gap}
