"""The `mipselect` command: its subcommands, its exit codes, and one line for every error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any, TypeVar

import typer

from mipselect.cli.commands import CommandGroup, add_first_lines
from mipselect.cli.output import InterruptedDelivery, InterruptedRun
from mipselect.cli.start import Interruptions, abandon, say
from mipselect.errors import InvalidInput, MipselectError

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

# The base class of what typer raises for bad usage; where it lives differs between versions.
UsageError: Any = typer.BadParameter.__mro__[1]

Error = TypeVar("Error", BaseException, None)

KNOWN = (MipselectError, UsageError, typer.Abort, KeyboardInterrupt, OSError, MemoryError)
"""Errors that end with one line. Anything else is a mistake in the program and shows where."""

OF_PYDANTIC = "Value error, "
"""Stands in some of typer's messages before what was wrong."""

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
add_first_lines(app)


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
