"""Files: whole or not at all, and one that somebody may want to keep is replaced by no command."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mipselect.cli.commands import OWN, runs_of
from mipselect.cli.declared import declared_of
from mipselect.disk import write_whole
from mipselect.privacy import Ledger
from mipselect.tables import TableSchema
from tests.support.commandline import TABLE, Run

SELECT = ("--target", "y", "--support-size", "2", "--epsilon", "1")


@pytest.fixture
def ledger(folder: Path) -> Ledger:
    return Ledger.create(folder / "study.ledger", epsilon=100.0)


@pytest.fixture
def paid(run: Run, folder: Path) -> Path:
    path = folder / "paid.json"
    assert run("select", folder / "data.csv", *SELECT, "--output", path).code == 0
    return path


LEDGER, SCHEMA = ("--ledger", "study.ledger"), ("--schema", "schema.json")
WRITERS: dict[str, tuple[tuple[str, ...], str, int | None]] = {
    "select": (("data.csv", *SELECT, *LEDGER, "--output"), ".txt", None),
    "release": (("instance.toml", "--epsilon", "1", *LEDGER, "--output"), ".txt", None),
    "fit": (("data.csv", *SELECT, *SCHEMA, *LEDGER, "--output"), ".txt", None),
    "evaluate": (("model.json", "other.csv", "--epsilon", "1", *LEDGER, "--output"), ".txt", None),
    "predict": (("model.json", "data.csv", "--output"), ".csv", 0o600),
    "describe": (("data.csv", "--output"), ".txt", None),
    "solve": (("instance.toml", "--output"), ".txt", 0o600),
    "compare": (("instance.toml", "--output"), ".txt", 0o600),
    "check": (("data.csv", *SCHEMA, "--output"), ".html", 0o600),
    "report": (("paid.json", "--output"), ".html", None),
    "schema": (("to-csv", "schema.json"), ".txt", None),
    "ledger": (("export", "study.ledger", "--output"), ".txt", 0o600),
}
"""Arguments of each, before the name of the file, its ending, and its mode if it is sensitive."""


@pytest.mark.parametrize("command", WRITERS)
def test_no_command_replaces_a_file_of_somebody_else_or_leaves_half_a_file(
    run: Run, folder: Path, ledger: Ledger, paid: Path, command: str, monkeypatch: Any
) -> None:
    monkeypatch.chdir(folder)
    numbers = dict.fromkeys("abcy", (-5.0, 5.0))
    TableSchema.of_numbers(numbers).write("schema.json")
    fit = ("fit", "data.csv", *SELECT, *SCHEMA, "--output", "model.json")
    assert run(*fit).code == 0
    Path("other.csv").write_text(TABLE)
    arguments, ending, mode = WRITERS[command]
    path = Path(f"hand{ending}")
    path.write_text("kept")
    path.chmod(0o640)
    before = sorted(folder.iterdir())
    asked = (command, *arguments, str(path))
    words = f"{path}: exists; give another name, or --replace"
    for dry in ((), ("--dry-run",)) if command in ("select", "release", "fit") else ((),):
        run(*asked, *dry).failed_with(2, words)
    assert ledger.entries == ()
    with pytest.MonkeyPatch.context() as disk:
        disk.setattr("mipselect.disk.os.fsync", full)
        outcome = run(*asked, "--replace")
        assert (outcome.code, "No space left on device" in outcome.err) == (1, True)
    assert path.read_text() == "kept"
    assert sorted(folder.iterdir()) == before
    charged = len(ledger.entries)
    assert run(*asked, "--replace").code == 0
    assert len(ledger.entries) == charged + ("study.ledger" in arguments and command != "ledger")
    assert path.read_text() != "kept"
    assert sorted(folder.iterdir()) == before
    # It hands its mode on, but what is sensitive is its owner's.
    assert path.stat().st_mode & 0o777 == (mode or 0o640)


def full(*_: Any) -> None:
    raise OSError(28, "No space left on device")


def test_whatever_writes_a_file_asks_before_it_replaces_one() -> None:
    for name in OWN:
        for command in runs_of(name):
            names = {each.name for each in declared_of(command)}
            writes = not names.isdisjoint({"--output", "--plot", "OUT.csv", "OUT.json"})
            assert writes is ("--replace" in names), name


def test_an_empty_file_is_replaced(run: Run, folder: Path) -> None:
    path = folder / "answer.json"
    path.touch()
    assert run("select", folder / "data.csv", *SELECT, "--output", path).code == 0
    assert json.loads(path.read_text())["private"] is True


@pytest.mark.parametrize("begins_with", [None, ""])
@pytest.mark.parametrize("replace", [(), ("--replace",)])
def test_two_releases_at_once_are_two_files(
    run: Run,
    shell: Run,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    begins_with: str | None,
    replace: tuple[str, ...],
) -> None:
    """The second to end replaced what the first had paid for."""
    path, beside = folder / "answer.json", folder / "answer-2.json"
    Ledger.create(folder / "study.ledger", epsilon=100.0)
    if begins_with is not None:
        path.write_text(begins_with)
    ledger = ("--ledger", folder / "study.ledger")
    asked = ("select", folder / "data.csv", *SELECT, *ledger, "--output", path)
    first: list[str] = []

    def other_first(ledger: Ledger) -> Any:
        assert shell(*asked).code == 0
        first.append(path.read_text())
        return receipt(ledger)

    receipt = Ledger.receipt
    monkeypatch.setattr(Ledger, "receipt", other_first)
    second = run(*asked, *replace)
    assert second.code == 0
    if replace:
        # That is what was asked for: as if one had come after the other.
        assert not beside.exists()
        assert json.loads(path.read_text())["ledger"]["head"]["number"] == 2
        return
    assert f"warning: {path}: another command has written it meanwhile" in second.err
    assert [path.read_text()] == first
    assert json.loads(beside.read_text())["ledger"]["head"]["number"] == 2
    names = {"answer.json", "answer-2.json", "data.csv", "instance.toml", "study.ledger"}
    assert {each.name for each in folder.iterdir()} == names


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
