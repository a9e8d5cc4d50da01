"""A file of trials with sensitive rows."""

from __future__ import annotations

from pathlib import Path

from mipselect_papers.runner import TrialFile

ROW = {"sensitive": False, "trial": 1}


def test_a_row_that_is_sensitive_closes_the_file_that_is_written(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with TrialFile(path) as file:
        file.append(ROW)
        assert path.stat().st_mode & 0o004
        file.append({**ROW, "sensitive": True})
    assert path.stat().st_mode & 0o777 == 0o600
