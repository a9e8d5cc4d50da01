"""Fixtures of all tests, the command line among them.

A test is deep, and left to `make deep`, if it is marked so, if it asks for a fixture that starts
something or for a back end that is an executable, or if it is of one seed of many.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from mipselect.cli import main
from mipselect.cli.commands import FILE
from tests.support.commandline import INSTANCE, TABLE, Outcome, Run

STARTING = frozenset({"chromium", "shell", "unpacked"})
"""Fixtures that start a process or a browser."""
EXECUTABLES = frozenset({"cbc", "glpk"})
FEW_SEEDS = 5

# A deadline would judge the machine: an example that waits for a busy core is not wrong. The same
# examples in every run, so that a change is judged by what it changed; `make fuzz` takes new ones.
settings.register_profile("tests", deadline=None, derandomize=True)
settings.register_profile("fuzz", deadline=None, max_examples=2_000)
settings.load_profile("tests")


def pytest_sessionstart() -> None:
    """Refuse to run beside a project file, whose defaults every command would take."""
    if FILE.exists():
        raise pytest.UsageError(f"{FILE}: the tests would take their defaults from it; move it")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests as deep by their fixtures, and those of seeds beyond the first few."""
    seeds: dict[str, list[object]] = {}
    for item in items:
        assert isinstance(item, pytest.Function)
        given = item.callspec.params if hasattr(item, "callspec") else {}
        before = seeds.setdefault(item.nodeid.partition("[")[0], [])
        if "seed" in given and given["seed"] not in before:
            before.append(given["seed"])
        late = "seed" in given and before.index(given["seed"]) >= FEW_SEEDS
        starts = STARTING.intersection(item.fixturenames)
        executed = [
            each for each in given.values() if isinstance(each, str) and each in EXECUTABLES
        ]
        if late or starts or executed:
            item.add_marker("deep")


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).parent.parent


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Call `main` in this process."""

    def call(*arguments: str | Path) -> Outcome:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def shell() -> Run:
    """Start a process of its own."""

    def call(*arguments: str | Path) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "mipselect", *map(str, arguments)],
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with data.csv and instance.toml."""
    (tmp_path / "data.csv").write_text(TABLE)
    (tmp_path / "instance.toml").write_text(INSTANCE)
    return tmp_path


@pytest.fixture
def here(made: Path, tmp_path: Path) -> Path:
    """Copies of the files that a module has `made`, which a test may change."""
    for path in made.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path
