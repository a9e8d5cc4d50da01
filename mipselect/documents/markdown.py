"""Markdown of GitHub's kind whose every text is escaped, and HTML, which is that Markdown.

Texts come from files of strangers: `letters` puts a backslash before
whatever Markdown would read as more, so that HTML, which is made of it, has none of their tags.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from markupsafe import Markup, escape

from mipselect.validation import printable

SPECIAL = re.compile(r"([\\`*_\[\]<>|~&!$@]|:(?=//)|(?<=www)\.)")
"""Letters that may be more in Markdown, or that make a link of an address."""

FIRST = re.compile(r"^(\d*)([#+=.)-])")
"""Letters that begin a heading, a list or a line of Markdown at the beginning of a block."""

WRAPPED = re.compile(r"(?<!\n)\n(?![\n|>#-])")
"""Ends of lines within a paragraph of a template."""

WIDTH = 41
"""Characters of a row of a plot."""

MARGIN = 0.05
"""Share of the span of a plot that is left free at both ends."""


ARCHIVES = {"arXiv": "https://arxiv.org/abs/", "doi": "https://doi.org/"}


@dataclass(frozen=True)
class Cited:
    """A text that ends with a link for reading, such as arXiv:ID or doi:ID.

    `elsewhere` is its address where it is in none of `ARCHIVES`: one of ours, never of a file.
    """

    text: str
    words: str
    elsewhere: str = ""

    @property
    def address(self) -> str:
        """Address of the link."""
        archive, _, name = self.words.partition(":")
        return self.elsewhere or f"{ARCHIVES[archive]}{name}"


@dataclass(frozen=True)
class PlotRow:
    """A point with its interval, and a label before and a note behind it.

    `value` is None where there is nothing to draw, `low` and `high` are without an interval, and
    infinite where an end is open.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""


def letters(text: str) -> Markup:
    """Put a backslash before every letter that Markdown would read as more."""
    return Markup(SPECIAL.sub(r"\\\1", printable(text)))


def paragraph(text: str) -> Markup:
    """Write a text at the place where a block of Markdown begins."""
    return Markup(FIRST.sub(r"\1\\\2", letters(text.lstrip())))


def alert(text: str) -> Markup:
    """Write a warning that cannot be overlooked."""
    return Markup(f"> **{letters(text)}**")


def bullets(items: Iterable[str | Cited]) -> Markup:
    """Write a list of short texts."""
    return Markup("\n".join(f"- {_item(item)}" for item in items))


def _item(item: str | Cited) -> str:
    if isinstance(item, str):
        return paragraph(item)
    return f"{paragraph(item.text)} [{letters(item.words)}]({item.address})"


def table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()
) -> Markup:
    """Write a table; columns with a title in `numbers` stand to the right."""
    marks = ["---:" if title in numbers else "---" for title in titles]
    cells = [map(letters, titles), marks, *(map(letters, row) for row in rows)]
    return Markup("\n".join(f"| {' | '.join(row)} |" for row in cells))


def plot(rows: Sequence[PlotRow], axis: str) -> Markup:
    """Draw points with intervals beside a bar at 0 in characters, on one axis."""
    numbers = [0.0, *(x for row in rows for x in (row.value, row.low, row.high) if x is not None)]
    shown = [x for x in numbers if math.isfinite(x)]
    margin = MARGIN * (max(shown) - min(shown)) or 1.0
    low, high = min(shown) - margin, max(shown) + margin

    def cell(number: float) -> int:
        within = min(max(number, low), high)
        return min(int(WIDTH * (within - low) / (high - low)), WIDTH - 1)

    lines = [f"| {letters(axis)} |  |  |", "| --- | --- | --- |"]
    for row in rows:
        cells = ["·"] * WIDTH
        if row.value is not None and row.low is not None and row.high is not None:
            first, last = cell(row.low), cell(row.high)
            cells[first : last + 1] = "─" * (last + 1 - first)
        cells[cell(0.0)] = "┊"
        if row.value is not None:
            cells[cell(row.value)] = "●"
        lines.append(f"| {letters(row.label)} | `{''.join(cells)}` | {letters(row.note)} |")
    return Markup("\n".join(lines))


def filled(template: str, **values: Any) -> str:
    """Fill a template of Markdown; each text passes `letters`, unless a function here wrote it."""
    written = _templates().get_template(template).render(values)
    return re.sub(r"\n{3,}", "\n\n", WRAPPED.sub(" ", written.strip())) + "\n"


def html_part(blocks: Iterable[str]) -> str:
    """Return Markdown as HTML for a notebook, whose page has its own style: without scripts."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    written: str = reader.render("\n\n".join(blocks))
    opened = written.replace("<blockquote>\n<p>", '<p class="alert" role="alert">')
    return opened.replace("</p>\n</blockquote>", "</p>")


def html_page(title: str, blocks: Iterable[str]) -> str:
    """Return Markdown as one HTML file, without scripts and without anything from elsewhere."""
    head, body = Markup(escape(printable(title))), Markup(html_part(blocks))
    written: str = _templates().get_template("page.html").render(title=head, body=body)
    return written


@cache
def _templates() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("mipselect.documents", ""),
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else letters(str(value)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        each.__name__: each for each in (alert, bullets, letters, paragraph, plot, table)
    }
    return environment
