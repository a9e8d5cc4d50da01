from __future__ import annotations

import copy
import os
import pickle
import sys
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from mipselect.errors import BudgetExceeded, InvalidInput, LedgerForked, RelationMismatch
from mipselect.mechanisms import RandomizedResponse
from mipselect.privacy import Guarantee, Ledger, LedgerEntry
from mipselect.privacy.ledger import checked_ledger
from tests.support.wants import wants


def test_ten_tenths_are_one() -> None:
    ledger = Ledger(1.0)
    for k in range(10):
        ledger.spend(Guarantee(0.1), what=f"release {k}")
    assert ledger.spent == Guarantee(1.0)
    assert ledger.remaining == Guarantee(0.0)
    assert len(ledger.entries) == 10
    assert ledger.entries[3] == LedgerEntry(Guarantee(0.1), "release 3")
    with pytest.raises(BudgetExceeded):
        ledger.spend(Guarantee(1e-300))


def test_a_path_is_told_how_it_becomes_a_ledger() -> None:
    ledger = Ledger(1.0)
    assert "spent in 0 releases" in repr(ledger)
    ledger.spend(Guarantee(0.5))
    assert "spent in 1 release," in repr(ledger)
    wrong: list[Any] = ["study.ledger", Path("study.ledger")]
    for path in wrong:
        with pytest.raises(InvalidInput, match=r"Ledger\.open\('study\.ledger'\) opens one"):
            checked_ledger(path)
    wrong = [3]
    with pytest.raises(InvalidInput, match=r"None, got 3$"):
        checked_ledger(wrong[0])


def test_the_refusal_says_what_is_left() -> None:
    ledger = Ledger(1.0, 1e-6)
    ledger.spend(Guarantee(0.7))
    with pytest.raises(BudgetExceeded) as refused:
        ledger.spend(Guarantee(0.5, 1e-7))
    of_budget = ("ε = 0.5, δ = 1e-07", "ε = 0.3, δ = 1e-06 is left", "ε = 1.0, δ = 1e-06")
    for part in (*of_budget, "A budget cannot be raised", "second ledger"):
        assert part in str(refused.value)
    assert ledger.spent == Guarantee(0.7)


def test_relations_are_not_mixed() -> None:
    ledger = Ledger(1.0)
    added = Guarantee(0.3, relation="add-remove")
    with pytest.raises(RelationMismatch, match=r"guarantee\.to\('replace-one'\)"):
        ledger.spend(added)
    assert ledger.entries == ()
    ledger.spend(added.to("replace-one"))
    assert ledger.spent == Guarantee(0.6)
    with pytest.raises(RelationMismatch, match="cannot be converted"):
        Ledger(1.0, relation="add-remove").spend(Guarantee(0.1))
    other = Ledger(1.0, relation="add-remove")
    other.spend(added)
    assert other.spent == added
    assert other.remaining == Guarantee(0.7, relation="add-remove")


def test_what_is_left_can_always_be_spent() -> None:
    for first in (1 / 3, 1e-17, 0.1 + 0.2, 2**-30):
        ledger = Ledger(1.0)
        ledger.spend(Guarantee(first))
        ledger.spend(ledger.remaining)


def test_a_copy_does_not_double_the_budget() -> None:
    ledger = Ledger(1.0)
    assert copy.copy(ledger) is ledger
    assert copy.deepcopy({"ledger": ledger})["ledger"] is ledger
    ledger.spend(Guarantee(0.25))
    again = pickle.loads(pickle.dumps(ledger))
    assert again.remaining == ledger.remaining
    with pytest.raises(LedgerForked, match=r"Keep it in a file \(Ledger.create\)"):
        again.spend(Guarantee(0.25))
    assert "when pickled" in repr(pickle.loads(pickle.dumps(again)))
    assert "when pickled" not in repr(ledger)
    ledger.spend(Guarantee(0.25))


def test_a_seeded_draw_is_marked_in_the_books() -> None:
    ledger = Ledger(1.0)
    ledger.spend(Guarantee(0.1))
    assert ledger.spent.private
    release = RandomizedResponse([1.0, 2.0], 0.2).release(ledger, rng=0)
    assert [entry.guarantee.private for entry in ledger.entries] == [True, False]
    assert ledger.entries[1].guarantee == release.guarantee
    assert not ledger.spent.private
    assert ledger.spent.epsilon == pytest.approx(0.3, rel=1e-15)
    assert ledger.remaining.private


@wants("os.fork", hasattr(os, "fork"))
def test_a_forked_child_spends_nothing() -> None:
    """Three children, each with the whole budget: none may spend it, all may read it."""
    ledger = Ledger(1.0)
    for _ in range(3):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                ledger.spend(Guarantee(1.0))
            except LedgerForked as refused:
                said = "forked process" in str(refused) and "as it was at the fork" in repr(ledger)
                code = 0 if said and ledger.remaining == Guarantee(1.0) else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    ledger.spend(Guarantee(1.0))
    assert "fork" not in repr(ledger)


@wants("os.fork", hasattr(os, "fork"))
def test_a_lock_that_was_held_at_the_fork_does_not_hang_the_child() -> None:
    ledger = Ledger(1.0)
    with ledger._book._lock:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                ledger.spend(Guarantee(0.1))
            except LedgerForked:
                code = 0
            finally:
                os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_two_threads_cannot_both_spend_the_last_of_it() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(5):
            ledger, start = Ledger(5.0), Barrier(8)
            paid: list[int] = []

            def spend(ledger: Ledger = ledger, start: Barrier = start, paid=paid) -> None:
                start.wait()
                for k in range(100):
                    try:
                        ledger.spend(Guarantee(0.1))
                    except BudgetExceeded:
                        continue
                    paid.append(k)

            threads = [Thread(target=spend) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(paid) == len(ledger.entries) == 50
            assert ledger.spent == Guarantee(5.0)
    finally:
        sys.setswitchinterval(interval)
