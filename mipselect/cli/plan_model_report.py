"""The part of a plan that is about a released model, as a table and as a JSON object."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from mipselect.cli.plan_quality_report import quality_cell, quality_report
from mipselect.planning.forecasts import R_SQUARED, ModelLine, ModelPlan, in_two_places
from mipselect.planning.model_sentences import model_sentences, no_better, without_a_model
from mipselect.planning.simulated_fits import FRESH_ROWS


def model_table(plan: ModelPlan) -> Table:
    """Make a table: a line for every number of rows, a column for every ε and one without noise."""
    table = Table()
    table.add_column(plan.measure)
    for epsilon in plan.epsilons:
        table.add_column(f"ε = {epsilon:g}", justify="right")
    table.add_column("no privacy", justify="right")
    for line in plan.by_rows:
        name = f"{line.rows:,} rows" + ", yours" * (line.rows == plan.rows)
        cells = (_cell(line, k) for k in range(len(plan.epsilons)))
        table.add_row(name, *cells, in_two_places(line.without_privacy))
    level = [f"{plan.level:.2f}"] * (len(plan.epsilons) + 1)
    table.add_row(without_a_model(plan), *level)
    return table


def _cell(line: ModelLine, k: int) -> str:
    low, high = line.range(k)
    expected, low_end, high_end = map(in_two_places, (line.expected(k), low, high))
    return f"{expected} ({low_end} to {high_end})"


def model_legend(plan: ModelPlan) -> str:
    """Say in words what the numbers of the table are, and what was left out."""
    line = plan.of_fit
    text = (
        f"Mean {plan.measure} of models of fit on {FRESH_ROWS:,} fresh rows; 10% of them are below "
        "what is in brackets, and 10% above. ε is that of fit, for features and coefficients "
        "together. No privacy: least squares on the right fields. "
        f"Models of {_tables(plan)}"
    )
    errors = [line.error(k) for k in range(len(plan.epsilons))]
    known = [error for error in errors if error is not None]
    text += f", standard errors of your rows at most {max(known):.2f}." if known else "."
    goal = "half of what is possible" if plan.goal == 0.5 else f"{plan.goal:.0%} of it"
    text += f" Would do: {goal} without privacy{_above_a_coin(plan)}."
    if plan.quality_share is not None:
        text += (
            f" Models are fitted to the rows but {plan.quality_share:.6g} of them, which are kept "
            "apart to say how good a model is, at no further ε (--quality-share)."
        )
    if plan.left_out:
        rows = ", ".join(f"{count:,}" for count in plan.left_out)
        text += f" Left out, for no time was left (--time-limit): {rows} rows."
    return text


def _tables(plan: ModelPlan) -> str:
    counts = sorted({len(line.tables) for line in plan.by_rows})
    ends = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return f"{ends} simulated table{'s' * (counts[-1] > 1)} each"


def _above_a_coin(plan: ModelPlan) -> str:
    return "" if plan.measure == R_SQUARED else ", above a coin"


def model_report(plan: ModelPlan) -> dict[str, Any]:
    """Return the JSON object of the plan of models."""
    places = range(len(plan.epsilons))
    done = bool(plan.of_fit.tables)
    return {
        "measure": plan.measure,
        "level": plan.level,
        "goal": plan.goal,
        "quality_share": plan.quality_share,
        "lines": [_line(line, plan) for line in plan.by_rows],
        "further": [_line(line, plan) for line in plan.further if line.tables],
        "left_out": list(plan.left_out),
        "no_better": [no_better(plan, k) for k in places] if done else None,
        "rows_needed": [plan.rows_needed(k) for k in places],
        "epsilon_needed": plan.epsilon_needed,
        "sentences": list(model_sentences(plan)),
        **quality_report(plan),
    }


def _line(line: ModelLine, plan: ModelPlan) -> dict[str, Any]:
    cells = []
    for k, epsilon in enumerate(line.epsilons):
        low, high = line.range(k)
        cells.append(
            {
                "epsilon": epsilon,
                "expected": line.expected(k),
                "standard_error": line.error(k),
                "low": low,
                "high": high,
                "share": line.share(k, plan.level),
                "unreleased": line.unreleased(k),
                "quality": quality_cell(line, k),
            }
        )
    possible = {"without_privacy": line.without_privacy}
    return {"rows": line.rows, "tables": len(line.tables), **possible, "cells": cells}
