"""`mipselect plan`: what to expect of a table before it is opened."""

from __future__ import annotations

import time
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

from rich.console import Console

from mipselect.cli.declared import command, group, option, options, required
from mipselect.cli.options import Delivery
from mipselect.cli.output import check_figure, deliver, heading, line, write_whole
from mipselect.cli.plan_model_report import model_legend, model_report, model_table
from mipselect.cli.plan_report import SIMULATED, legend, picture, plan_report, plan_table
from mipselect.cli.progress import Spinner
from mipselect.cli.regressions import ModelOptions
from mipselect.cli.releasing import default_method
from mipselect.cli.streams import say
from mipselect.cli.table_options import (
    SCHEMA,
    TABLE_PANEL,
    Regularisation,
    SchemaOptions,
    of_two_classes,
)
from mipselect.errors import InvalidInput
from mipselect.pictures import drawn
from mipselect.planning.answers import answers
from mipselect.planning.chances import METHODS, USUAL
from mipselect.planning.fit import plan_fit
from mipselect.planning.forecasts import ModelPlan
from mipselect.planning.lines import Progress, SelectionPlan, Step
from mipselect.planning.model_sentences import model_sentences
from mipselect.planning.plan import checked_methods, plan_selection
from mipselect.planning.question import Question
from mipselect.planning.simulation import Guesses
from mipselect.problem.scores import SCORES
from mipselect.regression import SelectThenRegress
from mipselect.selectors import BY_NAME
from mipselect.tables import TableSchema
from mipselect.validation import checked_share, checked_time_limit, listed

EXAMPLES = """Examples:

mipselect plan --schema patients.schema.json --target los_days --rows 5000 \\
    --support-size 5

mipselect plan --schema patients.schema.json --target los_days --rows 5000 \\
    --support-size 5 --epsilon 0.5,1,2 --effect 0.13 --range los_days=0:30 \\
    --target-mean 6 --plot plan.svg
"""

GUESSES_PANEL = "Guesses about the rows"
EXPERIMENT_PANEL = "Simulation"

SHARE_OF_MODELS = 0.5
"""Of the time; the selection has what is left,"""

LEAST_OF_SELECTION = 0.25
"""but so much at least."""


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
        "--tables",
        "Simulated tables at most; more take longer and say it more exactly.",
        default=20,
    )
    seed: int = option("--seed", "The same seed, the same plan.", default=0)
    time_limit: float = option(
        "--time-limit",
        "Of the whole plan. What has no time left has fewer tables, or is left out and named.",
        default=16.0,
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
        "--epsilon",
        "ε of a model of fit, or of one draw of select, each > 0.",
        default="0.5,1,2",
        metavar="E,E,...",
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
    picked.

    First how good a model of fit would be: its R² on fresh rows (AUC for two
    classes) by ε and by number of rows, beside the mean of the target and least
    squares without privacy, and which rows or ε would do where these do not.

    Then the share of the right columns that one draw of select finds: by what
    select does, which needs no range of a number; beside it by the loss and
    other methods, by coef_bound and ridge of the loss, the same where fields
    repeat each other; and by number of rows. Where a field has no range, the
    model and the lines of the loss are left out.

    For the loss the target's range counts most: where its middle is what you
    expect, and values beyond it are rare, see --range and --target-mean.
    """
    path, target, plot = arguments.schema, arguments.target, arguments.plot
    if plot is not None:
        check_figure(plot, "--plot", [path])
    schema, began = TableSchema.read(path), time.monotonic()
    simulation = asdict(arguments.simulation)
    limit = checked_time_limit(simulation.pop("time_limit"), "--time-limit")
    asked = arguments.method
    methods = None if asked is None else [name.strip() for name in asked.split(",")]
    # Before the models, which take their time.
    scales, chosen = asdict(arguments.regularisation), arguments.question.keywords
    size, score = arguments.support_size, arguments.score
    question = Question(schema, target, size, score=score, **scales, **chosen)
    checked_methods(methods, question)
    checked_share(simulation["goal"], "goal", closed=False)
    with Spinner("planning") as spinner:
        steps = count()

        def watch(step: Step) -> None:
            if next(steps) == 0:
                say(f"this takes about {limit:g} s at most")
            spinner.tick(step.what, description=step.what)

        model = None
        if not question.without_range:
            model = _model_plan(arguments, schema, SHARE_OF_MODELS * limit, watch)
        left = limit - (time.monotonic() - began)
        result = plan_selection(
            schema,
            target=target,
            rows=arguments.rows,
            support_size=size,
            epsilons=_numbers("--epsilon", arguments.epsilon),
            methods=methods,
            score=score,
            guesses=Guesses(**asdict(arguments.guesses)),
            time_limit=max(left, LEAST_OF_SELECTION * limit),
            progress=watch,
            **scales,
            **simulation,
            **chosen,
        )
    if plot is not None:
        write_whole(plot, drawn(picture(result, target), plot.suffix), sensitive=False)

    def render(console: Console) -> None:
        heading(
            console,
            f"{path}: {target} by {result.support_size} of {result.features} fields, "
            f"{result.rows:,} rows",
        )
        _show_model(console, model, result)
        console.print(plan_table(result))
        line(console, legend(result))
        for question, answer in answers(result):
            line(console, f"{question} {answer}.")
        console.print(SIMULATED, soft_wrap=True)
        if plot is not None:
            line(console, f"Drawn in {plot}.")

    tables = arguments.simulation.tables
    report = plan_report(result, path, target, tables, plot)
    report["model"] = None if model is None else model_report(model)
    deliver(report, render, as_json=arguments.delivery.as_json, output=None)


def _model_plan(
    arguments: PlanArguments, schema: TableSchema, time_limit: float, progress: Progress
) -> ModelPlan:
    """Plan models by what `fit` does without further options."""
    asked = dict(arguments.question.keywords)
    model = default_fit(
        arguments.support_size,
        of_classes=of_two_classes(schema, arguments.target),
        fit_intercept=asked.pop("intercept", True),
        score=arguments.score,
    )
    return plan_fit(
        model,
        schema,
        target=arguments.target,
        rows=arguments.rows,
        epsilons=_numbers("--epsilon", arguments.epsilon),
        guesses=Guesses(**asdict(arguments.guesses)),
        tables=arguments.simulation.tables,
        seed=arguments.simulation.seed,
        time_limit=time_limit,
        progress=progress,
        **asked,
    )


def default_fit(
    support_size: int,
    *,
    of_classes: bool,
    fit_intercept: bool = True,
    score: str | None = None,
) -> SelectThenRegress:
    """Return what `fit` draws with without further options, at an ε that is still to be set."""
    shared: dict[str, Any] = {"relation": "replace-one", "fit_intercept": fit_intercept}
    regressor = ModelOptions().model(of_classes=of_classes, epsilon=1.0, delta=None, **shared)
    selector = BY_NAME[default_method(None)](support_size, score=score)
    return SelectThenRegress(selector, regressor)


def _show_model(console: Console, model: ModelPlan | None, selection: SelectionPlan) -> None:
    if model is None:
        fields = listed(selection.without_range)
        line(console, f"A model of fit is left out: its coefficients need a range of {fields}.")
        return
    if model.of_fit.tables:
        console.print(model_table(model))
        line(console, model_legend(model))
    for sentence in model_sentences(model):
        line(console, sentence)


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(item) for item in text.split(",")]
    except ValueError:
        raise InvalidInput(f"{option} must be numbers between commas, got {text!r}") from None
