"""Parameters of estimators, each said once: its default, its type in words, meaning and check.

From one declaration follow the constructor's signature, the section *Parameters* of the docstring,
the check of a value, and the option of the command line.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from typing import Any, TypeVar, dataclass_transform

from mipselect.docstrings import entries_of, joined, listed, sections_of

Check = Callable[[Any, str], object]
"""Raises `InvalidInput` for a value that is wrong, by the name it is given."""

KEY = "parameter"

Class = TypeVar("Class", bound=type)


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
    flag: str | None
    check: Check | None
    assumption: str | None
    last: bool

    def checked(self, value: Any, name: str) -> Any:
        """Return a value; raise `InvalidInput`, by the name it is given, if it is wrong."""
        if self.check is not None and not (value is None and self.default is None):
            self.check(value, name)
        return value


def parameter(
    kind: str,
    meaning: str,
    *,
    default: Any = MISSING,
    kw_only: bool = True,
    flag: str | None = None,
    check: Check | None = None,
    assumption: str | None = None,
    last: bool = False,
) -> Any:
    """Declare a field of an estimator; see `Parameter`."""
    about = Parameter(kind, meaning, default, flag, check, assumption, last)
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
    sections = sections_of(cls)
    first = {
        "": sections.pop(""),
        "Parameters": "\n".join(entry(*each) for each in parameters_of(cls).items()),
        "Attributes": listed(attributes_of(cls).values()),
    }
    # Attributes come behind parameters, wherever the class has them.
    sections.pop("Attributes", None)
    return joined(first | sections)


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
