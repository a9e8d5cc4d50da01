"""The published ordering on the microarrays of the DP-SIS paper; skipped without them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT.parent / "shared" / "data" / "microarray"

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the microarrays are not here")


@pytest.mark.parametrize("name", ["christensen", "sorlie"])
def test_screening_finds_more_of_the_reference_than_two_stages(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    from benchmarks.microarrays import load, shares

    table = load(FOLDER / f"{name}.npz")
    assert len(table.reference) >= 4
    for epsilon, margin in ((5.0, 0.02), (7.0, 0.3)):
        mechanisms = table.mechanisms(epsilon)
        screening = shares(table, mechanisms["DP-SIS"], 100).mean()
        assert screening > shares(table, mechanisms["two-stage, peeling"], 60).mean() + margin
