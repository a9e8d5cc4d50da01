"""The summary of `mipselect bench` as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mipselect.cli.output import heading
from mipselect.experiments.trial_file import DONE


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
