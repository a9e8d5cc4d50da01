"""A file of trials that somebody else deletes, at the worst moments."""

from __future__ import annotations

from pathlib import Path

import pytest

from mipselect.errors import MipselectError
from mipselect_papers.bench.trial_file import TrialFile

ROW = {"sensitive": False, "trial": 1}


def test_a_file_that_goes_while_it_is_looked_at_was_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.jsonl"
    with TrialFile(path) as file:
        file.append(ROW)
        path.unlink()
        # As if it went right after any check whether it is there.
        monkeypatch.setattr(Path, "exists", lambda _: True)
        with pytest.raises(MipselectError, match="deleted or replaced"):
            file.append(ROW)


def test_a_row_that_is_sensitive_closes_the_file_that_is_written(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with TrialFile(path) as file:
        file.append(ROW)
        assert path.stat().st_mode & 0o004
        file.append({**ROW, "sensitive": True})
    assert path.stat().st_mode & 0o777 == 0o600
