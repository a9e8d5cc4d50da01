"""Parts of a table that are one and the same share a budget, however their names are written."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from mipselect.errors import BudgetExceeded, InvalidInput
from mipselect.privacy import Guarantee, Ledger
from mipselect.privacy.ledger.accountant import Account
from mipselect.privacy.ledger.chain import Chain
from mipselect.privacy.ledger.entries import Terms, checked_entry
from mipselect.privacy.ledger.layout import APPEND
from mipselect.privacy.ledger.ledger import _reopened

WHOLE = Guarantee(1.0, relation="add-remove")
SPELLINGS = ("\u00c1", "A\u0301", " \u00c1", "A\u0301  ", "  \u00c1 ")
INVISIBLE = [*"\u034f\u115f\u1160\u17b4\u180b\u2800\u3164\ufe0f\uffa0\U0001d159\U000e0100"]
CONTROLS = [*"\0\t\n\r\x1b\x7f\x85\u00a0\u00ad\u200b\u200e\u202e\u2060\u2028\ufeff\U000e0041\ud800"]


def in_memory(_: Path) -> Ledger:
    return Ledger(1.0, relation="add-remove")


def on_disk(path: Path) -> Ledger:
    return Ledger.create(path, epsilon=1.0, relation="add-remove")


@pytest.mark.parametrize(
    ("kept", "one", "two"),
    [
        *((in_memory, *two) for two in itertools.permutations(SPELLINGS, 2)),
        (on_disk, *SPELLINGS[1:3]),
    ],
)
def test_two_spellings_share_a_budget(
    tmp_path: Path, kept: Callable[[Path], Ledger], one: str, two: str
) -> None:
    ledger = kept(tmp_path / "books.ledger")
    ledger.part("site", one).spend(WHOLE)
    for column in ("site", " site", "site "):
        other = ledger.part(column, two)
        assert other.remaining.epsilon == 0.0
        with pytest.raises(BudgetExceeded):
            other.spend(WHOLE)
    assert ledger.entries[0].part == ("site", "Á")
    for apart in ("á", "A", "ÁA", "Á Á"):
        assert ledger.part("site", apart).remaining.epsilon == 1.0


@pytest.mark.parametrize("character", [*INVISIBLE, *CONTROLS], ids=ascii)
def test_what_nobody_sees_is_refused(character: str) -> None:
    ledger = Ledger(1.0)
    for name in (character, f"A{character}", f"{character}A", f"A{character}B"):
        for column, value in (("site", name), (name, "A")):
            with pytest.raises(InvalidInput, match=r"a part must") as caught:
                ledger.part(column, value)
            assert str(caught.value).isprintable()
            assert character not in str(caught.value)
    for blank in ("", " ", "   "):
        with pytest.raises(InvalidInput, match="the value of a part must be one printable line"):
            ledger.part("site", blank)


def test_what_is_printable_and_invisible_is_known() -> None:
    """Of the marks without a width that Unicode calls ignorable, none passes."""
    ignorable = [
        *range(0x034F, 0x0350), *range(0x115F, 0x1161), *range(0x17B4, 0x17B6),
        *range(0x180B, 0x1810), *range(0x200B, 0x2010), *range(0x2060, 0x2070), 0x3164,
        *range(0xFE00, 0xFE10), 0xFEFF, 0xFFA0, *range(0xE0000, 0xE1000),
    ]  # fmt: skip
    for code in ignorable:
        with pytest.raises(InvalidInput):
            Ledger(1.0).part("site", f"A{chr(code)}")


def test_old_entries_share_a_budget_when_they_are_read(tmp_path: Path) -> None:
    """A ledger of an older version, in which each spelling was a part of its own."""
    path = tmp_path / "books.ledger"
    first = Ledger.create(path, epsilon=1.0, relation="add-remove").rows()[0]
    chain, connection = Chain(first), sqlite3.connect(path)
    parts = [("site", s) for s in (*SPELLINGS, "B", "\u00c1\ufe0f")] + [("site ", "B")]
    for k, part in enumerate(parts):
        epsilon = 0.25 if part == ("site ", "B") else 0.75
        guarantee = Guarantee(epsilon, relation="add-remove")
        row = chain.charged(checked_entry(guarantee, f"{k}", part, None), "2026-01-01T00:00:00Z")
        chain.take(row)
        connection.execute(APPEND, row.fields)
    connection.commit()
    connection.close()
    ledger = Ledger.open(path)
    assert ledger.verify().number == len(parts)
    # Five spellings and one with an invisible mark, and the other column on top of them.
    assert ledger.spent.epsilon == 6 * 0.75 + 0.25
    assert ledger.part("site", "Á").spent.epsilon == 6 * 0.75 + 0.25
    assert ledger.part("site", "B").spent.epsilon == 0.75 + 0.25
    assert ledger.remaining.epsilon == ledger.part("site", "Á").remaining.epsilon == 0.0
    for book in (ledger, ledger.part("site", "Á"), ledger.part("other", "A")):
        with pytest.raises(BudgetExceeded, match=r"only ε = 0\.0, δ = 0\.0 is left"):
            book.spend(Guarantee(1e-9, relation="add-remove"))
    ledger.part("site", "C").spend(Guarantee(0.75, relation="add-remove"))
    with pytest.raises(BudgetExceeded):
        ledger.part("site", "B ").spend(Guarantee(1e-9, relation="add-remove"))
    assert Ledger.open(path).verify().number == len(parts) + 1


def test_a_pickle_of_an_older_version_charges_the_part_of_today(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "books.ledger", epsilon=1.0, relation="add-remove")
    ledger.part("site", "\u00c1").spend(WHOLE)
    old = _reopened(str(ledger.path), ledger.identity, ("site", " \u00c1"), None)
    with pytest.raises(BudgetExceeded):
        old.spend(WHOLE)


def test_a_budget_that_was_overspent_has_nothing_left() -> None:
    account = Account(Terms(None, 1e-6, "replace-one", "row", 0.5))
    for _ in range(2):
        account.add(checked_entry(Guarantee(1.0), "", None, None))
    account.add(checked_entry(Guarantee(1.0), "", None, None))
    assert account.remaining().rho == account.remaining().epsilon == 0.0
