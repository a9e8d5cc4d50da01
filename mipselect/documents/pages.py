"""Blocks as HTML and as Markdown of GitHub's kind, by templates that escape whatever they show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from mipselect.documents.blocks import Block, Document, IntervalPlot, PlotRow
from mipselect.validation import printable

if TYPE_CHECKING:
    from jinja2 import Template

LONG = re.compile(r"(\S{24})(?=\S)")
"""The first 24 letters of a longer word."""

SPECIAL = re.compile(r"([\\`*_\[\]<>|~&!$@]|:(?=//)|(?<=www)\.)")
"""Letters that may be more in Markdown, or that make a link of an address."""

FIRST = re.compile(r"^(\d*)([#+=.)-])")
"""Letters that begin a heading, a list or a line of Markdown at the beginning of a block."""

WIDTH = 41
"""Characters of a row of a plot."""


def html_page(document: Document) -> str:
    """Write a document as one HTML file, without scripts and without anything from elsewhere."""
    return _template("page.html").render(title=document.title, blocks=document.blocks)


def html_part(blocks: Iterable[Block]) -> str:
    """Write blocks for a notebook, whose page has its own style: escaped, without scripts."""
    return _template("blocks.html").render(blocks=blocks)


def markdown_page(document: Document) -> str:
    """Write a document as Markdown."""
    return _template("page.md").render(title=document.title, blocks=document.blocks)


@cache
def _template(name: str) -> Template:
    """Load a template. Each text passes its escape, unless it is markup that a filter made."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    is_html = name.endswith(".html")
    environment = Environment(
        loader=PackageLoader("mipselect", "documents"),
        autoescape=is_html,
        finalize=_unless_markup(printable if is_html else _letters),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "kind": lambda block: type(block).__name__,
        "percent": lambda plot, number: f"{100.0 * plot.place(number):.4f}%",
        "breakable": _breakable,
        "words": _words,
        "first": _first,
        "strip": _strip,
    }
    return environment.get_template(name)


def _unless_markup(shown: Callable[[str], str]) -> Callable[[Any], Any]:
    def finalized(value: Any) -> Any:
        is_text = isinstance(value, str) and not isinstance(value, Markup)
        return shown(value) if is_text else value

    return finalized


def _breakable(text: str) -> Markup:
    """Write a text of which a name may be broken after an underscore."""
    return Markup(escape(printable(text)).replace("_", Markup("_<wbr>")))


def _words(text: str) -> Markup:
    """Write a text of which only very long words may be broken."""
    return Markup("<wbr>").join(LONG.sub("\\1\0", printable(text)).split("\0"))


def _letters(text: str) -> str:
    """Put a backslash before every letter that Markdown would read as more."""
    return SPECIAL.sub(r"\\\1", printable(text))


def _first(text: str) -> Markup:
    """Write a text as `_letters` does, for the place where a block of Markdown begins."""
    return Markup(FIRST.sub(r"\1\\\2", _letters(text.lstrip())))


def _strip(plot: IntervalPlot, row: PlotRow) -> str:
    """Draw a row in characters: an interval of lines, its point, and a bar at 0."""

    def cell(number: float) -> int:
        return min(int(WIDTH * plot.place(number)), WIDTH - 1)

    cells = ["·"] * WIDTH
    if row.value is not None and row.low is not None and row.high is not None:
        for k in range(cell(row.low), cell(row.high) + 1):
            cells[k] = "─"
    cells[cell(0.0)] = "┊"
    if row.value is not None:
        cells[cell(row.value)] = "●"
    return "".join(cells)
