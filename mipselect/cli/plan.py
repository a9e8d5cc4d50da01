"""`mipselect plan`: what to expect of a table before it is opened."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from itertools import count
from typing import Any

from rich.console import Console

from mipselect.cli.declared import command
from mipselect.cli.fit_division import FitOptions
from mipselect.cli.output import check_figure, heading, line, write_whole
from mipselect.cli.plan_model_report import (
    model_legend,
    model_report,
    model_table,
    quality_legend,
    quality_table,
)
from mipselect.cli.plan_options import PlanArguments
from mipselect.cli.plan_report import (
    SIMULATED,
    UNWEIGHTED,
    assumed,
    legend,
    notes_of_the_target,
    picture,
    plan_report,
    plan_table,
)
from mipselect.cli.planned_fit import (
    mechanism_legend,
    mechanism_report,
    planned_fit,
    planned_options,
)
from mipselect.cli.progress import Spinner
from mipselect.cli.start import say
from mipselect.errors import InvalidInput
from mipselect.pictures import drawn
from mipselect.planning.answers import answers
from mipselect.planning.fit import plan_fit
from mipselect.planning.forecasts import ModelPlan
from mipselect.planning.guesses import Guesses
from mipselect.planning.lines import SelectionPlan, Step
from mipselect.planning.model_sentences import (
    interval_sentences,
    model_sentences,
    quality_sentences,
)
from mipselect.planning.plan import checked_methods, plan_selection
from mipselect.planning.question import Question
from mipselect.planning.range_advice import range_advice
from mipselect.tables import TableSchema
from mipselect.validation import checked_share, checked_time_limit, listed, plain_digits

EXAMPLES = """Examples:

mipselect plan --schema patients.schema.json --target los_days --rows 5000 \\
    --support-size 5

mipselect plan --schema patients.schema.json --target los_days --rows 5000 \\
    --support-size 5 --epsilon 0.5,1,2 --effect 0.13 --range los_days=0:30 \\
    --target-mean 6 --plot plan.svg
"""

SHARE_OF_MODELS = 0.5
"""Share of the time for models; the selection has what is left."""

MUCH_LONGER = 1.25
"""A plan that takes so many times its limit says so."""

LEAST_OF_SELECTION = 0.25
"""Least share of the time for the selection."""


@command
def plan(arguments: PlanArguments) -> None:
    """Say what to expect of a table before it is opened, and help with the public choices.

    Tables are made up from the ranges and categories of the schema and from
    stated guesses; nothing of your data is read. As many columns matter as are
    picked.

    First how good a model of fit would be: its R² on fresh rows (AUC for two
    classes) by ε and by number of rows, beside the mean of the target and least
    squares without privacy, and which rows or ε would do where these do not. With
    --quality-share also how wide the interval would be that says how good it is.

    Then the share of the right columns that one draw of select finds: by what
    select does, which needs no range of a number; beside it by the loss and
    other methods, by coef_bound and ridge of the loss, the same where fields
    repeat each other; and by number of rows. Where a field has no range, the
    model and the lines of the loss are left out. One line says whether to state
    typical ranges or to draw private ones.

    For the loss the target's range counts most: where its middle is what you
    expect, and values beyond it are rare, see --range and --target-mean.
    """
    path, target, plot = arguments.schema, arguments.target, arguments.plot
    if plot is not None:
        check_figure(plot, "--plot", [path], replace=arguments.delivery.replace)
    schema = TableSchema.read(path)
    question = _checked_question(arguments, schema)
    weight, of_classes = schema.weight, question.public.target.classes is not None
    notes = notes_of_the_target(question.public.target.encoder)
    for note in notes:
        say(f"warning: {note}")
    options = planned_options(
        arguments.model, arguments.division, arguments.score, of_classes=of_classes
    )
    model, selection = _simulated(arguments, schema, question, options)
    # With as many fields as are picked nothing is drawn.
    draws = question.support_size < len(question.public.features)
    share = options.share if draws else 0.0
    advice = range_advice(question.public, selection.rows, selection.epsilons)
    if plot is not None:
        write_whole(plot, drawn(picture(selection, target), plot.suffix), sensitive=False)

    def show(console: Console) -> None:
        """Print first the model, then the selection."""
        of_all = f"{selection.support_size} of {selection.features} fields"
        heading(console, f"{path}: {target} by {of_all}, {selection.rows:,} rows")
        _show_model(console, model, selection, mechanism_legend(options, share))
        if advice:
            line(console, advice)
        console.print(plan_table(selection))
        line(console, legend(selection, share))
        for asking, answer in answers(selection):
            line(console, f"{asking} {answer}.")
        line(console, assumed(selection.guesses, of_classes=of_classes))
        console.print(SIMULATED, soft_wrap=True)
        if weight is not None:
            line(console, UNWEIGHTED.format(weight.name))
        if plot is not None:
            line(console, f"Drawn in {plot}.")

    mechanism = mechanism_report(options, share)
    report = {
        **plan_report(selection, path, target, arguments.simulation.tables, plot),
        **({} if weight is None else {"not_simulated": [weight.name]}),
        "model": None if model is None else {**model_report(model), **mechanism},
        "ranges": advice or None,
        "notes": notes,
    }
    arguments.delivery.deliver(report, show)


def _checked_question(arguments: PlanArguments, schema: TableSchema) -> Question:
    """Return the question; raise for what is wrong before the models, which take their time."""
    checked_time_limit(arguments.simulation.time_limit, "--time-limit")
    question = Question(
        schema,
        arguments.target,
        arguments.support_size,
        score=arguments.score,
        **asdict(arguments.regularisation),
        **arguments.question.keywords,
    )
    checked_methods(_methods(arguments), question)
    checked_share(arguments.simulation.goal, "goal", closed=False)
    return question


def _methods(arguments: PlanArguments) -> list[str] | None:
    named = arguments.method
    return None if named is None else [name.strip() for name in named.split(",")]


def _simulated(
    arguments: PlanArguments, schema: TableSchema, question: Question, options: FitOptions
) -> tuple[ModelPlan | None, SelectionPlan]:
    """Plan the model, if all fields have ranges, and with the time that is left the selection."""
    began, simulation = time.monotonic(), asdict(arguments.simulation)
    limit = simulation.pop("time_limit")
    model = None
    with Spinner("planning") as spinner:
        asked: dict[str, Any] = {
            "target": arguments.target,
            "rows": arguments.rows,
            "epsilons": _numbers("--epsilon", arguments.epsilon),
            "guesses": Guesses(**asdict(arguments.guesses)),
            "progress": _watch(spinner, limit),
        }
        if not question.without_range:
            fitted = planned_fit(
                options,
                question.support_size,
                of_classes=question.public.target.classes is not None,
                fit_intercept=question.intercept,
            )
            if schema.weight is not None:
                fitted.regressor.require_weights()
            model = plan_fit(
                fitted,
                schema,
                tables=arguments.simulation.tables,
                seed=arguments.simulation.seed,
                time_limit=SHARE_OF_MODELS * limit,
                always=question.always,
                never=question.never,
                ranges=question.ranges,
                **asked,
            )
        left = limit - (time.monotonic() - began)
        selection = plan_selection(
            schema,
            support_size=question.support_size,
            methods=_methods(arguments),
            score=arguments.score,
            time_limit=max(left, LEAST_OF_SELECTION * limit),
            **asked,
            **asdict(arguments.regularisation),
            **simulation,
            **arguments.question.keywords,
        )
    if (took := time.monotonic() - began) > MUCH_LONGER * limit:
        say(
            f"note: this took {took:.0f} s: of one simulated table it is not known before how long "
            "it takes, and one is simulated in any case"
        )
    return model, selection


def _watch(spinner: Spinner, limit: float) -> Callable[[Step], None]:
    """Say how long it takes, before the first step."""
    steps = count()

    def watch(step: Step) -> None:
        if next(steps) == 0:
            say(f"this takes about {limit:g} s, or as long as one simulated table takes")
        spinner.tick(step.what, description=step.what)

    return watch


def _show_model(
    console: Console, model: ModelPlan | None, selection: SelectionPlan, mechanism: str
) -> None:
    if model is None:
        fields = listed(selection.without_range)
        line(console, f"A model of fit is left out: its coefficients need a range of {fields}.")
        return
    if model.of_fit.tables:
        console.print(model_table(model))
        line(console, f"{model_legend(model)} {mechanism}")
    for sentence in (*model_sentences(model), *interval_sentences(model)):
        line(console, sentence)
    if model.quality_share is not None and model.of_fit.tables:
        console.print(quality_table(model))
        line(console, quality_legend(model))
        for sentence in quality_sentences(model):
            line(console, sentence)


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(plain_digits(item)) for item in text.split(",")]
    except ValueError:
        raise InvalidInput(f"{option} must be numbers between commas, got {text!r}") from None
