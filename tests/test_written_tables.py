"""Written tables of the manual are those of their stored results; mistakes in them are named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import stored
from benchmarks.stored import RESULTS, StoredRun
from docs import written_tables
from docs.written_tables import DOCS, WrongTable

RECORDS = [
    {"method": "loss", "table": "bikes", "epsilon": 0.5, "ways": [0.25, 0.75]},
    {"method": "loss", "table": "wine", "epsilon": 0.5, "ways": [0.1]},
    {"method": "loss", "table": "bikes", "epsilon": 1.0, "ways": [0.6]},
    {"method": "loss", "table": "wine", "epsilon": 1.0, "ways": [-0.001]},
    {"method": "blocks", "table": "wine", "epsilon": 1.0, "ways": [0.9], "rows": 3000},
]
SPECIFICATION = {
    "results": "ways",
    "where": {"method": "loss"},
    "corner": ["table"],
    "rows": ["table"],
    "columns": "epsilon",
    "head": "ε = {epsilon}",
    "cell": "{ways:.2f}",
}
PAGE = "Before.\n\n<!-- table: ways -->\n<!-- end of table -->\n\nBehind.\n"
Store = Callable[..., None]


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Store:
    """Write a run of the name `ways` where the tables look for it."""

    def write(records: list[dict[str, Any]], **given: Any) -> None:
        head = {"command": "python -m b", "date": "2026-11-01", "machine": "2 cores", "seed": "0"}
        run = StoredRun(**{**head, "versions": {}, **given}, records=records)
        run.write(tmp_path / "ways.json")
        written_tables.run.cache_clear()

    monkeypatch.setattr(written_tables, "RESULTS", tmp_path)
    written_tables.run.cache_clear()
    yield write
    written_tables.run.cache_clear()


def lines_of(specification: dict[str, Any], page: str = PAGE) -> list[str]:
    return written_tables.page(page, {"ways": specification}).split("\n")


@pytest.mark.parametrize("path", written_tables.pages(), ids=lambda path: path.stem)
def test_a_page_has_the_numbers_of_its_results(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == written_tables.written(path), (
        f"run: python -m docs.written_tables {path.relative_to(DOCS.parent)}"
    )


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_a_stored_run_says_where_it_is_from(path: Path) -> None:
    run = StoredRun.read(path)
    assert run.entered_by_hand or (run.versions and run.machine != "not recorded")
    assert not any(word.startswith(("/", "~")) for word in run.command.split())
    assert path.stat().st_size < 250_000


def test_every_stored_run_is_on_a_page() -> None:
    specifications = "".join(
        path.read_text("utf-8") for path in written_tables.PAGES.rglob("*.toml")
    )
    unused = [
        path.stem for path in RESULTS.glob("*.json") if f'"{path.stem}"' not in specifications
    ]
    assert unused == []


def test_a_table_by_keys(store: Store) -> None:
    store(RECORDS)
    assert lines_of(SPECIFICATION) == [
        "Before.",
        "",
        "<!-- table: ways -->",
        "",
        "| table | ε = 0.5 | ε = 1 |",
        "| --- | ---: | ---: |",
        "| bikes | 0.50 | 0.60 |",
        "| wine | 0.10 | 0.00 |",
        "",
        "*`python -m b`, 2026-11-01; machine: 2 cores; seeds: 0.*",
        "",
        "<!-- end of table -->",
        "",
        "Behind.",
        "",
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"results": "nothing"}, "docs/results/nothing.json cannot be read"),
        ({"where": {"method": "los"}}, "method = 'los'"),
        ({"where": {}}, "differ in method"),
        ({"cell": "{way:.2f}"}, "no records"),
        ({"cell": "{ways:.2x}"}, "cannot be filled"),
        ({"cells": "{ways}"}, "unexpected keyword argument 'cells'"),
        ({"rows": [{"label": "b", "where": {"table": "bike"}, "missing": ""}]}, "table = 'bike'"),
    ],
)
def test_a_wrong_specification_is_named(store: Store, change: Any, reason: str) -> None:
    store(RECORDS)
    with pytest.raises(WrongTable, match=rf"(?s)^table ways: .*{reason}"):
        lines_of({**SPECIFICATION, **change})


def test_a_run_comes_back_as_it_was_stored(tmp_path: Path) -> None:
    head = ("mipselect plan", "2026-11-01", "2 cores", "1 to 10")
    run = StoredRun(
        *head, records=[{"n": 3000, "way": "ε", "x": [0.5, 1]}], versions={"numpy": "2"}
    )
    run.write(tmp_path / "run.json")
    assert StoredRun.read(tmp_path / "run.json") == run
    text = (tmp_path / "run.json").read_text(encoding="utf-8")
    assert '\n  {"n": 3000, "way": "ε", "x": [0.5, 1]}\n' in text
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_records_of_a_plan() -> None:
    line = {"method": "sis", "tables": 4, "cells": [{"found": 0.5}]}
    cell = {"epsilon": 2.0, "expected": 0.2, "quality": {"half_width": None, "above_chance": 0.7}}
    model = {"tables": 3, "without_privacy": 0.3, "cells": [cell]}
    plan = {"command": "plan", "epsilons": [2.0], "chance_level": 0.1, "lines": [line]}
    assert stored.records_of({**plan, "model": model}) == [
        {"line": "sis", "tables": 4, "epsilon": 2.0, "found": 0.5},
        {"line": "chance level", "epsilon": 2.0, "found": 0.1},
        {"line": "model", "tables": 3, "epsilon": 2.0, "expected": 0.2, "above_chance": 0.7},
        {"line": "model without privacy", "epsilon": 2.0, "expected": 0.3},
    ]
