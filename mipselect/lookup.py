"""Names of a package that are imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def looked_up(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose names stand in modules of their own.

    Parameters
    ----------
    package : str
    homes : mapping of str to str
        Module of each name: its name within the package, or the full one.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        whole = home if home.startswith("mipselect.") else f"{package}.{home}"
        value = getattr(import_module(whole), name)
        vars(import_module(package))[name] = value
        return value

    return find
