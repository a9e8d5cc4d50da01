"""The part of a plan about how well the quality of a model would be known: `--quality-share`."""

from __future__ import annotations

import math
from typing import Any

from rich.table import Table

from mipselect.planning.forecasts import LARGER_SHARE, LEAST_TABLES, ModelLine, ModelPlan
from mipselect.planning.model_sentences import without_a_model
from mipselect.planning.quality_forecasts import OFTEN_ENOUGH
from mipselect.planning.quality_sentences import quality_sentences, width_in_words
from mipselect.quality.measures import LEVEL


def quality_table(plan: ModelPlan) -> Table:
    """Make a table: a line for every number of rows, a column for every ε."""
    table = Table()
    table.add_column(f"{LEVEL:.0%} interval of {plan.measure}")
    for epsilon in plan.epsilons:
        table.add_column(f"ε = {epsilon:g}", justify="right")
    named = [(line, "yours" if line.rows == plan.rows else "") for line in plan.by_rows]
    if plan.larger_share is not None:
        named.append((plan.larger_share, f"--quality-share {LARGER_SHARE:g}"))
    for line, remark in named:
        name = f"{line.rows:,} rows" + f", {remark}" * bool(remark)
        table.add_row(name, *(_cell(line, k) for k in range(len(plan.epsilons))))
    return table


def _cell(line: ModelLine, k: int) -> str:
    quality = line.quality(k)
    if quality is None:
        return ""
    return f"{width_in_words(quality)} ({quality.above_chance:.0%})"


def quality_legend(plan: ModelPlan) -> str:
    """Say in words what the numbers of the table are."""
    return (
        f"Half of the width of the interval that fit --quality-share {plan.quality_share:g} would "
        "release, the median of simulated models (open: it has no lower end); in brackets how many "
        f"of these intervals lie above {without_a_model(plan)}. Would do: {OFTEN_ENOUGH:.0%} of "
        f"them do so, in {LEAST_TABLES} tables or more."
    )


def quality_report(plan: ModelPlan) -> dict[str, Any]:
    """Return what the JSON object of a plan of models has of their quality besides its lines."""
    line, places = plan.larger_share, range(len(plan.epsilons))
    return {
        "rows_that_tell": [plan.rows_that_tell(k) for k in places],
        "larger_share": None
        if line is None
        else {"quality_share": LARGER_SHARE, "cells": [quality_cell(line, k) for k in places]},
        "quality_sentences": list(quality_sentences(plan)),
    }


def quality_cell(line: ModelLine, k: int) -> dict[str, float | None] | None:
    """Return the width of the interval at an ε, null where it is open; None without a quality."""
    quality = line.quality(k)
    if quality is None:
        return None
    half_width = quality.half_width
    return {
        "half_width": half_width if math.isfinite(half_width) else None,
        "above_chance": quality.above_chance,
    }
