"""Entries of docstrings that are written once, where they belong, and shared."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

Documented = TypeVar("Documented")

ENTRY = re.compile(r"^\S.*(?:\n .*)*", re.MULTILINE)
HEADING = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)


def entries_of(source: object) -> dict[str, str]:
    """Return the entries of a section *Attributes* by name."""
    return entries_in(sections_of(source).get("Attributes", ""))


def entries_in(section: str) -> dict[str, str]:
    """Return the entries of a section by name, in their order; one of several names by each."""
    return {
        name: entry
        for entry in ENTRY.findall(section)
        for name in entry.partition(" : ")[0].partition("\n")[0].split(", ")
    }


def listed(entries: Iterable[str]) -> str:
    """Return the section of these entries, each of them once."""
    return "\n".join(dict.fromkeys(entries))


def sections_of(source: object) -> dict[str, str]:
    """Divide a docstring into its sections by heading; what stands before them is under ""."""
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


def completed_by(source: object) -> Callable[[Documented], Documented]:
    """Put into a docstring what a class or function shares with another, and does not say itself.

    These are the parameters that it has in common with `source` and does not list (for two classes
    of which `source` has *Attributes*, these), and the section *Raises* where it has none.
    Parameters stand in the order of the signature.
    """

    def completed(target: Documented) -> Documented:
        if target.__doc__ is not None and source.__doc__ is not None:  # both are under python -OO
            own, shared = sections_of(target), sections_of(source)
            told = "Attributes" if "Attributes" in shared else "Parameters"
            heading = "Parameters" if inspect.isfunction(target) else told
            known = entries_in(shared[told]) | entries_in(own.get(heading, ""))
            names = inspect.signature(target).parameters  # type: ignore[arg-type]
            first = {"": own[""], heading: listed(known[name] for name in names if name in known)}
            first |= {"Returns": own.get("Returns", ""), "Raises": shared.get("Raises", "")}
            target.__doc__ = joined(first | {k: v for k, v in own.items() if k != heading})
        return target

    return completed
