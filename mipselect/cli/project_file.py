"""The file `mipselect.toml`: where it is looked for, and what stands in it.

[defaults]        for every command that has the option
schema = "patients.schema.json"
epsilon = 0.5
[select]          for one command, in place of [defaults]
support-size = 3
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mipselect.cli.declared import DeclaredOption
from mipselect.cli.project_settings import OF_ONE_RUN, typed
from mipselect.errors import InvalidInput
from mipselect.toml_files import read_toml
from mipselect.validation import did_you_mean, printable, shown

NAME = "mipselect.toml"
ROOT = ".git"
"""Folder that marks a repository; nothing is looked for above it."""

LARGEST = 100_000
"""Bytes of such a file."""

DEFAULTS = "defaults"
EPSILON = "epsilon"

Commands = Mapping[str, Mapping[str, DeclaredOption]]
"""Options of every command that takes defaults, by the names of commands and by keys."""


@dataclass(frozen=True)
class ProjectEntry:
    """An entry of a project file that a command takes.

    Attributes
    ----------
    option : DeclaredOption
    text : str, list of str or bool
        As one would type it.
    section : str
    file : Path
    """

    option: DeclaredOption
    text: Any
    section: str
    file: Path

    @property
    def origin(self) -> str:
        """File and section."""
        return f"{self.file} [{self.section}]"


def find_project() -> Path | None:
    """Return the nearest project file: here, or in a parent up to the root of a repository.

    Without a repository only the folder counts in which the command runs.
    """
    try:
        here = Path.cwd()
    except FileNotFoundError:
        return None
    folders = [here, *here.parents]
    roots = (k for k, folder in enumerate(folders) if os.path.lexists(folder / ROOT))
    for up in range(next(roots, 0) + 1):
        # Relative, so that reports have paths as one would type them.
        file = Path(*[os.pardir] * up, NAME)
        if os.path.lexists(file):
            return file
    return None


def project_entries(file: Path, command: str, commands: Commands) -> list[ProjectEntry]:
    """Read a project file, check all of it, and return what one command takes.

    Parameters
    ----------
    file : Path
    command : str
        One of `commands`.
    commands : mapping

    Raises
    ------
    InvalidInput
        Naming the file, the section and the key.
    """
    sections = {name: dict(_keys(file, name, keys)) for name, keys in _sections(file, commands)}
    known = commands[command]
    chosen = {
        key: (DEFAULTS, value)
        for key, value in sections.get(DEFAULTS, {}).items()
        # An ε makes a release of what need not be one, and of plan a list of them.
        if key in known and (key != EPSILON or known[key].required)
    }
    chosen |= {key: (command, value) for key, value in sections.get(command, {}).items()}
    _check_keys(file, sections, commands)
    entries = []
    for key, (section, value) in chosen.items():
        try:
            text = typed(known[key], value, file.parent)
        except InvalidInput as error:
            raise InvalidInput(f"{file}: [{section}] {key} {error}") from None
        entries.append(ProjectEntry(known[key], text, section, file))
    return entries


def _sections(file: Path, commands: Commands) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the sections of a file, with their keys as they stand there."""
    content = read_toml(file, LARGEST)
    known = [DEFAULTS, *commands]
    for name, keys in content.items():
        if not isinstance(keys, dict):
            raise InvalidInput(
                f"{file}: {shown(name)} stands in no section: put it below [{DEFAULTS}], or below "
                "the name of a command, such as [select]"
            )
        if name not in known:
            raise InvalidInput(
                f"{file}: unknown section [{printable(name)}]: sections are [{DEFAULTS}] and "
                f"those of commands: {', '.join(commands)}{did_you_mean(name, known)}"
            )
        yield name, keys


def _keys(file: Path, section: str, keys: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the keys of a section with dashes; raise `InvalidInput` for a key that comes twice."""
    seen = set()
    for given, value in keys.items():
        key = given.replace("_", "-")
        if key in seen:
            raise InvalidInput(f"{file}: [{section}] has {shown(key)} twice, with - and with _")
        if why := OF_ONE_RUN.get(key):
            raise InvalidInput(
                f"{file}: [{section}] {key} cannot come from a file, for {why}: give it on the "
                "command line"
            )
        seen.add(key)
        yield key, value


def _check_keys(file: Path, sections: Mapping[str, Mapping[str, Any]], commands: Commands) -> None:
    """Raise `InvalidInput` for a key that no command has, or not the command of its section."""
    anywhere = {key for settings in commands.values() for key in settings}
    for section, keys in sections.items():
        known = anywhere if section == DEFAULTS else set(commands[section])
        for key in keys:
            if key in known:
                continue
            others = [name for name, settings in commands.items() if key in settings]
            whose = f"; it is one of {', '.join(others)}" if others else ""
            of = "no command has" if section == DEFAULTS else f"{section} has no"
            raise InvalidInput(
                f"{file}: [{section}] {shown(key)}: {of} such option"
                f"{whose or did_you_mean(key, sorted(known))}"
            )
