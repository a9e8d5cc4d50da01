"""The reproduction of the papers stands on public names, but for those that are listed here."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

from public_names import MODULES

FOLDER = Path(__file__).parents[2]

FOR_COMMANDS = ("mipselect.cli.extension", "mipselect.pictures")

STILL_PRIVATE = {
    ("mipselect.mechanisms.noise.noise", "Noise"),
    ("mipselect.mechanisms.noise.noise", "noise_named"),
    ("mipselect.mechanisms.scores.joint", "Crossings"),
    ("mipselect.mechanisms.supports.propose_test_release", "exceeds_condition"),
    ("mipselect.selectors.lasso_ballots", "lasso_ballot"),
}
"""A name that has become public, or is used no longer, leaves this list."""


def test_what_is_used_is_public() -> None:
    public = {(module, name) for module in (*MODULES, *FOR_COMMANDS) for name in _listed(module)}
    assert _used() - public == STILL_PRIVATE


def _listed(module: str) -> list[str]:
    return list(import_module(module).__all__)


def _used() -> set[tuple[str, str]]:
    """Module and name of everything that papers/ takes from mipselect."""
    return {
        (node.module or "", alias.name)
        for path in (FOLDER / "papers").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        and node.level == 0
        and (node.module or "").split(".")[0] == "mipselect"
        for alias in node.names
    }
