"""A file is there whole or not at all, and what is said of it is so."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from mipselect.disk import write_whole


def test_an_interrupt_after_the_file_is_there_is_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It became an `OSError`: "could not be written, nothing was released"."""
    replace = os.replace

    def interrupted(*names: Any) -> None:
        replace(*names)
        raise KeyboardInterrupt

    monkeypatch.setattr("mipselect.disk.os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "release.json", b"{}")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"{}"]


def test_no_other_thread_writes_for_everybody_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    masks, umask = [], os.umask

    def noted(mask: int) -> int:
        masks.append(mask)
        return umask(mask)

    monkeypatch.setattr("mipselect.disk.os.umask", noted)
    before = umask(0o027)
    try:
        write_whole(tmp_path / "report.html", b"")
    finally:
        umask(before)
    assert (tmp_path / "report.html").stat().st_mode & 0o777 == 0o640
    assert all(mask & 0o027 == 0o027 for mask in masks)
