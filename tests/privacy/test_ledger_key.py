"""A ledger with a key: who edits the file without it is found out, also with hashes that fit."""

from __future__ import annotations

import copy
import json
import pickle
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mipselect.errors import InvalidInput, LedgerBroken
from mipselect.mechanisms import NoisyMax
from mipselect.privacy import Guarantee, Ledger
from mipselect.privacy.ledger.key import LedgerKey, read_key
from mipselect.privacy.ledger.layout import APPEND, TRIGGERS
from mipselect.privacy.ledger.rows import CODE, NOTHING, digest, written

Rows = list[dict[str, Any]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "books.ledger"


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "study.key"


@pytest.fixture
def ledger(path: Path, key_file: Path) -> Ledger:
    """Three charges, the second for a part and settled."""
    key_file.parent.mkdir()
    ledger = Ledger.create(path, epsilon=1.0, delta=1e-6, key_file=key_file)
    ledger.spend(Guarantee(0.25, 1e-7), "one")
    with ledger.part("site", "A").noting({"k": 1.5, "names": ["ä", None]}).charged(Guarantee(0.25)):
        pass
    ledger.spend(Guarantee(0.25), "three")
    return ledger


def rows_of(path: Path) -> Rows:
    connection = sqlite3.connect(path)
    names = ("number", "event", "time", "content", "previous", "hash")
    rows = [
        dict(zip(names, row, strict=True)) for row in connection.execute("SELECT * FROM entries")
    ]
    connection.close()
    for row in rows:
        row["content"] = json.loads(row["content"])
    return rows


def rewritten(path: Path, rows: Rows, key: LedgerKey | None = None) -> None:
    """Put other rows into a ledger, with hashes that fit; codes stay, or are those of `key`."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    for name in ("no_update", "no_delete"):
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute("DELETE FROM entries")
    previous = NOTHING
    for number, row in enumerate(rows):
        if key is None:
            text = json.dumps(row["content"], sort_keys=True)
            fields = (number, row["event"], row["time"], text, previous)
            connection.execute(APPEND, (*fields, digest(*fields)))
            previous = digest(*fields)
        else:
            content = {k: v for k, v in row["content"].items() if k != CODE}
            made = written(number, row["event"], row["time"], content, previous, key)
            connection.execute(APPEND, made.fields)
            previous = made.hash
    connection.execute("UPDATE sqlite_sequence SET seq = ?", (len(rows) - 1,))
    for trigger in TRIGGERS:
        connection.execute(trigger)
    connection.commit()
    connection.close()


def edits(rows: Rows) -> list[tuple[str, Rows]]:
    """Everything that one change of a row can be, and rows left out, moved or added."""
    found: list[tuple[str, Rows]] = []

    def edited(name: str, change: Callable[[Rows], object]) -> None:
        other = copy.deepcopy(rows)
        change(other)
        if other != rows:
            found.append((name, other))

    for k, row in enumerate(rows):
        edited(f"{k} another time", lambda r, k=k: r[k].update(time="2020-01-01T00:00:00Z"))
        for name, value in row["content"].items():
            new = {"epsilon": "9.0", "delta": "0.0", "of": 1}.get(name, "other")
            edited(f"{k} {name}", lambda r, k=k, n=name, v=new: r[k]["content"].update({n: v}))
            edited(f"{k} without {name}", lambda r, k=k, n=name: r[k]["content"].pop(n))
            if value != rows[-1]["content"].get(name, value):
                edited(f"{k} {name} of the last", lambda r, k=k, n=name: r[k]["content"].update(
                    {n: rows[-1]["content"][n]}))  # fmt: skip
        if 0 < k < len(rows) - 1:
            edited(f"{k} left out", lambda r, k=k: r.pop(k))
        for j in range(1, k):
            edited(f"{j} and {k} exchanged", lambda r, j=j, k=k: r.insert(j, r.pop(k)))
        edited(f"{k} once more", lambda r, k=k: r.append(copy.deepcopy(r[k])))
    edited("failed", lambda r: r[3].update(event="failed"))
    return found


def test_every_edit_is_found_with_the_key(path: Path, key_file: Path, ledger: Ledger) -> None:
    whole, rows = path.read_bytes(), rows_of(path)
    spent = ledger.spent
    believed = 0
    for name, other in edits(rows):
        rewritten(path, other)
        with pytest.raises(LedgerBroken):
            Ledger.open(path, key_file=key_file)
        for use in (ledger.verify, lambda: ledger.spend(Guarantee(0.0)), lambda: ledger.remaining):
            with pytest.raises(LedgerBroken):
                use()
        try:
            believed += Ledger.open(path).spent != spent
        except LedgerBroken:
            assert name
    # Without the key many of them are believed, which is why there is one.
    assert believed > 5
    path.write_bytes(whole)
    assert ledger.verify() == Ledger.open(path, key_file=key_file).verify()


def test_a_ledger_that_is_written_anew_is_found(
    path: Path, key_file: Path, ledger: Ledger, tmp_path: Path
) -> None:
    """Without a key, in the old format, or with a key of one's own, also under the same name."""
    rows = rows_of(path)
    free = [row for row in copy.deepcopy(rows) if row["number"] in (0, 1)]
    for row in free:
        row["content"].pop(CODE)
    del free[0]["content"]["key"]
    free[0]["content"]["format"] = 1
    own = LedgerKey(tmp_path / "own", b"o" * 32)
    named = copy.deepcopy(rows[:2])
    renamed = copy.deepcopy(named)
    renamed[0]["content"]["key"] = own.identity
    for other, key, words in (
        (free, None, "the ledger has no key, and .*study.key was given"),
        (renamed, own, f"is kept with the key {own.identity}, and .*study.key is the key"),
        (named, own, "row 0 does not fit: it was not written with the key"),
    ):
        rewritten(path, other, key)
        assert Ledger.open(path).spent.epsilon == 0.25
        for use in (
            lambda: Ledger.open(path, key_file=key_file),
            lambda: ledger.spend(Guarantee(0.1)),
        ):
            with pytest.raises(LedgerBroken, match=words):
                use()


def test_without_a_key_an_edit_that_fits_is_believed(path: Path) -> None:
    """What docs/ledger.md says of a ledger without a key; a hash that was kept finds it."""
    ledger = Ledger.create(path, epsilon=1.0)
    ledger.spend(Guarantee(0.75))
    head = ledger.verify()
    rows = rows_of(path)
    rows[1]["content"]["epsilon"] = "0.25"
    rewritten(path, rows)
    again = Ledger.open(path)
    assert again.spent == Guarantee(0.25)
    assert head.hash not in {row.hash for row in again.rows()}
    with pytest.raises(LedgerBroken, match="row 1 is not what it was"):
        ledger.spend(Guarantee(0.5))


def test_it_is_a_ledger_like_any_other(path: Path, key_file: Path, ledger: Ledger) -> None:
    assert (ledger.key_identity, ledger.locked) == (read_key(key_file).identity, False)
    with ledger.charged(Guarantee(0.1)):
        pass
    again = Ledger.open(path, key_file=str(key_file))
    assert again.entries == ledger.entries
    assert [entry.status for entry in again.entries] == ["charged", "drawn", "charged", "drawn"]
    assert again.entries[1].asked == {"k": 1.5, "names": ["ä", None]}
    assert key_file.stat().st_mode & 0o777 == 0o600
    plain = Ledger.create(path.with_name("plain"), epsilon=1.0)
    assert (plain.key_identity, plain.locked, Ledger(1.0).locked) == (None, False, False)
    assert "key" not in rows_of(plain.path)[0]["content"]
    with pytest.raises(LedgerBroken, match="the ledger has no key"):
        Ledger.open(plain.path, key_file=key_file)


def test_the_key_is_nowhere_in_it(path: Path, key_file: Path, ledger: Ledger) -> None:
    secret = key_file.read_bytes()
    assert len(secret) > 64
    for text in (path.read_bytes(), repr(ledger), repr(read_key(key_file)), pickle.dumps(ledger)):
        told = text if isinstance(text, bytes) else text.encode()
        assert secret.strip() not in told
        assert bytes.fromhex(secret.decode()) not in told
    assert ledger.key_identity.encode() in path.read_bytes()


def test_without_the_key_it_is_read_only(path: Path, ledger: Ledger) -> None:
    locked = Ledger.open(path)
    assert (locked.locked, locked.key_identity) == (True, ledger.key_identity)
    assert (locked.entries, locked.spent) == (ledger.entries, ledger.spent)
    assert "not checked with its key" in repr(locked)
    assert "checked" not in repr(ledger)
    before = path.read_bytes()
    drawn = []

    def draw() -> None:
        with locked.charged(Guarantee(0.1)):
            drawn.append("once")

    for use in (
        lambda: locked.spend(Guarantee(0.0)),
        lambda: locked.part("site", "A").spend(Guarantee(0.0)),
        lambda: NoisyMax([1.0, 2.0], 0.1).release(locked),
        lambda: locked.check(Guarantee(0.0)),
        lambda: locked.after(Guarantee(0.0)),
        locked.verify,
        draw,
    ):
        with pytest.raises(InvalidInput, match=f"kept with the key {ledger.key_identity}; without"):
            use()
    assert drawn == []
    assert path.read_bytes() == before


def test_what_is_no_key(path: Path, key_file: Path, ledger: Ledger, tmp_path: Path) -> None:
    other = tmp_path / "other.key"
    for content, words, error in (
        (None, "no such file", InvalidInput),
        (b"", "32 to 4,096 random bytes", InvalidInput),
        (b"x" * 31, "32 to 4,096 random bytes", InvalidInput),
        (b"x" * 4097, "32 to 4,096 random bytes", InvalidInput),
        (b"x" * 32, "is kept with the key", LedgerBroken),
        (key_file.read_bytes() + b"\n", "is kept with the key", LedgerBroken),
    ):
        if content is not None:
            other.write_bytes(content)
        with pytest.raises(error, match=words) as caught:
            Ledger.open(path, key_file=other)
        assert "other.key" in str(caught.value)
        assert str(caught.value).isprintable()
    other.write_bytes(b"short")
    new = tmp_path / "new.ledger"
    for wrong, words in (
        (other, "32 to 4,096 random bytes"),
        (tmp_path, "it is a folder"),
        (tmp_path / "none" / "key", "could not be made: No such file"),
        (new, "both the ledger and its key"),
    ):
        with pytest.raises(InvalidInput, match=words):
            Ledger.create(new, epsilon=1.0, key_file=wrong)
        assert not new.exists()


def test_one_key_keeps_many_ledgers_apart(path: Path, key_file: Path, ledger: Ledger) -> None:
    """Rows of one do not fit into another, and a key that is there is not made again."""
    secret = key_file.read_bytes()
    other = Ledger.create(path.with_name("other"), epsilon=9.0, key_file=key_file)
    other.spend(Guarantee(0.0))
    assert key_file.read_bytes() == secret
    mixed = [rows_of(other.path)[0], *rows_of(path)[1:]]
    rewritten(other.path, mixed)
    with pytest.raises(LedgerBroken, match="row 1 does not fit: it was not written with the key"):
        Ledger.open(other.path, key_file=key_file)


def test_a_pickle_finds_the_key_by_its_path(
    path: Path, key_file: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(key_file.parent)
    again = Ledger.open(path, key_file=key_file.name)
    monkeypatch.chdir(path.parent)
    pickle.loads(pickle.dumps(again)).spend(Guarantee(0.1))
    assert len(ledger.entries) == 4
    pickled = pickle.dumps(ledger)
    key_file.write_bytes(b"x" * 32)
    with pytest.raises(LedgerBroken, match="is kept with the key"):
        pickle.loads(pickled)
    key_file.unlink()
    with pytest.raises(InvalidInput, match=r"study\.key: no such file"):
        pickle.loads(pickled)
