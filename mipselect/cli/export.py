"""`mipselect export`: a whole model as a file, for a solver that is not installed here."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from mipselect.cli.declared import command, group, option, options, required
from mipselect.cli.inputs import asked_of
from mipselect.cli.options import SEARCH_PANEL, Delivery, SearchArguments
from mipselect.cli.output import SENSITIVE, banner, check_output, heading, line, picked, table_of
from mipselect.cli.progress import Watch
from mipselect.cli.start import say
from mipselect.cli.table_options import SourceOptions
from mipselect.errors import InvalidInput, MipselectError, NotCertified, about
from mipselect.exchange import ExportedModel, export_model
from mipselect.exchange.model_files import checked_ending
from mipselect.search.monolithic.forms import Formulation

EXAMPLES = """Examples:

mipselect export diabetes --output diabetes.mps

mipselect export paper-p100 --formulation cuts --output p100.lp

mipselect export visits.npz --support-size 4 --output visits.lp

mipselect import-solution diabetes diabetes.sol
"""

CLAIM = (
    "What the solver says then is no certificate: 'mipselect import-solution' computes the value "
    "of its support anew, and 'mipselect solve' proves."
)


@options
class ModelExportArguments:
    """Arguments of `export`."""

    source: SourceOptions = group(SourceOptions)
    output: Path = required(
        "--output", "Where the model goes: .mps or .lp. SENSITIVE.", metavar="MODEL"
    )
    formulation: Formulation = option(
        "--formulation",
        "perspective: rotated cones, strong; big-m: quadratic objective, fewest columns; cuts: "
        "linear, the cuts that prove the optimum, for any loss and any MIP solver; whole: the "
        "same as perspective.",
        default=Formulation.PERSPECTIVE,
        panel=SEARCH_PANEL,
    )
    search: SearchArguments = group(
        SearchArguments,
        without=("--pool-size", "--solver"),
        help={
            "--tolerance": "With cuts: τ, in units of the sensitivity, that they may leave open.",
            "--time-limit": "With cuts: give up their search after so long.",
        },
    )
    delivery: Delivery = group(Delivery, without=("--output",))


@command
def export(arguments: ModelExportArguments) -> None:
    """Write the model of the best support of INSTANCE as a file. It is SENSITIVE.

    For solvers that are not installed here. The file says with which tolerances
    to solve it; 'import-solution' reads the answer.
    """
    source, output, formulation = arguments.source, arguments.output, arguments.formulation
    with about("--output"):
        checked_ending(output)
    options = arguments.search.settings()
    if formulation is not Formulation.CUTS and (options.tolerance or options.time_limit):
        raise InvalidInput("--tolerance and --time-limit are for --formulation cuts")
    given = asked_of(source, None)
    check_output(output, given.files, replace=arguments.delivery.replace)
    instance = given.data().instance()
    try:
        with about(source.instance), Watch(source.instance, details=True) as watch:
            exported = export_model(
                instance,
                output,
                formulation=formulation,
                tolerance=options.tolerance,
                time_limit=options.time_limit,
                progress=watch,
            )
    except NotCertified as error:
        raise MipselectError(f"(sensitive) {source.instance}: {error}") from error
    except OSError as error:
        raise MipselectError(f"{output} could not be written: {error.strerror or error}") from error

    def render(console: Console) -> None:
        banner(console, SENSITIVE)
        _show(console, exported)

    report = {
        "command": "export",
        "sensitive": True,
        "warning": SENSITIVE,
        "instance": source.instance,
        "output": str(exported.path),
        "formulation": exported.formulation.value,
        **picked(exported, "columns", "rows", "binaries", "unit"),
        "settings": {**asdict(exported.settings), "of_solvers": exported.settings.of_solvers},
        "note": CLAIM,
    }
    arguments.delivery.deliver(report, render)
    say(f"note: {output} is SENSITIVE: it holds the data of {source.instance}, or sums of them")


def _show(console: Console, exported: ExportedModel) -> None:
    settings = exported.settings
    heading(console, f"{exported.path}: formulation {exported.formulation.value}")
    kind = "linear" if settings.linear else "with quadratic terms"
    line(
        console,
        f"{exported.columns:,} columns, {exported.binaries:,} of them binary, and "
        f"{exported.rows:,} rows, {kind}. Feature j is chosen where zj = 1; the objective is "
        f"{exported.unit:.10g} R(S).",
    )
    line(console, f"Solve it with: {settings.in_words}.")
    table = table_of("solver", "settings", fold=("settings",))
    for solver, values in settings.of_solvers.items():
        table.add_row(solver, ", ".join(f"{name} = {value:g}" for name, value in values.items()))
    console.print(table)
    line(console, CLAIM)
