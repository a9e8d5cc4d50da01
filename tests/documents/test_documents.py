"""Documents as Markdown and as HTML: what stands where, and that no text leaves its place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mipselect.documents.markdown import (
    Cited,
    alert,
    bullets,
    html_page,
    letters,
    paragraph,
    table,
)
from mipselect.privacy import Guarantee, Release
from mipselect.reports import ReleaseReport
from mipselect.reports.release_report import LedgerNote, ReportedRelease
from tests.support.browser import SIZES, resize
from tests.support.pages import checked_page, markdown_tables

HOSTILE = (
    *("<img src=x onerror=alert(1)>", "</td></table><script>alert(1)</script>", "&lt;b&gt; &amp;"),
    *('a" onload="alert(1)', "a|b", "back\\|slash", "`code`", "[x](http://e.vil)", "# heading"),
    *("![x](https://e.vil/x.png)", "https://e.vil/x and www.e.vil and a@e.vil", "- item"),
    *("line\nbreak\r\n\n# heading", "bell\x07 \x1b]0;owned\x07 \u202e turned", "12. item"),
    "$x$ ~~gone~~ *bold* _slant_",
)


FACT = "Data curator"


def of(text: str) -> list[str]:
    return [
        f"# {letters(text)}",
        f"## {letters(text)}",
        paragraph(text),
        alert(text),
        bullets((text, Cited(text, text, "https://doi.org/1"))),
        table((text, "n"), [(text, text)], numbers=("n",)),
    ]


def reported(text: str) -> ReleaseReport:
    """A report whose every name is a text."""
    release = Release((0,), ("a",), Guarantee(1.0, conditions=("c",)), "m", True)
    one = ReportedRelease(
        name=text, guarantee=release.guarantee, data=text, target=text, method=text, about=text,
        selection=release, always=(text,), candidates=(text,), unit=text, version=text,
        titles={"a": text}, ledger=LedgerNote(text, text, 1, text), digest=text,
    )  # fmt: skip
    return ReleaseReport(title=text, releases=(one, one), facts={FACT: text})


@pytest.mark.parametrize("text", HOSTILE)
def test_no_name_leaves_its_place_in_a_report(text: str) -> None:
    made, plain = (reported(each) for each in (text, "plain"))
    page, other = checked_page(made.html()), checked_page(plain.html())
    assert (page.tags, page.links) == (other.tags, other.links)
    tables, others = (markdown_tables(each.markdown()) for each in (made, plain))
    assert [len(table) for table in tables] == [len(table) for table in others]
    lines, known = (each.markdown().splitlines() for each in (made, plain))
    assert [line[:2] for line in lines if line[:1] in "#->"] == [
        line[:2] for line in known if line[:1] in "#->"
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_leaves_its_place_in_html(text: str) -> None:
    plain = checked_page(html_page("plain", of("plain")))
    source = html_page(text, of(text))
    page = checked_page(source)
    assert (page.tags, page.links) == (plain.tags, ["https://doi.org/1"])
    shown = text if text.isprintable() else re.split(r"[^ -~]", text)[0]
    assert page.text.count(shown) >= plain.text.count("plain")
    assert not any(ord(c) < 32 and c != "\n" for c in source)
    assert "\u202e" not in source


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_leaves_its_place_in_markdown(text: str) -> None:
    source = "\n\n".join(of(text))
    tables = markdown_tables(source)
    assert [(len(table), len(table[0])) for table in tables] == [(3, 2)]
    assert source.count("](https://doi.org/1)") == 1
    # Once backslashes and what they keep plain are gone, nothing that Markdown reads is left.
    bare = re.sub(r"\\.", "", source.replace("](https://doi.org/1)", ""))
    assert not re.search(r"<|\]\(|!\[|://|www\.|@|~|\$|&|(?<!\*)\*(?!\*)", bare)
    assert "\u202e" not in source
    paragraphs = [part for part in source.split("\n\n") if not part.startswith(("|", ">", "- "))]
    assert [part.startswith("#") for part in paragraphs] == [True, True, False]
    assert not re.match(r"\s*(-|\d+\.) ", paragraphs[2])


NAMES = ("systolic_blood_pressure_at_admission", "hospitalIdentificationNumber", "age")
TITLES = ("fine", "missing", "below minimum", "above maximum", "in no list", "unreadable")


def test_a_page_is_as_wide_as_the_screen(tmp_path: Path, chromium: Any) -> None:
    """Columns of a wide table ran off the edge of a phone."""
    rows = [(name, "2,850 (95.0 %)", *[""] * 3, "115 (3.8 %)", "1") for name in NAMES]
    page = tmp_path / "check.html"
    page.write_text(html_page("t", [table(("field", *TITLES), rows, TITLES)]))
    for size in SIZES:
        resize(chromium, size)
        chromium.get(page.as_uri())
        widths = chromium.execute_script(
            "return [document.documentElement.scrollWidth,"
            " ...[...document.querySelectorAll('table')].map(x => x.getBoundingClientRect().right)]"
        )
        assert max(widths) <= SIZES[size][0]


def test_blocks_are_elements_of_a_page() -> None:
    blocks = [paragraph("a<b"), table(("x", "ε"), [("1", "2")], numbers=("ε",)), alert("no")]
    part = html_page("t", blocks)
    assert "<p>a&lt;b</p>" in part
    assert "<th>x</th>" in part
    assert '<td style="text-align:right">2</td>' in part
    assert '<p class="alert" role="alert"><strong>no</strong></p>\n' in part
