"""A ledger on disk against everything that may happen to a file."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Barrier, Thread

import numpy as np
import pytest

from mipselect.errors import (
    InvalidInput,
    LedgerBroken,
    LedgerNotWritten,
    MipselectError,
)
from mipselect.privacy import Guarantee, Ledger, ledger_file
from mipselect.privacy.ledger_file import Chain, Row, digest
from tests.soak.ledger_faults import forked, storms
from tests.support.wants import wants

NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "books.ledger"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    return Ledger.create(path, epsilon=1.0, delta=1e-6)


def in_child(work: Callable[[], None]) -> int:
    """Do `work` in a forked child; 0 if it ended, 1 if it raised."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException as error:  # noqa: BLE001
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def edited(path: Path, *statements: str) -> None:
    """Change the file as somebody would who knows SQLite."""
    connection = sqlite3.connect(path)
    for statement in ("DROP TRIGGER no_update", "DROP TRIGGER no_delete", *statements):
        connection.execute(statement)
    for trigger in ledger_file.TRIGGERS:
        connection.execute(trigger)
    connection.commit()
    connection.close()


def test_it_is_there_the_next_time(path: Path, ledger: Ledger) -> None:
    ledger.spend(Guarantee(0.1, 1e-7, conditions=("c",), rho=0.01), "first")
    with pytest.raises(ZeroDivisionError), ledger.charged(Guarantee(0.2), "second"):
        raise ZeroDivisionError
    ledger.noting({"epsilon": 0.1}).spend(Guarantee(0.2, private=False), "third")
    again = Ledger.open(path)
    assert [entry.row for entry in again.entries] == [1, 2, 3]
    assert again.entries == ledger.entries
    assert again.entries[0].guarantee.rho == 0.01
    assert again.entries[2].asked == {"epsilon": 0.1}
    assert again.spent == Guarantee(0.5, 1e-7, conditions=("c",), private=False)
    assert again.remaining == Guarantee(0.5, 9e-7)
    assert (again.unit, again.relation, again.currency) == ("row", "replace-one", "epsilon-delta")
    assert "ε = 0.5 of 1 and δ = 1e-07 of 1e-06 spent in 3 releases" in repr(again)
    assert again.verify() == ledger.verify()
    assert path.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({}, "one of them"),
        ({"epsilon": 1.0, "rho": 1.0, "delta": 0.1}, "one of them"),
        ({"rho": 1.0}, "0 < delta < 1"),
        ({"rho": -1.0, "delta": 0.1}, "rho"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta"),
        ({"epsilon": 1.0, "relation": "swap"}, "relation"),
        ({"epsilon": 1.0, "unit": "a\nb"}, "unit"),
    ],
)
def test_wrong_terms_make_no_file(path: Path, terms: dict, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Ledger.create(path, **terms)
    assert list(path.parent.iterdir()) == []


def test_a_ledger_is_never_replaced(path: Path, ledger: Ledger) -> None:
    before = path.read_bytes()
    with pytest.raises(InvalidInput, match="exists already"):
        Ledger.create(path, epsilon=9.0)
    link = path.with_name("link")
    link.symlink_to("nowhere")
    with pytest.raises(InvalidInput, match="exists already"):
        Ledger.create(link, epsilon=9.0)
    with pytest.raises(InvalidInput, match="does not exist"):
        Ledger.create(path / "below", epsilon=1.0)
    assert path.read_bytes() == before
    assert sorted(file.name for file in path.parent.iterdir()) == [path.name, "link"]


def test_what_is_no_ledger(path: Path) -> None:
    def refused(words: str, kind: type[MipselectError] = InvalidInput) -> None:
        with pytest.raises(kind, match=words) as caught:
            Ledger.open(path)
        assert str(path) in str(caught.value)
        assert str(caught.value).isprintable()

    refused("no such file")
    path.mkdir()
    refused("not a regular file")
    path.rmdir()
    os.mkfifo(path)
    refused("not a regular file")
    path.unlink()
    path.touch()
    refused("creation was interrupted")
    path.write_text("epsilon,delta\n1,0\n" * 100)
    refused("not an SQLite file")
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE entries (number INTEGER)")
    connection.close()
    refused("another SQLite file")
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA application_id = {ledger_file.APPLICATION}")
    connection.execute(f"PRAGMA user_version = {ledger_file.VERSION}")
    connection.close()
    refused("tables are not those", LedgerBroken)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    refused("version 99")


EDITS = {
    "a smaller price": (
        ["UPDATE entries SET content = replace(content, '0.2', '0.1') WHERE number = 2"],
        "row 2 does not fit: its hash",
    ),
    "a larger budget": (
        ["UPDATE entries SET content = replace(content, '1.0', '9.0') WHERE number = 0"],
        "row 0 does not fit: its hash",
    ),
    "another time": (
        ["UPDATE entries SET time = '2020-01-01T00:00:00Z' WHERE number = 3"],
        "row 3 does not fit: its hash",
    ),
    "a row deleted": (["DELETE FROM entries WHERE number = 2"], "row 2 is not there"),
    "a row deleted and the others moved up": (
        [
            "DELETE FROM entries WHERE number = 2",
            "UPDATE entries SET number = 2 WHERE number = 3",
            "UPDATE entries SET number = 3 WHERE number = 4",
        ],
        "row 2 does not fit: it does not hold the hash of the row before",
    ),
    "two rows exchanged": (
        [
            "UPDATE entries SET number = 99 WHERE number = 2",
            "UPDATE entries SET number = 2 WHERE number = 3",
            "UPDATE entries SET number = 3 WHERE number = 99",
        ],
        "row 2 does not fit",
    ),
    "the tail cut off": (["DELETE FROM entries WHERE number = 4"], "row 4 is not there"),
    "everything deleted": (["DELETE FROM entries"], "row 0 is not there"),
    "a foreign row": (
        ["INSERT INTO entries VALUES (5, 'charged', '', '{}', 'x', 'y')"],
        "row 5 does not fit",
    ),
    "a blob": (
        ["UPDATE entries SET content = x'00' WHERE number = 1"],
        "row 1 does not fit: a column",
    ),
    "another table": (["CREATE TABLE more (x)"], "tables are not those"),
}


@pytest.mark.parametrize("name", EDITS)
def test_what_was_changed_by_hand_is_found_and_nothing_is_paid(
    path: Path, ledger: Ledger, name: str
) -> None:
    for k in range(4):
        ledger.spend(Guarantee(0.2 if k == 1 else 0.1), f"release {k}")
    statements, words = EDITS[name]
    edited(path, *statements)
    with pytest.raises(LedgerBroken, match=words):
        Ledger.open(path)
    for attempt in (ledger.verify, lambda: ledger.spend(Guarantee(0.1)), lambda: ledger.spent):
        with pytest.raises(LedgerBroken):
            attempt()


def test_rows_with_right_hashes_must_still_make_sense(path: Path, ledger: Ledger) -> None:
    ledger.spend(Guarantee(0.9))
    (last,) = sqlite3.connect(path).execute("SELECT hash FROM entries WHERE number = 1").fetchall()
    good = ledger.verify()
    charge = good.content
    for event, content, words in [
        ("charged", charge, "asked for ε = 0.9"),
        ("charged", charge.replace("0.9", "-0.9"), "epsilon must be"),
        ("charged", charge.replace("0.9", "NaN"), "epsilon must be"),
        ("charged", charge.replace("0.9", '"0.1"'), "epsilon must be"),
        ("charged", charge.replace("replace-one", "add-remove"), "kept under"),
        ("charged", "[" * 100_000, "row 2"),
        ("charged", "{}", "'asked' is missing"),
        ("refunded", "{}", "'refunded' is not known"),
    ]:
        copy = path.with_name("copy")
        shutil.copy(path, copy)
        row = (2, event, "", content, last[0])
        connection = sqlite3.connect(copy)
        connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", (*row, digest(*row)))
        connection.commit()
        connection.close()
        with pytest.raises(LedgerBroken, match="row 2 does not fit") as caught:
            Ledger.open(copy)
        assert words in str(caught.value)
        copy.unlink()


def test_slips_of_the_hand_are_stopped(path: Path, ledger: Ledger) -> None:
    connection = sqlite3.connect(path)
    for statement in ("DELETE FROM entries", "UPDATE entries SET time = ''"):
        with pytest.raises(sqlite3.IntegrityError, match="only appended to"):
            connection.execute(statement)
    connection.close()


def test_a_damaged_file_is_one_clear_line(path: Path, ledger: Ledger) -> None:
    for k in range(40):
        ledger.spend(Guarantee(0.01), "x" * 500 + str(k))
    whole = path.read_bytes()
    for cut in (len(whole) // 2, len(whole) - 1, 4096, 100, 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(MipselectError) as caught:
            ledger.spend(Guarantee(0.01))
        assert str(path) in str(caught.value)
        assert str(caught.value).isprintable()
    rng = np.random.default_rng(0)
    found = 0
    for page in range(len(whole) // 4096):
        torn = bytearray(whole)
        torn[page * 4096 : page * 4096 + 4096] = rng.bytes(4096)
        path.write_bytes(torn)
        with pytest.raises(MipselectError):
            Ledger.open(path).verify()
        found += 1
    assert found > 5
    path.write_bytes(whole)
    ledger.spend(Guarantee(0.01))
    assert len(Ledger.open(path).entries) == 41


def test_two_names_of_one_file_are_refused(path: Path, ledger: Ledger) -> None:
    os.link(path, path.with_name("second"))
    with pytest.raises(InvalidInput, match="2 names"):
        ledger.spend(Guarantee(0.1))
    path.with_name("second").unlink()
    path.with_name("link").symlink_to(path)
    Ledger.open(path.with_name("link")).spend(Guarantee(0.1))
    assert len(ledger.entries) == 1


def test_a_read_only_file_can_be_read(path: Path, ledger: Ledger) -> None:
    ledger.spend(Guarantee(0.1))
    path.chmod(0o400)
    again = Ledger.open(path)
    assert again.verify() is not None
    with pytest.raises(LedgerNotWritten, match="read-only"):
        again.spend(Guarantee(0.1))
    assert len(again.entries) == 1


@wants("root, who can become somebody else", os.geteuid() == 0)
def test_what_is_paid_is_in_the_file_and_in_no_other(
    path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program asks for a write-ahead log, which stays behind where the ledger is moved."""
    monkeypatch.setattr(ledger_file, "PATIENCE", 0.0)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
        connection.execute("SELECT * FROM entries").fetchall()
        with pytest.raises(LedgerNotWritten, match="others have been using it"):
            ledger.spend(Guarantee(0.5))
        moved = shutil.copyfile(path, path.with_name("moved.ledger"))
        assert Ledger.open(moved).entries == ledger.entries == ()
    ledger.spend(Guarantee(0.5))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_folder_or_a_file_of_somebody_else(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    path = folder / "books.ledger"
    ledger = Ledger.create(path, epsilon=1.0)
    for part in (*reversed(tmp_path.parents), tmp_path, folder):
        if part.stat().st_mode & 0o005 != 0o005:
            part.chmod(0o755)

    def as_nobody() -> None:
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
        with pytest.raises(LedgerNotWritten):
            ledger.spend(Guarantee(0.1))
        with pytest.raises(LedgerNotWritten, match="could not be created"):
            Ledger.create(folder / "another", epsilon=1.0)

    path.chmod(0o666)  # The folder is not for writing: no journal can be made.
    assert in_child(as_nobody) == 0
    path.chmod(0o600)
    assert in_child(as_nobody) == 0
    assert ledger.entries == ()
    assert list(folder.iterdir()) == [path]


def test_a_full_disk_draws_nothing_and_loses_nothing(path: Path, ledger: Ledger) -> None:
    for k in range(10):
        ledger.spend(Guarantee(0.01), f"{k}" * 500)
    size = path.stat().st_size
    drawn: list[str] = []

    def draw_fifty_times() -> None:
        for _ in range(50):
            with ledger.charged(Guarantee(0.001), "x" * 900):
                drawn.append("once")

    def on_a_full_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        with pytest.raises(LedgerNotWritten, match="nothing was drawn"):
            draw_fifty_times()
        assert len(drawn) <= len(Ledger.open(path).entries) - 10
        assert len(drawn) < 50

    assert in_child(on_a_full_disk) == 0
    ledger.verify()
    ledger.spend(Guarantee(0.01))


def test_network_file_systems_are_refused(
    path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = path.with_name("mountinfo")
    monkeypatch.setattr(ledger_file, "MOUNTS", table)
    line = "36 35 98:0 / {} rw,noatime shared:1 - {} source rw\n"
    odd = str(path.parent).replace(" ", "\\040")
    table.write_text(line.format("/", "ext4") + line.format(odd, "nfs4"))
    with pytest.raises(LedgerNotWritten, match="network file system \\(nfs4\\)"):
        ledger.spend(Guarantee(0.1))
    with pytest.raises(LedgerNotWritten, match="nfs4"):
        Ledger.create(path.with_name("another"), epsilon=1.0)
    assert Ledger.open(path).entries == ()
    table.write_text(line.format("/", "nfs") + line.format(odd, "fuse.sshfs"))
    with pytest.raises(LedgerNotWritten, match="sshfs"):
        ledger.spend(Guarantee(0.1))
    table.write_text(line.format("/", "nfs") + line.format(odd, "xfs"))
    ledger.spend(Guarantee(0.1))
    table.unlink()
    ledger.spend(Guarantee(0.1))


def test_threads_and_forks_in_the_middle_of_charges(path: Path) -> None:
    """Threads charge while their process forks: children find no lock held, and charge as well."""
    ledger = Ledger.create(path, epsilon=100.0)
    start = Barrier(5)

    def charge() -> None:
        start.wait()
        for _ in range(20):
            ledger.spend(Guarantee(0.1), "thread")

    threads = [Thread(target=charge) for _ in range(4)]
    for thread in threads:
        thread.start()
    start.wait()
    codes = [in_child(lambda: ledger.spend(Guarantee(0.1), "child")) for _ in range(15)]
    for thread in threads:
        thread.join()
    assert codes == [0] * 15
    whats = [entry.what for entry in Ledger.open(path).entries]
    assert (whats.count("thread"), whats.count("child")) == (80, 15)


def create(_: Ledger | None, path: Path, __: str) -> None:
    Ledger.create(path, epsilon=1.0)


@pytest.mark.deep
def test_creation_killed_at_any_moment(tmp_path: Path) -> None:
    """There is a whole ledger, or an empty file that says so, or none; then it is made again."""
    rng = np.random.default_rng(0)
    whole = 0
    for k in range(25):
        path = tmp_path / f"{k}.ledger"
        child = forked(create, None, path, "")
        time.sleep(rng.choice([rng.uniform(0.0, 0.03), 0.2], p=[0.9, 0.1]))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        try:
            Ledger.open(path).spend(Guarantee(1.0))
            whole += 1
        except InvalidInput as error:
            assert re.search("no such file|was interrupted", str(error))  # noqa: PT017
            assert not path.exists() or path.stat().st_size == 0
            path.unlink(missing_ok=True)
            Ledger.create(path, epsilon=1.0).spend(Guarantee(1.0))
            assert [file.name for file in tmp_path.glob(f"{k}.*")] == [path.name]
    assert whole > 0


@pytest.mark.deep
def test_a_storm_of_kills(tmp_path: Path) -> None:
    """`python -m tests.soak.ledger_faults` does ten thousand, of which many end a charge."""
    figures = storms(200, tmp_path)
    assert figures.hold, figures
    assert figures.draws > 10


def test_a_row_is_checked_once_and_compared_from_then_on(
    path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each operation checked all rows, from some 10⁴ of them for seconds."""
    ledger.spend(Guarantee(0.1))
    taken, take = [], Chain.take

    def counted(chain: Chain, row: Row) -> None:
        taken.append(row.number)
        take(chain, row)

    monkeypatch.setattr(Chain, "take", counted)
    ledger.spend(Guarantee(0.1))
    assert ledger.spent == Guarantee(0.2)
    assert taken == [2]
    Ledger.open(path).spend(Guarantee(0.1))  # Another process reads all, and appends.
    assert taken == [2, 1, 2, 3]
    assert ledger.spent == Guarantee(0.3)
    assert taken == [2, 1, 2, 3, 3]
    ledger.verify()
    assert taken[5:] == [1, 2, 3]


def test_what_could_not_be_written_is_in_no_account(
    path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.spend(Guarantee(0.1))
    with monkeypatch.context() as patch:
        patch.setattr(ledger_file, "APPEND", "INSERT INTO nowhere VALUES (?, ?, ?, ?, ?, ?)")
        with pytest.raises(MipselectError):
            ledger.spend(Guarantee(0.2))
    assert ledger.spent == Ledger.open(path).spent == Guarantee(0.1)
    ledger.spend(Guarantee(0.1))
    assert ledger.verify() == Ledger.open(path).verify()
