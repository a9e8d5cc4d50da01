"""Files of trials: whole lines, whoever else writes to them, and files of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mipselect import errors
from mipselect_papers.runner import FORMAT, KEYS, START, TrialFile

ROW: dict[str, Any] = {**dict.fromkeys(KEYS, "x"), "sensitive": False}
LINE = json.dumps({"format": FORMAT, **ROW}) + "\n"
WITHOUT = LINE.replace('"experiment"', '"other"')


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rows.jsonl"


def written(file: Path) -> list[Any]:
    return [json.loads(line)["readings"] for line in file.read_text().splitlines()]


def test_two_runs_on_one_file_lose_no_line(file: Path) -> None:
    with TrialFile(file) as slow, TrialFile(file) as quick:
        quick.append({**ROW, "readings": "quick"})
        slow.append({**ROW, "readings": "slow"})
    assert written(file) == ["quick", "slow"]


def test_a_half_written_line_is_cut_off_only_if_nobody_has_written_since(file: Path) -> None:
    file.write_bytes(START[:9])
    with TrialFile(file) as slow, TrialFile(file) as quick:
        quick.append({**ROW, "readings": "quick"})
        with pytest.raises(errors.MipselectError, match="another run writes to it"):
            slow.append({**ROW, "readings": "slow"})
    assert written(file) == ["quick"]


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ("epsilon,exact\n1,0.5\n", 1, "it is not JSON"),
        ('{"format": "other"}\n', 1, "its format is not 'mipselect-trials-1'"),
        ("[1, 2]\n", 1, "its format is not"),
        ("a note without an end", 1, "it is cut off and begins like no other"),
        ("\n", 1, "it is not JSON"),
        (WITHOUT, 1, "it lacks 'experiment'"),
        (f"{LINE}{LINE}x\n", 3, "it is not JSON"),
        (f"{LINE}trailing", 2, "it is cut off"),
        (b"\xff\xfe\n", 1, "it is not JSON"),
        ("[" * 100_000 + "]" * 100_000 + "\n", 1, "nested too deeply"),
    ],
)
def test_files_of_others_are_left_alone(
    file: Path, content: str | bytes, line: int, reason: str
) -> None:
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    before = file.read_bytes()
    with pytest.raises(errors.InvalidInput, match=f"line {line}, is no trial: .*{reason}"):
        TrialFile(file)
    assert file.read_bytes() == before


def test_a_row_that_is_sensitive_closes_the_file_that_is_written(file: Path) -> None:
    with TrialFile(file) as open_file:
        open_file.append(ROW)
        assert file.stat().st_mode & 0o004
        open_file.append({**ROW, "sensitive": True})
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_a_row_that_cannot_be_written_is_an_error(file: Path) -> None:
    file.symlink_to("/dev/full")
    with TrialFile(file.parent / "none") as open_file:
        open_file.path = file
        with pytest.raises(errors.MipselectError, match="No space left"):
            open_file.append(ROW)
