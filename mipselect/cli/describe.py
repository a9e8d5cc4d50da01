"""`mipselect describe`: the beginning of a public schema, and what a person must fill in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from mipselect.validation import printable

if TYPE_CHECKING:
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
    from mipselect.tables.described import described, proposed_types, read_codebook

    table, delivery, given = arguments.table, arguments.delivery, arguments.codebook
    output, source = delivery.output, table.source
    check_output(output, [Path(table.data), *filter(None, [given])], replace=delivery.replace)
    proposed = proposed_types(source) if arguments.types_from_data else {}
    codebook = None if given is None else read_codebook(given, source)
    found = described(source, codebook, proposed)
    schema, sensitive = found.schema, any(field.type_proposed for field in found.schema.fields)
    uses = list(_uses(schema))
    if output is not None:
        write_whole(output, schema.text.encode(), sensitive=sensitive)

    def render(console: Console) -> None:
        if sensitive:
            banner(console, SENSITIVE)
        _print_fields(console, schema, uses, found.typeless)
        texts = [NO_TYPES] * found.typeless + [f"note: {note}." for note in found.notes]
        texts += [PROPOSED_TYPES.format(output or "FILE")] * sensitive
        complete = not any(gap for _, _, gap in uses)
        texts += [COMPLETE] if complete else [FROM_WHERE, TYPICAL, IDENTIFIERS]
        texts += [] if output is None else [f"Written to {output}."]
        for text in texts:
            line(console, text)

    report = {
        "sensitive": sensitive,
        "command": "describe",
        **table.head,
        "fields": [{"name": f.name, "type": f.type, "to_fill_in": gap} for f, _, gap in uses],
        "schema": schema.content,
        "notes": list(found.notes),
        "advice": f"{FROM_WHERE} {TYPICAL} {IDENTIFIERS}",
    }
    replace(delivery, output=None).deliver(report, render)


def _uses(schema: TableSchema) -> Iterator[tuple[Field, str, str]]:
    """Yield each field, what becomes of it, and what is to fill in; "" where nothing is."""
    for field in schema.features:
        made = [one.name for one in schema.derived if one.source.name == field.name]
        if field.name == schema.privacy_unit:
            yield field, "whose row it is", ""
        elif field.name in schema.ignored:
            yield field, "nothing, it is ignored", ""
        elif made and field.name in schema.only_read:
            yield field, f"made into {', '.join(made)}", ""
        else:
            yield field, "" if field.gap else _becomes(field), field.gap


def _becomes(field: Field) -> str:
    """Say in words what a field is for the selection."""
    from mipselect.tables.schema import DerivedField

    if field.role is not None:
        return f"how much a row counts, 0 to {field.maximum:g}"
    missing = "" if field.required else " and =missing"
    if isinstance(field, DerivedField) and field.categories is None:
        return f"made of {field.source.name}{missing}"
    if field.type == "boolean":
        return f"{field.false_values[0]} is -1, {field.true_values[0]} is +1{missing}"
    if field.categories is None:
        return f"{field.minimum:g} to {field.maximum:g}{missing}"
    k = len(field.categories)
    return f"{k} {'ordered ' if field.ordered else ''}categories{missing}"


def _print_fields(
    console: Console, schema: TableSchema, uses: Sequence[tuple[Field, str, str]], typeless: bool
) -> None:
    """Print the fields, with their titles if any has one."""
    from mipselect.tables.schema import FEATURES

    titled = [*schema.content["fields"], *schema.content.get(FEATURES, ())]
    labels = [printable(str(entry.get("title", ""))) for entry in titled]
    labelled = any(labels)
    names = ("field", *["label"] * labelled, "type", "becomes", "to fill in")
    rows = []
    for (field, becomes, gap), label in zip(uses, labels, strict=True):
        kind = f"{field.type} ?" if field.type_proposed else field.type
        gap = "type; categories of text" if gap and typeless else gap
        rows.append((field.name, *[label] * labelled, kind, becomes, gap))
    print_table(console, names, rows, left=names)
