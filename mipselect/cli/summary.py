"""What the trials of `mipselect bench` amount to, by selector and ε."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median, stdev
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mipselect.cli.output import heading
from mipselect.cli.trial_file import DONE, Row


def mean_and_error(rows: Sequence[Row], key: str) -> tuple[float, float | None]:
    """Mean of `key` over trials, and its standard error.

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
    """One entry for every instance and n, with a line for every selector and ε; JSON-ready."""
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["instance"], row["n"]), []).append(row)
    return [
        {
            "instance": name,
            "n": n,
            "p": group[0]["p"],
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


def print_summary(console: Console, summary: Iterable[Mapping[str, Any]]) -> None:
    """Print a table for every entry of `summarise`."""
    for entry in summary:
        seeds = ", ".join(map(str, entry["data_seeds"]))
        heading(
            console,
            f"{entry['instance']}: n = {entry['n']:,}, p = {entry['p']:,}, "
            f"s = {entry['support_size']}, {entry['loss']} loss"
            + (f", data seeds {seeds}" if seeds else "")
            + (f"; ε under {entry['relation']}" if entry["relation"] else ""),
        )
        table = Table()
        table.add_column("selector", no_wrap=True)
        for title in ("ε", "trials", "exact", "F1", "gap/Δ", "s/draw", "s/fit"):
            table.add_column(title, justify="right", no_wrap=True)
        table.add_column("remark")
        for line in entry["selectors"]:
            table.add_row(*_cells(line))
        console.print(table)


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


def _cells(line: Mapping[str, Any]) -> list[str]:
    head = [escape(line["selector"]), f"{line['epsilon']:g}", f"{line['trials']:,}"]
    status = "" if line["status"] == DONE else line["status"]
    if not line["trials"]:
        return [*head, "-", "-", "-", "-", "-", status]
    without, data_sets = line["data_sets_without_its_condition"], line["data_sets"]
    remarks = [status] if status else []
    if without:
        remarks.append("condition not met" + (f" on {without}" if data_sets > 1 else ""))
    return [
        *head,
        _with_error(line["exact"], line["exact_standard_error"]),
        _with_error(line["f1"], line["f1_standard_error"]),
        f"{line['median_gap_in_sensitivities']:.3g}",
        f"{line['seconds_per_draw']:.2g}",
        f"{line['seconds_per_fit']:.2g}",
        "; ".join(remarks),
    ]


def _with_error(value: float, error: float | None) -> str:
    return f"{value:.2f}" if error is None else f"{value:.2f} ± {error:.2f}"
