"""The `mipselect` command: its subcommands, its exit codes, and one line for every error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any, TypeVar

import typer

from mipselect.cli.bench import EXAMPLES as BENCH_EXAMPLES
from mipselect.cli.bench import InterruptedRun, bench
from mipselect.cli.card import EXAMPLES as CARD_EXAMPLES
from mipselect.cli.card import card
from mipselect.cli.compare import EXAMPLES as COMPARE_EXAMPLES
from mipselect.cli.compare import compare
from mipselect.cli.demo import demo
from mipselect.cli.describe import EXAMPLES as DESCRIBE_EXAMPLES
from mipselect.cli.describe import describe
from mipselect.cli.fit import EXAMPLES as FIT_EXAMPLES
from mipselect.cli.fit import fit
from mipselect.cli.interruptions import Interruptions
from mipselect.cli.ledger import EXAMPLES as LEDGER_EXAMPLES
from mipselect.cli.ledger import app as ledger
from mipselect.cli.listings import instances, solvers
from mipselect.cli.moments import EXAMPLES as MOMENTS_EXAMPLES
from mipselect.cli.moments import moments
from mipselect.cli.output import InterruptedDelivery
from mipselect.cli.plan import EXAMPLES as PLAN_EXAMPLES
from mipselect.cli.plan import plan
from mipselect.cli.plot import EXAMPLES as PLOT_EXAMPLES
from mipselect.cli.plot import plot
from mipselect.cli.predict import EXAMPLES as PREDICT_EXAMPLES
from mipselect.cli.predict import predict
from mipselect.cli.release import EXAMPLES as RELEASE_EXAMPLES
from mipselect.cli.release import release
from mipselect.cli.reproduce import EXAMPLES as REPRODUCE_EXAMPLES
from mipselect.cli.reproduce import reproduce
from mipselect.cli.select import EXAMPLES as SELECT_EXAMPLES
from mipselect.cli.select import select
from mipselect.cli.solve import EXAMPLES as SOLVE_EXAMPLES
from mipselect.cli.solve import solve
from mipselect.cli.streams import abandon, say
from mipselect.errors import InvalidInput, MipselectError

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

# The base class of what typer raises for bad usage; where it lives differs between versions.
UsageError: Any = typer.BadParameter.__mro__[1]

Error = TypeVar("Error", BaseException, None)

KNOWN = (MipselectError, UsageError, typer.Abort, KeyboardInterrupt, OSError, MemoryError)
"""What ends with one line. Anything else is a mistake in the program and shows where."""

app = typer.Typer(
    name="mipselect",
    help="Select a few columns of a data set, with proof and with differential privacy.",
    epilog=(
        "Exit codes: 0 done, 1 failed or not certified, 2 bad usage or bad input, 130 interrupted, "
        "143 or 129 terminated."
    ),
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command(epilog=SOLVE_EXAMPLES)(solve)
app.command(epilog=RELEASE_EXAMPLES)(release)
app.command(epilog=SELECT_EXAMPLES)(select)
app.command(epilog=FIT_EXAMPLES)(fit)
app.command(epilog=PREDICT_EXAMPLES)(predict)
app.command(epilog=DESCRIBE_EXAMPLES)(describe)
app.command(epilog=MOMENTS_EXAMPLES)(moments)
app.command(epilog=PLAN_EXAMPLES)(plan)
app.command(epilog=COMPARE_EXAMPLES)(compare)
app.command(epilog=BENCH_EXAMPLES)(bench)
app.command(epilog=PLOT_EXAMPLES)(plot)
app.command(epilog=REPRODUCE_EXAMPLES)(reproduce)
app.command()(instances)
app.command()(solvers)
app.command()(demo)
app.command(epilog=CARD_EXAMPLES)(card)
app.add_typer(ledger, name="ledger", epilog=LEDGER_EXAMPLES)


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
        code = app(args=arguments, prog_name="mipselect", standalone_mode=False)
        if broken := _flushed(None):
            return _fail(*told(broken, interruptions))
    except KNOWN as error:
        return _fail(*told(_flushed(error), interruptions))
    # Typer turns an interrupt into this code instead of passing it on.
    if code == INTERRUPTED:
        return _fail(interruptions.message, interruptions.exit_code)
    return code if isinstance(code, int) else DONE


def told(error: BaseException, interruptions: Interruptions) -> tuple[str, int]:
    """What to say about an error, and the exit code."""
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
            return f"{error.format_message()} (see {command} --help)", BAD_INPUT
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
