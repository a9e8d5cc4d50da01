"""`mipselect reproduce`: the figures and tables of the papers, one command each."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from rich.console import Console

from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.output import (
    SENSITIVE,
    Delivery,
    banner,
    check_writable,
    heading,
    write_whole,
)
from mipselect.cli.start import say
from mipselect.documents.pictures import (
    Picture,
    Series,
    drawn,
    require_matplotlib,
)
from mipselect.errors import InvalidInput, MipselectError
from mipselect.validation import checked_integer

from ..catalogue import EXPERIMENTS, experiment_named
from ..claims import Finding
from ..experiment import (
    PAPERS,
    Experiment,
    LineFigure,
    Metric,
    Results,
)
from ..runner import EXPERIMENT, Row, Trial, TrialFile, done_already, run
from ..sources import DataSource

ALL = "all"
MOST_PROCESSES = 256
LARGEST_DATA_SEED = 2**31
MOST_COLUMNS = 20
"""Values of x in a Markdown table; the CSV has all."""

SEEDED = "Experiment with seeded draws, not private."
QUICK = "A quick run has few trials: its verdicts say that it works, not what holds."
OF_TABLES = "SENSITIVE: computed from the tables in --data without any privacy."

_Work = tuple[Experiment, DataSource | None, list[Trial]]

EXAMPLES = """Examples:

mipselect reproduce --list

mipselect reproduce mip-1a --quick

mipselect reproduce canonical-counts --data shared/data --output figures

mipselect reproduce all --quick --jobs 2
"""


@options
class ReproduceArguments:
    """Arguments of `reproduce`."""

    names: list[str] | None = argument("NAME", "Of --list, several, or 'all'.", default=None)
    listing: bool = option("--list", "Name every experiment and how long it takes.", default=False)
    quick: bool = option("--quick", "Few trials, within a minute each.", default=False)
    data: Path | None = option(
        "--data",
        "A folder with scores/*.npy, microarray/*.npz and regression/*.csv.gz, or with such files "
        "themselves, or one of them.",
        metavar="PATH",
        show_default="none: what needs data is left out of 'all'",
    )
    output: Path = option(
        "--output", "Receives figures and tables.", default=Path("reproduced"), metavar="FOLDER"
    )
    processes: int = option(
        "--jobs", "Processes. Set OMP_NUM_THREADS=1 where there are several.", default=1
    )
    repeats: int | None = option(
        "--repeats",
        "Only so many runs of each setting at most; the rest may follow later.",
        show_default="all",
    )
    seed: int = option("--seed", "Of all draws; the data stay as they are.", default=0)
    data_seed: int = option(
        "--data-seed",
        "Of generated data and of splits of tables; what is drawn with stays as it is.",
        default=0,
    )
    delivery: Delivery = group(Delivery, without=("--output", "--replace"))

    def check_numbers(self) -> None:
        """Raise `InvalidInput` for a number out of its range, naming the option."""
        checked_integer(self.processes, "--jobs", 1, MOST_PROCESSES)
        checked_integer(self.seed, "--seed", 0)
        checked_integer(self.data_seed, "--data-seed", 0, LARGEST_DATA_SEED)
        if self.repeats is not None:
            checked_integer(self.repeats, "--repeats", 1)

    def path(self, experiment: Experiment, end: str) -> Path:
        """Name the file of an experiment."""
        scale = "-quick" if self.quick else ""
        return self.output / f"{experiment.name}{scale}{end}"


@dataclass(frozen=True)
class Made:
    """An experiment that was run, with what was found, one finding for each claim.

    Attributes
    ----------
    experiment : Experiment
    arguments : ReproduceArguments
    sensitive : bool
    rows : list of mapping
        Trials.
    missing : list of str
        What could not be run, and why.
    files : list of Path
        What was written.
    """

    experiment: Experiment
    arguments: ReproduceArguments
    sensitive: bool
    rows: list[Row]
    missing: list[str]
    files: list[Path] = field(default_factory=list)

    @cached_property
    def results(self) -> Results:
        """All numbers of the trials."""
        return self.experiment.results(self.rows)

    @cached_property
    def findings(self) -> list[Finding]:
        """Verdicts on the claims, in their order."""
        return [claim.judged(self.results) for claim in self.experiment.claims]

    @property
    def seconds(self) -> float:
        """Seconds of computation, in all."""
        return float(sum(row["seconds"] for row in self.rows))

    @property
    def command(self) -> str:
        """Command that makes it again."""
        given = self.arguments
        parts = ["mipselect reproduce", self.experiment.name]
        parts += ["--quick"] if given.quick else []
        parts += [f"--repeats {given.repeats}"] if given.repeats else []
        parts += [f"--seed {given.seed}"] if given.seed else []
        parts += [f"--data-seed {given.data_seed}"] if given.data_seed else []
        parts += ["--data FOLDER"] if self.experiment.needs else []
        return " ".join(parts)


@command
def reproduce(arguments: ReproduceArguments) -> None:
    """Make the papers' figures and tables again, and say which of their claims were seen.

    Each experiment NAME writes NAME.md (the verdict and the tables), NAME.csv,
    NAME.svg and NAME.jsonl, one line a trial. After an interruption the same
    command goes on where it stopped, with the same numbers. With --quick the
    names end in -quick.

    An experiment, NOT PRIVATE: draws are seeded, and what comes from the tables
    in --data is SENSITIVE. Figures need matplotlib, which comes with mipselect's
    extra "plot".
    """
    names, data = arguments.names, arguments.data
    if arguments.listing:
        if names:
            raise InvalidInput("--list takes no name")
        _deliver_list(arguments.delivery)
        return
    if not names:
        raise InvalidInput("which experiment? A name, or 'all' (see mipselect reproduce --list)")
    chosen = _chosen(names)
    arguments.check_numbers()
    if data is not None and not data.exists():
        raise InvalidInput(_absent(chosen, data))
    sources, left_out = _sources(chosen, data, leave_out=ALL in names)
    with_figures = _figures_can_be_drawn()
    _prepare(arguments, [experiment for experiment, _ in sources])
    for reason in left_out:
        say(reason)
    works = [(experiment, source, _trials(experiment, source, arguments))
             for experiment, source in sources]  # fmt: skip
    _say_time(works, arguments)
    made = [_made(*work, arguments, with_figures=with_figures) for work in works]
    _deliver(made, left_out, arguments)
    failures = [f"{one.experiment.name}: {reason}" for one in made for reason in one.missing]
    if failures:
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        raise MipselectError(failures[0] + more)


def _chosen(names: Sequence[str]) -> list[Experiment]:
    if ALL in names:
        if len(names) > 1:
            raise InvalidInput("'all' already has the other names")
        return list(EXPERIMENTS)
    return [experiment_named(name) for name in dict.fromkeys(names)]


def _sources(
    chosen: Sequence[Experiment], data: Path | None, *, leave_out: bool
) -> tuple[list[tuple[Experiment, DataSource | None]], list[str]]:
    """Find the data of every experiment, and what is left out for want of them."""
    found: list[tuple[Experiment, DataSource | None]] = []
    left_out = []
    for experiment in chosen:
        if experiment.needs is None:
            found.append((experiment, None))
            continue
        try:
            found.append((experiment, DataSource.found(experiment.needs, data)))
        except InvalidInput as error:
            if not leave_out:
                raise InvalidInput(f"{experiment.name} {error}") from error
            left_out.append(f"left out {experiment.name}: it {error}")
    return found, left_out


def _absent(chosen: Sequence[Experiment], data: Path) -> str:
    """Say that there is no --data, what is needed in it, and where to get it."""
    needed = dict.fromkeys(experiment.needs for experiment in chosen if experiment.needs)
    kinds = "".join(f"; {kind.folder}/*{kind.suffix}: {kind.had}" for kind in needed)
    return f"--data {data}: no such file or folder{kinds}"


def _figures_can_be_drawn() -> bool:
    try:
        require_matplotlib()
    except InvalidInput as error:
        say(f"tables only, no figures: {error}")
        return False
    return True


def _prepare(arguments: ReproduceArguments, experiments: Sequence[Experiment]) -> None:
    """Make the folder; complain before any work about what could not be written in the end."""
    folder = arguments.output
    try:
        folder.mkdir(exist_ok=True)
    except FileNotFoundError as error:
        raise InvalidInput(f"--output {folder}: {folder.parent} does not exist") from error
    except FileExistsError as error:
        raise InvalidInput(f"--output {folder}: is a file, not a folder") from error
    except OSError as error:
        raise InvalidInput(f"--output {folder}: {error.strerror or error}") from error
    for experiment in experiments:
        svgs = (f"{figure.suffix}.svg" for figure in experiment.figures)
        for end in (".jsonl", ".md", ".csv", *svgs):
            check_writable(arguments.path(experiment, end))


def _trials(
    experiment: Experiment, source: DataSource | None, arguments: ReproduceArguments
) -> list[Trial]:
    """List every trial: all recipes for the first repeat, then for the second."""
    tables = [] if source is None else list(source.files)
    most = experiment.scale(quick=arguments.quick).repeats
    return [
        Trial(experiment.name, recipe, repeat, arguments.seed, arguments.data_seed, source)
        for repeat in range(1, min(most, arguments.repeats or most) + 1)
        for recipe in experiment.recipes(tables, quick=arguments.quick)
    ]


def _say_time(works: Sequence[_Work], arguments: ReproduceArguments) -> None:
    """Say how long what no file has yet will take; complain of a file of others."""
    seconds = 0.0
    for experiment, _, trials in works:
        done = done_already(TrialFile(arguments.path(experiment, ".jsonl")))
        scale = experiment.scale(quick=arguments.quick)
        share = sum(trial.identity not in done for trial in trials) / (len(trials) or 1)
        repeats = min(scale.repeats, arguments.repeats or scale.repeats)
        seconds += 60.0 * scale.minutes * share * repeats / scale.repeats
    if seconds:
        say(f"about {duration(seconds)} on one core")


def _made(
    experiment: Experiment,
    source: DataSource | None,
    trials: list[Trial],
    arguments: ReproduceArguments,
    *,
    with_figures: bool,
) -> Made:
    rows, failed = run(trials, arguments.path(experiment, ".jsonl"), arguments.processes)
    missing = [
        f"{trial.recipe.title}, repeat {trial.repeat}: {row['remark']}" for trial, row in failed
    ]
    made = Made(experiment, arguments, source is not None, rows, missing)
    contents = {".md": as_markdown(made).encode(), ".csv": as_csv(made.results).encode()}
    if with_figures:
        contents |= {f"{suffix}.svg": content for suffix, content in pictures(made)}
    for end, content in contents.items():
        made.files.append(arguments.path(experiment, end))
        write_whole(made.files[-1], content, sensitive=made.sensitive)
    made.files.append(arguments.path(experiment, ".jsonl"))
    return made


def _deliver(made: Sequence[Made], left_out: Sequence[str], arguments: ReproduceArguments) -> None:
    sensitive = any(one.sensitive for one in made)
    report: dict[str, Any] = {
        "command": "reproduce",
        "sensitive": sensitive,
        "private": False,
        "randomness": "seeded",
        "warning": [SENSITIVE, EXPERIMENT] if sensitive else [EXPERIMENT],
        "quick": arguments.quick,
        "left_out": list(left_out),
        "experiments": [_entry(one) for one in made],
    }

    def render(console: Console) -> None:
        for warning in report["warning"]:
            banner(console, warning)
        if arguments.quick:
            console.print(QUICK, markup=False, soft_wrap=True)
        for entry in report["experiments"]:
            heading(console, f"{entry['name']}: {entry['title']}")
            for claim in entry["claims"]:
                line = f"  {claim['verdict']}: {claim['claim']} ({claim['measured']})"
                console.print(line, markup=False, soft_wrap=True)
            for reason in entry["missing"]:
                console.print(f"  not run: {reason}", markup=False, soft_wrap=True)
            console.print(f"  {', '.join(entry['files'])}", markup=False, soft_wrap=True)

    arguments.delivery.deliver(report, render)


def _entry(made: Made) -> dict[str, Any]:
    experiment = made.experiment
    return {
        "name": experiment.name,
        "paper": experiment.paper,
        "title": experiment.title,
        "command": made.command,
        "trials": len(made.rows),
        "seconds": made.seconds,
        "claims": [
            {"claim": claim.text, "verdict": finding.verdict, "measured": finding.evidence}
            for claim, finding in zip(experiment.claims, made.findings, strict=True)
        ],
        "missing": made.missing,
        "files": [str(path) for path in made.files if path.exists()],
    }


def _deliver_list(delivery: Delivery) -> None:
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

    delivery.deliver(report, render)


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
    count, given = len(made.rows), made.arguments
    trials = f"{count:,} trial{'' if count == 1 else 's'}"
    parts = [
        f"# {experiment.title}",
        f"{experiment.paper}: {experiment.row}.",
        f"    {made.command}",
        f"{trials}, draws of seed {given.seed}, data and splits of seed {given.data_seed}, "
        f"{duration(made.seconds)} of computation. {SEEDED}",
    ]
    parts += [OF_TABLES] if made.sensitive else []
    parts += [QUICK] if given.quick else []
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
    across = experiment.figures[0].x_label if experiment.figures else ""
    rows = [f"| {across} | " + " | ".join(f"{x:,.6g}" for x in xs) + " |"]
    rows.append("| --- |" + " ---: |" * len(xs))
    for method, line in lines.items():
        rows.append(
            f"| {method} | " + " | ".join(str(line[x]) if x in line else "" for x in xs) + " |"
        )
    return "\n".join(rows)


def _drawn(made: Made, figure: LineFigure) -> bytes:
    results, metric = made.results, figure.metric
    panels: dict[str, tuple[Series, ...]] = {}
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
        panels[panel] = tuple(lines)
    return drawn(
        Picture(
            title=made.experiment.title,
            x_label=figure.x_label,
            y_label=metric.words,
            panels=panels,
            names=tuple(results.methods(metric.key)),
            yardstick="uniform",
            fraction=figure.fraction,
            log_x=figure.log_x,
            log_y=figure.log_y,
            notes=(*((OF_TABLES,) if made.sensitive else ()), SEEDED),
            alarming=made.sensitive,
        ),
        ".svg",
    )
