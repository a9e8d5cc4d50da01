"""`mipselect plot`: the trials of `mipselect bench` as a figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from rich.console import Console

from mipselect.cli.extension import (
    SENSITIVE,
    Delivery,
    argument,
    banner,
    check_figure,
    command,
    deliver,
    group,
    option,
    options,
    regular_file,
    required,
    say,
    shown,
    write_whole,
)
from mipselect.errors import InvalidInput
from mipselect.pictures import Panel, Picture, Series, drawn

from ..contestants import CONTESTANTS
from ..contests import mean_and_error
from ..runner import Row, TrialFile

EXAMPLES = """Examples:

mipselect plot bench.jsonl --output exact.svg

mipselect plot rows.jsonl --x n --y seconds --epsilon 1 --output seconds.pdf
"""

SEEDED = "Experiment with seeded draws, not private."
YARDSTICK = "uniform"


class Across(StrEnum):
    """Quantity on the horizontal axis."""

    EPSILON = "epsilon"
    N = "n"


class Measure(StrEnum):
    """Quantity on the vertical axis."""

    EXACT = "exact"
    F1 = "f1"
    GAP = "gap"
    SECONDS = "seconds"


@dataclass(frozen=True)
class _Axis:
    """The key of a row that is shown, and its words."""

    key: str
    title: str
    label: str


X_LABELS = {
    Across.EPSILON: "ε of one draw, under {relation}",
    Across.N: "n, rows of data",
}
MEASURES = {
    Measure.EXACT: _Axis("exact", "Exact recovery of the optimum", "fraction of trials"),
    Measure.F1: _Axis("f1", "Overlap with the optimum", "mean F1"),
    Measure.GAP: _Axis(
        "gap_in_sensitivities", "Loss above the optimum", "mean gap, in sensitivities Δ"
    ),
    Measure.SECONDS: _Axis("seconds_fit", "Time of one fit", "mean time, in seconds"),
}


@options
class PlotArguments:
    """Arguments of `plot`."""

    file: Path = argument("FILE.jsonl", "What 'mipselect bench' has written.")
    output: Path = required("--output", "Receives the figure.", metavar="FILE.svg|png|pdf")
    x: Across | None = option(
        "--x", "Horizontal axis.", show_default="n if there are several, else epsilon"
    )
    y: Measure = option(
        "--y",
        "exact: fraction of exact recoveries; f1; gap: loss above the optimum in units of the "
        "sensitivity; seconds: time of one fit.",
        default=Measure.EXACT,
    )
    instance: str | None = option(
        "--instance", "Only this one.", metavar="NAME", show_default="all"
    )
    epsilon: float | None = option("--epsilon", "With n across: only this ε.", show_default="all")
    delivery: Delivery = group(Delivery, without=("--output",))


@command
def plot(arguments: PlotArguments) -> None:
    """Draw the trials in FILE: a line for each selector, a panel for each instance.

    Error bars are standard errors. A figure of sensitive trials carries the word
    SENSITIVE. Needs matplotlib, which comes with mipselect's extra "plot".
    """
    file, output = arguments.file, arguments.output
    x, y, epsilon = arguments.x, arguments.y, arguments.epsilon
    check_figure(output, "--output", [file], replace=arguments.delivery.replace)
    read = TrialFile(regular_file(file))
    if read.rest:
        say(f"the last line of {file} is half-written and is left out")
    rows = [
        line for _, row in read.rows if row["experiment"] == "bench" for line in row["readings"]
    ]
    rows = _chosen(rows, "instance", "--instance", arguments.instance, file)
    if x is None:
        sizes = {(row["instance"], row["n"]) for row in rows}
        x = Across.N if len(sizes) > len({name for name, _ in sizes}) else Across.EPSILON
    if epsilon is not None and x is not Across.N:
        raise InvalidInput("--epsilon applies with n across only: --x n")
    rows = _chosen(rows, "epsilon", "--epsilon", epsilon, file)
    rows = list(_each_once(rows, file))
    if not rows:
        raise InvalidInput(f"{file}: there are no trials to draw")
    sensitive = any(row["sensitive"] for row in rows)
    picture = _picture(rows, x, y, sensitive=sensitive)
    write_whole(output, drawn(picture, output.suffix), sensitive=sensitive)
    report: dict[str, Any] = {
        "command": "plot",
        "sensitive": sensitive,
        "private": False,
        "randomness": "seeded",
        "output": str(output),
        "x": x.value,
        "y": y.value,
        "panels": [asdict(panel) for panel in picture.panels],
    }

    def render(console: Console) -> None:
        if sensitive:
            banner(console, SENSITIVE)
        count = len(picture.panels)
        what = f"{output}: {picture.title}, {count} panel{'s' if count > 1 else ''}"
        console.print(what, markup=False, soft_wrap=True)

    deliver(report, render, as_json=arguments.delivery.as_json, output=None)


def _chosen(
    rows: Sequence[Row], key: str, option: str, wanted: str | float | None, file: Path
) -> list[Row]:
    """Choose the rows with this value of `key`, all for None; raise an error if there are none."""
    chosen = [row for row in rows if wanted is None or row[key] == wanted]
    if rows and not chosen:
        there = ", ".join(str(value) for value in dict.fromkeys(row[key] for row in rows))
        raise InvalidInput(f"{option} {wanted}: not in {file}, which has {there}")
    return chosen


def _each_once(rows: Iterable[Row], file: Path) -> Iterable[Row]:
    """Leave out what two runs have written at the same time; refuse runs that are not alike."""
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        keys = ("instance", "n", "data_seed", "selector", "epsilon", "trial")
        other = found.setdefault(tuple(row[key] for key in keys), row)
        for key in ("fingerprint", "options", "base_seed"):
            if row[key] != other[key]:
                raise InvalidInput(
                    f"{file}: it has runs of {row['selector']} on {row['instance']} that differ in "
                    f"{key}: {shown(other[key])} and {shown(row[key])}"
                )
    return found.values()


def _picture(trials: Sequence[Row], x: Across, y: Measure, *, sensitive: bool) -> Picture:
    axis = MEASURES[y]
    other = "n" if x is Across.EPSILON else "epsilon"
    groups: dict[tuple[str, float], list[Row]] = {}
    for row in trials:
        groups.setdefault((row["instance"], row[other]), []).append(row)
    panels = tuple(
        Panel(_title(group[0], x), _lines(group, x.value, axis.key)) for group in groups.values()
    )
    relation = " and ".join(sorted({row["relation"] for row in trials}))
    found = dict.fromkeys(row["selector"] for row in trials)
    return Picture(
        title=axis.title,
        x_label=X_LABELS[x].format(relation=relation),
        y_label=axis.label,
        panels=panels,
        names=(*CONTESTANTS, *(name for name in found if name not in CONTESTANTS)),
        yardstick=YARDSTICK,
        fraction=y in (Measure.EXACT, Measure.F1),
        log_x=x is Across.EPSILON,
        log_y=y is Measure.SECONDS,
        notes=((SENSITIVE,) if sensitive else ()) + (SEEDED, *_unmet(trials)),
        alarming=sensitive,
    )


def _unmet(trials: Sequence[Row]) -> Iterable[str]:
    """Yield a sentence for every selector that is not private on some of the data."""
    unmet: dict[str, dict[str, None]] = {}
    for row in trials:
        if row["condition_met"] is False:
            unmet.setdefault(row["selector"], {})[row["instance"]] = None
    for selector, instances in unmet.items():
        where = ", ".join(instances)
        yield f"The condition of {selector} is not met on {where}: ε is not promised there."


def _title(row: Mapping[str, Any], x: Across) -> str:
    fixed = f"n = {row['n']:,}" if x is Across.EPSILON else f"ε = {row['epsilon']:g}"
    return f"{row['instance']}: {fixed}, p = {row['p']:,}, s = {row['support_size']}"


def _lines(group: Sequence[Row], across: str, key: str) -> tuple[Series, ...]:
    selectors: dict[str, dict[float, list[Row]]] = {}
    for row in group:
        selectors.setdefault(row["selector"], {}).setdefault(row[across], []).append(row)
    lines = []
    for name, by_x in selectors.items():
        xs = sorted(by_x)
        points = [mean_and_error(by_x[x], key) for x in xs]
        means, errors = zip(*points, strict=True)
        lines.append(Series(name, tuple(xs), means, errors))
    return tuple(lines)
