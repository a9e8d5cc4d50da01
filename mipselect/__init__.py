"""Private variable selection by integer programming.

Names are looked up when they are first used, so that the command line can catch signals
before NumPy and SciPy are loaded.
"""

from __future__ import annotations

from importlib import import_module

from mipselect.lookup import looked_up

_of_home, __all__ = looked_up(__name__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        return import_module("importlib.metadata").version("mipselect")
    return _of_home(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
