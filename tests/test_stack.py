"""What the core loads: nothing about tables, and no more modules than it needs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

MOST_LOADED = 140

LOADED = (
    "import json, sys; print(json.dumps([m for m in sys.modules if m.startswith('mipselect')]))"
)


def loaded_after(code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{LOADED}"], capture_output=True, text=True, check=True
    )
    names: list[str] = json.loads(done.stdout)
    return names


@pytest.mark.parametrize(
    "code",
    [
        "from mipselect import Instance, top_supports, mistake_levels, TopR",
        "import mipselect; mipselect.load_instance('paper-p100')",
        "import mipselect.blocks.r_squared, mipselect.mechanisms.supports.exact",
    ],
)
def test_the_core_loads_nothing_about_tables(code: str) -> None:
    above = ("tables", "quality", "planning", "reports", "cli", "selectors", "regression")
    assert [
        name for name in loaded_after(code) if name.split(".")[1:2] in [[a] for a in above]
    ] == []


def test_the_mission_loads_few_modules() -> None:
    names = loaded_after("from mipselect import top_supports, mistake_levels, TopR")
    assert len(names) <= MOST_LOADED
