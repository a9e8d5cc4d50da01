"""A page as a browser would see it: its tags in order, its letters, and all that it would load."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

VOID = {"meta"}
LOADS = ("src", "srcset", "action", "formaction", "data", "poster", "background", "xlink:href")
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "p", "strong"),
    *("ul", "li", "a", "table", "thead", "tbody", "tr", "th", "td", "code"),
}
"""What a report is made of."""


class Page(HTMLParser):
    """Raises where a tag is closed that was not the last to be opened."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == [], self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._seen(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self._seen(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data

    def _seen(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.links += [value for name, value in attrs if name == "href"]


def checked_page(text: str) -> Page:
    """A page that is well formed, has no tag of a stranger, and loads and runs nothing."""
    page = Page(text)
    assert page.tags <= TAGS
    assert not [each for each in page.attributes if each[1] in LOADS or each[1].startswith("on")]
    assert all(link.startswith("https://") for link in page.links)
    assert re.search(r"url\(|@import|javascript:", text.split("<body>")[0]) is None
    return page


def markdown_tables(text: str) -> list[list[list[str]]]:
    """The tables of a Markdown page as cells; raises where a row has another number of cells."""
    tables: list[list[list[str]]] = [[]]
    for line in text.splitlines():
        if line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line)
            assert cells[0] == cells[-1] == ""
            tables[-1].append([cell.strip() for cell in cells[1:-1]])
        elif tables[-1]:
            tables.append([])
    found = [table for table in tables if table]
    for table in found:
        assert len({len(row) for row in table}) == 1, table
        assert all(re.fullmatch("-{3,}:?", cell) for cell in table[1])
    return found
