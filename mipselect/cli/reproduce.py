"""`mipselect reproduce`: the figures and tables of the papers, one command each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from mipselect.cli.options import AsJson
from mipselect.cli.output import (
    SENSITIVE,
    InterruptedRun,
    banner,
    check_writable,
    deliver,
    heading,
    write_whole,
)
from mipselect.cli.reproduce_listing import deliver_list
from mipselect.cli.streams import say
from mipselect.cli.trial_watch import TrialWatch
from mipselect.errors import InvalidInput, MipselectError
from mipselect.experiments.figure import require_matplotlib
from mipselect.experiments.papers.catalogue import EXPERIMENTS, experiment_named
from mipselect.experiments.papers.declared import Experiment
from mipselect.experiments.papers.reports import (
    QUICK,
    Made,
    as_csv,
    as_markdown,
    duration,
    pictures,
)
from mipselect.experiments.papers.runs import (
    LINES,
    Trial,
    all_measured,
    done_already,
    results_of,
    trials_of,
)
from mipselect.experiments.papers.sources import DataSource
from mipselect.experiments.trial_file import DONE, TrialFile
from mipselect.validation import checked_integer

ALL = "all"
MOST_PROCESSES = 256
LARGEST_DATA_SEED = 2**31
EXPERIMENT = "NOT PRIVATE: an experiment. Its draws are seeded, so they protect nobody."

EXAMPLES = """Examples:

mipselect reproduce --list

mipselect reproduce mip-1a --quick

mipselect reproduce canonical-counts --data shared/data --output figures

mipselect reproduce all --quick --jobs 2
"""


@dataclass(frozen=True)
class _Asked:
    """What the command line says beside the names."""

    quick: bool
    data: Path | None
    output: Path
    processes: int
    most_repeats: int | None
    base_seed: int
    data_seed: int
    with_figures: bool

    def path(self, experiment: Experiment, end: str) -> Path:
        scale = "-quick" if self.quick else ""
        return self.output / f"{experiment.name}{scale}{end}"


@dataclass(frozen=True)
class _Work:
    """An experiment, its trials, and how many of them are to be run."""

    experiment: Experiment
    source: DataSource | None
    trials: Sequence[Trial]
    missing: int


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Of --list, several, or 'all'."),
    ] = None,
    listing: Annotated[
        bool, typer.Option("--list", help="Name every experiment and how long it takes.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Few trials, within a minute each.")
    ] = False,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="PATH",
            help="A folder with scores/*.npy, microarray/*.npz and regression/*.csv.gz, or with "
            "such files themselves, or one of them.",
            show_default="none: what needs data is left out of 'all'",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", metavar="FOLDER", help="Receives figures and tables.")
    ] = Path("reproduced"),
    processes: Annotated[
        int,
        typer.Option("--jobs", help="Processes. Set OMP_NUM_THREADS=1 where there are several."),
    ] = 1,
    repeats: Annotated[
        int | None,
        typer.Option(
            "--repeats",
            help="Only so many runs of each setting at most; the rest may follow later.",
            show_default="all",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", help="Of all draws; the data stay as they are.")
    ] = 0,
    data_seed: Annotated[
        int,
        typer.Option(
            "--data-seed",
            help="Of generated data and of splits of tables; what is drawn with stays as it is.",
        ),
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Make the papers' figures and tables again, and say what of their claims was seen.

    Each experiment NAME writes NAME.md (the verdict and the tables), NAME.csv,
    NAME.svg and NAME.jsonl, one line a trial. After an interruption the same
    command goes on where it stopped, with the same numbers. With --quick the
    names end in -quick.

    An experiment, NOT PRIVATE: draws are seeded, and what comes from the tables
    in --data is SENSITIVE. Figures need matplotlib, which comes with mipselect's
    extra "plot".
    """
    if listing:
        if names:
            raise InvalidInput("--list takes no name")
        deliver_list(as_json=as_json)
        return
    if not names:
        raise InvalidInput("which experiment? A name, or 'all' (see mipselect reproduce --list)")
    chosen = _chosen(names)
    checked_integer(processes, "--jobs", 1, MOST_PROCESSES)
    checked_integer(seed, "--seed", 0)
    checked_integer(data_seed, "--data-seed", 0, LARGEST_DATA_SEED)
    if repeats is not None:
        checked_integer(repeats, "--repeats", 1)
    if data is not None and not data.exists():
        raise InvalidInput(_absent(chosen, data))
    sources, left_out = _sources(chosen, data, leave_out=ALL in names)
    asked = _Asked(
        quick, data, output, processes, repeats, seed, data_seed, _figures_can_be_drawn()
    )
    _prepare(asked, [experiment for experiment, _ in sources])
    for reason in left_out:
        say(reason)
    works = [_work(experiment, source, asked) for experiment, source in sources]
    _say_time(works, quick=quick)
    made = [_run(work, asked) for work in works]
    _deliver(made, left_out, asked, as_json=as_json)
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
    """The data of every experiment, and what is left out for want of them."""
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
    """There is no --data: what is needed in it, and where that is had."""
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


def _prepare(asked: _Asked, experiments: Sequence[Experiment]) -> None:
    """Make the folder; complain before any work about what could not be written in the end."""
    folder = asked.output
    try:
        folder.mkdir(exist_ok=True)
    except FileNotFoundError as error:
        raise InvalidInput(f"--output {folder}: {folder.parent} does not exist") from error
    except FileExistsError as error:
        raise InvalidInput(f"--output {folder}: is a file, not a folder") from error
    except OSError as error:
        raise InvalidInput(f"--output {folder}: {error.strerror or error}") from error
    for experiment in experiments:
        for end in (".jsonl", ".md", ".csv", *_svgs(experiment)):
            check_writable(asked.path(experiment, end))


def _svgs(experiment: Experiment) -> list[str]:
    return [f"{figure.suffix}.svg" for figure in experiment.figures]


def _work(experiment: Experiment, source: DataSource | None, asked: _Asked) -> _Work:
    """List the trials of an experiment and look which of them the file has already."""
    trials = trials_of(
        experiment,
        source,
        quick=asked.quick,
        base_seed=asked.base_seed,
        data_seed=asked.data_seed,
        most_repeats=asked.most_repeats,
    )
    done = done_already(TrialFile(asked.path(experiment, ".jsonl"), LINES))
    return _Work(experiment, source, trials, sum(t.identity not in done for t in trials))


def _say_time(works: Sequence[_Work], *, quick: bool) -> None:
    seconds = 0.0
    for work in works:
        scale = work.experiment.scale(quick=quick)
        share = work.missing / (len(work.trials) or 1)
        if work.trials:
            share *= max(trial.repeat for trial in work.trials) / scale.repeats
        seconds += 60.0 * scale.minutes * share
    if seconds:
        say(f"about {duration(seconds)} on one core")


def _run(work: _Work, asked: _Asked) -> Made:
    experiment, trials = work.experiment, work.trials
    path = asked.path(experiment, ".jsonl")
    missing: list[str] = []
    with TrialFile(path, LINES) as file:
        done = done_already(file)
        todo = [trial for trial in trials if trial.identity not in done]
        if len(todo) < len(trials):
            kept = len(trials) - len(todo)
            say(f"{kept:,} of {len(trials):,} trials are done already, in {path}")
        try:
            with TrialWatch(len(trials) - len(todo), len(trials)) as watch:
                for trial, row in all_measured(todo, asked.processes):
                    file.append(row)
                    watch.begin(f"{experiment.name}: {trial.recipe.title}")
                    watch.advance()
                    if row["status"] == DONE:
                        done[trial.identity] = row
                    else:
                        which = f"{trial.recipe.title}, repeat {trial.repeat}"
                        missing.append(f"{which}: {row['remark']}")
        except KeyboardInterrupt:
            kept = sum(trial.identity in done for trial in trials)
            raise InterruptedRun(
                f"interrupted: {kept:,} of {len(trials):,} trials of {experiment.name} are kept in "
                f"{path}; the same command goes on from there"
            ) from None
    rows = [done[trial.identity] for trial in trials if trial.identity in done]
    results = results_of(experiment, rows)
    made = Made(
        experiment=experiment,
        results=results,
        findings=[claim.judged(results) for claim in experiment.claims],
        quick=asked.quick,
        sensitive=work.source is not None,
        trials=len(rows),
        seconds=sum(row["seconds"] for row in rows),
        base_seed=asked.base_seed,
        data_seed=asked.data_seed,
        missing=missing,
        most_repeats=asked.most_repeats,
    )
    _write(made, asked)
    return made


def _write(made: Made, asked: _Asked) -> None:
    files = {".csv": as_csv(made.results).encode(), ".md": as_markdown(made).encode()}
    if asked.with_figures:
        files |= {f"{suffix}.svg": content for suffix, content in pictures(made)}
    for end, content in files.items():
        write_whole(asked.path(made.experiment, end), content, sensitive=made.sensitive)


def _deliver(
    made: Sequence[Made], left_out: Sequence[str], asked: _Asked, *, as_json: bool
) -> None:
    sensitive = any(one.sensitive for one in made)
    report: dict[str, Any] = {
        "command": "reproduce",
        "sensitive": sensitive,
        "private": False,
        "randomness": "seeded",
        "warning": [SENSITIVE, EXPERIMENT] if sensitive else [EXPERIMENT],
        "quick": asked.quick,
        "left_out": list(left_out),
        "experiments": [_entry(one, asked) for one in made],
    }

    def render(console: Console) -> None:
        for warning in report["warning"]:
            banner(console, warning)
        if asked.quick:
            console.print(QUICK, markup=False, soft_wrap=True)
        for entry in report["experiments"]:
            heading(console, f"{entry['name']}: {entry['title']}")
            for claim in entry["claims"]:
                line = f"  {claim['verdict']}: {claim['claim']} ({claim['measured']})"
                console.print(line, markup=False, soft_wrap=True)
            for reason in entry["missing"]:
                console.print(f"  not run: {reason}", markup=False, soft_wrap=True)
            console.print(f"  {', '.join(entry['files'])}", markup=False, soft_wrap=True)

    deliver(report, render, as_json=as_json, output=None)


def _entry(made: Made, asked: _Asked) -> dict[str, Any]:
    experiment = made.experiment
    ends = [".md", ".csv", *(_svgs(experiment) if asked.with_figures else []), ".jsonl"]
    paths = [asked.path(experiment, end) for end in ends]
    return {
        "name": experiment.name,
        "paper": experiment.paper,
        "title": experiment.title,
        "command": made.command,
        "trials": made.trials,
        "seconds": made.seconds,
        "claims": [
            {"claim": claim.text, "verdict": finding.verdict, "measured": finding.evidence}
            for claim, finding in zip(experiment.claims, made.findings, strict=True)
        ],
        "missing": list(made.missing),
        "files": [str(path) for path in paths if path.exists()],
    }
