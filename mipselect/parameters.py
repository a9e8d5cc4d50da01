"""Parameters, each said once: of estimators with default, type in words, meaning and check.

From one declaration follow the constructor's signature, the section *Parameters* of the docstring,
the check of a value, and the option of the command line. Of functions and other classes
`completed_by` puts into a docstring what it shares with another.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from typing import Any, TypeVar, dataclass_transform

Check = Callable[[Any, str], object]
"""Raises `InvalidInput` for a value that is wrong, by the name it is given."""

KEY = "parameter"

Class = TypeVar("Class", bound=type)
Documented = TypeVar("Documented")

ENTRY = re.compile(r"^\S.*(?:\n .*)*", re.MULTILINE)
FIRST = ("", "Parameters", "Attributes", "Returns", "Raises")
"""Sections of a docstring in their order; others follow."""

HEADING = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)


@dataclass(frozen=True)
class Parameter:
    """One parameter of an estimator.

    Attributes
    ----------
    kind : str
        Its type in words, as in a docstring.
    meaning : str
        One or two sentences, with the unit.
    default : object
    flag : str or None
        Option of the command line.
    check : callable or None
        Check of a value. None is right where it is the default.
    assumption : str or None
        Words for it in the message that it is missing: of a public assumption without a default.
    last : bool
        True if it stands behind the parameters of subclasses.
    """

    kind: str
    meaning: str
    default: Any
    flag: str | None = None
    check: Check | None = None
    assumption: str | None = None
    last: bool = False

    def checked(self, value: Any, name: str) -> Any:
        """Return a value; raise `InvalidInput`, by the name it is given, if it is wrong."""
        if self.check is not None and not (value is None and self.default is None):
            self.check(value, name)
        return value


def parameter(
    kind: str, meaning: str, *, default: Any = MISSING, kw_only: bool = True, **others: Any
) -> Any:
    """Declare a field of an estimator; see `Parameter` for the others."""
    about = Parameter(kind, meaning, default, **others)
    return field(default=default, kw_only=kw_only, metadata={KEY: about})


def parameters_of(estimator: object) -> Mapping[str, Parameter]:
    """Return the parameters of an estimator or its class by name, in the order of its signature.

    Positional ones come first, then those of bases before those of subclasses.
    """
    known: tuple[Field[Any], ...] = fields(estimator)  # type: ignore[arg-type]
    ordered = sorted(known, key=lambda field: (bool(field.kw_only), field.metadata[KEY].last))
    return {field.name: field.metadata[KEY] for field in ordered}


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
def estimator(cls: Class) -> Class:
    """Give a class the constructor and the docstring that its parameters say.

    The constructor stores what it is given and checks nothing, as scikit-learn wants it. The
    docstring lists all parameters, and the attributes of bases behind those of the class.
    """
    made: Any = dataclass(kw_only=True, eq=False, repr=False)(cls)
    signature = inspect.signature(made.__init__)
    ordered = [signature.parameters[name] for name in ("self", *parameters_of(made))]
    made.__init__.__signature__ = signature.replace(parameters=ordered)
    made.__doc__ = documented(made)
    return made  # type: ignore[no-any-return]


def documented(cls: type) -> str:
    """Return the docstring of a class with its parameters, and the attributes of its bases."""
    told = {
        "Parameters": listed(entry(*each) for each in parameters_of(cls).items()),
        "Attributes": listed(attributes_of(cls).values()),
    }
    return joined(sections_of(cls) | told)


def entry(name: str, about: Parameter) -> str:
    """Return the lines of a parameter in a docstring."""
    indent = "    "
    meaning = textwrap.wrap(
        about.meaning, 96, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    return "\n".join([f"{name} : {about.kind}", *meaning])


def attributes_of(cls: type) -> dict[str, str]:
    """Collect the attributes in the docstrings of a class and its bases, each with its lines."""
    found: dict[str, str] = {}
    for base in filter(is_dataclass, cls.__mro__):
        for name, lines in entries_of(base).items():
            found.setdefault(name, lines)
    return found


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


def joined(sections: dict[str, str]) -> str:
    """Return the docstring that has these sections; those without text are left out."""
    ordered = dict.fromkeys(FIRST, "") | sections
    return "\n\n".join(
        f"{name}\n{'-' * len(name)}\n{text}" if name else text
        for name, text in ordered.items()
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
            entries = listed(known[name] for name in names if name in known)
            raised = {"Raises": shared.get("Raises", "")}
            target.__doc__ = joined(raised | own | {heading: entries})
        return target

    return completed
