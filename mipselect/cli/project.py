"""Defaults of a project for a command: taken from its file, and named wherever they matter."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer

from mipselect.cli.declared import DeclaredOption, declared_of
from mipselect.cli.project_file import (
    DEFAULTS,
    EPSILON,
    Commands,
    ProjectEntry,
    find_project,
    project_entries,
)
from mipselect.cli.project_settings import is_path, settings_of
from mipselect.cli.shown_settings import DEFAULT, SettingOrigin, show_settings
from mipselect.cli.streams import say
from mipselect.errors import MipselectError

PANEL = "Defaults of a project (mipselect.toml)"
NO_PROJECT = "--no-project"

OF_A_RELEASE = ("ledger", "part", "relation")
OF_A_QUESTION = ("target", "support-size", "always", "no-intercept", "coef-bound", "ridge")
"""Keys of [defaults]. A command whose ε is a choice takes the first if it is given, as in a private
check of all fields alike, and else the second, as in one for the curator's eyes."""

ENTRIES = "mipselect.entries"
"""Key of what stands in the file, in what typer keeps of one run."""

ORIGINS = {"COMMANDLINE": "command line", "ENVIRONMENT": "environment", "DEFAULT": DEFAULT}
FROM_FILE = "DEFAULT_MAP"
"""Name of the source of a parameter, as typer has it."""


def with_project(
    command: str, run: Callable[..., None], commands: Callable[[], Commands]
) -> Callable[..., None]:
    """Let a command take defaults from a project file, and show where each setting is from.

    Parameters
    ----------
    command : str
    run : callable
        As `declared.command` makes it; returned as it is if it has no option that a project gives.
    commands : callable
        Returns the settings of all commands; called only if there is a file.
    """
    if not settings_of(run):
        return run
    options = declared_of(run)

    def take(context: typer.Context, no_project: bool) -> None:
        """Make what stands in the file the defaults, before any option is looked at."""
        if no_project or (file := find_project()) is None:
            return
        entries = project_entries(file, command, commands())
        context.meta[ENTRIES] = {entry.option.field: entry for entry in entries}
        context.default_map = {entry.option.field: entry.text for entry in entries}

    @wraps(run)
    def called(context: typer.Context, **given: Any) -> None:
        del given["no_project"]
        is_question = given.pop("show_settings")
        used = _entries_used(context, options, given)
        if is_question:
            origins = [
                SettingOrigin(option, given[option.field], _origin(context, option.field, used))
                for option in options
            ]
            show_settings(command, origins, as_json=given.get("json", False))
            return
        if typed := _typed(used.values()):
            say(f"note: from {next(iter(used.values())).file}: {typed}")
        with _naming(used.values()):
            run(**given)

    own = [
        _switch("no_project", "Take no defaults from a file.", NO_PROJECT, take),
        _switch(
            "show_settings",
            "Print every setting, and where it comes from; read no row and draw nothing.",
            "--show-settings",
            _need_nothing,
        ),
    ]
    context = Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)
    parameters = [context, *signature(run).parameters.values(), *own]
    called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return called


def _entries_used(
    context: typer.Context, options: Sequence[DeclaredOption], given: dict[str, Any]
) -> dict[str, ProjectEntry]:
    """Return the entries that nothing typed has replaced; of idle ones `given` gets the default."""
    entries: Mapping[str, ProjectEntry] = context.meta.get(ENTRIES, {})
    # Its ε may be left out, and nothing stands in its place then.
    has_choice = any(
        option.key == EPSILON and not option.required and option.value is None for option in options
    )
    used = {}
    for option in options:
        if _source(context, option.field) == FROM_FILE:
            entry = entries[option.field]
            if _is_idle(entry, given, has_choice=has_choice):
                given[option.field] = option.value
            else:
                used[option.field] = entry
    return used


def _switch(field: str, help: str, name: str, callback: Callable[..., Any]) -> Parameter:
    """Make a switch that is looked at before the options, but after --help."""
    told = typer.Option(name, help=help, is_eager=True, callback=callback, rich_help_panel=PANEL)
    return Parameter(field, Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, told])


def _need_nothing(context: typer.Context, show_settings: bool) -> bool:
    """Let options be missing that must be given, for they are shown as such."""
    if show_settings:
        for parameter in context.command.params:
            parameter.required = False
    return show_settings


def _source(context: typer.Context, field: str) -> str:
    source = context.get_parameter_source(field)
    assert source is not None
    return source.name


def _origin(context: typer.Context, field: str, used: Mapping[str, ProjectEntry]) -> str:
    """Name where a setting comes from; an entry that is idle leaves the default."""
    return used[field].origin if field in used else ORIGINS.get(_source(context, field), DEFAULT)


def _is_idle(entry: ProjectEntry, given: Mapping[str, Any], *, has_choice: bool) -> bool:
    """Tell whether a default is for the other use of a command whose ε is a choice."""
    if entry.section != DEFAULTS or not has_choice:
        return False
    return entry.option.key in (OF_A_RELEASE if given[EPSILON] is None else OF_A_QUESTION)


def _typed(entries: Iterable[ProjectEntry]) -> str:
    """Return the options that one would type in place of these entries."""
    words: list[str] = []
    for entry in entries:
        if entry.text is False:
            continue
        texts = entry.text if isinstance(entry.text, list) else [entry.text]
        for text in texts:
            words += [] if entry.option.by_place else [entry.option.name]
            words += [] if text is True else [text]
    return shlex.join(words)


@contextmanager
def _naming(entries: Iterable[ProjectEntry]) -> Iterator[None]:
    """Add to an error where those settings are from that it names."""
    try:
        yield
    except MipselectError as error:
        origins = [
            f"{entry.option.name} is from {entry.origin}"
            for entry in entries
            if _is_named(entry, str(error))
        ]
        if origins:
            error.add_note(f"({'; '.join(origins)}; {NO_PROJECT} leaves the file out)")
        raise


def _is_named(entry: ProjectEntry, message: str) -> bool:
    """Tell whether a message has the option, its name in Python, or its path."""
    option = entry.option
    python = option.field if "_" in option.field else f"{option.field}:"
    for name in (option.name, python):
        if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", message):
            return True
    return is_path(option) and entry.text in message
