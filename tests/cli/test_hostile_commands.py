"""Every case of hostile input, each with a name of its own; see `hostile_cases`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.hostile_cases import CASES, Case, call_falls_short, from_python
from tests.support.hostile_processes import PROCESSES
from tests.support.wants import wants

on_linux = wants("/dev/full and /proc", sys.platform == "linux")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_input_is_one_clear_line(case: Case, tmp_path: Path) -> None:
    assert case.falls_short(tmp_path) == ""


def test_names_of_cases_are_their_own() -> None:
    names = [*(case.name for case in CASES), *from_python(), *PROCESSES]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("name", from_python())
def test_bad_arguments_are_one_clear_line(name: str) -> None:
    assert call_falls_short(from_python()[name]) == ""


@pytest.mark.deep
@on_linux
@pytest.mark.parametrize("name", PROCESSES)
def test_hostile_surroundings_end_in_one_line(name: str, tmp_path: Path) -> None:
    assert PROCESSES[name](tmp_path) == ""
