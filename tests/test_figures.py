"""Figures of the manual: that of measured numbers is what its script draws."""

from __future__ import annotations

import re
from pathlib import Path
from runpy import run_path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
FIGURES = sorted((DOCS / "figures").glob("*.svg"))
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def words_of(path: Path) -> list[str]:
    """All text of a figure, in its order."""
    return re.findall(r"<text[^>]*>([^<]*)", path.read_text(encoding="utf-8"))


def shape_of(path: Path) -> list[float]:
    """All coordinates of paths, rounded: another version of matplotlib writes other digits."""
    drawn = re.findall(r' d="([^"]*)"', path.read_text(encoding="utf-8"))
    return [round(float(each)) for path in drawn for each in NUMBER.findall(path)]


def test_the_figure_of_a_table_has_its_numbers(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    stored, drawn = (folder / "found-by-epsilon.svg" for folder in (DOCS / "figures", tmp_path))
    run_path(str(DOCS / "figures" / "draw.py"))["found_by_epsilon"](drawn)
    assert words_of(drawn) == words_of(stored)
    assert shape_of(drawn) == pytest.approx(shape_of(stored), abs=1)


def test_figures_have_words_and_no_background() -> None:
    for path in FIGURES:
        assert len(words_of(path)) >= 5
        first = path.read_text(encoding="utf-8").split('<g id="axes_1">')[0]
        assert "fill: #ffffff" not in first
        assert "fill: none" in first or "opacity: 0" in first
