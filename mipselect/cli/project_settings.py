"""Settings of a command that a project may give: its options, and the table that it is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin

from mipselect.cli.declared import DeclaredOption, declared_of
from mipselect.errors import InvalidInput
from mipselect.validation import did_you_mean, shown

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


@dataclass(frozen=True)
class CommandSetting:
    """An option of a command, or the one argument that it has.

    Attributes
    ----------
    name : str
        On the command line: "--support-size", or "DATA".
    field : str
        Name in Python: "support_size".
    kind : type
    metavar : str or None
    least : int or None
        The least value.
    default : object
        None for one that must be given.
    default_in_words : str
        What stands for the default in --help; empty if it is the value itself.
    required : bool
    """

    name: str
    field: str
    kind: type
    metavar: str | None
    least: int | None
    default: Any
    default_in_words: str
    required: bool

    @classmethod
    def of(cls, option: DeclaredOption) -> CommandSetting:
        """Read an option as it is declared."""
        kinds = [kind for kind in get_args(option.annotation) if kind is not NoneType]
        is_alone = get_origin(option.annotation) in (None, list)
        kind = option.annotation if is_alone else kinds[0]
        required = option.default is MISSING
        words = option.words.get("show_default")
        return cls(
            name=option.name,
            field=option.field,
            kind=get_origin(kind) or kind,
            metavar=option.words["metavar"],
            least=option.words.get("min"),
            default=None if required else option.default,
            default_in_words=words if isinstance(words, str) else "",
            required=required,
        )

    @property
    def by_place(self) -> bool:
        """True for an argument."""
        return not self.name.startswith("--")

    @property
    def key(self) -> str:
        """Name in a project file: "support-size", or "data"."""
        return self.name.lower() if self.by_place else self.name.removeprefix("--")

    @property
    def is_choice(self) -> bool:
        """True if it may be left out, and nothing stands in its place then."""
        return not self.required and self.default is None

    @property
    def is_path(self) -> bool:
        """True if its value is a file or a folder."""
        return self.kind is Path or self.name in PLACES

    @property
    def takes_several(self) -> bool:
        """True if its text has several names or numbers between commas."""
        return self.kind is str and (self.metavar or "").endswith(SEVERAL)

    def text(self, value: object, folder: Path) -> Any:
        """Return a value of TOML as one would type it: a text, texts, or a truth value.

        Parameters
        ----------
        value : object
        folder : Path
            That paths are relative to.

        Raises
        ------
        InvalidInput
            For a value of another kind.
        """
        if issubclass(self.kind, Enum):
            return _choice(self.kind, value)
        if self.takes_several and isinstance(value, list) and value:
            return ",".join(map(_between_commas, value))
        if self.kind is list and isinstance(value, str):
            value = [value]
        types, words = WORDS[self.kind]
        if self.takes_several:
            words += ", or a list"
        of_truth = isinstance(value, bool) and self.kind is not bool
        texts = value if isinstance(value, list) else []
        if (
            not isinstance(value, types)
            or of_truth
            or value in ("", [])
            or not all(isinstance(text, str) for text in texts)
            or (isinstance(value, int) and abs(value) > LARGEST_INTEGER)
        ):
            raise InvalidInput(f"must be {words}, got {shown(value)}")
        if self.least is not None and value < self.least:  # type: ignore[operator]
            raise InvalidInput(f"must be at least {self.least}, got {shown(value)}")
        if isinstance(value, str) and self.is_path:
            return self._place(value, folder)
        return value if isinstance(value, bool | list | str) else repr(value)

    def _place(self, text: str, folder: Path) -> str:
        """Find a path from where the command runs; URLs and stored instances keep their names."""
        stored = self.name == "INSTANCE" and not text.endswith(INSTANCE_ENDINGS)
        return text if stored or "://" in text else str(folder / text)


def settings_of(run: Callable[..., None]) -> dict[str, CommandSetting]:
    """Return the settings of a command that a project may give, by their keys."""
    known = all_settings(run)
    places = [setting for setting in known if setting.by_place]
    return {
        setting.key: setting
        for setting in known
        if setting.key not in OF_ONE_RUN
        and (not setting.by_place or (setting.name in PLACES and len(places) == 1))
    }


def all_settings(run: Callable[..., None]) -> list[CommandSetting]:
    """Return everything that a command can be told, in the order of its signature."""
    return [CommandSetting.of(option) for option in declared_of(run)]


def _choice(kind: type[Enum], value: object) -> str:
    known = [str(member.value) for member in kind]
    if isinstance(value, str) and value in known:
        return value
    hint = did_you_mean(value, known)
    raise InvalidInput(f"must be one of {', '.join(known)}, got {shown(value)}{hint}")


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
