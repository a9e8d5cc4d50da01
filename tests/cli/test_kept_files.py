"""Outputs: a release that was paid for is replaced by no command in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mipselect.cli import releasing
from mipselect.cli.commands import OWN, runs_of
from mipselect.cli.declared import declared_of
from mipselect.disk import whole_file
from mipselect.privacy import Ledger
from tests.support.commandline import BOUNDS, Run

SELECT = ("--target", "y", "--support-size", "2", "--epsilon", "1")


@pytest.fixture
def ledger(folder: Path) -> Ledger:
    return Ledger.create(folder / "study.ledger", epsilon=100.0)


@pytest.fixture
def paid(run: Run, folder: Path) -> Path:
    path = folder / "paid.json"
    assert run("select", folder / "data.csv", *SELECT, "--output", path).code == 0
    return path


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
@pytest.mark.parametrize("command", ["select", "release", "fit"])
def test_a_draw_replaces_no_release_and_charges_nothing(
    run: Run, folder: Path, ledger: Ledger, paid: Path, command: str, dry: tuple[str, ...]
) -> None:
    before = paid.read_text()
    asked = {
        "select": ("select", folder / "data.csv", *SELECT),
        "release": ("release", folder / "instance.toml", "--epsilon", "1"),
        "fit": ("fit", folder / "data.csv", *SELECT, *BOUNDS[:4]),
    }[command]
    drawn = (*asked, "--ledger", folder / "study.ledger", "--output", paid, *dry)
    run(*drawn).failed_with(
        2, f"--output {paid}: exists; give another name, or "
        "--replace to replace it"
    )  # fmt: skip
    assert paid.read_text() == before
    assert len(Ledger.open(folder / "study.ledger").entries) == 0
    assert run(*drawn, "--replace").code == 0
    assert paid.read_text() != before
    assert len(Ledger.open(folder / "study.ledger").entries) == (0 if dry else 1)


WRITERS: dict[str, tuple[str, ...]] = {
    "select": ("data.csv", *SELECT, "--ledger", "study.ledger", "--output"),
    "describe": ("data.csv", "--output"),
    "solve": ("instance.toml", "--output"),
    "compare": ("instance.toml", "--output"),
    "report": ("paid.json", "--output"),
    "schema": ("to-csv", "begun.json"),
    "ledger": ("export", "study.ledger", "--output"),
}
"""Commands by which a file is written, whose name comes last."""

ENDINGS = {"report": ".html"}


@pytest.mark.parametrize("command", WRITERS)
def test_no_command_replaces_a_file_of_somebody_else(
    run: Run, folder: Path, ledger: Ledger, paid: Path, command: str, monkeypatch: Any
) -> None:
    monkeypatch.chdir(folder)
    assert run("describe", "data.csv", "--output", "begun.json").code == 0
    path = f"hand{ENDINGS.get(command, '.txt')}"
    Path(path).write_text("kept")
    asked = (command, *WRITERS[command], path)
    words = f"{path}: exists; give another name, or --replace"
    run(*asked).failed_with(2, words)
    assert Path(path).read_text() == "kept"
    assert ledger.entries == ()
    assert run(*asked, "--replace").code == 0
    assert Path(path).read_text() != "kept"


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
@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("replace", [(), ("--replace",)])
def test_two_releases_at_once_are_two_files(
    run: Run,
    shell: Run,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    begins_with: str | None,
    links: bool,
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

    def other_first(*given: Any) -> Any:
        assert shell(*asked).code == 0
        first.append(path.read_text())
        return charged_report(*given)

    charged_report = releasing.charged_report
    monkeypatch.setattr(releasing, "charged_report", other_first)
    if not links:
        monkeypatch.setattr("mipselect.disk.os.link", _no_links)
    second = run(*asked, *replace)
    assert second.code == 0
    if replace:
        # That is what was asked for: as if one had come after the other.
        assert not beside.exists()
        assert json.loads(path.read_text())["ledger"]["head"]["number"] > 2
        return
    assert f"warning: {path}: another command has written it meanwhile" in second.err
    assert [path.read_text()] == first
    assert json.loads(beside.read_text())["ledger"]["head"]["number"] > 2
    names = {"answer.json", "answer-2.json", "data.csv", "instance.toml", "study.ledger"}
    assert {each.name for each in folder.iterdir()} == names


def _no_links(*names: Any) -> None:
    raise PermissionError(1, "Operation not permitted")


@pytest.mark.parametrize("links", [True, False])
def test_a_new_file_replaces_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:
        monkeypatch.setattr("mipselect.disk.os.link", _no_links)
    path = tmp_path / "answer.json"
    with pytest.raises(FileExistsError), whole_file(path, new=True):
        path.write_bytes(b"first")
    assert {each: each.read_bytes() for each in tmp_path.iterdir()} == {path: b"first"}
