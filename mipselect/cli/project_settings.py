"""Settings of a command that a project may give: its options, and the table that it is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from mipselect.cli.declared import DeclaredOption, declared_of, one_of
from mipselect.errors import InvalidInput
from mipselect.validation import shown

OF_ONE_RUN: Mapping[str, str] = {
    "seed": "a seed takes the privacy away",
    "output": "it would be replaced at every run",
    "replace": "it is about one file",
    "plot": "it would be replaced at every run",
    "yes": "a confirmation is a person's",
    "resume": "it is about one pass",
    "dry-run": "it is about one run",
    "json": "it is about one run",
}
"""Options that never come from a file, and why."""

PLACES = ("DATA", "INSTANCE")
"""Arguments that a project may give, to commands that have no other."""

INSTANCE_ENDINGS = (".toml", ".npz")

LARGEST_INTEGER = 2**63 - 1
"""Largest integer of TOML; Python reads larger ones, and cannot write them all out."""

SEVERAL = ",..."
"""End of the metavar of options that take several between commas."""

WORDS: Mapping[type, tuple[type | tuple[type, ...], str]] = {
    bool: (bool, "true or false"),
    int: (int, "an integer"),
    float: ((int, float), "a number"),
    str: (str, "a text in quotes"),
    Path: (str, "a path in quotes"),
    list: (list, "a list of texts"),
}
"""Types and words in TOML for each type of an option."""


def settings_of(run: Callable[..., None]) -> dict[str, DeclaredOption]:
    """Return the options of a command that a project may give, by their keys."""
    known = declared_of(run)
    places = [option for option in known if option.by_place]
    return {
        option.key: option
        for option in known
        if option.key not in OF_ONE_RUN
        and (not option.by_place or (option.name in PLACES and len(places) == 1))
    }


def is_path(option: DeclaredOption) -> bool:
    """Return True if the value of an option is a file or a folder."""
    return option.kind is Path or option.name in PLACES


def typed(option: DeclaredOption, value: object, folder: Path) -> Any:
    """Return a value of TOML as one would type it: a text, texts, or a truth value.

    Parameters
    ----------
    option : DeclaredOption
    value : object
    folder : Path
        That paths are relative to.

    Raises
    ------
    InvalidInput
        For a value of another kind.
    """
    kind, least = option.kind, option.words.get("min")
    if issubclass(kind, Enum):
        return one_of([str(member.value) for member in kind], value)
    if option.choices:
        return one_of(option.choices, value)
    several = kind is str and (option.words["metavar"] or "").endswith(SEVERAL)
    if several and isinstance(value, list) and value:
        return ",".join(map(_between_commas, value))
    if kind is list and isinstance(value, str):
        value = [value]
    types, words = WORDS[kind]
    if several:
        words += ", or a list"
    of_truth = isinstance(value, bool) and kind is not bool
    texts = value if isinstance(value, list) else []
    if (
        not isinstance(value, types)
        or of_truth
        or value in ("", [])
        or not all(isinstance(text, str) for text in texts)
        or (isinstance(value, int) and abs(value) > LARGEST_INTEGER)
    ):
        raise InvalidInput(f"must be {words}, got {shown(value)}")
    if least is not None and value < least:
        raise InvalidInput(f"must be at least {least}, got {shown(value)}")
    if isinstance(value, str) and is_path(option):
        # URLs and stored instances keep their names.
        stored = option.name == "INSTANCE" and not value.endswith(INSTANCE_ENDINGS)
        return value if stored or "://" in value else str(folder / value)
    return value if isinstance(value, bool | list | str) else repr(value)


def _between_commas(value: object) -> str:
    """Write one of several values, in quotes if it has a comma, a quote or outer blanks."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST_INTEGER:
        return repr(value)
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"must have texts or numbers in its list, got {shown(value)}")
    if value == value.strip() and not {",", '"'} & set(value):
        return value
    doubled = value.replace('"', '""')
    return f'"{doubled}"'
