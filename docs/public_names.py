"""The public modules and what they list: for the reference, and for the tests of examples."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

MODULES = (
    "mipselect",
    "mipselect.mechanisms",
    "mipselect.selectors",
    "mipselect.regression",
    "mipselect.quality",
    "mipselect.tables",
    "mipselect.planning",
    "mipselect.reports",
    "mipselect.datasets",
    "mipselect.losses",
    "mipselect.search",
    "mipselect.backends",
    "mipselect.privacy",
    "mipselect.privacy.audit",
    "mipselect.errors",
)
"""Modules in the order of the reference; a name that several list belongs to the first."""


def listed(module: str) -> list[str]:
    """Return the classes and functions that a module lists, and no earlier one does."""
    before: set[int] = set()
    for name in MODULES:
        found = import_module(name)
        here = [each for each in found.__all__ if _documented(found, each)]
        if name == module:
            return sorted(each for each in here if id(getattr(found, each)) not in before)
        before |= {id(getattr(found, each)) for each in here}
    raise KeyError(module)


def page(module: str) -> str:
    """Write the page of a module in reStructuredText."""
    first = (import_module(module).__doc__ or "").strip()
    rows = "\n".join(f"   {name}" for name in listed(module))
    return (
        f"{module}\n{'=' * len(module)}\n\n{first}\n\n.. currentmodule:: {module}\n\n"
        f".. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n{rows}\n"
    )


def places() -> dict[str, str]:
    """Return the full name of every public class and function, by its own."""
    found: dict[str, str] = {}
    for module in MODULES:
        for name in listed(module):
            found.setdefault(name, f"{module}.{name}")
    return found


def write_pages(folder: Path) -> None:
    """Write the page of every module; one that has not changed is left as it is."""
    for module in MODULES:
        path, text = folder / f"{module}.rst", page(module)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def _documented(module: ModuleType, name: str) -> bool:
    """Tell whether a name is a class or a function of this package, no constant or alias."""
    found = getattr(module, name)
    return callable(found) and str(getattr(found, "__module__", "")).startswith("mipselect")
