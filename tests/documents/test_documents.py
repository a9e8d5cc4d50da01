"""Documents as HTML and as Markdown: what stands where, and that no text leaves its place."""

from __future__ import annotations

import math
import re
from html import escape, unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from mipselect.documents.blocks import (
    MOST,
    Alert,
    BulletList,
    Cited,
    Document,
    Heading,
    IntervalPlot,
    KeyedTable,
    Paragraph,
    PlotRow,
    TextTable,
    linear_ticks,
    ratio_ticks,
)
from mipselect.documents.pages import html_page, html_part, markdown_page
from tests.support.browser import SIZES, resize
from tests.support.pages import checked_page, markdown_tables

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</td></table><script>alert(1)</script>",
    'a" onload="alert(1)',
    "a|b",
    "back\\|slash",
    "`code`",
    "[x](http://e.vil)",
    "![x](https://e.vil/x.png)",
    "https://e.vil/x and www.e.vil and a@e.vil",
    "line\nbreak\r\n\n# heading",
    "bell\x07 \x1b]0;owned\x07 \u202e turned",
    "&lt;b&gt; &amp;",
    "# heading",
    "- item",
    "12. item",
    "$x$ ~~gone~~ *bold* _slant_",
)


def of(text: str) -> Document:
    plot = IntervalPlot((PlotRow(text, 1.0, 0.5, 2.0, text), PlotRow(text, None)), text)
    return Document(
        text,
        (
            Heading(2, text),
            Paragraph(text),
            Alert(text),
            BulletList((text, Cited(text, text, "https://doi.org/1"))),
            TextTable((text, "n"), ((text, text),), numbers=("n",)),
            KeyedTable(((text, text, ""), (text, None, text))),
            plot,
        ),
    )


PLACES_IN_HTML = 17
"""How often `of` shows its text; the title of HTML stands in its head as well."""


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_leaves_its_place_in_html(text: str) -> None:
    plain = checked_page(html_page(of("plain"))).tags
    source = html_page(of(text))
    page = checked_page(source)
    assert page.tags - {"wbr"} == plain
    assert page.links == ["https://doi.org/1"]
    shown = text if text.isprintable() else re.split(r"[^ -~]", text)[0]
    assert page.text.count(shown) >= PLACES_IN_HTML
    assert not any(ord(c) < 32 and c != "\n" for c in source)
    assert "\u202e" not in source


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_leaves_its_place_in_markdown(text: str) -> None:
    source = markdown_page(of(text))
    tables = markdown_tables(source)
    assert [len(table) for table in tables] == [3, 4, 4]
    assert [len(table[0]) for table in tables] == [2, 2, 3]
    assert source.count("](https://doi.org/1)") == 1
    # Once backslashes and what they keep plain are gone, nothing that Markdown reads is left.
    bare = re.sub(r"\\.", "", source.replace("](https://doi.org/1)", ""))
    assert not re.search(r"<|\]\(|!\[|://|www\.|@|~|\$|&|(?<!\*)\*(?!\*)", bare)
    assert "\u202e" not in source
    paragraphs = [part for part in source.split("\n\n") if not part.startswith(("|", ">", "- "))]
    assert [part.startswith("#") for part in paragraphs] == [True, True, False]
    assert not re.match(r"\s*(-|\d+\.) ", paragraphs[2])


@pytest.mark.parametrize("text", HOSTILE)
def test_a_reader_of_markdown_shows_the_letters(text: str) -> None:
    """`rich` brings a reader along."""
    reader = MarkdownIt("commonmark").enable("table")
    shown, plain = (reader.render(markdown_page(of(each))) for each in (text, "plain"))
    assert set(re.findall(r"<(\w+)", shown)) == set(re.findall(r"<(\w+)", plain))
    assert re.findall('href="(.*?)"', shown) == ["https://doi.org/1"]
    if text.isprintable():
        assert unescape(shown).count(text) == unescape(plain).count("plain")


def test_a_part_for_a_notebook_is_plain() -> None:
    part = html_part([Paragraph("a<b"), TextTable(("x",), (("1",),))])
    assert part.replace("\n", "") == (
        "<p>a&lt;b</p><table><tr><th>x</th></tr><tr><td>1</td></tr></table>"
    )


ROWS = (
    PlotRow("a", 2.0, 1.0, 3.0, "+2"),
    PlotRow("b", -0.5, -1.0, 0.25),
    PlotRow("outside", 4.0, 1.0, 3.0),
    PlotRow("open", None, note="open"),
    PlotRow("half", 1.0, -math.inf, 2.0),
    PlotRow("point", 0.0),
)


def drawn(plot: IntervalPlot) -> list[dict[str, list[float]]]:
    """Positions in percent of what is drawn in every row, the axis at the end."""
    found = []
    for strip in re.findall(r"<svg.*?</svg>", html_part([plot]), re.DOTALL):
        lines = re.findall(r'<line class="(\w+)" x1="([\d.]+)%?" x2="([\d.]+)%"', strip)
        row: dict[str, list[float]] = {"zero": [], "interval": [], "point": []}
        for kind, first, last in lines:
            if kind == "zero" and first == last:
                row["zero"].append(float(first))
            if kind == "interval" and first != last:
                row["interval"] += [float(first), float(last)]
        row["point"] = [float(x) for x in re.findall(r'cx="([\d.]+)%"', strip)]
        found.append(row)
    return found


@pytest.mark.parametrize("ratios", [False, True])
def test_points_intervals_and_the_line_at_zero_are_where_they_belong(ratios: bool) -> None:
    plot = IntervalPlot(ROWS, "change", ratios)
    *rows, _ = drawn(plot)
    low, high = plot.span
    assert low < -1.0 < 4.0 < high

    def place(number: float) -> float:
        return pytest.approx(100.0 * (number - low) / (high - low), abs=1e-3)

    assert all(row["zero"] == [place(0.0)] for row in rows)
    assert rows[0]["interval"] == [place(1.0), place(3.0)]
    assert rows[0]["point"] == [place(2.0)]
    assert rows[0]["interval"][0] < rows[0]["point"][0] < rows[0]["interval"][1]
    assert rows[1]["interval"][0] < rows[1]["zero"][0] < rows[1]["interval"][1]
    assert rows[2]["point"][0] > rows[2]["interval"][1]
    assert rows[3] == {"zero": [place(0.0)], "interval": [], "point": []}
    assert rows[4]["interval"] == [0.0, place(2.0)]
    assert rows[5]["interval"] == []
    assert all(0.0 <= x <= 100.0 for row in rows for xs in row.values() for x in xs)


def test_the_same_in_characters() -> None:
    (table,) = markdown_tables(markdown_page(Document("t", (IntervalPlot(ROWS, "change"),))))
    strips = [row[1].strip("`") for row in table[2:]]
    assert len({len(strip) for strip in strips}) == 1
    zeros = {strip.index("┊") for strip in strips if "┊" in strip}
    assert len(zeros) == 1
    first, second = strips[:2]
    assert first.index("┊") < first.index("─") < first.index("●") < first.rindex("─")
    assert second.index("●") < second.index("┊")
    assert "●" not in strips[3]


@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, 1.0), (0.0, 3.0), (-1e-9, 2e-9), (1e6, 3e9), (-73.2, 11.0)]
)
def test_ticks_are_few_and_round(low: float, high: float) -> None:
    ticks = linear_ticks(low, high)
    assert 2 <= len(ticks) <= MOST + 1
    assert all(low <= position <= high for position, _ in ticks)
    assert all(float(text) == pytest.approx(position, abs=1e-12) for position, text in ticks)
    assert (0.0 in [position for position, _ in ticks]) == (low <= 0.0 <= high)


def test_ticks_of_ratios_say_what_they_are_the_logarithm_of() -> None:
    ticks = ratio_ticks(-3.0, 3.0)
    assert [text[0] for _, text in ticks] == ["÷", "÷", "×", "×", "×"]
    assert (0.0, "×1") in ticks
    for position, text in ticks:
        factor = float(text[1:]) if text[0] == "×" else 1.0 / float(text[1:])
        assert math.exp(position) == pytest.approx(factor)
    apart = [b - a for (a, _), (b, _) in pairwise(ticks)]
    assert min(apart) >= 1.0 - 1e-9
    assert ratio_ticks(-1e-3, 1e-3) == [(0.0, "×1")]


def test_zero_is_on_the_axis_of_points_far_from_it() -> None:
    for value in (5.0, -5.0):
        plot = IntervalPlot((PlotRow("a", value, value - 1.0, value + 1.0),), "change")
        row, _ = drawn(plot)
        assert 0.0 < row["zero"][0] < 100.0
        assert (row["zero"][0] < row["point"][0]) == (value > 0.0)


def test_an_empty_span_still_has_an_axis() -> None:
    assert drawn(IntervalPlot((PlotRow("a", 0.0),), "change"))[0]["point"] == [50.0]


def test_titles_break_where_a_word_is_very_long() -> None:
    part = html_part([TextTable(("a" * 50, "short words"), ())])
    assert f"<th>{'a' * 24}<wbr>{'a' * 24}<wbr>aa</th><th>short words</th>" in part


def test_numbers_stand_to_the_right() -> None:
    table = TextTable(("name", "ε"), (("a", "1"),), numbers=("ε",))
    assert f'<td class="number">{escape("1")}</td>' in html_part([table])
    assert "| --- | ---: |" in markdown_page(Document("t", (table,)))


NAMES = ("systolic_blood_pressure_at_admission", "hospitalIdentificationNumber", "age")
TITLES = ("fine", "missing", "below minimum", "above maximum", "in no list", "unreadable")


def test_a_wide_table_is_a_list_for_each_row_on_a_phone(tmp_path: Path, chromium: Any) -> None:
    """Its names were broken inside words, and its columns ran off the edge."""
    rows = tuple((name, "2,850 (95.0 %)", *[""] * 3, "115 (3.8 %)", "1") for name in NAMES)
    page = tmp_path / "check.html"
    page.write_text(html_page(Document("t", (TextTable(("field", *TITLES), rows, TITLES),))))
    for size, shown in (("phone", [1, 2, 6, 7]), ("desktop", [1, 2, 3, 4, 5, 6, 7])):
        resize(chromium, size)
        chromium.get(page.as_uri())
        cells = chromium.execute_script(
            "return [...document.querySelectorAll('td')].map(cell => {"
            " const box = cell.getBoundingClientRect(), style = getComputedStyle(cell);"
            " const lines = box.height / parseFloat(style.lineHeight);"
            " return [cell.cellIndex + 1, box.right, lines, style.display] })"
        )
        seen = [cell for cell in cells if cell[3] != "none"]
        assert [cell[0] for cell in seen] == shown * len(NAMES)
        assert max(cell[1] for cell in seen) <= SIZES[size][0]
        assert max(cell[2] for cell in seen) < 2.0


def test_a_wide_table_names_its_values() -> None:
    part = html_part([TextTable(tuple("abcd&"), (tuple("12345"),), numbers=("&",))])
    assert '<table class="wide"><tr><th>a</th>' in part
    assert '<td class="number" data-title="&amp;">5</td>' in part
    assert "data-title" not in html_part([TextTable(tuple("abcd"), (tuple("1234"),))])
