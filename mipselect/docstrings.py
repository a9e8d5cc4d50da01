"""Entries of docstrings that are written once, where they belong, and shared."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TypeVar

Documented = TypeVar("Documented")

REFERENCE = re.compile(r"^(\w+(?:, \w+)*)\n +See `(\w+)`\.$", re.MULTILINE)
ENTRY = re.compile(r"^\S.*(?:\n .*)*", re.MULTILINE)


def entries_of(source: type) -> dict[str, str]:
    """Return the entries of a class' section *Attributes* by name."""
    text = inspect.cleandoc(source.__doc__ or "")
    section = text.partition("Attributes\n----------\n")[2].partition("\n\n")[0]
    return {entry.partition(" : ")[0]: entry for entry in ENTRY.findall(section)}


def described_by(source: type) -> Callable[[Documented], Documented]:
    """Put into a docstring the entries that it leaves to a class.

    The lines

        tolerance, time_limit
            See `SearchOptions`.

    become the two entries of that class: the reference is complete, and nothing is written twice.

    Raises
    ------
    KeyError
        If the class has no such entry.
    """

    def described(target: Documented) -> Documented:
        if target.__doc__ is not None:  # as it is under python -OO
            target.__doc__ = REFERENCE.sub(in_full, inspect.cleandoc(target.__doc__))
        return target

    def in_full(reference: re.Match[str]) -> str:
        names, named = reference.groups()
        if named != source.__name__:
            return reference.group()
        return "\n".join(known[name] for name in names.split(", "))

    known = entries_of(source) if source.__doc__ is not None else {}
    return described
