"""The `mipselect` command: its subcommands, its exit codes, and one line for every error.

Where each subcommand is declared, and its first line, stand here, so that --help imports none.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, wraps
from importlib import import_module
from importlib.metadata import entry_points, version
from inspect import Signature
from itertools import chain, pairwise
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from mipselect.cli.declared import DeclaredOption, call, declared_of
from mipselect.cli.options import PARSED
from mipselect.cli.output import Interrupted
from mipselect.cli.start import abandon, interruption, say
from mipselect.disk import read_toml
from mipselect.errors import InvalidInput, MipselectError
from mipselect.parameters import parameters_of
from mipselect.selectors import BY_NAME
from mipselect.validation import did_you_mean, printable, shown

HELP = {"help_option_names": ["-h", "--help"]}

OWN = {
    "solve": "Find the best supports of INSTANCE and prove it. The report is SENSITIVE.",
    "release": "Release supports of INSTANCE with differential privacy.",
    "select": "Release supports straight from a table, with differential privacy.",
    "fit": "Release a linear model of a table: which features, and their coefficients.",
    "predict": "Predict the target for every row of DATA, in the order of the rows.",
    "evaluate": "Say how good a model is on the rows of DATA, with differential privacy.",
    "describe": "Begin the public schema of DATA, and list what you must fill in.",
    "check": "Compare DATA with its schema, before ε is spent. The report is SENSITIVE.",
    "moments": "Add up squares and products over all rows of DATA, exactly, in one pass.",
    "plan": "Say what to expect of a table before it is opened, at some ε and a number of rows.",
    "compare": (
        "Find the mistake levels of each INSTANCE with several solvers. The report is SENSITIVE."
    ),
    "instances": "List the stored instances.",
    "solvers": "List the back ends that are installed, and whether they can be used here.",
    "report": "Write a report on releases for everybody: results, guarantee, costs, how to cite.",
    "ledger": "Keep a privacy budget in a file: create, show, verify, export.",
    "schema": (
        "Fill in a public schema in a spreadsheet, and confirm its types: to-csv, from-csv, "
        "confirm."
    ),
}
"""The commands of this package, in the order of --help, and the first line of its help. A module
of the name declares it, or one that is `SHARED`, and imports nothing that takes long."""

SHARED = {
    "release": "select",
    "fit": "select",
    "describe": "schema",
    "check": "schema",
    "compare": "solve",
    "evaluate": "predict",
    "moments": "instances",
    "solvers": "instances",
}

GROUP = "mipselect.commands"
"""Entry points of other packages: each a mapping of names to modules and first lines, in a module
that imports nothing."""


@cache
def known_commands() -> Mapping[str, tuple[str, str]]:
    """Return every command: first those of this package, then those of installed packages by name.

    A package that cannot be loaded is named on standard error, and its commands are missing.
    """
    found = {name: (f"{__package__}.{SHARED.get(name, name)}", line) for name, line in OWN.items()}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            others = point.load()
        except (ImportError, AttributeError) as error:
            say(f"the commands of {point.value} cannot be loaded: {error}")
            continue
        found |= {name: command for name, command in others.items() if name not in found}
    return found


FILE = Path("mipselect.toml")
LARGEST = 100_000
"""Bytes of such a file."""

OF_ONE_RUN = ("seed", "output", "replace", "plot", "yes", "dry-run", "json")
"""Options that never come from a file."""

WITH_DEFAULTS = [name for name in OWN if name not in ("instances", "ledger", "schema", "solvers")]
"""Commands that look at such a file."""


class Quick:
    """A command whose --help is off where it is not given: for what is absent typer loads much."""

    def get_help_option(self, ctx: Any) -> Any:
        """Return the option, with a value."""
        option = super().get_help_option(ctx)  # type: ignore[misc]
        option.default = False
        return option


class QuickCommand(Quick, TyperCommand):
    """A command."""


class Group(Quick, TyperGroup):
    """A group of commands."""


class CommandGroup(Group):
    """Imports the one command that was named."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Put the command itself in the place of its first line, and defaults before its words."""
        name, *words = args
        if name in known_commands():
            if defaults := from_file(name, words):
                say(f"note: from {FILE}: {shlex.join(chain.from_iterable(defaults))}")
            words = [*map("=".join, defaults), *words]
            self.commands[name] = imported(name, words)
            args = [name, *words]
        return super().resolve_command(ctx, args)


def runs_of(name: str) -> tuple[Callable[..., None], ...]:
    """Return the function of a command; of a group all of them, by its name in `PARTS`."""
    module = import_module(known_commands()[name][0])
    parts: Mapping[str, tuple[Callable[..., None], ...]] = getattr(module, "PARTS", {})
    return parts.get(name) or (getattr(module, name.replace("-", "_")),)


def examples_of(name: str, examples: str) -> str:
    """Return the title and those of the examples, one a paragraph, that begin with this command."""
    title, *each = examples.split("\n\n")
    return "\n\n".join([title, *(one for one in each if one.startswith(f"mipselect {name} "))])


def imported(name: str, words: Sequence[str] = ()) -> Any:
    """Import the module that declares a command, and make the command for the words behind it."""
    place, line = known_commands()[name]
    made = alone = typer.Typer()
    module = import_module(place)
    examples = examples_of(name, getattr(module, "EXAMPLES", ""))
    if name in getattr(module, "PARTS", {}):
        made = typer.Typer(cls=Group, help=line, epilog=examples, context_settings=HELP)
        alone.add_typer(made, name=name)
    for run in runs_of(name):
        own = name if made is alone else run.__name__.replace("_", "-")
        made.command(own, cls=QuickCommand, epilog=examples)(typed(run, words))
    return get_group(alone).commands[name]


def typed(run: Callable[..., None], words: Sequence[str] = ()) -> Callable[..., None]:
    """Return a command as typer reads it: a function of all of its options.

    Parameters
    ----------
    run : callable
        As it is declared by `declared.command`.
    words : sequence of str
        What stands behind the name.
    """
    declared = [*declared_of(run), *options_of_method(declared_of(run), words)]

    @wraps(run)
    def called(**given: Any) -> None:
        call(run, {option.name: given[option.field] for option in declared})

    parameters = [option.parameter for option in declared]
    called.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return called


KINDS: Mapping[str, type] = {"int": int, "float": float, "bool": bool}
"""Types of parameters by the first word of their `kind`; others are texts."""


def options_of_method(
    declared: Sequence[DeclaredOption], words: Sequence[str]
) -> list[DeclaredOption]:
    """Return the options of the method named in words, which the selector declares.

    An option of another method is taken too, for `method_asked_for` to say of which.
    """
    known = {option.name: option.choices for option in declared}
    if known.get("--method") is not BY_NAME:
        return []
    texts = [text for word in words for text in word.split("=", 1)]
    foreign = {text for text in texts if text.startswith("--")} - set(known)
    if foreign & set(HELP["help_option_names"]):
        foreign = set()
    # What is not asked for by --method is most probably an exact draw.
    named = (after for text, after in pairwise(texts) if text == "--method")
    method = next(named, "permute-and-flip" if foreign else "")
    found = {option.name: option for name in {method} & set(BY_NAME) for option in _flagged(name)}
    if foreign - set(found):
        others = {option.name: option for name in BY_NAME for option in _flagged(name)}
        found |= {name: others[name] for name in foreign & set(others) - set(found)}
    return list(found.values())


def _flagged(method: str) -> Iterator[DeclaredOption]:
    """Yield the options of a method, each with the first sentence that its parameter has."""
    for about in parameters_of(BY_NAME[method]).values():
        if about.flag is not None:
            metavar = PARSED[about.flag][1] if about.flag in PARSED else None
            words = {
                "help": re.split(r"(?<=\.) ", about.meaning)[0],
                "metavar": metavar or "|".join(re.findall('"(.+?)"', about.kind)) or None,
                "rich_help_panel": f"Of {method}",
            }
            kind = str if metavar else KINDS.get(about.kind.partition(",")[0], str)
            yield DeclaredOption(about.flag, words, annotation=kind | None)


def from_file(command: str, words: Sequence[str]) -> list[tuple[str, ...]]:
    """Return what the file of the folder says of options that are not typed, as one types it."""
    if command not in WITH_DEFAULTS or not os.path.lexists(FILE):
        return []
    if not set(HELP["help_option_names"]).isdisjoint(words):
        return []
    (run,), section, found = runs_of(command), _section(command), []
    asked = [*words, f"--method={section.get('method', '')}", *(f"--{key}" for key in section)]
    declared = [*declared_of(run), *options_of_method(declared_of(run), asked)]
    known = {option.name: option for option in declared}
    names = [name.removeprefix("--") for name in known if name.startswith("--")]
    for key, value in section.items():
        try:
            if key in OF_ONE_RUN:
                raise InvalidInput("is about one run: give it on the command line")
            if key not in names:
                raise InvalidInput(f"is no option of {command}{did_you_mean(key, sorted(names))}")
            texts = as_typed(known[f"--{key}"], value)
        except (InvalidInput, typer.BadParameter) as error:
            raise InvalidInput(f"{FILE}: [{command}] {printable(key)} {error}") from None
        if not any(word.partition("=")[0] == f"--{key}" for word in words):
            found += texts
    return found


def _section(command: str) -> Mapping[str, Any]:
    """Read the file, and return the section of a command."""
    content = read_toml(FILE, LARGEST)
    for name, keys in content.items():
        if not isinstance(keys, dict):
            raise InvalidInput(
                f"{FILE}: {shown(name)} stands in no section: put it below the name of a command, "
                "such as [select]"
            )
        if name not in WITH_DEFAULTS:
            raise InvalidInput(
                f"{FILE}: unknown section [{printable(name)}]: sections are named after commands: "
                f"{', '.join(WITH_DEFAULTS)}{did_you_mean(name, WITH_DEFAULTS)}"
            )
    section: Mapping[str, Any] = content.get(command, {})
    return section


def as_typed(option: DeclaredOption, value: Any) -> list[tuple[str, ...]]:
    """Return a value of TOML as one types it; raise an error for one that is not of the option."""
    wanted = {bool: "true or false", list: "a list of texts"}.get(option.kind, "a text or a number")
    if option.kind is bool and isinstance(value, bool):
        return [(option.name,)] if value else []
    texts = value if option.kind is list else [value]
    kinds = (str,) if option.kind is list else (str, int, float)
    fits = option.kind is not bool and isinstance(texts, list) and texts
    if not fits or not all(type(text) in kinds for text in texts):
        raise InvalidInput(f"must be {wanted}, got {shown(value)}")
    # Python refuses to write out integers of thousands of digits.
    written = [text if isinstance(text, str) else shown(text) for text in texts]
    for text in written:
        if option.parser is not None:
            option.parser(text)
    return [(option.name, text) for text in written]


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
    context_settings=HELP,
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


def run(arguments: Sequence[str] | None) -> int:
    """Run a command; say in one line what went wrong, if anything did; return the exit code."""
    try:
        code = app(args=arguments, prog_name="mipselect", standalone_mode=False)
        if broken := _flushed(None):
            return _fail(*message_of(broken))
    except KNOWN as error:
        return _fail(*message_of(_flushed(error)))
    # Typer turns an interrupt into this code instead of passing it on.
    if code == INTERRUPTED:
        return _fail(*interruption())
    return code if isinstance(code, int) else DONE


def message_of(error: BaseException) -> tuple[str, int]:
    """Return the message about an error, and the exit code."""
    match error:
        case Interrupted():
            return str(error), interruption()[1]
        case KeyboardInterrupt() | typer.Abort():
            return interruption()
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
