"""Files that an output does not replace in silence: what was filled in, and what was paid for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mipselect.disk import small_text
from mipselect.errors import InvalidInput

FILLED_IN = "may hold what somebody has filled in"
FOREIGN = "is no result of a mipselect command"
ANOTHER = "give another name"
REPLACE = f"{ANOTHER}, or --replace to replace it"

MOST_BYTES = 100_000_000
"""Bytes of a file of a release."""

GUARANTEES = ("guarantee", "guarantee_of_all_draws")
"""Keys of a report of draws, of which it has one."""


def why_kept(path: Path, *, replace: bool | None, new: bool = False) -> str:
    """Say why what is there is kept; "" if it may be replaced.

    A release is kept; of what must be `new` any file; and for a command with --replace, which says
    True or False, whatever is no result of mipselect.
    """
    if replace:
        return ""
    held = paid(path) or (FILLED_IN if new and path.exists() else "")
    if not held and replace is not None and not _is_replaceable(path):
        return FOREIGN
    return held


def _is_replaceable(path: Path) -> bool:
    """Return True where there is no file, an empty one, or a report of a command as JSON."""
    if not path.exists() or path.stat().st_size == 0:
        return True
    return isinstance(_report(path).get("command"), str)


def paid(path: Path) -> str:
    """Say what a release in a file has cost; "" where there is no file, or another one."""
    report = _report(path)
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
