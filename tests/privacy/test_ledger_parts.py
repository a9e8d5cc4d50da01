"""Parts of a table that are one and the same share a budget, however their names are written."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from mipselect.errors import BudgetExceeded, InvalidInput
from mipselect.privacy import Guarantee, Ledger

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
