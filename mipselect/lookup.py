"""Names of a package that are imported when they are first used."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any


def looked_up(
    package: str, homes: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], list[str]]:
    """Return the `__getattr__` and the `__all__` of a package.

    Parameters
    ----------
    package : str
    homes : mapping of str to str, optional
        Module of each name. By default those of the stub of the package, which types are checked
        by: a line ``from MODULE import NAME as NAME`` for each of them.
    """
    if homes is None:
        stub = Path(str(sys.modules[package].__file__)).with_suffix(".pyi")
        found = re.findall(r"^from (\S+) import \(?\s*(\w+)", stub.read_text("utf-8"), re.MULTILINE)
        homes = {name: module for module, name in found}
    known = homes

    def find(name: str) -> Any:
        if name not in known:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(known[name]), name)
        vars(sys.modules[package])[name] = value
        return value

    return find, sorted(known)
