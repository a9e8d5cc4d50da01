"""Figures of the manual, and the table of its tutorials, are what their scripts make."""

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


def test_figures_are_what_their_script_draws(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run_path(str(DOCS / "figures" / "draw.py"))["draw_all"](tmp_path)
    assert {path.name for path in tmp_path.iterdir()} <= {path.name for path in FIGURES}
    for drawn in tmp_path.iterdir():
        stored = DOCS / "figures" / drawn.name
        assert words_of(drawn) == words_of(stored), stored.name
        assert shape_of(drawn) == pytest.approx(shape_of(stored), abs=1), stored.name


def test_figures_have_words_and_no_background() -> None:
    for path in FIGURES:
        assert len(words_of(path)) >= 5
        first = path.read_text(encoding="utf-8").split('<g id="axes_1">')[0]
        assert "fill: #ffffff" not in first
        assert "fill: none" in first or "opacity: 0" in first


def test_the_table_of_the_tutorials_is_what_its_script_makes_up(tmp_path: Path) -> None:
    stays = run_path(str(DOCS / "tables" / "stays.py"))
    stays["write"](tmp_path / "stays.csv")
    assert (tmp_path / "stays.csv").read_bytes() == stays["PATH"].read_bytes()
