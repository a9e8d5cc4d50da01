"""`mipselect plan`: what to expect of a table before it is opened."""

from __future__ import annotations

import time
from dataclasses import asdict
from itertools import count

from rich.console import Console

from mipselect.cli.declared import command
from mipselect.cli.fit_options import FitOptions
from mipselect.cli.output import check_figure, deliver, heading, line, write_whole
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
from mipselect.cli.streams import say
from mipselect.cli.table_options import of_two_classes
from mipselect.errors import InvalidInput
from mipselect.pictures import drawn
from mipselect.planning.answers import answers
from mipselect.planning.fit import plan_fit
from mipselect.planning.forecasts import ModelPlan
from mipselect.planning.lines import Progress, SelectionPlan, Step
from mipselect.planning.model_sentences import model_sentences
from mipselect.planning.plan import checked_methods, plan_selection
from mipselect.planning.quality_sentences import quality_sentences
from mipselect.planning.question import Question
from mipselect.planning.range_advice import range_advice
from mipselect.planning.simulation import Guesses
from mipselect.tables import TableSchema
from mipselect.validation import checked_share, checked_time_limit, listed

EXAMPLES = """Examples:

mipselect plan --schema patients.schema.json --target los_days --rows 5000 \\
    --support-size 5

mipselect plan --schema patients.schema.json --target los_days --rows 5000 \\
    --support-size 5 --epsilon 0.5,1,2 --effect 0.13 --range los_days=0:30 \\
    --target-mean 6 --plot plan.svg
"""

SHARE_OF_MODELS = 0.5
"""Share of the time for models; the selection has what is left."""

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
    of_classes = of_two_classes(schema, target)
    options = planned_options(arguments.model, arguments.division, score, of_classes=of_classes)
    # With as many fields as are picked nothing is drawn.
    share = options.share if size < len(question.public.features) else 0.0
    with Spinner("planning") as spinner:
        steps = count()

        def watch(step: Step) -> None:
            if next(steps) == 0:
                say(f"this takes about {limit:g} s at most")
            spinner.tick(step.what, description=step.what)

        model = None
        if not question.without_range:
            model = _model_plan(arguments, options, schema, SHARE_OF_MODELS * limit, watch)
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

    advice = range_advice(question.public, arguments.rows, result.epsilons)

    def render(console: Console) -> None:
        heading(
            console,
            f"{path}: {target} by {result.support_size} of {result.features} fields, "
            f"{result.rows:,} rows",
        )
        _show_model(console, model, result, mechanism_legend(options, share))
        if advice:
            line(console, advice)
        console.print(plan_table(result))
        line(console, legend(result, share))
        for asking, answer in answers(result):
            line(console, f"{asking} {answer}.")
        line(console, assumed(result.guesses, of_classes=of_classes))
        console.print(SIMULATED, soft_wrap=True)
        if schema.weight is not None:
            line(console, UNWEIGHTED.format(schema.weight.name))
        if plot is not None:
            line(console, f"Drawn in {plot}.")

    tables = arguments.simulation.tables
    report = plan_report(result, path, target, tables, plot)
    if schema.weight is not None:
        report["not_simulated"] = [schema.weight.name]
    if model is not None:
        report["model"] = {**model_report(model), **mechanism_report(options, share)}
    else:
        report["model"] = None
    report["ranges"] = advice or None
    deliver(report, render, as_json=arguments.delivery.as_json, output=None)


def _model_plan(
    arguments: PlanArguments,
    options: FitOptions,
    schema: TableSchema,
    time_limit: float,
    progress: Progress,
) -> ModelPlan:
    """Plan models of `fit` with these options."""
    asked = dict(arguments.question.keywords)
    model = planned_fit(
        options,
        arguments.support_size,
        of_classes=of_two_classes(schema, arguments.target),
        fit_intercept=asked.pop("intercept", True),
    )
    if schema.weight is not None:
        model.regressor.require_weights()
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
    for sentence in model_sentences(model):
        line(console, sentence)
    if model.quality_share is not None and model.of_fit.tables:
        console.print(quality_table(model))
        line(console, quality_legend(model))
        for sentence in quality_sentences(model):
            line(console, sentence)


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(item) for item in text.split(",")]
    except ValueError:
        raise InvalidInput(f"{option} must be numbers between commas, got {text!r}") from None
