"""Recorded faults are where their texts say, and name tests that are there."""

from __future__ import annotations

from tests.soak.mutated import MUTATIONS
from tests.soak.mutations import ROOT, misplaced


def test_every_text_is_found_once() -> None:
    assert misplaced(MUTATIONS) == []


def test_every_test_is_there() -> None:
    named = {test for mutation in MUTATIONS for test in mutation.tests}
    for test in named:
        file, _, name = test.partition("::")
        assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8"), test


def test_there_are_forty() -> None:
    assert len(MUTATIONS) == len({mutation.why for mutation in MUTATIONS}) == 40
