"""Documents as Markdown of GitHub's kind, in which no name can be more than its letters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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
    PlotRow,
    TextTable,
)
from mipselect.validation import printable

SPECIAL = re.compile(r"([\\`*_\[\]<>|~&!$@]|:(?=//)|(?<=www)\.)")
"""Letters that may be more, or that make a link of an address."""

FIRST = re.compile(r"^(\d*)([#+=.)-])")
"""Letters that begin a heading, a list or a line at the beginning of a block."""

WIDTH = 41
"""Characters of a row of a plot."""


def markdown_page(document: Document) -> str:
    """Write a document as Markdown."""
    parts = [f"# {_text(document.title)}", *map(_block, document.blocks)]
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {_text(text)}"
        case Paragraph(text):
            return _first(text)
        case Alert(text):
            return f"> **{_text(text)}**"
        case BulletList(items):
            return "\n".join(f"- {_item(item)}" for item in items)
        case TextTable():
            ends = ["---:" if title in block.numbers else "---" for title in block.titles]
            cells = [list(map(_text, row)) for row in (block.titles, *block.rows)]
            return "\n".join(map(_row, [cells[0], ends, *cells[1:]]))
        case KeyedTable(rows):
            made = [
                [
                    _text(name),
                    f"**TO BE FILLED IN:** {_text(hint)}" if text is None else _text(text),
                ]
                for name, text, hint in rows
            ]
            return "\n".join(map(_row, [["", ""], ["---", "---"], *made]))
        case IntervalPlot():
            return "\n".join(_plot(block))


def _plot(plot: IntervalPlot) -> Iterator[str]:
    yield _row([_text(plot.axis), "", ""])
    yield _row(["---", "---", "---"])
    for row in plot.rows:
        yield _row([_text(row.label), f"`{_strip(plot, row)}`", _text(row.note)])


def _strip(plot: IntervalPlot, row: PlotRow) -> str:
    """Draw a row in characters: an interval of lines, its point, and a bar at 0."""
    cells = ["·"] * WIDTH
    if row.value is not None and row.low is not None and row.high is not None:
        for k in range(_cell(plot, row.low), _cell(plot, row.high) + 1):
            cells[k] = "─"
    cells[_cell(plot, 0.0)] = "┊"
    if row.value is not None:
        cells[_cell(plot, row.value)] = "●"
    return "".join(cells)


def _cell(plot: IntervalPlot, number: float) -> int:
    return min(int(WIDTH * plot.place(number)), WIDTH - 1)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _item(item: str | Cited) -> str:
    if isinstance(item, str):
        return _first(item)
    return f"{_first(item.text)} [{_text(item.words)}]({item.address})"


def _text(text: str) -> str:
    """Put a backslash before every letter of a text that Markdown would read as more."""
    return SPECIAL.sub(r"\\\1", printable(text))


def _first(text: str) -> str:
    """Write a text as `_text` does, for the place where a block begins."""
    return FIRST.sub(r"\1\\\2", _text(text.lstrip()))
