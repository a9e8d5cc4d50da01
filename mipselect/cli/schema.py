"""The public schema of a table: `mipselect describe` begins it, `schema` fills it in.

`mipselect check` shows how the values of a table fit it, for the curator's eyes.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from mipselect.cli import output
from mipselect.cli.declared import argument, command, group, option, options, required
from mipselect.cli.output import NO_FILE, SENSITIVE, Delivery, check_output, line, write_whole
from mipselect.cli.progress import Spinner
from mipselect.cli.table_options import SCHEMA, TABLE_PANEL, SchemaOptions, TableArgument
from mipselect.documents import markdown
from mipselect.errors import InvalidInput, about
from mipselect.validation import listed, plural, printable

if TYPE_CHECKING:
    from mipselect.tables.schema import TableSchema

EXAMPLES = """Examples:

mipselect describe patients.parquet --output patients.schema.json

mipselect describe survey.csv --delimiter ";" --codebook codebook.json

mipselect schema to-csv patients.schema.json patients.schema.csv \\
    --delimiter ';'

mipselect schema from-csv patients.schema.csv filled.schema.json

mipselect schema confirm patients.schema.json --yes

mipselect check patients.csv --schema patients.schema.json --output check.html
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
    file, source = delivery.output, table.source
    check_output(file, [Path(table.data), *filter(None, [given])], replace=delivery.replace)
    proposed = proposed_types(source) if arguments.types_from_data else {}
    codebook = None if given is None else read_codebook(given, source)
    found = described(source, codebook, proposed)
    schema, sensitive = found.schema, any(field.type_proposed for field in found.schema.fields)
    gaps = schema.gaps

    def render(console: Console) -> None:
        if sensitive:
            output.banner(console, SENSITIVE)
        rows = []
        for field in schema.features:
            kind = f"{field.type} ?" if field.type_proposed else field.type
            gap = gaps.get(field.name, "")
            rows.append((field.name, kind, NO_TYPE if gap and found.typeless else gap))
        titles = ("field", "type", "to fill in")
        output.print_table(console, titles, rows, left=titles)
        texts = [NO_TYPES] * found.typeless + [f"note: {note}." for note in found.notes]
        texts += [PROPOSED_TYPES.format(file or "FILE")] * sensitive
        texts += [FROM_WHERE, TYPICAL, IDENTIFIERS] if gaps else [COMPLETE]
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
    delivery.deliver(report, render, None if file is None else schema.text.encode())


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
        choices=CHARACTERS,
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


@command
def to_csv(arguments: ToCsvArguments) -> None:
    """Write a schema as CSV for a spreadsheet: a row for each field, a column for each property.

    What has no column stands as JSON in the last one. 'schema from-csv' makes the
    same schema of it again.
    """
    from mipselect.tables.schema import TableSchema
    from mipselect.tables.spreadsheet import spreadsheet_of

    given, path = arguments.schema, arguments.csv
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
    gaps = schema.gaps
    to_confirm = [field.name for field in schema.fields if field.type_proposed]
    count = len(schema.fields)
    parts = [plural(count, "field")]
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
    from mipselect.tables.described import confirmed, type_in_words
    from mipselect.tables.schema import TableSchema

    file = arguments.file
    schema = TableSchema.read(file)
    output.check_writable(file)
    proposed = [field for field in schema.fields if field.type_proposed]
    if proposed and not arguments.yes:
        raise InvalidInput(
            f"{file}: proposed from the data were {'; '.join(map(type_in_words, proposed))}. Where "
            "each is known without them, from a codebook or the design of the study, give --yes"
        )
    done = "no type was proposed from the data; nothing to confirm."
    if proposed:
        write_whole(file, confirmed(schema).text.encode(), sensitive=False)
        done = f"confirmed the types of {plural(len(proposed), 'field')}."
    report = {
        "sensitive": False,
        "command": "schema confirm",
        "schema": str(file),
        "confirmed": {field.name: field.type for field in proposed},
    }
    arguments.delivery.deliver(report, lambda console: line(console, f"{file}: {done}"))


TITLES = ("field", "fine", "missing", "below minimum", "above maximum", "in no list", "unreadable")
"""Titles of columns: the field, and kinds of values."""

NOTHING = "Nothing was found that does not fit."
CORRECTED = (
    "Correct ranges and categories from a codebook or the design of the study, never from this "
    "report: what is chosen because of the data is no public knowledge."
)


@options
class CheckArguments:
    """Arguments of `check`."""

    table: TableArgument = group(TableArgument)
    schema: Path = required("--schema", SCHEMA, metavar="FILE", panel=TABLE_PANEL)
    question: SchemaOptions = group(
        SchemaOptions, without=("--always", "--no-intercept", "--unit-rule")
    )
    delivery: Delivery = group(
        Delivery,
        help={"--output": "Also write a page (FILE.html), or the JSON object, to FILE."},
    )


@command
def check(arguments: CheckArguments) -> None:
    """Compare DATA with its schema, before ε is spent. The report is SENSITIVE.

    For each field: how many values are clipped by the range, in no list of
    categories, missing or unreadable, with the most frequent of those that do not
    fit; persons with several rows. Each finding is one line that says what would
    be right. The exit code is 0, whatever is found.

    Ranges and categories are corrected from a codebook, never from this report:
    what is chosen because of the data is no public knowledge.
    """
    from mipselect.tables.check import check_table
    from mipselect.tables.schema import TableSchema

    schema = TableSchema.read(arguments.schema)
    data, delivery = arguments.table.data, arguments.delivery
    check_output(delivery.output, [Path(data), arguments.schema], replace=delivery.replace)
    with Spinner(f"reading {data}") as spinner:
        found = check_table(
            arguments.table.source,
            schema,
            progress=lambda rows: spinner.tick(f"{data}: {rows:,} rows"),
            **arguments.question.keywords,
        )
    notes, rows = found.notes, [field.cells for field in found.fields]
    findings = [f"{finding}." for finding in found.findings]
    page = None
    if delivery.output is not None and delivery.output.suffix == ".html":
        title = f"SENSITIVE: check of {data}"
        paragraph = markdown.paragraph
        blocks = [f"# {markdown.letters(title)}", markdown.alert(SENSITIVE), *map(paragraph, notes)]
        blocks += ["## Findings", markdown.bullets(findings) or paragraph(NOTHING)]
        blocks += ["## Fields", markdown.table(TITLES, rows, TITLES[1:]), paragraph(CORRECTED)]
        page = markdown.html_page(title, blocks).encode()

    def render(console: Console) -> None:
        """Print what a page has, without headings."""
        output.banner(console, SENSITIVE)
        output.heading(console, printable(data))
        for text in [*notes, *([f"- {finding}" for finding in findings] or [NOTHING])]:
            line(console, printable(text))
        cells = (list(map(printable, row)) for row in rows)
        output.print_table(console, TITLES, cells, left=TITLES[:1])
        line(console, CORRECTED)

    report = {
        "command": "check",
        **arguments.table.head,
        "schema": str(arguments.schema),
        "mipselect": version("mipselect"),
        "sensitive": True,
        "private": False,
        "warning": SENSITIVE,
        **found.to_dict(),
    }
    delivery.deliver(report, render, content=page)


PARTS = {"schema": (to_csv, from_csv, confirm)}
"""Commands of the group."""
