"""Commands and Python of the README and the tutorials print what these pages show."""

from __future__ import annotations

import csv
import os
import shutil
from pathlib import Path

import pytest

from mipselect.cli import main
from tests.support.shown import Block, blocks_of, commands_of, first_difference

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
DOCS = ROOT / "docs"
GUIDES = (
    *("fit-a-model", "say-how-good-a-model-is", "predict-two-classes", "keep-a-budget"),
    *("use-scikit-learn", "select-from-scores", "combine-hospitals", "plan-a-study"),
    "select-fields",
)
"""Guides whose commands are about the tables of examples/."""
PAGES = [
    ROOT / "README.md",
    *sorted((DOCS / "tutorials").glob("*.md")),
    *(DOCS / "how-to" / f"{name}.md" for name in GUIDES),
]
HEADERS = [
    next(csv.reader(path.read_text().splitlines())) for path in sorted(EXAMPLES.glob("*.csv"))
]
NAMES = sorted({name for header in HEADERS for name in header})
"""Fields of the tables that pages are about: those that a draw may name."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the tables, in a shell that has no settings of ours."""
    (tmp_path / "examples").mkdir()
    for path in (*EXAMPLES.glob("*.csv"), *EXAMPLES.glob("*.json")):
        shutil.copy(path, tmp_path)
        shutil.copy(path, tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def run(block: Block) -> None:
    """Run a block as a reader does; every command of it succeeds."""
    if block.kind == "python":
        exec(compile(block.text, "page", "exec", dont_inherit=True), {"__name__": "page"})
    for command in commands_of(block.text) if block.kind == "sh" else ():
        assert main(command) == 0, command


@pytest.mark.deep
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_is_printed(
    page: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = blocks_of(page.read_text(encoding="utf-8"))
    for block in blocks:
        run(block)
        printed = capsys.readouterr().out
        if block.shown is not None:
            wrong = first_difference(block.shown, printed, NAMES)
            assert not wrong, f"{page.name} shows another line than\n{wrong}\nof\n{printed}"
    assert Path(os.getcwd()) == folder


def test_pages_show_enough() -> None:
    shown = {
        page.stem: sum(block.shown is not None for block in blocks_of(page.read_text()))
        for page in PAGES
    }
    assert shown["README"] >= 2
    assert shown["first-hour"] >= 5
    assert len(shown) >= 6


PRINTED = "a: 1\nx = 0.5 of age\nend"


@pytest.mark.parametrize("shown", [PRINTED, "a: 1\n...", "...\nend", "...\nx = +7 of sex ~\nend"])
def test_what_was_printed_is_found(shown: str) -> None:
    assert first_difference(shown, PRINTED, ["age", "sex"]) == ""


@pytest.mark.parametrize(
    "shown",
    ["a: 1", "end", "a: 2\n...", "...\nx = 7 of age\nend", "x ~", "...\nx = 7 for age ~\nend"],
)
def test_what_was_not_printed_is_told(shown: str) -> None:
    assert first_difference(shown, PRINTED, ["age", "sex"])
