"""Figures of the manual, and the table of its tutorials, are what their scripts make."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parent.parent / "docs"
FIGURES = sorted((DOCS / "figures").glob("*.svg"))
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@pytest.fixture
def drawing(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module that draws all figures."""
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(DOCS / "figures")
    import draw

    yield draw
    for name in ("draw", "style", *draw.NAMES):
        sys.modules.pop(name, None)


def words_of(path: Path) -> list[str]:
    """All text of a figure, in its order."""
    return re.findall(r"<text[^>]*>([^<]*)", path.read_text(encoding="utf-8"))


def shape_of(path: Path) -> list[float]:
    """All coordinates of paths, rounded: another version of matplotlib writes other digits."""
    drawn = re.findall(r' d="([^"]*)"', path.read_text(encoding="utf-8"))
    return [round(float(each)) for path in drawn for each in NUMBER.findall(path)]


def test_figures_are_what_their_scripts_draw(drawing: ModuleType, tmp_path: Path) -> None:
    assert {path.stem for path in FIGURES} == {name.replace("_", "-") for name in drawing.NAMES}
    assert len(FIGURES) >= 6
    drawing.draw_all(tmp_path)
    for stored in FIGURES:
        drawn = tmp_path / stored.name
        assert words_of(drawn) == words_of(stored), stored.name
        assert shape_of(drawn) == pytest.approx(shape_of(stored), abs=1), stored.name


def test_figures_have_words_and_no_background() -> None:
    for path in FIGURES:
        assert len(words_of(path)) >= 5
        first = path.read_text(encoding="utf-8").split('<g id="axes_1">')[0]
        assert "fill: #ffffff" not in first
        assert "fill: none" in first or "opacity: 0" in first


def test_the_table_of_the_tutorials_is_what_its_script_makes_up(tmp_path: Path) -> None:
    sys.path.insert(0, str(DOCS / "tables"))
    try:
        import stays
    finally:
        sys.path.pop(0)
    stays.write(tmp_path / "stays.csv")
    assert (tmp_path / "stays.csv").read_bytes() == stays.PATH.read_bytes()
