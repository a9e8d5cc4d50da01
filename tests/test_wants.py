"""What is skipped, and for want of what: at the end of every run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.wants import wanted

TESTS = Path(__file__).parent

SOME = """
import pytest
from tests.support.wants import wants

@wants("../shared/data", False)
@pytest.mark.parametrize("k", range(3))
def test_of_data(k): ...

@wants("cbc", True)
def test_that_runs(): ...

@pytest.mark.skip(reason="for want of glpk: apt-get install glpk-utils")
def test_of_a_program(): ...

def test_of_a_package():
    pytest.importorskip("no_such_package")
"""


@pytest.mark.parametrize("options", [[], ["--numprocesses", "2"]], ids=["alone", "by two"])
def test_a_run_ends_with_what_was_missing(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (tmp_path / "test_some.py").write_text(SOME)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-ra", *options],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(TESTS.parent)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    *_, said, last = done.stdout.splitlines()
    assert "1 passed, 5 skipped" in last
    each = "../shared/data (3 tests), glpk (1 test), no_such_package (1 test)"
    assert said == f"skipped for want of: {each}"


def test_a_reason_of_another_form_is_said_as_it_is() -> None:
    assert wanted("Skipped: for want of cbc: try apt") == "cbc"
    assert wanted("Skipped: could not import 'dask': No module named 'dask'") == "dask"
    assert wanted("Skipped: not today") == "Skipped: not today"


def test_every_skip_names_what_is_missing() -> None:
    """For the helpers ask for it, and nothing else skips but `importorskip`, which says it."""
    for path in TESTS.rglob("*.py"):
        if path.name not in ("wants.py", "test_wants.py"):
            assert not re.search(r"pytest\.skip\(|mark\.skip", path.read_text()), path
