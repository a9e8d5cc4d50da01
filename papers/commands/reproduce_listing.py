"""`mipselect reproduce --list`: every experiment, and where it stands in the papers."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from mipselect.cli.extension import deliver, heading

from ..reproduce.catalogue import EXPERIMENTS
from ..reproduce.declared import PAPERS
from ..reproduce.reports import duration


def deliver_list(*, as_json: bool) -> None:
    """Print every experiment with its paper, its row in the list, and its times."""
    report: dict[str, Any] = {
        "command": "reproduce --list",
        "sensitive": False,
        "experiments": [
            {
                "name": experiment.name,
                "paper": experiment.paper,
                "row": experiment.row,
                "title": experiment.title,
                "needs": None if experiment.needs is None else experiment.needs.folder,
                "minutes": experiment.full.minutes,
                "minutes_quick": experiment.quick.minutes,
            }
            for experiment in EXPERIMENTS
        ],
    }

    def render(console: Console) -> None:
        for paper in PAPERS:
            heading(console, paper)
            for entry in report["experiments"]:
                if entry["paper"] == paper:
                    quick = duration(60.0 * entry["minutes_quick"])
                    full = duration(60.0 * entry["minutes"])
                    needs = f", needs {entry['needs']} in --data" if entry["needs"] else ""
                    line = f"  {entry['name']:<26} {entry['row']}: {entry['title']}"
                    line += f" ({quick} quick, {full} in full{needs})"
                    console.print(line, markup=False, soft_wrap=True)

    deliver(report, render, as_json=as_json, output=None)
