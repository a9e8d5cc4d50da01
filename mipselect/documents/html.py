"""Documents as HTML: one file that loads nothing, or a part of a notebook's page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from mipselect.documents.blocks import (
    Alert,
    Block,
    BulletList,
    Cited,
    Document,
    Heading,
    IntervalPlot,
    KeyedTable,
    Paragraph,
    TextTable,
)
from mipselect.documents.interval_svg import breakable, plot_html
from mipselect.documents.style import STYLE
from mipselect.validation import printable

LONG = re.compile(r"(\S{24})(?=\S)")
"""The first 24 letters of a longer word."""

WIDE = 5
"""Columns from which on a table has a list for each row on a phone."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Forbids a browser to load or run anything, whatever stands in the page."""


def html_page(document: Document) -> str:
    """Write a document as one HTML file, without scripts and without anything from elsewhere."""
    title = _text(document.title)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{title}</title>",
            f"<style>{STYLE}</style></head><body><main>",
            f"<h1>{title}</h1>",
            *map(_block, document.blocks),
            "</main></body></html>",
            "",
        ]
    )


def html_part(blocks: Iterable[Block]) -> str:
    """Write blocks for a notebook, whose page has its own style: escaped, without scripts."""
    return "".join(map(_block, blocks))


def _block(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"<h{level}>{_text(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{_text(text)}</p>"
        case Alert(text):
            return f'<p class="alert" role="alert"><strong>{_text(text)}</strong></p>'
        case BulletList(items):
            return f"<ul>{''.join(f'<li>{_item(item)}</li>' for item in items)}</ul>"
        case TextTable():
            return _table(block)
        case KeyedTable(rows):
            return f'<table class="keyed">{"".join(_keyed(*row) for row in rows)}</table>'
        case IntervalPlot():
            return plot_html(block)


def _table(table: TextTable) -> str:
    kinds = [' class="number"' if title in table.numbers else "" for title in table.titles]
    wide, titled = "", kinds
    if len(kinds) >= WIDE:
        wide = ' class="wide"'
        titled = [f'{k} data-title="{_text(t)}"' for k, t in zip(kinds, table.titles, strict=True)]
    rows = "".join(_row("td", map(breakable, row), titled) for row in table.rows)
    return f"<table{wide}>{_row('th', map(_title, table.titles), kinds)}{rows}</table>"


def _row(tag: str, cells: Iterable[str], attributes: Sequence[str]) -> str:
    made = (f"<{tag}{a}>{cell}</{tag}>" for cell, a in zip(cells, attributes, strict=True))
    return f"<tr>{''.join(made)}</tr>"


def _keyed(name: str, text: str | None, hint: str) -> str:
    cell = f'<td class="blank">To be filled in: {_text(hint)}</td>'
    return f"<tr><th>{_text(name)}</th>{cell if text is None else f'<td>{_text(text)}</td>'}</tr>"


def _item(item: str | Cited) -> str:
    if isinstance(item, str):
        return _text(item)
    return f'{_text(item.text)} <a href="{escape(item.address)}">{_text(item.words)}</a>'


def _title(text: str) -> str:
    """Write the title of a column; only very long words may be broken."""
    return "<wbr>".join(map(_text, LONG.sub("\\1\0", printable(text)).split("\0")))


def _text(text: str) -> str:
    return escape(printable(text))
