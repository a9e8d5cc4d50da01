"""`mipselect plan`: what to expect of a table before it is opened."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mipselect.cli.counted_progress import CountedProgress
from mipselect.cli.options import AsJson
from mipselect.cli.output import check_output, deliver, heading, write_whole
from mipselect.cli.plan_report import SIMULATED, legend, picture, plan_report, plan_table
from mipselect.cli.streams import say
from mipselect.cli.table_options import TABLE_PANEL, Always, Never, NoIntercept, Ranges, asked
from mipselect.errors import InvalidInput
from mipselect.pictures import SUFFIXES, drawn, require_matplotlib
from mipselect.planning.answers import answers
from mipselect.planning.chances import METHODS, USUAL
from mipselect.planning.lines import Progress, Step
from mipselect.planning.plan import plan_selection
from mipselect.planning.simulation import Guesses
from mipselect.tables import TableSchema

EXAMPLES = """Examples:

mipselect plan --schema patients.schema.json --target los_days --rows 5000 \\
    --support-size 5

mipselect plan --schema patients.schema.json --target los_days --rows 5000 \\
    --support-size 5 --epsilon 0.5,1,2 --effect 0.13 --range los_days=0:30 \\
    --target-mean 6 --plot plan.svg
"""

GUESSES_PANEL = "Guesses about the rows"
EXPERIMENT_PANEL = "Simulation"


def plan(
    schema: Annotated[
        Path,
        typer.Option(
            "--schema",
            metavar="FILE",
            help="Public ranges and categories: a Table Schema, see 'mipselect describe'.",
        ),
    ],
    target: Annotated[str, typer.Option("--target", help="The field to predict.")],
    rows: Annotated[int, typer.Option("--rows", help="How many rows the table will have.")],
    support_size: Annotated[int, typer.Option("--support-size", help="How many fields to pick.")],
    epsilon: Annotated[
        str, typer.Option("--epsilon", metavar="E,E,...", help="ε of one draw, each > 0.")
    ] = "0.5,1,2",
    method: Annotated[
        str,
        typer.Option("--method", metavar="NAME,NAME,...", help=f"Of {', '.join(METHODS)}."),
    ] = ",".join(USUAL),
    always: Always = None,
    never: Never = None,
    ranges: Ranges = None,
    no_intercept: NoIntercept = False,
    coef_bound: Annotated[
        float | None,
        typer.Option(
            "--coef-bound",
            help="The one in question; half and twice of it are tried too.",
            show_default="that of select",
            rich_help_panel=TABLE_PANEL,
        ),
    ] = None,
    ridge: Annotated[
        float | None,
        typer.Option(
            "--ridge",
            help="The one in question; 10 and 100 times it are tried too.",
            show_default="that of select",
            rich_help_panel=TABLE_PANEL,
        ),
    ] = None,
    effect: Annotated[
        float,
        typer.Option(
            "--effect",
            help="R² of the right columns together: 0.02 small, 0.13 medium, 0.26 large.",
            rich_help_panel=GUESSES_PANEL,
        ),
    ] = Guesses.effect,
    correlation: Annotated[
        float,
        typer.Option(
            "--correlation", help="Of any two fields, 0 to <1.", rich_help_panel=GUESSES_PANEL
        ),
    ] = Guesses.correlation,
    repeated: Annotated[
        float,
        typer.Option(
            "--repeated",
            help="R² of four fields that repeat each other, in tables of their own; 0: none.",
            rich_help_panel=GUESSES_PANEL,
        ),
    ] = Guesses.repeated,
    missing: Annotated[
        float,
        typer.Option(
            "--missing",
            help="Share of missing values in fields that are not required.",
            rich_help_panel=GUESSES_PANEL,
        ),
    ] = Guesses.missing,
    spread: Annotated[
        float,
        typer.Option(
            "--spread",
            help="Standard deviation of numbers, in halves of their range.",
            rich_help_panel=GUESSES_PANEL,
        ),
    ] = Guesses.spread,
    target_mean: Annotated[
        float | None,
        typer.Option(
            "--target-mean",
            help="Of the target, in its units.",
            show_default="middle of its range",
            rich_help_panel=GUESSES_PANEL,
        ),
    ] = None,
    target_sd: Annotated[
        float | None,
        typer.Option(
            "--target-sd",
            help="Standard deviation of the target, in its units.",
            show_default="by --spread",
            rich_help_panel=GUESSES_PANEL,
        ),
    ] = None,
    goal: Annotated[
        float,
        typer.Option(
            "--goal",
            help="Share of the right columns for which the rows are asked.",
            rich_help_panel=EXPERIMENT_PANEL,
        ),
    ] = 0.8,
    tables: Annotated[
        int,
        typer.Option(
            "--tables",
            help="Simulated tables; more take longer and say it more exactly.",
            rich_help_panel=EXPERIMENT_PANEL,
        ),
    ] = 20,
    seed: Annotated[
        int,
        typer.Option(
            "--seed", help="The same seed, the same plan.", rich_help_panel=EXPERIMENT_PANEL
        ),
    ] = 0,
    time_limit: Annotated[
        float,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            help="Leave out what takes longer than this on one table.",
            rich_help_panel=EXPERIMENT_PANEL,
        ),
    ] = 10.0,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE.svg|png|pdf", help="Draw the plan; new or replaced."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what to expect of a table before it is opened, and help with the public choices.

    Tables are made up from the ranges and categories of the schema and from
    stated guesses; nothing of your data is read. As many columns matter as are
    picked, with effects of the same strength. Shown is the share of them that
    one private draw finds on average: by method, by coef_bound and ridge, by
    coef_bound where fields repeat each other, and by number of rows.

    The target's range counts most: where its middle is what you expect, and
    values beyond it are rare and may be clipped, see --range and --target-mean.
    """
    if plot is not None:
        if plot.suffix not in SUFFIXES:
            raise InvalidInput(f"--plot must end in {', '.join(SUFFIXES)}, got {str(plot)!r}")
        check_output(plot, [schema])
        require_matplotlib()
    guesses = Guesses(
        effect=effect,
        correlation=correlation,
        repeated=repeated,
        missing=missing,
        spread=spread,
        target_mean=target_mean,
        target_sd=target_sd,
    )
    question = asked(always, never, ranges, no_intercept, None)
    with _watched() as watch:
        result = plan_selection(
            TableSchema.read(schema),
            target=target,
            rows=rows,
            support_size=support_size,
            epsilons=_numbers("--epsilon", epsilon),
            methods=[name.strip() for name in method.split(",")],
            coef_bound=coef_bound,
            ridge=ridge,
            guesses=guesses,
            goal=goal,
            tables=tables,
            seed=seed,
            time_limit=time_limit,
            progress=watch,
            **question,
        )
    if plot is not None:
        write_whole(plot, drawn(picture(result, target), plot.suffix), sensitive=False)

    def render(console: Console) -> None:
        heading(
            console,
            f"{schema}: {target} by {support_size} of {result.features} fields, {rows:,} rows, "
            f"{tables} simulated tables",
        )
        console.print(plan_table(result))
        console.print(legend(result), markup=False, soft_wrap=True)
        for question, answer in answers(result):
            console.print(f"{question} {answer}.", markup=False, soft_wrap=True)
        console.print(SIMULATED, soft_wrap=True)
        if plot is not None:
            console.print(f"Drawn in {plot}.", markup=False, soft_wrap=True)

    report = plan_report(result, schema, target, tables, plot)
    deliver(report, render, as_json=as_json, output=None)


@contextmanager
def _watched() -> Iterator[Progress]:
    """Show how far a plan is, and say after the first table how long it will take at most."""
    start = time.monotonic()
    with ExitStack() as stack:
        bars: list[CountedProgress] = []
        told: list[float] = []

        def report(step: Step) -> None:
            if not bars:
                bars.append(stack.enter_context(CountedProgress(0, step.total)))
            else:
                bars[0].advance()
            if step.tables and not told:
                told.append((time.monotonic() - start) * step.total / step.done)
                say(f"this takes about {max(1.0, float(f'{told[0]:.1g}')):,.0f} s at most")
            bars[0].begin(step.what)

        yield report


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(item) for item in text.split(",")]
    except ValueError:
        raise InvalidInput(f"{option} must be numbers between commas, got {text!r}") from None
