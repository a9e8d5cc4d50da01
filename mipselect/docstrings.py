"""Entries of docstrings that are written once, where they belong, and shared."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

Class = TypeVar("Class")
Documented = TypeVar("Documented")

REFERENCE = re.compile(r"^(\w+(?:, \w+)*)\n +See `(\w+)`\.$", re.MULTILINE)
ENTRY = re.compile(r"^\S.*(?:\n .*)*", re.MULTILINE)
HEADING = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)


def entries_of(source: type) -> dict[str, str]:
    """Return the entries of a class' section *Attributes* by name."""
    return entries_in(sections_of(source).get("Attributes", ""))


def entries_in(section: str) -> dict[str, str]:
    """Return the entries of a section by what stands before the colon, in their order."""
    return {entry.partition(" : ")[0]: entry for entry in ENTRY.findall(section)}


def sections_of(source: object) -> dict[str, str]:
    """The sections of a docstring by heading; what is before them under ""."""
    head, *rest = HEADING.split(inspect.cleandoc(source.__doc__ or ""))
    named = zip(rest[::2], rest[1::2], strict=True)
    return {"": head.rstrip(), **{name: text.rstrip() for name, text in named}}


def joined(sections: Mapping[str, str]) -> str:
    """Return the docstring that has these sections; those without text are left out."""
    return "\n\n".join(
        f"{name}\n{'-' * len(name)}\n{text}" if name else text
        for name, text in sections.items()
        if text
    )


def completed_by(source: type) -> Callable[[type[Class]], type[Class]]:
    """Put into the docstring of a class what it shares with another, and does not say itself.

    That are the parameters that it has in common with `source` and does not list, and the section
    *Raises* where it has none. Parameters stand in the order of the signature.
    """

    def completed(target: type[Class]) -> type[Class]:
        if target.__doc__ is not None and source.__doc__ is not None:  # both are under python -OO
            own, shared = sections_of(target), sections_of(source)
            known = entries_in(shared["Parameters"]) | entries_in(own.pop("Parameters", ""))
            listed = [known[name] for name in inspect.signature(target).parameters if name in known]
            first = {"": own.pop(""), "Parameters": "\n".join(listed)}
            target.__doc__ = joined(first | {"Raises": shared["Raises"]} | own)
        return target

    return completed


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
