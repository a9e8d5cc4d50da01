"""The `mipselect` command: its subcommands, its exit codes, and one line for every error."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Annotated, Any

import typer

from mipselect.cli.bench import EXAMPLES as BENCH_EXAMPLES
from mipselect.cli.bench import InterruptedRun, bench
from mipselect.cli.compare import EXAMPLES as COMPARE_EXAMPLES
from mipselect.cli.compare import compare
from mipselect.cli.demo import demo
from mipselect.cli.listings import instances, solvers
from mipselect.cli.output import InterruptedDelivery
from mipselect.cli.plot import EXAMPLES as PLOT_EXAMPLES
from mipselect.cli.plot import plot
from mipselect.cli.release import EXAMPLES as RELEASE_EXAMPLES
from mipselect.cli.release import release
from mipselect.cli.select import EXAMPLES as SELECT_EXAMPLES
from mipselect.cli.select import select
from mipselect.cli.solve import EXAMPLES as SOLVE_EXAMPLES
from mipselect.cli.solve import solve
from mipselect.errors import InvalidInput, MipselectError

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

# The base class of what typer raises for bad usage; where it lives differs between versions.
UsageError: Any = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="mipselect",
    help="Select a few columns of a data set, with proof and with differential privacy.",
    epilog=(
        "Exit codes: 0 done, 1 failed or not certified, 2 bad usage or bad input, 130 interrupted."
    ),
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command(epilog=SOLVE_EXAMPLES)(solve)
app.command(epilog=RELEASE_EXAMPLES)(release)
app.command(epilog=SELECT_EXAMPLES)(select)
app.command(epilog=COMPARE_EXAMPLES)(compare)
app.command(epilog=BENCH_EXAMPLES)(bench)
app.command(epilog=PLOT_EXAMPLES)(plot)
app.command()(instances)
app.command()(solvers)
app.command()(demo)


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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Default: those of the process.

    Returns
    -------
    int
        The exit code: 0 done, 1 failed or not certified, 2 bad usage or bad input,
        130 interrupted.
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show an ε must not turn an answer into a traceback.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = app(args=arguments, prog_name="mipselect", standalone_mode=False)
    except (InterruptedDelivery, InterruptedRun) as error:
        return _fail(str(error), INTERRUPTED)
    except InvalidInput as error:
        return _fail(str(error), BAD_INPUT)
    except MipselectError as error:
        return _fail(str(error), FAILED)
    except UsageError as error:
        command = error.ctx.command_path if error.ctx else "mipselect"
        return _fail(f"{error.format_message()} (see {command} --help)", BAD_INPUT)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    # Some versions of typer turn an interrupt into this code instead of passing it on.
    if code == INTERRUPTED:
        return _fail(
            "interrupted: nothing was released, nothing was written, no budget is spent",
            INTERRUPTED,
        )
    return code if isinstance(code, int) else DONE


def _fail(message: str, code: int) -> int:
    print(f"mipselect: error: {' '.join(message.split())}", file=sys.stderr)
    return code
