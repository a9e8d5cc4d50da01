"""What the code says of docs/mathematics is there, and what these pages say of the code is."""

from __future__ import annotations

import re
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path

import pytest

from mipselect.search.tuning import Strategy

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "mathematics"
PAGES = {page.name: page.read_text() for page in sorted(FOLDER.glob("*.md"))}
STATEMENT = re.compile(r"^## \((\d+)\) (.+)$", re.MULTILINE)
REFERENCE = re.compile(r"docs/mathematics/([\w-]+\.md)((?:(?:,| and)? \(\d+\))*)")
"""Such as docs/mathematics/cuts.md, (4) and (7)."""

ELSEWHERE = re.compile(r"\bMATH\b|\bREGRESSION\.md|\(\d\.\d\) of|\bcut \(\d|section \d+ of MATH")
SOURCES = [
    path
    for folder in ("mipselect", "solvers", "tests", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path != Path(__file__)
]


def statements(page: str) -> dict[int, str]:
    """The text of every statement by its number."""
    parts = STATEMENT.split(PAGES[page])
    return {int(parts[k]): parts[k + 2] for k in range(1, len(parts), 3)}


def references(text: str) -> list[tuple[str, int]]:
    """Pages and numbers that a source refers to, across line ends and comment signs."""
    joined = re.sub(r"\s*\n[\s#]*", " ", text)
    return [
        (page, int(number))
        for page, numbers in REFERENCE.findall(joined)
        for number in re.findall(r"\d+", numbers) or ["0"]
    ]


def found_by(name: str) -> object:
    """The object of a dotted name, or the field of a dataclass."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        try:
            found: object = import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for part in parts[k:]:
            fields = getattr(found, "__dataclass_fields__", {}) if is_dataclass(found) else {}
            found = fields[part] if part in fields else getattr(found, part)
        return found
    raise AssertionError(f"no module of {name}")


@pytest.mark.parametrize("page", [name for name in PAGES if name != "index.md"])
def test_statements_are_numbered_and_say_where_they_are_used(page: str) -> None:
    found = statements(page)
    assert list(found) == list(range(1, len(found) + 1))
    assert len(found) >= 4
    assert f"]({page})" in PAGES["index.md"]
    for number, text in found.items():
        names = re.findall(r"`(mipselect(?:_solvers)?(?:\.\w+)+)`", text)
        assert "*In the code:*" in text, f"{page}, ({number})"
        assert names, f"{page}, ({number})"
        for name in names:
            assert found_by(name) is not None


@pytest.mark.parametrize("page", list(PAGES))
def test_references_between_the_pages_exist(page: str) -> None:
    text = re.sub(r"\s*\n\s*", " ", PAGES[page])
    for number, other in re.findall(r"\[[\w\s-]+, \((\d+)\)\]\(([\w-]+\.md)\)", text):
        assert int(number) in statements(other), f"{page} refers to {other}, ({number})"


def test_references_of_the_code_exist() -> None:
    count = 0
    for path in SOURCES:
        for page, number in references(path.read_text()):
            assert page in PAGES, f"{path} refers to {page}"
            assert number == 0 or number in statements(page), f"{path}: {page}, ({number})"
            count += 1
    assert count > 20


def test_strategies_rest_on_statements_that_exist() -> None:
    resting = [strategy for strategy in Strategy if strategy.equations]
    assert len(resting) >= 12
    for strategy in resting:
        assert set(strategy.equations) <= set(statements("cuts.md")), strategy


def test_the_code_refers_to_these_pages_and_no_others() -> None:
    for path in SOURCES:
        assert not (said := ELSEWHERE.findall(path.read_text())), f"{path} refers to {said}"


@pytest.mark.parametrize("page", ["cuts.md", "exact-draws.md"])
def test_every_bound_says_what_is_known_and_its_sources_are_listed(page: str) -> None:
    table = PAGES[page].split("## What is known and what is new")[1]
    rows = [line for line in table.splitlines() if line.startswith("| (")]
    compared = {
        int(number) for row in rows for number in re.findall(r"\((\d+)\)", row.split("|")[1])
    }
    missing = set(statements(page)) - compared
    assert not missing or (page, missing) == ("exact-draws.md", {8})  # What is not missing.
    sources = re.findall(r"\[((?:doi|arXiv):[^\]]+)\]", table)
    assert len(sources) >= 5
    listed = (ROOT / "docs" / "references.md").read_text()
    assert [source for source in sources if source not in listed] == []
