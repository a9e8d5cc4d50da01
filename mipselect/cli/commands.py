"""The `mipselect` command: its subcommands, its exit codes, and one line for every error.

Where each subcommand is declared, and its first line, stand here, so that --help imports none.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache, wraps
from importlib import import_module
from importlib.metadata import entry_points, version
from inspect import Parameter, Signature, signature
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperGroup
from typer.main import get_group

from mipselect.cli.declared import DeclaredOption, chooser, declared_of, with_further
from mipselect.cli.output import InterruptedDelivery, InterruptedRun
from mipselect.cli.start import Interruptions, abandon, say
from mipselect.disk import read_toml
from mipselect.errors import InvalidInput, MipselectError
from mipselect.parameters import parameters_of
from mipselect.selectors import BY_NAME
from mipselect.validation import did_you_mean, printable, shown

OWN = {
    "solve": (
        "solve_options",
        "Find the best supports of INSTANCE and prove it. The report is SENSITIVE.",
    ),
    "release": ("release_options", "Release supports of INSTANCE with differential privacy."),
    "select": (
        "select_options",
        "Release supports straight from a table, with differential privacy.",
    ),
    "fit": (
        "fit",
        "Release a linear model of a table: which features, and their coefficients.",
    ),
    "predict": (
        "predict",
        "Predict the target for every row of DATA, in the order of the rows.",
    ),
    "evaluate": (
        "evaluate",
        "Say how good a model is on the rows of DATA, with differential privacy.",
    ),
    "describe": (
        "describe",
        "Begin the public schema of DATA, and list what you must fill in.",
    ),
    "check": (
        "check",
        "Compare DATA with its schema, before ε is spent. The report is SENSITIVE.",
    ),
    "moments": (
        "moments",
        "Add up squares and products over all rows of DATA, exactly, in one pass.",
    ),
    "plan": (
        "plan",
        "Say what to expect of a table before it is opened, at some ε and a number of rows.",
    ),
    "compare": (
        "compare_options",
        "Find the mistake levels of each INSTANCE with several solvers. The report is SENSITIVE.",
    ),
    "instances": ("instances", "List the stored instances."),
    "solvers": (
        "solvers",
        "List the back ends that are installed, and whether they can be used here.",
    ),
    "report": (
        "report",
        "Write a report on releases for everybody: results, guarantee, costs, how to cite.",
    ),
    "ledger": ("ledger_options", "Keep a privacy budget in a file: create, show, verify, export."),
    "schema": (
        "schema",
        "Fill in a public schema in a spreadsheet, and confirm its types: to-csv, from-csv, "
        "confirm.",
    ),
}
"""The commands of this package, in the order of --help: the module that declares each, which
imports nothing that takes long, and the first line of its help."""


def function_name(command: str) -> str:
    """Return the name that a command has in its module."""
    return command.replace("-", "_")


GROUP = "mipselect.commands"
"""Entry points of other packages: each a mapping like `OWN`, but with full names of modules, in a
module that imports nothing."""


@cache
def known_commands() -> Mapping[str, tuple[str, str]]:
    """Return every command: first those of this package, then those of installed packages by name.

    A package that cannot be loaded is named on standard error, and its commands are missing.
    """
    found = {name: (f"{__package__}.{module}", line) for name, (module, line) in OWN.items()}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            others = point.load()
        except (ImportError, AttributeError) as error:
            say(f"the commands of {point.value} cannot be loaded: {error}")
            continue
        found |= {name: command for name, command in others.items() if name not in found}
    return found


class CommandGroup(TyperGroup):
    """Imports the one command that was named."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Put the command itself in the place of its first line."""
        if args[0] in known_commands():
            self.commands[args[0]] = imported(args[0], args[1:])
        return super().resolve_command(ctx, args)


def imported(name: str, words: Sequence[str] = ()) -> Any:
    """Import the module that declares a command, and make the command for the words behind it.

    A module with an `app` is a group of commands.
    """
    module = import_module(known_commands()[name][0])
    alone = typer.Typer()
    if hasattr(module, "app"):
        alone.add_typer(module.app, name=name)
    else:
        epilog, run = getattr(module, "EXAMPLES", None), getattr(module, function_name(name))
        run = with_options_of_method(run, words)
        alone.command(name, epilog=epilog)(run if name not in OWN else with_project(name, run))
    return get_group(alone).commands[name]


KINDS: Mapping[str, type] = {"int": int, "float": float, "bool": bool}
"""Types of parameters by the first word of their `kind`; others are texts."""


def with_options_of_method(run: Callable[..., None], words: Sequence[str]) -> Callable[..., None]:
    """Let a command take the options that the method named in its words has beyond its own.

    So a selector that declares an option of the command line is all that the option needs.
    """
    known = {declared.name: declared.choices for declared in declared_of(run)}
    texts = [text for word in words for text in word.split("=", 1)]
    method = next((after for text, after in pairwise(texts) if text == "--method"), "")
    if known.get("--method") is not BY_NAME or method not in BY_NAME:
        return run
    more = [
        DeclaredOption(
            about.flag,
            {"help": about.meaning, "metavar": None, "rich_help_panel": f"Of {method}"},
            annotation=KINDS.get(about.kind.partition(",")[0], str) | None,
        )
        for about in parameters_of(BY_NAME[method]).values()
        if about.flag is not None and about.flag not in known
    ]
    return with_further(run, more) if more else run


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
    "dry-run": "it is about one run",
    "json": "it is about one run",
}
"""Options that never come from a file, and why."""


WITHOUT_DEFAULTS = ("instances", "ledger", "schema", "solvers")
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
            try:
                option = _option(command, key, known)
                text = as_typed(option, value)
                if (parser := _parser(option)) is not None:
                    parser(text)
            except (InvalidInput, typer.BadParameter) as error:
                raise InvalidInput(f"{FILE}: [{command}] {printable(key)} {error}") from None
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
    """Return the option of a key; the message of `InvalidInput` goes on the key."""
    if why := OF_ONE_RUN.get(key):
        raise InvalidInput(f"cannot come from a file, for {why}: give it on the command line")
    if key not in known:
        raise InvalidInput(f"is no option of {command}{did_you_mean(key, sorted(known))}")
    return known[key]


def _parser(option: DeclaredOption) -> Callable[[object], Any] | None:
    """Return what refuses a wrong text, here where the file can be named; None for any text."""
    if issubclass(option.kind, Enum):
        return chooser([str(member.value) for member in option.kind])
    return option.parser


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


DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

# The base class of what typer raises for bad usage; where it lives differs between versions.
UsageError: Any = typer.BadParameter.__mro__[1]

Error = TypeVar("Error", BaseException, None)

KNOWN = (MipselectError, UsageError, typer.Abort, KeyboardInterrupt, OSError, MemoryError)
"""Errors that end with one line. Anything else is a mistake in the program and shows where."""

OF_PYDANTIC = "Value error, "
"""Stands in some of typer's messages before what was wrong."""


def _first_line() -> None:
    """Stand for a command until `CommandGroup` puts it here."""


app = typer.Typer(
    name="mipselect",
    cls=CommandGroup,
    help="Select a few columns of a data set, with proof and with differential privacy.",
    epilog=(
        "Exit codes: 0 done, 1 failed or not certified, 2 bad usage or bad input, 130 interrupted, "
        "143 or 129 terminated."
    ),
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    pretty_exceptions_enable=False,
)
for _name, (_, _line) in known_commands().items():
    app.command(_name, help=_line)(_first_line)


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.")
    ] = False,
) -> None:
    if show_version:
        print(f"mipselect {version('mipselect')}")
        raise typer.Exit(DONE)
    if context.invoked_subcommand is None:
        raise InvalidInput("which command? (see mipselect --help)")


def run(arguments: Sequence[str] | None, interruptions: Interruptions) -> int:
    """Run a command; say in one line what went wrong, if anything did; return the exit code."""
    try:
        code = app(args=arguments, prog_name="mipselect", standalone_mode=False, obj=interruptions)
        if broken := _flushed(None):
            return _fail(*message_of(broken, interruptions))
    except KNOWN as error:
        return _fail(*message_of(_flushed(error), interruptions))
    # Typer turns an interrupt into this code instead of passing it on.
    if code == INTERRUPTED:
        return _fail(interruptions.message, interruptions.exit_code)
    return code if isinstance(code, int) else DONE


def message_of(error: BaseException, interruptions: Interruptions) -> tuple[str, int]:
    """Return the message about an error, and the exit code."""
    match error:
        case InterruptedDelivery() | InterruptedRun():
            return str(error), interruptions.exit_code
        case KeyboardInterrupt() | typer.Abort():
            return interruptions.message, interruptions.exit_code
        case InvalidInput():
            return str(error), BAD_INPUT
        case MipselectError():
            return str(error), FAILED
        case UsageError():
            command = error.ctx.command_path if error.ctx else "mipselect"
            message = error.format_message().replace(OF_PYDANTIC, "")
            return f"{message} (see {command} --help)", BAD_INPUT
        case MemoryError():
            return f"this machine has too little memory for it{_because(error)}", FAILED
        case OSError():
            where = "" if error.filename is None else f"{error.filename}: "
            return f"{where}{error.strerror or error}", FAILED
        case _:
            return f"{type(error).__name__}{_because(error)}", FAILED


def _because(error: BaseException) -> str:
    return f": {error}" if str(error) else ""


def _flushed(error: Error) -> BaseException | Error:
    """Write what is left, for help and version are not written before the end.

    Returns `error`, or why standard output is broken where that is the cause of it.
    """
    try:
        sys.stdout.flush()
    except OSError as broken:
        abandon(sys.stdout)
        if error is None or isinstance(error, OSError):
            return MipselectError(f"standard output: {broken.strerror or broken}")
    return error


def _fail(message: str, code: int) -> int:
    say(f"error: {message}")
    return code
