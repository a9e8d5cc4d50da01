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
from mipselect.documents.html import html_page
from mipselect.quality import Measure, TableShares
from mipselect.tables import Finding, TableCheck
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


def counts_table(check: TableCheck) -> TextTable:
    """Return the counts of all fields; sensitive."""
    rows = (
        (field.name, *(_cell(field.kinds[kind], field.rows) for kind in KINDS))
        for field in check.fields
    )
    return _table_of_kinds("", rows)


def shares_table(shares: TableShares) -> TextTable:
    """Return the private shares of all fields, with their intervals, in percent."""
    rows = []
    for field in shares.fields:
        own = {share.name: _in_percent(share) for share in field.shares}
        rows.append((field.name, *(own.get(kind, "") for kind in KINDS)))
    return _table_of_kinds(", %", rows)


def bounds_in_words(shares: TableShares) -> tuple[str, str]:
    """Say what the intervals are, and the guarantee."""
    return (
        f"In brackets are {100.0 * shares.level:g} % intervals; the noise is all that is in them.",
        f"Guarantee: {shares.guarantee.of_unit(shares.unit)}.",
    )


def notes_of(check: TableCheck) -> tuple[str, ...]:
    """Write sentences about a table that are no findings."""
    lines = [f"{check.rows:,} rows"]
    if check.people is not None:
        lines.append(check.people.summary)
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
    yield from map(Paragraph, notes_of(check))
    yield from _parts(check.findings, counts_table(check))
    yield Paragraph(FROM_WHERE)


def _blocks_of_shares(shares: TableShares) -> Iterator[Block]:
    yield from _parts(shares.findings, shares_table(shares))
    yield from map(Paragraph, bounds_in_words(shares))


def _parts(findings: Iterable[Finding], table: TextTable) -> Iterator[Block]:
    lines = tuple(f"{finding}." for finding in findings)
    yield Heading(2, "Findings")
    yield BulletList(lines) if lines else Paragraph(NOTHING)
    yield Heading(2, "Fields")
    yield table


def rows_of(unit: str) -> str:
    """Say what is counted: rows, or people by a field."""
    return "rows" if unit == "row" else f"people by {unit}"


def _table_of_kinds(unit: str, rows: Iterable[tuple[str, ...]]) -> TextTable:
    titles = tuple(f"{TITLES[kind]}{unit}" for kind in KINDS)
    return TextTable(("field", *titles), tuple(rows), numbers=titles)


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
