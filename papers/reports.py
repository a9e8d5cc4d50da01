"""An experiment's figure, its table as CSV and Markdown, and its verdict."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mipselect.pictures import Panel, Picture, Series, as_file, drawn, plain_style

from .claims import Finding
from .experiment import DifferenceMap, Experiment, Figure, LineFigure, Metric, Results

MOST_COLUMNS = 20
"""Values of x in a Markdown table; the CSV has all."""

SEEDED = "Experiment with seeded draws, not private."
QUICK = "A quick run has few trials: its verdicts say that it works, not what holds."
SENSITIVE = "SENSITIVE: computed from the tables in --data without any privacy."


@dataclass(frozen=True)
class Made:
    """Subject of a report.

    Attributes
    ----------
    experiment : Experiment
    results : Results
    findings : sequence of Finding
        One for each claim.
    quick, sensitive : bool
    trials : int
        That were run, in all.
    seconds : float
        Seconds of computation, in all.
    base_seed, data_seed : int
        Seeds of the draws, and of the data.
    missing : sequence of str
        What could not be run, and why.
    most_repeats : int or None
        If there are fewer than declared.
    """

    experiment: Experiment
    results: Results
    findings: Sequence[Finding]
    quick: bool
    sensitive: bool
    trials: int
    seconds: float
    base_seed: int
    data_seed: int
    missing: Sequence[str]
    most_repeats: int | None = None

    @property
    def command(self) -> str:
        """Command that makes it again."""
        parts = ["mipselect reproduce", self.experiment.name]
        parts += ["--quick"] if self.quick else []
        parts += [f"--repeats {self.most_repeats}"] if self.most_repeats else []
        parts += [f"--seed {self.base_seed}"] if self.base_seed else []
        parts += [f"--data-seed {self.data_seed}"] if self.data_seed else []
        parts += ["--data FOLDER"] if self.experiment.needs else []
        return " ".join(parts)


def as_csv(results: Results) -> str:
    """Write all numbers, one a line."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        ["metric", "panel", "method", "x", "value", "standard_error", "low", "high", "repeats"]
    )
    for place, middle in results.middles.items():
        error = "" if middle.error is None else f"{middle.error:.6g}"
        value, low, high = (
            f"{number:.10g}" if math.isfinite(number) else ""
            for number in (middle.value, *(middle.interval or (math.nan, math.nan)))
        )
        numbers = value, error, low, high, middle.count
        writer.writerow([place.metric, place.panel, place.method, f"{place.x:g}", *numbers])
    return text.getvalue()


def as_markdown(made: Made) -> str:
    """Write the verdict, then a table for every metric and panel."""
    experiment, results = made.experiment, made.results
    trials = f"{made.trials:,} trial{'' if made.trials == 1 else 's'}"
    parts = [
        f"# {experiment.title}",
        f"{experiment.paper}: {experiment.row}.",
        f"    {made.command}",
        f"{trials}, draws of seed {made.base_seed}, data and splits of seed {made.data_seed}, "
        f"{duration(made.seconds)} of computation. {SEEDED}",
    ]
    parts += [SENSITIVE] if made.sensitive else []
    parts += [QUICK] if made.quick else []
    if experiment.notes:
        parts.append("\n".join(f"- {note}" for note in experiment.notes))
    parts += [f"**Not run:** {reason}" for reason in made.missing]
    parts += ["## Claims", _claims(made)]
    for metric in experiment.metrics:
        for panel in results.panels(metric.key):
            words = metric.words + (" (median and where it is, by 95 %)" if metric.median else "")
            parts.append(f"## {words}" + (f": {panel}" if panel else ""))
            parts.append(_table(experiment, results, metric, panel))
    return "\n\n".join(parts) + "\n"


def _claims(made: Made) -> str:
    rows = ["| claim | verdict | measured |", "| --- | --- | --- |"]
    rows += [
        f"| {claim.text} | {finding.verdict} | {finding.evidence} |"
        for claim, finding in zip(made.experiment.claims, made.findings, strict=True)
    ]
    return "\n".join(rows)


def pictures(made: Made) -> list[tuple[str, bytes]]:
    """Draw every figure that has something in it, as SVG, with the suffix of its name."""
    return [
        (figure.suffix, _drawn(made, figure))
        for figure in made.experiment.figures
        if made.results.panels(figure.metric.key)
    ]


def duration(seconds: float) -> str:
    """Write seconds in words."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 5400.0 else f"{seconds / 3600.0:.1f} h"


def _table(experiment: Experiment, results: Results, metric: Metric, panel: str) -> str:
    lines = {
        method: results.line(panel, method, metric.key)
        for method in results.methods(metric.key, panel)
    }
    xs = sorted({x for line in lines.values() for x in line})
    if len(xs) > MOST_COLUMNS:
        step = (len(xs) - 1) / (MOST_COLUMNS - 1)
        xs = [xs[round(step * place)] for place in range(MOST_COLUMNS)]
    figures = (figure for figure in experiment.figures if isinstance(figure, LineFigure))
    across = next((figure.x_label for figure in figures), "")
    rows = [f"| {across} | " + " | ".join(f"{x:,.6g}" for x in xs) + " |"]
    rows.append("| --- |" + " ---: |" * len(xs))
    for method, line in lines.items():
        rows.append(
            f"| {method} | " + " | ".join(str(line[x]) if x in line else "" for x in xs) + " |"
        )
    return "\n".join(rows)


def _drawn(made: Made, figure: Figure) -> bytes:
    notes = ((SENSITIVE,) if made.sensitive else ()) + (SEEDED,)
    if isinstance(figure, DifferenceMap):
        return _map(made, figure, notes)
    return _lines(made, figure, notes)


def _lines(made: Made, figure: LineFigure, notes: tuple[str, ...]) -> bytes:
    results, metric = made.results, figure.metric
    panels = []
    for panel in results.panels(metric.key):
        lines = []
        for method in results.methods(metric.key, panel):
            found = {
                x: middle
                for x, middle in results.line(panel, method, metric.key).items()
                if math.isfinite(middle.value)
            }
            if found:
                means = tuple(middle.value for middle in found.values())
                errors = tuple(middle.error for middle in found.values())
                lines.append(Series(method, tuple(found), means, errors))
        panels.append(Panel(panel, tuple(lines)))
    return drawn(
        Picture(
            title=made.experiment.title,
            x_label=figure.x_label,
            y_label=metric.words,
            panels=tuple(panels),
            names=tuple(results.methods(metric.key)),
            yardstick="uniform",
            fraction=figure.fraction,
            log_x=figure.log_x,
            log_y=figure.log_y,
            notes=notes,
            alarming=made.sensitive,
        ),
        ".svg",
    )


def _map(made: Made, figure: DifferenceMap, notes: tuple[str, ...]) -> bytes:
    """Draw differences of fractions as colours, the same bytes every time."""
    from matplotlib.figure import Figure as Canvas

    results, key = made.results, figure.metric.key
    names = results.panels(key)
    rows = []
    for panel in names:
        first, second = (results.line(panel, one, key) for one in (figure.first, figure.second))
        rows.append({x: first[x].value - second[x].value for x in first if x in second})
    xs = sorted({x for row in rows for x in row})
    values = np.array([[row.get(x, np.nan) for x in xs] for row in rows])
    with plain_style():
        canvas = Canvas(figsize=(7.5, 1.6 + 0.32 * len(names)), layout="constrained")
        axes = canvas.subplots()
        image = axes.imshow(values, cmap="PuOr", vmin=-1.0, vmax=1.0, aspect="auto")
        axes.set_xticks(range(len(xs)), labels=[f"{x:g}" for x in xs], rotation=90)
        axes.set_yticks(range(len(names)), labels=names)
        title = f"{figure.metric.words}: {figure.first} less {figure.second}"
        axes.set(title=title, xlabel=figure.x_label)
        canvas.colorbar(image, ax=axes)
        canvas.supxlabel("\n".join(notes), fontsize="small", color="#444444")
        return as_file(canvas, ".svg")
