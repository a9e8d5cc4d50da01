"""What the core and the commands load: no more modules than they need."""

from __future__ import annotations

import json
import subprocess
import sys
from ast import literal_eval
from pathlib import Path

import pytest

from mipselect import Guarantee, Ledger
from mipselect.cli.commands import OWN

pytestmark = pytest.mark.deep

MOST_LOADED = 110

LOADED = (
    "import json, sys; print(json.dumps([m for m in sys.modules if m.startswith('mipselect')]))"
)


def loaded_after(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{LOADED}"], capture_output=True, text=True, check=True
    )
    names: list[str] = json.loads(done.stdout)
    return names


@pytest.mark.parametrize(
    "code",
    [
        "from mipselect import Instance, top_supports, mistake_levels, TopR",
        "import mipselect; mipselect.load_instance('paper-p100')",
        "import mipselect.blocks.r_squared, mipselect.mechanisms.supports.exact",
    ],
)
def test_the_core_loads_nothing_about_tables(code: str) -> None:
    above = ("tables", "quality", "planning", "reports", "cli", "selectors", "regression")
    assert [
        name for name in loaded_after(code) if name.split(".")[1:2] in [[a] for a in above]
    ] == []


def test_the_mission_loads_few_modules() -> None:
    names = loaded_after("from mipselect import top_supports, mistake_levels, TopR")
    assert len(names) <= MOST_LOADED


HEAVY = {
    "clarabel", "cvxpy", "highspy", "jsonschema", "opendp", "pandas", "pyarrow", "pyomo", "scipy",
    "sklearn", "sqlite3", "threadpoolctl",
}  # fmt: skip
"""Modules that take long to load, and that no command loads before it uses them."""

SHOW = [["ledger", "create"], ["ledger", "show"], ["schema", "to-csv"], ["schema", "confirm"]]


def heavy_after(*words: str) -> set[str]:
    code = (
        "import sys; from mipselect.cli import main; code = main(sys.argv[1:])\n"
        f"print(sorted({HEAVY} & set(sys.modules)), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    return set(literal_eval(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("command", [[], *([name] for name in OWN), *SHOW])
def test_help_loads_nothing_that_takes_long(command: list[str]) -> None:
    assert heavy_after(*command, "--help") == set()


def test_a_ledger_is_shown_with_its_database_alone(tmp_path: Path) -> None:
    file = str(tmp_path / "study.ledger")
    assert heavy_after("ledger", "create", file, "--epsilon", "1") == {"sqlite3"}
    for _ in range(2):
        assert heavy_after("ledger", "show", file) == {"sqlite3"}
        Ledger.open(file).spend(Guarantee(0.5))


def test_solvers_are_listed_without_the_search() -> None:
    assert heavy_after("solvers") <= {"highspy"}


@pytest.mark.parametrize(
    "line",
    [
        "solve tiny-plain --solver native",
        "select examples/diabetes.csv --target progression --support-size 2 --epsilon 1",
    ],
)
def test_a_table_of_numbers_is_searched_without_data_frames_and_models(line: str) -> None:
    assert heavy_after(*line.split()) <= {"pyarrow", "scipy", "sqlite3", "threadpoolctl"}
