"""Markdown of GitHub's kind whose every text is escaped, and HTML, which is that Markdown.

Texts come from files of strangers: `letters` puts a backslash before
whatever Markdown would read as more, so that HTML, which is made of it, has none of their tags.
"""

from __future__ import annotations

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


def filled(template: str, **values: Any) -> str:
    """Fill a template of Markdown; each text passes `letters`, unless a function here wrote it."""
    written = _templates().get_template(template).render(values)
    return re.sub(r"\n{3,}", "\n\n", WRAPPED.sub(" ", written.strip())) + "\n"


def html_page(title: str, blocks: Iterable[str]) -> str:
    """Return Markdown as one HTML file, without scripts and without anything from elsewhere."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    body: str = reader.render("\n\n".join(blocks))
    body = body.replace("<blockquote>\n<p>", '<p class="alert" role="alert">')
    body = body.replace("</p>\n</blockquote>", "</p>")
    head, page = Markup(escape(printable(title))), _templates().get_template("page.html")
    written: str = page.render(title=head, body=Markup(body))
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
        each.__name__: each for each in (alert, bullets, letters, paragraph, table)
    }
    return environment
