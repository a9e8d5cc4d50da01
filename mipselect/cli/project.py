"""Defaults of options in the file `mipselect.toml` of a folder: a section for each command.

[fit]
schema = "patients.schema.json"
epsilon = 0.5
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from mipselect.cli.commands import OWN
from mipselect.cli.declared import DeclaredOption, declared_of
from mipselect.cli.start import say
from mipselect.errors import InvalidInput
from mipselect.toml_files import read_toml
from mipselect.validation import did_you_mean, printable, shown

FILE = Path("mipselect.toml")
LARGEST = 100_000
"""Bytes of such a file."""

LARGEST_INTEGER = 2**63 - 1
"""Largest integer of TOML; Python reads larger ones, and cannot write them all out."""

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


WITHOUT_DEFAULTS = ("demo", "instances", "ledger", "schema", "solvers")
"""Commands of this package that look at no such file."""


def with_project(command: str, run: Callable[..., None]) -> Callable[..., None]:
    """Let the options of a command have defaults in the file of the folder.

    Parameters
    ----------
    command : str
    run : callable
        As `declared.command` makes it; returned as it is if it has no option that a file may give.
    """
    keys = {o.name.removeprefix("--"): o for o in declared_of(run) if not o.by_place}
    known = {key: option for key, option in keys.items() if key not in OF_ONE_RUN}
    if not known:
        return run

    def take(context: typer.Context, no_project: bool) -> None:
        """Make the section the defaults; eager, so before any option is looked at but --help."""
        if no_project or not os.path.lexists(FILE):
            return
        context.default_map = {}
        for key, value in _section(command).items():
            option = _option(command, key, known)
            try:
                text = as_typed(option, value)
                if option.parser is not None:
                    option.parser(text)
            except (InvalidInput, typer.BadParameter) as error:
                raise InvalidInput(f"{FILE}: [{command}] {key} {error}") from None
            context.default_map[option.field] = text

    @wraps(run)
    def called(context: typer.Context, no_project: bool, **given: Any) -> None:
        if words := list(_words_used(context, known.values())):
            say(f"note: from {FILE}: {shlex.join(words)}")
        run(**given)

    told = typer.Option("--no-project", help=f"Leave {FILE} out.", is_eager=True, callback=take)
    switch = Parameter(
        "no_project", Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, told]
    )
    context = Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)
    own = [context, *signature(run).parameters.values(), switch]
    called.__signature__ = Signature(own)  # type: ignore[attr-defined]
    return called


def _section(command: str) -> Mapping[str, Any]:
    """Read the file, and return the section of a command."""
    content = read_toml(FILE, LARGEST)
    commands = [name for name in OWN if name not in WITHOUT_DEFAULTS]
    for name, keys in content.items():
        if not isinstance(keys, dict):
            raise InvalidInput(
                f"{FILE}: {shown(name)} stands in no section: put it below the name of a command, "
                "such as [select]"
            )
        if name not in commands:
            raise InvalidInput(
                f"{FILE}: unknown section [{printable(name)}]: sections are named after commands: "
                f"{', '.join(commands)}{did_you_mean(name, commands)}"
            )
    section: Mapping[str, Any] = content.get(command, {})
    return section


def _option(command: str, key: str, known: Mapping[str, DeclaredOption]) -> DeclaredOption:
    """Return the option of a key, or raise `InvalidInput` with the nearest one."""
    if why := OF_ONE_RUN.get(key):
        raise InvalidInput(
            f"{FILE}: [{command}] {key} cannot come from a file, for {why}: give it on the "
            "command line"
        )
    if key not in known:
        hint = did_you_mean(key, sorted(known))
        raise InvalidInput(f"{FILE}: [{command}] {shown(key)}: {command} has no such option{hint}")
    return known[key]


def as_typed(option: DeclaredOption, value: object) -> bool | str | list[str]:
    """Return a value of TOML as one would type it; raise `InvalidInput` for one of another kind."""
    match value:
        case bool():
            if option.kind is bool:
                return value
        case str() | float():
            if value and option.kind not in (bool, list):
                return str(value)
        case int():
            if option.kind not in (bool, list) and abs(value) <= LARGEST_INTEGER:
                return str(value)
        case list():
            if option.kind is list and value and all(isinstance(text, str) for text in value):
                return value
    wanted = {bool: "true or false", list: "a list of texts"}.get(option.kind, "a text or a number")
    raise InvalidInput(f"must be {wanted}, got {shown(value)}")


def _words_used(context: typer.Context, options: Collection[DeclaredOption]) -> Iterator[str]:
    """Yield what one would type in place of the defaults that nothing typed has replaced."""
    taken = context.default_map or {}
    for option in options:
        source = context.get_parameter_source(option.field)
        if source is None or source.name != "DEFAULT_MAP" or taken[option.field] is False:
            continue
        texts = taken[option.field]
        for text in texts if isinstance(texts, list) else [texts]:
            yield option.name
            if text is not True:
                yield text
