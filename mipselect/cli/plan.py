"""`mipselect plan`: what to expect of a table before it is opened."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from mipselect.cli.options import AsJson
from mipselect.cli.output import check_output, deliver, heading, write_whole
from mipselect.cli.streams import say
from mipselect.cli.table_options import TABLE_PANEL, Always, Never, NoIntercept, Ranges, asked
from mipselect.cli.trial_watch import TrialWatch
from mipselect.errors import InvalidInput
from mipselect.experiments.figure import SUFFIXES, Line, Panel, Picture, drawn, require_matplotlib
from mipselect.experiments.plan import (
    COEF_BOUND,
    METHOD,
    REFERENCE,
    RIDGE,
    ROWS,
    TOO_SLOW,
    Progress,
    SelectionPlan,
    Step,
    plan_selection,
)
from mipselect.experiments.plan import Line as PlanLine
from mipselect.experiments.plan_answers import answers
from mipselect.experiments.plan_chances import METHODS
from mipselect.experiments.plan_tables import Guesses
from mipselect.tables import TableSchema

EXAMPLES = """Examples:

mipselect plan --schema patients.schema.json --target los_days --rows 5000 --support-size 5

mipselect plan --schema patients.schema.json --target los_days --rows 5000 --support-size 5 \\
    --epsilon 0.5,1,2 --effect 0.13 --range los_days=0:30 --target-mean 6 --plot plan.svg
"""

GUESSES_PANEL = "Guesses about the rows"
EXPERIMENT_PANEL = "Simulation"
BLIND = "blind"
SIMULATED = "Simulated tables; no row of yours was read. A plan is no promise."


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
    ] = ",".join(METHODS),
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

    Tables are made up from the ranges and categories of the schema and from stated
    guesses; nothing of your data is read. As many columns matter as are picked, with
    effects of the same strength. Shown is the share of them that one private draw
    finds on average: by method, by coef_bound and ridge, and by number of rows.

    The target's range counts most: where its middle is what you expect, and values
    beyond it are rare and may be clipped, see --range and --target-mean.
    """
    if plot is not None:
        if plot.suffix not in SUFFIXES:
            raise InvalidInput(f"--plot must end in {', '.join(SUFFIXES)}, got {str(plot)!r}")
        check_output(plot, [schema])
        require_matplotlib()
    guesses = Guesses(
        effect=effect,
        correlation=correlation,
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
        write_whole(plot, drawn(_picture(result, target), plot.suffix), sensitive=False)

    def render(console: Console) -> None:
        heading(
            console,
            f"{schema}: {target} by {support_size} of {result.features} fields, {rows:,} rows, "
            f"{tables} simulated tables",
        )
        console.print(_table(result))
        console.print(_legend(result), markup=False, soft_wrap=True)
        for question, answer in answers(result):
            console.print(f"{question} {answer}.", markup=False, soft_wrap=True)
        console.print(SIMULATED, soft_wrap=True)
        if plot is not None:
            console.print(f"Drawn in {plot}.", markup=False, soft_wrap=True)

    report = _report(result, schema, target, tables, plot)
    deliver(report, render, as_json=as_json, output=None)


@contextmanager
def _watched() -> Iterator[Progress]:
    """Show how far a plan is, and say after the first table how long it will take at most."""
    start = time.monotonic()
    with ExitStack() as stack:
        bars: list[TrialWatch] = []
        told: list[float] = []

        def report(step: Step) -> None:
            if not bars:
                bars.append(stack.enter_context(TrialWatch(0, step.total)))
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


def _name(line: PlanLine) -> str:
    setting = line.setting
    return {
        METHOD: setting.method,
        COEF_BOUND: f"coef_bound {setting.coef_bound:.3g}",
        RIDGE: f"ridge {setting.ridge:.3g}",
        ROWS: f"{setting.rows:,} rows",
        REFERENCE: setting.method,
    }[setting.about]


def _table(plan: SelectionPlan) -> Table:
    table = Table()
    table.add_column("")
    for epsilon in plan.epsilons:
        table.add_column(f"ε = {epsilon:g}", justify="right")
    about = METHOD
    for line in plan.lines:
        if line.setting.about != about:
            table.add_section()
            about = line.setting.about
        table.add_row(_name(line), *(_cell(line, k) for k in range(len(plan.epsilons))))
    table.add_row(BLIND, *(f"{plan.blind:.0%}" for _ in plan.epsilons))
    return table


def _cell(line: PlanLine, k: int) -> str:
    chance = line.chance(k)
    return "-" if chance is None else f"{chance.found:.0%} ({chance.all_found:.0%})"


def _legend(plan: SelectionPlan) -> str:
    """What the numbers of the table are."""
    text = "Share of the right columns that a draw finds; in brackets how often it finds all."
    places = range(len(plan.epsilons))
    errors = [line.error(k) for line in plan.lines if line.tables for k in places]
    known = [error for error in errors if error is not None]
    if known:
        text += f" Standard errors are at most {max(known):.0%}."
    if any(line.remark for line in plan.lines):
        text += f" - was {TOO_SLOW} (--time-limit); the draw from your table may take as long."
    return text


def _report(
    plan: SelectionPlan, schema: Path, target: str, tables: int, plot: Path | None
) -> dict[str, Any]:
    places = range(len(plan.epsilons))
    return {
        "command": "plan",
        "sensitive": False,
        "private": False,
        "randomness": "seeded",
        "simulated": True,
        "schema": str(schema),
        "target": target,
        "rows": plan.rows,
        "support_size": plan.support_size,
        "features": plan.features,
        "epsilons": list(plan.epsilons),
        "relation": "replace-one",
        "coef_bound": plan.coef_bound,
        "ridge": plan.ridge,
        "guesses": asdict(plan.guesses),
        "tables": tables,
        "seed": plan.seed,
        "lines": [
            {**asdict(line.setting), "remark": line.remark, "cells": _cells(line, places)}
            for line in plan.lines
        ],
        "blind": plan.blind,
        "goal": plan.goal,
        "rows_needed": [plan.rows_needed(k) for k in places],
        "answers": dict(answers(plan)),
        "plot": None if plot is None else str(plot),
    }


def _cells(line: PlanLine, places: range) -> list[dict[str, float | None]] | None:
    """Of a report: one for every ε."""
    chances = [(line.chance(k), line.error(k)) for k in places if line.tables]
    return [
        {"found": chance.found, "standard_error": error, "all_found": chance.all_found}
        for chance, error in chances
        if chance is not None
    ] or None


def _picture(plan: SelectionPlan, target: str) -> Picture:
    """A panel for each question, ε across."""
    start = plan.about(METHOD)[0]
    titles = {
        METHOD: "method",
        COEF_BOUND: f"coef_bound, now {plan.coef_bound:.3g}",
        RIDGE: f"ridge, now {plan.ridge:.3g}",
        ROWS: f"rows, now {plan.rows:,}",
    }
    names = dict.fromkeys(_name(line) for line in (start, *plan.lines))
    blindly = Line(
        BLIND,
        plan.epsilons,
        tuple(plan.blind for _ in plan.epsilons),
        tuple(None for _ in plan.epsilons),
    )
    panels = []
    for about, title in titles.items():
        own = plan.about(about)
        beside = [] if about == METHOD else [start]
        lines = [line for line in (*beside, *own) if line.tables]
        if own and lines:
            panels.append(Panel(title, (*(_drawn_line(line, plan) for line in lines), blindly)))
    if not panels:
        raise InvalidInput("there is nothing to draw: all of it took longer than --time-limit")
    return Picture(
        title=f"{target} by {plan.support_size} of {plan.features} fields, {plan.rows:,} rows",
        x_label="ε of one draw, under replace-one",
        y_label="right columns found",
        panels=tuple(panels),
        names=(*names, BLIND),
        yardstick=BLIND,
        fraction=True,
        log_x=True,
        log_y=False,
        notes=(SIMULATED,),
        alarming=False,
    )


def _drawn_line(line: PlanLine, plan: SelectionPlan) -> Line:
    order = sorted(range(len(plan.epsilons)), key=plan.epsilons.__getitem__)
    chances = [line.chance(k) for k in order]
    return Line(
        _name(line),
        tuple(plan.epsilons[k] for k in order),
        tuple(chance.found for chance in chances if chance is not None),
        tuple(line.error(k) for k in order),
    )
