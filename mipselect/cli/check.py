"""`mipselect check`: how the values of a table fit its schema, for the curator's eyes."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from mipselect.cli.declared import command, group, options, required
from mipselect.cli.output import (
    SENSITIVE,
    Delivery,
    banner,
    check_output,
    heading,
    line,
    print_table,
)
from mipselect.cli.progress import Spinner
from mipselect.cli.table_options import SCHEMA, TABLE_PANEL, SchemaOptions, TableArgument
from mipselect.documents.markdown import alert, bullets, html_page, letters, paragraph, table
from mipselect.validation import listed, printable

if TYPE_CHECKING:
    from mipselect.tables import TableCheck

EXAMPLES = """Examples:

mipselect check patients.csv --schema patients.schema.json

mipselect check patients.csv --schema patients.schema.json --output check.html
"""


PAGE = ".html"
TITLES = ("field", "fine", "missing", "below minimum", "above maximum", "in no list", "unreadable")
"""Titles of columns: the field, and kinds of values."""

NOTHING = "Nothing was found that does not fit."
FROM_WHERE = (
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
    notes, rows = [f"{text[:1].upper()}{text[1:]}." for text in _notes(found)], _rows(found)
    findings = [f"{finding}." for finding in found.findings]
    page = None
    if delivery.output is not None and delivery.output.suffix == PAGE:
        title = f"SENSITIVE: check of {data}"
        blocks = [f"# {letters(title)}", alert(SENSITIVE), *map(paragraph, notes)]
        blocks += ["## Findings", bullets(findings) or paragraph(NOTHING)]
        blocks += ["## Fields", table(TITLES, rows, TITLES[1:]), paragraph(FROM_WHERE)]
        page = html_page(title, blocks).encode()

    def render(console: Console) -> None:
        """Print what a page has, without headings."""
        banner(console, SENSITIVE)
        heading(console, printable(data))
        for text in [*notes, *([f"- {finding}" for finding in findings] or [NOTHING])]:
            line(console, printable(text))
        cells = (list(map(printable, row)) for row in rows)
        print_table(console, TITLES, cells, left=TITLES[:1])
        line(console, FROM_WHERE)

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


def _rows(found: TableCheck) -> list[list[str]]:
    """Return the cells of the table of all fields."""
    from mipselect.tables.check import percent

    def cell(count: int, rows: int) -> str:
        return f"{count:,} ({percent(count / rows)})" if count else ""

    return [
        [field.name, *(cell(count, field.rows) for count in field.kinds.values())]
        for field in found.fields
    ]


def _notes(found: TableCheck) -> Iterator[str]:
    """Yield sentences about a table that are no findings."""
    yield f"{found.rows:,} rows"
    if found.people is not None:
        yield found.people.summary
    lacking = [field.name for field in found.fields if field.gap]
    if lacking:
        yield (
            "no range, no categories, or no feature made of it in the schema: "
            f"{listed(lacking)}; "
            "'fit' and --score loss refuse that, while blocks need no range of a number. Write it "
            'from public knowledge, give what is never a feature "mipselect:role": "ignored", or '
            f"leave fields out: --never {','.join(lacking)}"
        )
    if found.ignored:
        yield f"columns that are not in the schema, ignored: {listed(found.ignored)}"
