"""The summary of `mipselect bench` as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mipselect.cli.extension import dimension, heading

from ..bench.trial_file import DONE

SELECTOR, REMARK = "selector", "remark"
COLUMNS = (SELECTOR, "ε", "trials", "exact", "F1", "gap/Δ", "s/draw", "s/fit", REMARK)
LEFT_OUT_FIRST = ("s/draw", "s/fit", "gap/Δ", "F1", "trials")
"""Columns that a narrow terminal leaves out, in this order: a number is never cut."""

WIDEST = 1_000


def print_summary(console: Console, summary: Iterable[Mapping[str, Any]]) -> None:
    """Print a table for every entry of `summarise`."""
    left_out: Sequence[str] = ()
    for entry in summary:
        seeds = ", ".join(map(str, entry["data_seeds"]))
        heading(
            console,
            f"{entry['instance']}: n = {entry['n']:,}, "
            f"{dimension(entry['p'], entry['n_features'])}, "
            f"s = {entry['support_size']}, {entry['loss']} loss"
            + (f", data seeds {seeds}" if seeds else "")
            + (f"; ε under {entry['relation']}" if entry["relation"] else ""),
        )
        rows = [dict(zip(COLUMNS, _cells(line), strict=True)) for line in entry["selectors"]]
        for count in range(len(LEFT_OUT_FIRST) + 1):
            table = _table([name for name in COLUMNS if name not in LEFT_OUT_FIRST[:count]], rows)
            widths = console.measure(table, options=console.options.update(max_width=WIDEST))
            table.width = max(widths.minimum, min(widths.maximum, console.width))
            if table.width <= console.width:
                break
        console.print(table, crop=False)
        left_out = max(left_out, LEFT_OUT_FIRST[:count], key=len)
    if left_out:
        console.print(
            f"No room here for {', '.join(left_out)}: see --json, or a wider terminal.",
            markup=False,
            soft_wrap=True,
        )


def _table(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> Table:
    table = Table()
    for name in names:
        if name == REMARK:
            table.add_column(name)
            continue
        width = max(cell_len(text) for text in (name, *(row[name] for row in rows)))
        table.add_column(name, justify="left" if name == SELECTOR else "right", min_width=width)
    for row in rows:
        table.add_row(*(row[name] for name in names))
    return table


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
