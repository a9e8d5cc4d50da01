"""Files that no output replaces without --replace: what was paid for, and what may be wanted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mipselect.disk import small_text
from mipselect.errors import InvalidInput

WANTED = "may hold what somebody wants to keep"

MOST_BYTES = 100_000_000
"""Bytes of a file of a release."""

GUARANTEES = ("guarantee", "guarantee_of_all_draws")
"""Keys of a report of draws, of which it has one."""


def why_kept(path: Path, *, replace: bool) -> str:
    """Say why what is there is kept; "" if it may be replaced.

    Without --replace these are an empty file, and JSON of a command that nothing was paid for.
    """
    if replace or not path.exists() or path.stat().st_size == 0:
        return ""
    report = _report(path)
    return _paid(report) or ("" if isinstance(report.get("command"), str) else WANTED)


def _paid(report: Mapping[str, Any]) -> str:
    """Say what a release has cost; "" of what is none."""
    if report.get("dry_run") or report.get("private") is not True:
        return ""
    for key in GUARANTEES:
        guarantee = report.get(key)
        if isinstance(guarantee, dict) and isinstance(guarantee.get("epsilon"), int | float):
            return f"holds a release that ε = {guarantee['epsilon']:.15g} was paid for"
    return ""


def _report(path: Path) -> Mapping[str, Any]:
    """Return the JSON object in a file, or an empty one."""
    try:
        with path.open("rb") as file:
            if not file.read(64).lstrip().startswith(b"{"):
                return {}
        report = json.loads(small_text(path, MOST_BYTES))
    except (OSError, InvalidInput, ValueError, RecursionError):
        return {}
    return report if isinstance(report, dict) else {}
