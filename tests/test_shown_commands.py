"""Commands and Python of the README and the tutorials print what these pages show."""

from __future__ import annotations

import csv
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from mipselect.cli import main

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


DRAWN = " ~"
"""Ends a line that is drawn: its numbers and names differ from run to run."""
BORDERS = re.compile(r"[━─]+")
NUMBERS = re.compile(r"\b[0-9a-f]{64}\b|[-+]?(?:∞|\d+(?:[.,]\d+)*(?:e[-+]?\d+)?(?:T[\d:]+Z)?)")
QUALITY = re.compile(r"^[A-Z][a-z ]*than predicting the mean: .*")
"""A drawn verdict on a model, which is another sentence in an unlucky draw."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Attributes
    ----------
    kind : str
        "sh", "python" or "text".
    text : str
    shown : str or None
        The block of kind "text" that follows: what it prints.
    """

    kind: str
    text: str
    shown: str | None


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page that can be run, in their order."""
    found = re.findall(r"^```(sh|python|text)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    after = [*found[1:], ("", "")][: len(found)]
    return [
        Block(kind, text, following[1] if following[0] == "text" else None)
        for (kind, text), following in zip(found, after, strict=True)
        if kind != "text"
    ]


def commands_of(text: str) -> list[list[str]]:
    """Return the words of each `mipselect` command in a block of the shell."""
    lines = text.replace("\\\n", " ").splitlines()
    words = [shlex.split(line, comments=True) for line in lines]
    return [command[1:] for command in words if command[:1] == ["mipselect"]]


def first_difference(shown: str, printed: str, names: Sequence[str]) -> str:
    """Return the first line shown that was not printed where it is shown; "" if there is none.

    A line `...` stands for any lines. Numbers and names of fields may differ in a line that ends
    with `~`.
    """
    lines, place, anywhere = printed.splitlines(), 0, False
    for line in shown.splitlines():
        if line == "...":
            anywhere = True
            continue
        rest = lines[place:] if anywhere else lines[place : place + 1]
        matching = (k for k, each in enumerate(rest) if _agree(line, each, names))
        found = next(matching, None)
        if found is None:
            return line
        place, anywhere = place + found + 1, False
    return "" if anywhere or not any(lines[place:]) else lines[place]


def _agree(shown: str, printed: str, names: Sequence[str]) -> bool:
    if not shown.endswith(DRAWN):
        return _plain(shown) == _plain(printed)
    return _without_values(shown.removesuffix(DRAWN), names) == _without_values(printed, names)


def _plain(line: str) -> str:
    return " ".join(BORDERS.sub("━", line).split())


def _without_values(line: str, names: Sequence[str]) -> str:
    fields = r"\b(?:" + "|".join(map(re.escape, sorted(names, key=len, reverse=True))) + r")\b"
    named = QUALITY.sub("QUALITY", re.sub(fields, "NAME", line) if names else line)
    return _plain(NUMBERS.sub("0", named).replace("+", "").replace("-", ""))
