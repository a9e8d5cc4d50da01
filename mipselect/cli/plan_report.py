"""A plan as a table, as a JSON object and as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from mipselect.cli.output import picked, table_of
from mipselect.errors import InvalidInput
from mipselect.pictures import Panel, Picture, Series
from mipselect.planning.answers import answers
from mipselect.planning.few_tables import ENOUGH, LEGEND, is_rough, rough_mark
from mipselect.planning.guesses import Guesses
from mipselect.planning.lines import (
    COEF_BOUND,
    METHOD,
    REPEATED,
    RIDGE,
    ROWS,
    Line,
    SelectionPlan,
)
from mipselect.planning.simulation import REPEATED_CORRELATION
from mipselect.problem.scores import R2
from mipselect.tables.encoders import Encoder, two_numbers
from mipselect.tables.fields import as_two_classes
from mipselect.validation import joined, listed

CHANCE_LEVEL = "chance level"
UNWEIGHTED = (
    "Weights are not simulated: all rows count the same here. Weighted by {}, a model is at best "
    "that of Σw/W rows, W the maximum of the weight, and a draw of fields from blocks of two rows "
    "finds about what (Σw/W)²/n rows find; plan with so many --rows."
)
SIMULATED = "Simulated tables; no row of yours was read. A plan guarantees nothing."


def notes_of_the_target(target: Encoder) -> list[str]:
    """Say that a target of two whole numbers is simulated as a number, and what is better."""
    two = two_numbers(target)
    if two is None:
        return []
    return [
        f"{target.field.name} is a number here, {two[0]} or {two[1]}, and is simulated as any "
        "number between these, so that the plan says too much of it: for probabilities, and AUC, "
        f"{as_two_classes(*two)}"
    ]


def assumed(guesses: Guesses, *, of_classes: bool) -> str:
    """Say what the plan takes for granted, and which options change it."""
    rate = 0.5 if guesses.target_rate is None else guesses.target_rate
    classes = f"; {rate:.3g} of the rows are of the second class (--target-rate)" * of_classes
    return (
        f"Assumed: the right columns have an R² of {guesses.effect:g} together (--effect), any two "
        f"fields a correlation of {guesses.correlation:g} (--correlation){classes}."
    )


def columns_of(first: str, epsilons: Sequence[float], *last: str) -> Table:
    """Make an empty table of a plan: a column for every ε, to the right like those after them."""
    numbers = [*(f"ε = {epsilon:g}" for epsilon in epsilons), *last]
    return table_of(first, *numbers, right=numbers)


def plan_table(plan: SelectionPlan) -> Table:
    """Make a table with a row for every setting and a column for every ε."""
    table = columns_of("", plan.epsilons)
    before = plan.of_select.setting
    for line in (line for line in plan.lines if line.tables):
        setting = line.setting
        if (setting.about, setting.score) != (before.about, before.score):
            table.add_section()
        before = setting
        table.add_row(setting.name, *(_cell(line, k) for k in range(len(plan.epsilons))))
    table.add_row(CHANCE_LEVEL, *(f"{plan.blind:.0%}" for _ in plan.epsilons))
    return table


def _cell(line: Line, k: int) -> str:
    chance = line.chance(k)
    assert chance is not None
    return f"{rough_mark(len(line.tables))}{chance.found:.0%} ({chance.all_found:.0%})"


def legend(plan: SelectionPlan, share: float) -> str:
    """Say in words what the numbers of the table are; `share` of its ε is what fit draws with."""
    text = (
        "Share of the right columns that a draw finds; in brackets how often it finds all. All of "
        f"ε is for the draw, as in select; fit spends {share:g} of its ε on it."
    )
    text += _scores(plan)
    text += _errors(plan)
    if any(line.tables for line in plan.about(REPEATED)):
        text += (
            f" Lines with repeats: tables in which {plan.repeated} fields repeat each other "
            f"(correlation {REPEATED_CORRELATION:g}), with an R² of {plan.guesses.repeated:g}, and "
            "count as one right column, whichever of them is drawn. If fields of yours do, a "
            "coef_bound that is too small draws all of them in place of the others."
        )
    counts = [len(line.tables) for line in plan.lines if line.tables]
    if counts:
        ends = dict.fromkeys(str(count) for count in (min(counts), max(counts)))
        only = "only " if min(counts) < ENOUGH else ""
        text += f" Simulated tables: {only}{' to '.join(ends)} for each line."
        text += f" {LEGEND}" if is_rough(min(counts)) else ""
    late = [line.setting.name for line in plan.lines if line.remark]
    if late:
        text += f" Left out, for no time was left (--time-limit): {'; '.join(late)}."
    return text


def _errors(plan: SelectionPlan) -> str:
    """Say how large standard errors are, of lines with enough tables to know."""
    done = [line for line in plan.lines if line.tables]
    enough = [line for line in done if len(line.tables) >= ENOUGH]
    errors = [line.error(k) or 0.0 for line in enough for k in range(len(plan.epsilons))]
    if not errors:
        return " There are too few simulated tables for a standard error." if done else ""
    stated = f"at most {max(errors):.0%}" if max(errors) >= 0.005 else "below 1%"
    which = (
        "" if len(enough) == len(done) else f" where there are {ENOUGH} simulated tables or more"
    )
    return f" Standard errors are {stated}{which}."


def _scores(plan: SelectionPlan) -> str:
    """Say what the supports are scored by."""
    loss = "least squares on rows that are clipped to the ranges (--score loss)"
    if not plan.blocks:
        return f" loss: {loss}."
    names = {True: "R² within blocks of", False: "least squares on blocks of"}
    rows: dict[bool, list[str]] = {}
    for options in plan.blocks:
        rows.setdefault(options.score == R2, []).append(str(options.block_rows))
    said = [f"{names[r2]} {joined(list(dict.fromkeys(numbers)))}" for r2, numbers in rows.items()]
    counts = [str(t) for t in dict.fromkeys(options.partitions for options in plan.blocks)]
    partitions = f"{joined(counts)} partition{'' if counts == ['1'] else 's'}"
    text = f" blocks: {' and '.join(said)} rows, {partitions}; no range is used."
    if plan.without_range:
        return f"{text} Lines of the loss need a range of {listed(plan.without_range)}."
    return f"{text} loss: {loss}."


def plan_report(
    plan: SelectionPlan, schema: Path, target: str, tables: int, plot: Path | None
) -> dict[str, Any]:
    """Return the JSON object of the plan."""
    places = range(len(plan.epsilons))
    return {
        "command": "plan",
        "sensitive": False,
        "private": False,
        "randomness": "seeded",
        "simulated": True,
        "schema": str(schema),
        "target": target,
        **picked(plan, "rows", "support_size", "features"),
        "epsilons": list(plan.epsilons),
        "relation": "replace-one",
        "blocks": [picked(options, "score", "block_rows", "partitions") for options in plan.blocks],
        "without_range": list(plan.without_range),
        **picked(plan, "coef_bound", "ridge"),
        "guesses": asdict(plan.guesses),
        "tables": tables,
        **picked(plan, "repeated", "seed", "blind", "goal"),
        "lines": [
            {
                **asdict(line.setting),
                "remark": line.remark,
                "tables": len(line.tables),
                "cells": _cells(line, places),
            }
            for line in plan.lines
        ],
        "rows_needed": [plan.rows_needed(k) for k in places],
        "answers": dict(answers(plan)),
        "plot": None if plot is None else str(plot),
    }


def _cells(line: Line, places: range) -> list[dict[str, float | None]] | None:
    """Return the cells of a line in a report, one for every ε; None if there are none."""
    chances = [(line.chance(k), line.error(k)) for k in places if line.tables]
    return [
        {"found": chance.found, "standard_error": error, "all_found": chance.all_found}
        for chance, error in chances
        if chance is not None
    ] or None


def picture(plan: SelectionPlan, target: str) -> Picture:
    """Draw a panel for each question, ε across."""
    start = {ROWS: plan.of_select, COEF_BOUND: plan.of_loss, RIDGE: plan.of_loss}
    titles = {
        METHOD: "method",
        COEF_BOUND: f"coef_bound, now {plan.coef_bound:.3g}",
        REPEATED: f"coef_bound where {plan.repeated} fields repeat",
        RIDGE: f"ridge, now {plan.ridge:.3g}",
        ROWS: f"rows, now {plan.rows:,}",
    }
    names = dict.fromkeys(_drawn_name(line, plan) for line in plan.lines)
    blindly = Series(
        CHANCE_LEVEL,
        plan.epsilons,
        tuple(plan.blind for _ in plan.epsilons),
        tuple(None for _ in plan.epsilons),
    )
    panels = []
    for about, title in titles.items():
        own = plan.about(about)
        lines = [line for line in (start.get(about), *own) if line is not None and line.tables]
        if own and lines:
            panels.append(Panel(title, (*(_drawn_line(line, plan) for line in lines), blindly)))
    if not panels:
        raise InvalidInput("nothing can be drawn, for there was time for nothing (--time-limit)")
    return Picture(
        title=f"{target} by {plan.support_size} of {plan.features} fields, {plan.rows:,} rows",
        x_label="ε of one draw, under replace-one",
        y_label="right columns found",
        panels=tuple(panels),
        names=(*names, CHANCE_LEVEL),
        yardstick=CHANCE_LEVEL,
        fraction=True,
        log_x=True,
        log_y=False,
        notes=(SIMULATED,),
        alarming=False,
    )


def _drawn_name(line: Line, plan: SelectionPlan) -> str:
    """Name a setting alike in all panels."""
    if line.setting.about == REPEATED:
        others = plan.about(METHOD, COEF_BOUND)
        bound = line.setting.coef_bound
        line = next(other for other in others if other.setting.coef_bound == bound)
    return line.setting.name


def _drawn_line(line: Line, plan: SelectionPlan) -> Series:
    order = sorted(range(len(plan.epsilons)), key=plan.epsilons.__getitem__)
    chances = [line.chance(k) for k in order]
    return Series(
        _drawn_name(line, plan),
        tuple(plan.epsilons[k] for k in order),
        tuple(chance.found for chance in chances if chance is not None),
        tuple(line.error(k) for k in order),
    )
