"""A check of a table as one HTML file, without scripts and without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mipselect.cli.check_text import (
    FROM_WHERE,
    NOTHING,
    bounds_in_words,
    counts_table,
    notes_of,
    rows_of,
    shares_table,
)
from mipselect.cli.output import NOT_PRIVATE, SENSITIVE
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
from mipselect.quality import TableShares
from mipselect.tables import Finding, TableCheck


def check_page(check: TableCheck, title: str) -> str:
    """Write the curator's page, marked as sensitive at its top and in its title."""
    blocks = (
        Alert(SENSITIVE),
        *map(Paragraph, notes_of(check)),
        *_parts(check.findings, counts_table(check)),
        Paragraph(FROM_WHERE),
    )
    return html_page(Document(f"SENSITIVE: check of {title}", blocks))


def shares_page(shares: TableShares, title: str) -> str:
    """Write the page of a private release."""
    title = f"Released shares of values of {title}"
    blocks: tuple[Block, ...] = (
        *_parts(shares.findings, shares_table(shares)),
        *map(Paragraph, bounds_in_words(shares)),
    )
    if shares.rows is not None:
        blocks = (Paragraph(f"{shares.rows:,} {rows_of(shares.unit)}."), *blocks)
    if not shares.guarantee.private:
        title, blocks = f"NOT PRIVATE: {title}", (Alert(NOT_PRIVATE), *blocks)
    return html_page(Document(title, blocks))


def _parts(findings: Iterable[Finding], table: TextTable) -> Iterator[Block]:
    lines = tuple(f"{finding}." for finding in findings)
    yield Heading(2, "Findings")
    yield BulletList(lines) if lines else Paragraph(NOTHING)
    yield Heading(2, "Fields")
    yield table
