"""Plans of a released model and of its quality (`--quality-share`), as tables and as JSON."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from mipselect.cli.output import finite_or_none, picked
from mipselect.cli.plan_report import columns_of
from mipselect.planning.few_tables import ENOUGH, LEGEND, MARK, is_rough, rough_mark
from mipselect.planning.forecasts import (
    LARGER_SHARE,
    LEAST_TABLES,
    R_SQUARED,
    ModelLine,
    ModelPlan,
    in_two_places,
)
from mipselect.planning.model_sentences import (
    interval_sentences,
    model_sentences,
    no_better,
    quality_sentences,
    width_in_words,
    without_a_model,
)
from mipselect.planning.quality_forecasts import OFTEN_ENOUGH
from mipselect.planning.simulated_fits import FRESH_ROWS
from mipselect.quality.measures import LEVEL


def model_table(plan: ModelPlan) -> Table:
    """Make a table: a line for every number of rows, a column for every ε and one without noise."""
    table = columns_of(plan.measure, plan.epsilons, "no privacy")
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
    if is_rough(len(line.tables)):
        return f"{MARK}{expected}"
    return f"{expected} ({low_end} to {high_end})"


def model_legend(plan: ModelPlan) -> str:
    """Say in words what the numbers of the table are, and what was left out."""
    line, few = plan.of_fit, [is_rough(len(each.tables)) for each in plan.by_rows]
    tenths = "" if all(few) else "; 10% of them are below what is in brackets, and 10% above"
    text = (
        f"Mean {plan.measure} of models of fit on {FRESH_ROWS:,} fresh rows{tenths}. ε is that "
        "of fit, for features and coefficients together. No privacy: least squares on the right "
        "fields. "
        f"Models of {_tables(plan)}{_error(line)}."
    )
    if any(few):
        text += f" {LEGEND}"
    goal = "half of what is possible" if plan.goal == 0.5 else f"{plan.goal:.0%} of it"
    coin = "" if plan.measure == R_SQUARED else ", above a coin"
    text += f" Would do: {goal} without privacy{coin}."
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
    only = "only " if counts[0] < ENOUGH else ""
    return f"{only}{ends} simulated table{'s' * (counts[-1] > 1)} each"


def _error(line: ModelLine) -> str:
    """Say how large standard errors of a line are; from few tables they are not known."""
    if len(line.tables) < ENOUGH:
        return ", too few for a standard error of your rows"
    largest = max(line.error(k) or 0.0 for k in range(len(line.epsilons)))
    stated = f"at most {largest:.2f}" if largest >= 0.005 else "below 0.01"
    return f", standard errors of your rows {stated}"


def model_report(plan: ModelPlan) -> dict[str, Any]:
    """Return the JSON object of the plan of models."""
    places, more = range(len(plan.epsilons)), plan.larger_share
    done = bool(plan.of_fit.tables)
    return {
        **picked(plan, "measure", "level", "goal", "quality_share", "epsilon_needed"),
        "lines": [_line(line, plan) for line in plan.by_rows],
        "further": [_line(line, plan) for line in plan.further if line.tables],
        "left_out": list(plan.left_out),
        "no_better": [no_better(plan, k) for k in places] if done else None,
        "rows_needed": [plan.rows_needed(k) for k in places],
        "sentences": list(model_sentences(plan)),
        "interval_sentences": list(interval_sentences(plan)),
        "rows_that_tell": [plan.rows_that_tell(k) for k in places],
        "larger_share": None
        if more is None
        else {"quality_share": LARGER_SHARE, "cells": [quality_cell(more, k) for k in places]},
        "quality_sentences": list(quality_sentences(plan)),
    }


def _line(line: ModelLine, plan: ModelPlan) -> dict[str, Any]:
    cells = []
    for k, epsilon in enumerate(line.epsilons):
        (low, high), width = line.range(k), line.half_width(k)
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
                "effect_half_width": None if width is None else finite_or_none(width),
            }
        )
    possible = {"without_privacy": line.without_privacy}
    return {"rows": line.rows, "tables": len(line.tables), **possible, "cells": cells}


def quality_table(plan: ModelPlan) -> Table:
    """Make a table: a line for every number of rows, a column for every ε."""
    table = columns_of(f"{LEVEL:.0%} interval of {plan.measure}", plan.epsilons)
    named = [(line, "yours" if line.rows == plan.rows else "") for line in plan.by_rows]
    if plan.larger_share is not None:
        named.append((plan.larger_share, f"--quality-share {LARGER_SHARE:g}"))
    for line, remark in named:
        name = f"{line.rows:,} rows" + f", {remark}" * bool(remark)
        table.add_row(name, *(_width(line, k) for k in range(len(plan.epsilons))))
    return table


def _width(line: ModelLine, k: int) -> str:
    quality = line.quality(k)
    if quality is None:
        return ""
    mark = rough_mark(len(line.tables))
    return f"{mark}{width_in_words(quality)} ({quality.above_chance:.0%})"


def quality_legend(plan: ModelPlan) -> str:
    """Say in words what the numbers of the table are."""
    return (
        f"Half of the width of the interval that fit --quality-share {plan.quality_share:g} would "
        "release, the median of simulated models (open: it has no lower end); in brackets how many "
        f"of these intervals lie above {without_a_model(plan)}. Would do: {OFTEN_ENOUGH:.0%} of "
        f"them do so, in {LEAST_TABLES} tables or more."
    )


def quality_cell(line: ModelLine, k: int) -> dict[str, float | None] | None:
    """Return the width of the interval at an ε, null where it is open; None without a quality."""
    quality = line.quality(k)
    if quality is None:
        return None
    half_width = finite_or_none(quality.half_width)
    return {"half_width": half_width, "above_chance": quality.above_chance}
