"""`mipselect plan`: what to expect of a table before it is opened."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mipselect.cli.declared import command, group, option, options, required
from mipselect.cli.output import (
    Delivery,
    check_output,
    finite_or_none,
    heading,
    line,
    picked,
    print_table,
    write_whole,
)
from mipselect.cli.progress import Spinner
from mipselect.cli.start import say
from mipselect.cli.table_options import SCHEMA, SchemaOptions
from mipselect.documents.pictures import SUFFIXES, Picture, Series, drawn, require_matplotlib
from mipselect.errors import InvalidInput
from mipselect.quality.measures import LEVEL
from mipselect.validation import (
    checked_share,
    checked_time_limit,
    listed,
    plain_digits,
    plural,
)

if TYPE_CHECKING:
    from mipselect.planning import Found, ModelForecast, StudyPlan

EXAMPLES = """Examples:

mipselect plan --schema patients.schema.json --target los_days --rows 5000 \\
    --support-size 5

mipselect plan --schema patients.schema.json --target los_days --rows 5000 \\
    --support-size 5 --epsilon 0.5,1,2 --effect 0.13 --range los_days=0:30 \\
    --quality-share 0.2 --plot plan.svg
"""
GUESSES_PANEL = "Guesses about the rows"
SIMULATION_PANEL = "Simulation"


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
    quality_share: float | None = option(
        "--quality-share",
        "The share of the rows that is kept apart to say how good the model is; and how wide the "
        "interval of that would be.",
        metavar="A",
        show_default="none",
    )
    question: SchemaOptions = group(SchemaOptions, without=("--no-intercept", "--unit-rule"))
    effect: float = option(
        "--effect",
        "R² of the right columns together. In studies of behaviour 0.02 is small, 0.13 medium and "
        "0.26 large; physical measurements often explain more.",
        default=0.3,
        panel=GUESSES_PANEL,
    )
    target_rate: float | None = option(
        "--target-rate",
        "Of a target of two classes: the share of the second one, between 0 and 1.",
        show_default="one half",
        panel=GUESSES_PANEL,
    )
    tables: int = option(
        "--tables",
        "Simulated tables at most; more take longer and say it more exactly.",
        default=20,
        panel=SIMULATION_PANEL,
    )
    seed: int = option("--seed", "The same seed, the same plan.", default=0, panel=SIMULATION_PANEL)
    time_limit: float = option(
        "--time-limit",
        "Of the whole plan. What has no time left has fewer tables, or is left out and named.",
        default=16.0,
        metavar="SECONDS",
        panel=SIMULATION_PANEL,
    )
    plot: Path | None = option("--plot", "Draw the plan.", metavar="FILE.svg|png|pdf")
    delivery: Delivery = group(Delivery, without=("--output",))


ENOUGH = 5
"""Tables from which on means are no mere guess."""

BY_CHANCE = "found by chance"
LATE = "Left out, for no time was left (--time-limit)"
SIMULATED = "Simulated tables; no row of yours was read. A plan guarantees nothing."
UNWEIGHTED = (
    "Weights are not simulated: all rows count the same here. Weighted by {}, a model is at best "
    "that of Σw/W rows, W the maximum of the weight, and a draw of fields from blocks of two rows "
    "finds about what (Σw/W)²/n rows find; plan with so many --rows."
)


@command
def plan(arguments: PlanArguments) -> None:
    """Say what to expect of a table before it is opened, at some ε and a number of rows.

    Tables are made up from the ranges and categories of the schema and from
    stated guesses; nothing of your data is read. As many columns matter as are
    picked.

    One table says which share of the right columns a draw of select would find
    (in brackets how often all of them), beside what could be found without
    privacy and a uniform draw; and how good a model of fit would be by its
    defaults: its R² on fresh rows (AUC for two classes; in brackets what one
    model in ten is below, and one above), beside least squares without privacy.
    With --quality-share also half of the width of the interval that would say how
    good it is (in brackets how many lie above chance). Where a field has no
    range, the model is left out. One line says whether to state typical ranges or
    to draw private ones. For other numbers of rows call it again.
    """
    from mipselect.planning.plans import plan_study, range_advice
    from mipselect.planning.simulation import Question
    from mipselect.regression.plan import SHARE_OF_BLOCKS
    from mipselect.tables import TableSchema

    path, target, plot = arguments.schema, arguments.target, arguments.plot
    if plot is not None:
        check_output(plot, [path], "--plot", endings=SUFFIXES, replace=arguments.delivery.replace)
        require_matplotlib()
    schema, tables, size = TableSchema.read(path), arguments.tables, arguments.support_size
    question = Question(
        schema=schema,
        target=target,
        rows=arguments.rows,
        support_size=size,
        epsilons=_numbers("--epsilon", arguments.epsilon),
        effect=arguments.effect,
        target_rate=arguments.target_rate,
        seed=arguments.seed,
        **arguments.question.keywords,
    )
    limit = checked_time_limit(arguments.time_limit, "--time-limit")
    if arguments.quality_share is not None:
        checked_share(arguments.quality_share, "--quality-share", closed=False)
    say(f"this takes about {limit:g} s, or as long as one simulated table takes")
    share = arguments.quality_share
    with Spinner("planning"):
        made = plan_study(question, quality_share=share, tables=tables, time_limit=limit)
    advice = range_advice(question.public, question.rows, question.epsilons)
    if plot is not None:
        write_whole(plot, drawn(picture(made), plot.suffix), sensitive=False)

    said = [_of_the_tables("what a selection finds", made.selections)]
    if lacking := listed(question.without_range):
        said.append(f"A model of fit is left out: its coefficients need a range of {lacking}.")
    else:
        said.append(_of_the_tables("the model of fit", made.models))
    said += [advice] if advice else []
    said += [] if schema.weight is None else [UNWEIGHTED.format(schema.weight.name)]
    said += [SIMULATED] if plot is None else [SIMULATED, f"Drawn in {plot}."]

    def show(console: Console) -> None:
        """Print the table, and what its numbers are."""
        heading(console, f"{path}: {title_of(made)}")
        print_plan(console, made)
        for text in said:
            line(console, text)

    # With as many fields as are picked nothing is drawn.
    drawn_by = SHARE_OF_BLOCKS if size < made.features else 0.0
    report = {
        "command": "plan",
        "sensitive": False,
        "private": False,
        "randomness": "seeded",
        "simulated": True,
        "schema": str(path),
        "target": target,
        **picked(question, "rows", "support_size"),
        "features": made.features,
        "epsilons": list(question.epsilons),
        "relation": "replace-one",
        "blocks": [picked(one, "score", "block_rows", "partitions") for one in made.blocks],
        "without_range": list(question.without_range),
        "guesses": picked(question, "effect", "target_rate"),
        "tables": tables,
        "seed": question.seed,
        "chance_level": made.chance_level,
        "lines": [
            {"method": method, "cells": [asdict(one) for one in cells], "tables": made.selections}
            for method, cells in lines_of(made).items()
        ],
        "model": None if lacking else {**model_report(made), "selection_share": drawn_by},
        "ranges": advice or None,
        "plot": None if plot is None else str(plot),
        **({} if schema.weight is None else {"not_simulated": [schema.weight.name]}),
    }
    arguments.delivery.deliver(report, show)


PERMUTE_AND_FLIP, WITHOUT_PRIVACY = "permute-and-flip", "without privacy"


def _of_the_tables(what: str, tables: int) -> str:
    """Say of how many tables numbers are means; of less than `ENOUGH` they are a guess."""
    if not tables:
        return f"{LATE}: {what}."
    mean = "means of" if tables >= ENOUGH else "a rough guess from"
    return f"{what[:1].upper()}{what[1:]}: {mean} {plural(tables, 'simulated table')}."


def lines_of(made: StudyPlan) -> dict[str, tuple[Found, ...]]:
    """Return what the draw finds, and what could be found, by name."""
    return {PERMUTE_AND_FLIP: made.drawn, WITHOUT_PRIVACY: made.best}


def rows_of(made: StudyPlan) -> list[tuple[Series, Sequence[str]]]:
    """Return what would be found, and how good a model would be, with a cell for every ε."""
    epsilons, rows = tuple(made.question.epsilons), list[tuple[Series, Sequence[str]]]()

    def add(name: str, means: Iterable[float], errors: Iterable[Any], cells: list[str]) -> None:
        rows.append((Series(name, epsilons, tuple(means), tuple(errors)), cells))

    def level(name: str, value: float, form: str) -> None:
        count = len(epsilons)
        add(name, [value] * count, [None] * count, [f"{value:{form}}"] * count)

    for method, found in lines_of(made).items():
        if found:
            name = f"found {'by ' * (method == PERMUTE_AND_FLIP)}{method}"
            cells = [f"{one.found:.0%} ({one.all_found:.0%})" for one in found]
            add(name, (one.found for one in found), (one.standard_error for one in found), cells)
    level(BY_CHANCE, made.chance_level, ".0%")
    if made.without_privacy is not None:
        models = made.forecasts
        tenths = [f" ({one.low:.2f} to {one.high:.2f})" * (made.models > 1) for one in models]
        cells = [f"{one.expected:.2f}{ends}" for one, ends in zip(models, tenths, strict=True)]
        means, errors = (one.expected for one in models), (one.standard_error for one in models)
        add(f"{made.measure} of fit", means, errors, cells)
        level(f"{made.measure} without privacy", made.without_privacy, ".2f")
    return rows


def print_plan(console: Console, made: StudyPlan) -> None:
    """Print a row for each number, and a column for every ε."""
    rows = [(each.name, *cells) for each, cells in rows_of(made)]
    if made.quality_share is not None and made.forecasts:
        rows.append((f"{LEVEL:.0%} interval of {made.measure}", *map(_interval, made.forecasts)))
    epsilons = [f"ε = {epsilon:g}" for epsilon in made.question.epsilons]
    print_table(console, ("", *epsilons), rows, left=("",))


def _interval(models: ModelForecast) -> str:
    if models.half_width is None:
        return "none"
    width = "open" if math.isinf(models.half_width) else f"±{models.half_width:.2f}"
    return f"{width} ({models.above_chance:.0%})"


def picture(made: StudyPlan) -> Picture:
    """Draw the table by ε."""
    lines = tuple(each for each, _ in rows_of(made))
    return Picture(
        title=title_of(made),
        x_label="ε, under replace-one",
        y_label=f"share of the right columns, or {made.measure}",
        panels={"": lines},
        names=tuple(each.name for each in lines),
        yardstick=BY_CHANCE,
        fraction=False,
        log_x=True,
        log_y=False,
        notes=(SIMULATED,),
        alarming=False,
    )


def title_of(made: StudyPlan) -> str:
    """Name what is planned."""
    asked = made.question
    return f"{asked.target} by {asked.support_size} of {made.features} fields, {asked.rows:,} rows"


def model_report(made: StudyPlan) -> dict[str, Any]:
    """Return the JSON object of the models."""
    cells = [asdict(one) for one in made.forecasts]
    for cell in cells:
        width, above = cell.pop("half_width"), cell.pop("above_chance")
        quality = {"half_width": finite_or_none(width or 0.0), "above_chance": above}
        cell["quality"] = None if width is None else quality
    return {
        **picked(made, "measure", "level", "quality_share", "without_privacy"),
        "tables": made.models,
        "cells": cells,
    }


def _numbers(option: str, text: str) -> list[float]:
    try:
        return [float(plain_digits(item)) for item in text.split(",")]
    except ValueError:
        raise InvalidInput(f"{option} must be numbers between commas, got {text!r}") from None
