"""An older copy of a ledger is put back while it is used: whoever saw more pays nothing."""

from __future__ import annotations

import os
import pickle
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mipselect.errors import LedgerBroken
from mipselect.privacy import Guarantee, Ledger, ledger_file
from tests.soak.ledger_faults import forked

COST = Guarantee(0.25)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "books.ledger"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    return Ledger.create(path, epsilon=1.0)


def overwrite(copy: Path, path: Path) -> None:
    shutil.copyfile(copy, path)


def replace(copy: Path, path: Path) -> None:
    shutil.copyfile(copy, copy.with_suffix(".new"))
    os.replace(copy.with_suffix(".new"), path)


def charge(ledger: Ledger) -> None:
    ledger.spend(COST)


def charge_in_a_child(ledger: Ledger) -> None:
    child = forked(lambda book, *_: book.spend(COST), ledger, Path(), "")
    os.waitpid(child, 0)
    assert ledger.spent.epsilon > 0.0


def charge_and_look(ledger: Ledger) -> None:
    assert ledger.path is not None
    Ledger.open(ledger.path).spend(COST)
    assert ledger.spent.epsilon > 0.0


@pytest.mark.parametrize("back", [overwrite, replace])
@pytest.mark.parametrize("paid", [charge, charge_in_a_child, charge_and_look])
def test_what_was_seen_must_be_there(
    path: Path,
    ledger: Ledger,
    back: Callable[[Path, Path], None],
    paid: Callable[[Ledger], None],
) -> None:
    """After one charge more than the copy has, however it came, there is no next one."""
    copy = path.with_name("copy")
    charge(ledger)
    shutil.copyfile(path, copy)
    paid(ledger)
    pickled, newest = pickle.dumps(ledger), path.with_name("newest")
    shutil.copyfile(path, newest)
    back(copy, path)
    uses: list[Callable[[], Any]] = [
        lambda: charge(ledger),
        lambda: ledger.spent,
        ledger.verify,
        lambda: pickle.loads(pickled),
    ]
    for use in uses:
        with pytest.raises(LedgerBroken, match=r"is not there, and was before: .*an older copy"):
            use()
    child = forked(lambda book, *_: book.spend(COST), ledger, Path(), "")
    os.waitpid(child, 0)
    assert len(Ledger.open(path).entries) == 1
    # Who never saw more goes on, and that is seen as well.
    for _ in range(2):
        Ledger.open(path).spend(Guarantee(0.0))
    with pytest.raises(LedgerBroken, match="is not what it was"):
        charge(ledger)
    back(newest, path)
    assert len(ledger.entries) == len(pickle.loads(pickled).entries) == 2


def test_a_file_that_loses_its_name_during_a_charge_pays_for_nothing(
    path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, drawn = path.with_name("copy"), []
    shutil.copyfile(path, copy)
    connected = ledger_file._connected

    def replaced(path: Path) -> sqlite3.Connection:
        connection = connected(path)
        connection.set_trace_callback(lambda sql: replace(copy, path) if sql == "COMMIT" else None)
        return connection

    monkeypatch.setattr(ledger_file, "_connected", replaced)
    with pytest.raises(LedgerBroken, match="took its place during a charge"):  # noqa: SIM117
        with ledger.charged(COST):
            drawn.append("once")
    assert drawn == []
    assert Ledger.open(path).entries == ()


def test_a_draw_whose_charge_was_taken_back_is_not_handed_out(path: Path, ledger: Ledger) -> None:
    copy = path.with_name("copy")
    shutil.copyfile(path, copy)

    def released() -> str:
        with ledger.charged(COST):
            overwrite(copy, path)
        return "a release"

    with pytest.raises(LedgerBroken, match="row 1 is not there"):
        released()


@pytest.mark.parametrize("taken_back", [True, False])
def test_nor_is_it_where_others_keep_the_file_from_being_written(
    path: Path, ledger: Ledger, taken_back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That its charge is there can still be read."""
    copy, others = path.with_name("copy"), sqlite3.connect(path)
    shutil.copyfile(path, copy)
    monkeypatch.setattr(ledger_file, "PATIENCE", 0.0)

    def released() -> str:
        with ledger.charged(COST):
            if taken_back:
                overwrite(copy, path)
            others.execute("BEGIN IMMEDIATE")
        return "a release"

    with closing(others):
        if taken_back:
            with pytest.raises(LedgerBroken, match="row 1 is not there"):
                released()
        else:
            assert released() == "a release"
    assert len(Ledger.open(path).entries) == (not taken_back)
