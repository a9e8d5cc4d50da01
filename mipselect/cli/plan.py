"""`mipselect plan`: what to expect of a table before it is opened."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from mipselect.cli.counted_progress import CountedProgress
from mipselect.cli.declared import command, group, option, options, required
from mipselect.cli.options import Delivery
from mipselect.cli.output import check_figure, deliver, heading, line, write_whole
from mipselect.cli.plan_report import SIMULATED, legend, picture, plan_report, plan_table
from mipselect.cli.streams import say
from mipselect.cli.table_options import SCHEMA, TABLE_PANEL, Regularisation, SchemaOptions
from mipselect.errors import InvalidInput
from mipselect.pictures import drawn
from mipselect.planning.answers import answers
from mipselect.planning.chances import METHODS, USUAL
from mipselect.planning.lines import Progress, Step
from mipselect.planning.plan import plan_selection
from mipselect.planning.simulation import Guesses
from mipselect.problem.scores import SCORES
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


@options
class GuessOptions:
    """Guesses about the rows; see `Guesses`."""

    PANEL = GUESSES_PANEL

    effect: float = option(
        "--effect",
        "R² of the right columns together: 0.02 small, 0.13 medium, 0.26 large.",
        default=Guesses.effect,
    )
    correlation: float = option(
        "--correlation", "Of any two fields, 0 to <1.", default=Guesses.correlation
    )
    repeated: float = option(
        "--repeated",
        "R² of four fields that repeat each other, in tables of their own; 0: none.",
        default=Guesses.repeated,
    )
    missing: float = option(
        "--missing",
        "Share of missing values in fields that are not required.",
        default=Guesses.missing,
    )
    spread: float = option(
        "--spread",
        "Standard deviation of numbers, in halves of their range.",
        default=Guesses.spread,
    )
    target_mean: float | None = option(
        "--target-mean", "Of the target, in its units.", show_default="middle of its range"
    )
    target_sd: float | None = option(
        "--target-sd", "Standard deviation of the target, in its units.", show_default="by --spread"
    )


@options
class SimulationOptions:
    """Simulation behind a plan."""

    PANEL = EXPERIMENT_PANEL

    goal: float = option(
        "--goal", "Share of the right columns that a number of rows is sought for.", default=0.8
    )
    tables: int = option(
        "--tables", "Simulated tables; more take longer and say it more exactly.", default=20
    )
    seed: int = option("--seed", "The same seed, the same plan.", default=0)
    time_limit: float = option(
        "--time-limit",
        "Leave out what takes longer than this on one table.",
        default=10.0,
        metavar="SECONDS",
    )


@options
class PlanArguments:
    """Arguments of `plan`."""

    schema: Path = required("--schema", SCHEMA, metavar="FILE")
    target: str = required("--target", "The field to predict.")
    rows: int = required("--rows", "How many rows the table will have.")
    support_size: int = required("--support-size", "How many fields to pick.")
    epsilon: str = option(
        "--epsilon", "ε of one draw, each > 0.", default="0.5,1,2", metavar="E,E,..."
    )
    method: str | None = option(
        "--method",
        f"Of {', '.join(METHODS)}.",
        metavar="NAME,NAME,...",
        show_default=",".join(USUAL),
    )
    score: str | None = option(
        "--score",
        "Of the first line, which is compared with the loss.",
        metavar="|".join(SCORES),
        show_default="that of select",
    )
    question: SchemaOptions = group(SchemaOptions, without=("--unit-rule",))
    regularisation: Regularisation = group(
        Regularisation,
        panel=TABLE_PANEL,
        help={
            "--coef-bound": "Of the loss; half and twice of it are tried too.",
            "--ridge": "Of the loss; 10 and 100 times it are tried too.",
        },
        show_default={"--coef-bound": "that of select", "--ridge": "that of select"},
    )
    guesses: GuessOptions = group(GuessOptions)
    simulation: SimulationOptions = group(SimulationOptions)
    plot: Path | None = option(
        "--plot", "Draw the plan; new or replaced.", metavar="FILE.svg|png|pdf"
    )
    delivery: Delivery = group(Delivery, without=("--output",))


@command
def plan(arguments: PlanArguments) -> None:
    """Say what to expect of a table before it is opened, and help with the public choices.

    Tables are made up from the ranges and categories of the schema and from
    stated guesses; nothing of your data is read. As many columns matter as are
    picked, with effects of the same strength. Shown is the share of them that
    one private draw finds on average: first by what select does, which needs no
    range of a number; beside it by the loss and other methods, by coef_bound and
    ridge of the loss, the same where fields repeat each other; and by number of
    rows. Where a field has no range, the lines of the loss are left out.

    For the loss the target's range counts most: where its middle is what you
    expect, and values beyond it are rare, see --range and --target-mean.
    """
    schema, target, plot = arguments.schema, arguments.target, arguments.plot
    tables = arguments.simulation.tables
    if plot is not None:
        check_figure(plot, "--plot", [schema])
    asked = arguments.method
    methods = None if asked is None else [name.strip() for name in asked.split(",")]
    with _watched() as watch:
        result = plan_selection(
            TableSchema.read(schema),
            target=target,
            rows=arguments.rows,
            support_size=arguments.support_size,
            epsilons=_numbers("--epsilon", arguments.epsilon),
            methods=methods,
            score=arguments.score,
            guesses=Guesses(**asdict(arguments.guesses)),
            progress=watch,
            **asdict(arguments.regularisation),
            **asdict(arguments.simulation),
            **arguments.question.keywords,
        )
    if plot is not None:
        write_whole(plot, drawn(picture(result, target), plot.suffix), sensitive=False)

    def render(console: Console) -> None:
        heading(
            console,
            f"{schema}: {target} by {result.support_size} of {result.features} fields, "
            f"{result.rows:,} rows, {tables} simulated tables",
        )
        console.print(plan_table(result))
        line(console, legend(result))
        for question, answer in answers(result):
            line(console, f"{question} {answer}.")
        console.print(SIMULATED, soft_wrap=True)
        if plot is not None:
            line(console, f"Drawn in {plot}.")

    report = plan_report(result, schema, target, tables, plot)
    deliver(report, render, as_json=arguments.delivery.as_json, output=None)


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
