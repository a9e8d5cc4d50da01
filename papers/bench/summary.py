"""Summary of the trials of `mipselect bench`, by selector and ε."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, median, stdev
from typing import Any

from .trial_file import DONE, Row


def mean_and_error(rows: Sequence[Row], key: str) -> tuple[float, float | None]:
    """Compute the mean of `key` over trials, and its standard error.

    With several data sets both are taken over the means of the data sets: trials on the same
    data are not independent of them. One number has no standard error.
    """
    by_data: dict[int | None, list[float]] = {}
    for row in rows:
        by_data.setdefault(row["data_seed"], []).append(float(row[key]))
    values = [fmean(group) for group in by_data.values()]
    if len(values) == 1:
        (values,) = by_data.values()
    error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
    return fmean(values), error


def summarise(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Sum up every instance and n, with a line for every selector and ε; ready for JSON."""
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["instance"], row["n"]), []).append(row)
    return [
        {
            "instance": name,
            "n": n,
            "p": group[0]["p"],
            # Lines from before there were features of several columns do not say it.
            "n_features": group[0].get("n_features", group[0]["p"]),
            "support_size": group[0]["support_size"],
            "loss": group[0]["loss"],
            "data_seeds": sorted({row["data_seed"] for row in group} - {None}),
            "sensitive": any(row["sensitive"] for row in group),
            "relation": " and ".join(
                sorted({row["relation"] for row in group if row["status"] == DONE})
            ),
            "selectors": _lines(group),
        }
        for (name, n), group in groups.items()
    ]


def _lines(group: Sequence[Row]) -> list[dict[str, Any]]:
    cells: dict[tuple[str, float], list[Row]] = {}
    for row in group:
        cells.setdefault((row["selector"], row["epsilon"]), []).append(row)
    return [
        {"selector": selector, "epsilon": epsilon, **_line(rows)}
        for (selector, epsilon), rows in cells.items()
    ]


def _line(rows: Sequence[Row]) -> dict[str, Any]:
    trials = [row for row in rows if row["status"] == DONE]
    refused = [row for row in rows if row["status"] != DONE]
    status = refused[0]["status"] if refused else DONE
    remark = refused[0]["remark"] if refused else ""
    if not trials:
        return {"status": status, "remark": remark, "trials": 0}
    exact, exact_error = mean_and_error(trials, "exact")
    f1, f1_error = mean_and_error(trials, "f1")
    unmet = {row["data_seed"] for row in trials if row["condition_met"] is False}
    return {
        "status": status,
        "remark": remark,
        "trials": len(trials),
        "data_sets": len({row["data_seed"] for row in trials}),
        "exact": exact,
        "exact_standard_error": exact_error,
        "f1": f1,
        "f1_standard_error": f1_error,
        "median_loss_gap": median(row["loss_gap"] for row in trials),
        "median_gap_in_sensitivities": median(row["gap_in_sensitivities"] for row in trials),
        "seconds_per_draw": fmean(row["seconds_draw"] for row in trials),
        "seconds_per_fit": fmean(row["seconds_fit"] for row in trials),
        "relation": trials[0]["relation"],
        "data_sets_without_its_condition": len(unmet),
    }
