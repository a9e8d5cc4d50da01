"""A check of a table, findings first, then a table of all fields: as text and as one HTML file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.markup import escape

from mipselect.cli.output import NOT_PRIVATE, SENSITIVE, banner, heading, line, table_of
from mipselect.documents.blocks import (
    Alert,
    Block,
    BulletList,
    Document,
    Heading,
    Paragraph,
    TextTable,
)
from mipselect.documents.pages import html_page
from mipselect.quality import Measure, TableShares
from mipselect.tables import Finding, TableCheck
from mipselect.tables.check.field_check import FieldCheck
from mipselect.tables.check.kinds import KINDS
from mipselect.validation import listed, printable

TITLES = {
    "fine": "fine",
    "missing": "missing",
    "below": "below minimum",
    "above": "above maximum",
    "unlisted": "in no list",
    "unreadable": "unreadable",
}
"""Kinds of values, as the titles of columns."""

NOTHING = "Nothing was found that does not fit."
FROM_WHERE = (
    "Correct ranges and categories from a codebook or the design of the study, never from this "
    "report: what is chosen because of the data is no public knowledge."
)


def notes_of(check: TableCheck) -> tuple[str, ...]:
    """Write sentences about a table that are no findings."""
    lines = [f"{check.rows:,} rows"]
    if check.people is not None:
        lines.append(check.people.summary)
    lines += [_of_weights(field) for field in check.fields if field.worth is not None]
    if check.fits and check.of_loss:
        fit = check.fits[-1]
        active = "does not bind"
        if fit.is_bound:
            active = f"binds, and takes {_percent(fit.lost)} % of what they explain"
        beyond = 0.0 if fit.beyond is None else fit.beyond
        lines.append(
            f"for --score loss, least squares on {', '.join(fit.fields)}: the bound on the "
            f"coefficients {active}; "
            f"{_percent(beyond)} % of rows have predictions at the bound"
        )
    lacking = [field.name for field in check.fields if field.rule.gap]
    if lacking:
        lines.append(
            "no range, no categories, or no feature made of it in the schema: "
            f"{listed(lacking)}; "
            "'fit' and --score loss refuse that, while blocks need no range of a number. Write it "
            'from public knowledge, give what is never a feature "mipselect:role": "ignored", or '
            f"leave fields out: --never {','.join(lacking)}"
        )
    if check.not_compared:
        lines.append(f"not compared with others, for their columns: {listed(check.not_compared)}")
    if check.ignored:
        lines.append(f"columns that are not in the schema, ignored: {listed(check.ignored)}")
    return tuple(printable(f"{text[:1].upper()}{text[1:]}.") for text in lines)


def _of_weights(weight: FieldCheck) -> str:
    """Say how many rows weighted ones count as, in a model and where pairs of them are compared."""
    assert weight.worth is not None
    in_pairs = weight.worth**2 / max(weight.rows, 1)
    return (
        f"weighted by {weight.name}, all rows count as {weight.worth:,.0f} of the largest weight "
        f"in a model, and as {in_pairs:,.0f} in a draw of fields from blocks of two rows: plan "
        "with so many"
    )


def print_check(console: Console, check: TableCheck, title: str) -> None:
    """Print what was counted; sensitive."""
    banner(console, SENSITIVE)
    heading(console, printable(title))
    _print(console, _blocks_of_check(check))


def _print(console: Console, blocks: Iterable[Block]) -> None:
    """Print paragraphs, lists and tables of a document; its headings are for a page."""
    for block in blocks:
        match block:
            case Paragraph(text):
                line(console, text)
            case BulletList(items):
                for item in items:
                    line(console, f"- {item}")
            case TextTable(titles, rows, numbers):
                table = table_of(*titles, right=numbers, fold=titles[:1])
                for row in rows:
                    table.add_row(*(escape(printable(cell)) for cell in row))
                console.print(table)


def check_page(check: TableCheck, title: str) -> str:
    """Write the curator's page, marked as sensitive at its top and in its title."""
    blocks = (Alert(SENSITIVE), *_blocks_of_check(check))
    return html_page(Document(f"SENSITIVE: check of {title}", blocks))


def print_shares(console: Console, shares: TableShares, title: str) -> None:
    """Print private shares with their intervals, in percent."""
    if not shares.guarantee.private:
        banner(console, NOT_PRIVATE)
    rows = "" if shares.rows is None else f", {shares.rows:,} {rows_of(shares.unit)}"
    heading(console, printable(f"{title}: released shares of values{rows}"))
    _print(console, _blocks_of_shares(shares))


def shares_page(shares: TableShares, title: str) -> str:
    """Write the page of a private release."""
    title, blocks = f"Released shares of values of {title}", [*_blocks_of_shares(shares)]
    if shares.rows is not None:
        blocks.insert(0, Paragraph(f"{shares.rows:,} {rows_of(shares.unit)}."))
    if not shares.guarantee.private:
        title = f"NOT PRIVATE: {title}"
        blocks.insert(0, Alert(NOT_PRIVATE))
    return html_page(Document(title, tuple(blocks)))


def _blocks_of_check(check: TableCheck) -> Iterator[Block]:
    """Yield what was counted of all fields; sensitive."""
    yield from map(Paragraph, notes_of(check))
    rows = (
        (field.name, *(_cell(field.kinds[kind], field.rows) for kind in KINDS))
        for field in check.fields
    )
    yield from _parts(check.findings, "", rows)
    yield Paragraph(FROM_WHERE)


def _blocks_of_shares(shares: TableShares) -> Iterator[Block]:
    """Yield the private shares of all fields with their intervals, in percent."""
    rows = []
    for field in shares.fields:
        own = {share.name: _in_percent(share) for share in field.shares}
        rows.append((field.name, *(own.get(kind, "") for kind in KINDS)))
    yield from _parts(shares.findings, ", %", rows)
    level = f"{100.0 * shares.level:g} %"
    yield Paragraph(f"In brackets are {level} intervals; the noise is all that is in them.")
    yield Paragraph(f"Guarantee: {shares.guarantee.of_unit(shares.unit)}.")


def _parts(
    findings: Iterable[Finding], unit: str, rows: Iterable[tuple[str, ...]]
) -> Iterator[Block]:
    lines = tuple(f"{finding}." for finding in findings)
    numbers = tuple(f"{TITLES[kind]}{unit}" for kind in KINDS)
    yield Heading(2, "Findings")
    yield BulletList(lines) if lines else Paragraph(NOTHING)
    yield Heading(2, "Fields")
    yield TextTable(("field", *numbers), tuple(rows), numbers=numbers)


def rows_of(unit: str) -> str:
    """Say what is counted: rows, or people by a field."""
    return "rows" if unit == "row" else f"people by {unit}"


def _cell(count: int, rows: int) -> str:
    """Write a number of values and their share of the rows, or nothing for none."""
    return f"{count:,} ({_percent(count / rows)} %)" if count else ""


def _in_percent(share: Measure) -> str:
    """Write a private share with its interval."""
    value = "?" if share.value is None else f"{100.0 * share.value:.1f}"
    return f"{value} in [{100.0 * share.low:.1f}, {100.0 * share.high:.1f}]"


def _percent(share: float) -> str:
    """Write a share in percent with one digit; only none is 0, and only all is 100."""
    if 0.0 < share < 0.001:
        return "< 0.1"
    return f"{100.0 if share == 1.0 else min(100.0 * share, 99.9):.1f}"
