"""`mipselect bench`: every selector on the same data, trial by trial into a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mipselect.cli.extension import (
    SEARCH_PANEL,
    SENSITIVE,
    CountedProgress,
    Delivery,
    InterruptedRun,
    SearchArguments,
    argument,
    banner,
    check_writable,
    checked_integer,
    command,
    deliver,
    dimension,
    group,
    heading,
    option,
    options,
    require_positive,
    say,
)
from mipselect.errors import InvalidInput, MipselectError, NotCertified
from mipselect.problem.stored.files import load_problem

from ..contestants import CONTESTANTS, Rules
from ..contests import (
    LINES,
    Cell,
    DataSet,
    Record,
    cells_of,
    certified_reference,
    run,
    summarise,
)
from ..runner import DONE, TrialFile

MOST_TRIALS = 1_000_000
EXPERIMENT = "NOT PRIVATE: an experiment. Its draws are seeded, so they protect nobody."
DATA_PANEL = "Data from a recipe, drawn again"

EXAMPLES = """Examples:

mipselect bench paper-p100 --epsilon 0.5,1,2,5 --trials 50

mipselect bench paper-p100 --rows 3000,4000 --data-seeds 1,2,3 --epsilon 1

mipselect plot bench.jsonl --x n --epsilon 1 --output rows.svg
"""

Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class _Plan:
    """Trials that are to be run, by data set, and those that cannot."""

    cells: dict[DataSet, list[Cell]]
    skipped: list[str]

    @property
    def all_cells(self) -> list[Cell]:
        return [cell for cells in self.cells.values() for cell in cells]


@options
class BenchArguments:
    """Arguments of `bench`."""

    instances: list[str] = argument("INSTANCE", "Names of stored instances or .toml files.")
    epsilon: str = option(
        "--epsilon", "ε of one draw, each > 0.", default="0.5,1,2,5", metavar="E,E,..."
    )
    trials: int = option("--trials", "Draws for each selector and ε on each data set.", default=50)
    selectors: str = option(
        "--selectors",
        f"Of {', '.join(CONTESTANTS)}.",
        default="",
        metavar="NAME,NAME,...",
        show_default="all that apply",
    )
    seed: int = option("--seed", "All seeds of the experiment are derived from it.", default=0)
    rows: str | None = option(
        "--rows",
        "Other numbers of rows.",
        metavar="N,N,...",
        show_default="that of the instance",
        panel=DATA_PANEL,
    )
    data_seeds: str | None = option(
        "--data-seeds",
        "Other seeds; the summary is over all of them.",
        metavar="K,K,...",
        show_default="that of the instance",
        panel=DATA_PANEL,
    )
    search: SearchArguments = group(SearchArguments, without=("--pool-size", "--tolerance"))
    mcmc_steps: int = option(
        "--mcmc-steps", "Steps of each chain.", default=5000, panel=SEARCH_PANEL
    )
    mcmc_radius: float | None = option(
        "--mcmc-radius", "Bound on ‖β‖₁ in mcmc.", show_default="coef_bound √s", panel=SEARCH_PANEL
    )
    output: Path = option(
        "--output", "Receives one line for each trial.", default=Path("bench.jsonl"), metavar="FILE"
    )
    delivery: Delivery = group(Delivery, without=("--output", "--replace"))


@command
def bench(arguments: BenchArguments) -> None:
    """Run every selector on the same data and compare what it finds with the certified optimum.

    An experiment, NOT PRIVATE: draws are seeded, and unless the data come from a
    recipe the rows and the summary are SENSITIVE. Every selector gets the same
    data, unclipped, and is built for the ε that is asked for, under replace-one.

    FILE grows trial by trial. After an interruption the same command goes on
    where it stopped, with the same numbers; other trials may be added to the same
    file later.
    """
    trials, seed, output = arguments.trials, arguments.seed, arguments.output
    epsilons = _list("--epsilon", arguments.epsilon, float)
    for value in epsilons:
        require_positive("--epsilon", value)
    checked_integer(trials, "--trials", 1, MOST_TRIALS)
    checked_integer(seed, "--seed", 0)
    rules = _rules(arguments)
    check_writable(output)
    names = _selectors(arguments.selectors)
    rows, seeds = arguments.rows, arguments.data_seeds
    all_rows = [None] if rows is None else _list("--rows", rows, int)
    all_seeds = [None] if seeds is None else _list("--data-seeds", seeds, int)
    plan = _Plan({}, [])
    for name in arguments.instances:
        for n in all_rows:
            for data_seed in all_seeds:
                problem = load_problem(name, n=n, seed=data_seed)
                instance = problem.instance()
                if problem.mapped and instance.classes is not None:
                    # Rows without a class have no intercept there, which no selector is told.
                    raise InvalidInput(
                        f"{name}: bench takes a table with a schema for losses of numbers, not "
                        f"for {instance.loss}"
                    )
                data = DataSet.of(name, problem, instance)
                if data.identity in [other.identity for other in plan.cells]:
                    raise InvalidInput(f"{data.title} is given twice")
                cells, skipped = cells_of(
                    data, instance, names, epsilons, rules, base_seed=seed, trials=trials
                )
                plan.cells[data] = cells
                plan.skipped.extend(reason for reason in skipped if reason not in plan.skipped)
    for reason in plan.skipped:
        say(f"skipped {reason}")
    if not plan.all_cells:
        raise InvalidInput("there is nothing to run: no selector applies")
    with TrialFile(output, LINES) as file:
        record = Record(file, plan.all_cells)
        failures = _run(plan, record, rules, file)
    _deliver(plan, record, failures, output, as_json=arguments.delivery.as_json)
    if failures:
        more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
        raise MipselectError(failures[0] + more)


def _rules(arguments: BenchArguments) -> Rules:
    """Check and collect what the selectors are told besides ε."""
    checked_integer(arguments.mcmc_steps, "--mcmc-steps", 1)
    if arguments.mcmc_radius is not None:
        require_positive("--mcmc-radius", arguments.mcmc_radius)
    search = arguments.search.settings()
    return Rules(search.solver, search.time_limit, arguments.mcmc_steps, arguments.mcmc_radius)


def _list(option: str, text: str, kind: Callable[[str], Number]) -> list[Number]:
    """Parse numbers between commas, each once."""
    try:
        return list(dict.fromkeys(kind(item) for item in text.split(",")))
    except ValueError:
        what = "integers" if kind is int else "numbers"
        raise InvalidInput(f"{option} must be {what} between commas, got {text!r}") from None


def _selectors(text: str) -> list[str]:
    if not text:
        return list(CONTESTANTS)
    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in CONTESTANTS:
            raise InvalidInput(f"--selectors: {name!r} is unknown; known: {', '.join(CONTESTANTS)}")
    return names


def _run(plan: _Plan, record: Record, rules: Rules, file: TrialFile) -> list[str]:
    """Run what is missing; return why some of it could not be."""
    missing = {cell: record.missing(cell, rules.time_limit) for cell in plan.all_cells}
    total = sum(cell.trials for cell in missing)
    left = sum(map(len, missing.values()))
    if left < total:
        say(f"{total - left:,} of {total:,} trials are done already, in {file.path}")
    if left and file.rest:
        say(f"the last line of {file.path} was half-written and is cut off")
    failures: list[str] = []
    try:
        with CountedProgress(total - left, total) as watch:
            for data, cells in plan.cells.items():
                todo = {cell: missing[cell] for cell in cells if missing[cell]}
                if todo:
                    failures += _run_on(data, todo, record, rules, watch)
    except KeyboardInterrupt:
        kept = sum(record.count(cell) for cell in missing)
        raise InterruptedRun(
            f"interrupted: {kept:,} of {total:,} trials are kept in {file.path}; the same command "
            "goes on from there"
        ) from None
    return failures


def _run_on(
    data: DataSet,
    todo: dict[Cell, list[int]],
    record: Record,
    rules: Rules,
    watch: CountedProgress,
) -> list[str]:
    watch.begin(f"{data.title}: optimum")
    problem = data.load()
    instance = problem.instance()
    try:
        reference = certified_reference(instance, rules)
    except NotCertified as error:
        watch.advance(sum(map(len, todo.values())))
        return [f"{data.mark}{data.title}: without its certified optimum nothing was run: {error}"]
    for cell, trials in todo.items():
        watch.begin(f"{data.title}: {cell.selector}, ε = {cell.epsilon:g}")
        done = 0
        for row in run(cell, trials, problem, instance, reference, rules):
            record.add(cell, row)
            if row["status"] == DONE:
                watch.advance()
                done += 1
        watch.advance(len(trials) - done)
    return []


def _deliver(
    plan: _Plan, record: Record, failures: list[str], output: Path, *, as_json: bool
) -> None:
    rows = [row for cell in plan.all_cells for row in record.rows(cell)]
    for cell in plan.all_cells:
        if refused := record.refused(cell):
            where = f"{cell.data.mark}{cell.data.title}"
            what = f"{cell.selector} at ε = {cell.epsilon:g}: {refused['status']}"
            failures.append(f"{where}: {what}: {refused['remark']}")
    summary = summarise(rows)
    sensitive = any(data.sensitive for data in plan.cells)
    report: dict[str, Any] = {
        "command": "bench",
        "sensitive": sensitive,
        "private": False,
        "randomness": "seeded",
        "warning": [SENSITIVE, EXPERIMENT] if sensitive else [EXPERIMENT],
        "file": str(output),
        "skipped": plan.skipped,
        "failures": failures,
        "instances": summary,
    }

    def render(console: Console) -> None:
        for warning in report["warning"]:
            banner(console, warning)
        print_summary(console, summary)
        for failure in failures:
            console.print(failure, markup=False, style="bold red", soft_wrap=True)
        if rows:
            console.print(f"Every trial is a line of {output}.", markup=False, soft_wrap=True)

    deliver(report, render, as_json=as_json, output=None)


def print_summary(console: Console, summary: Iterable[Mapping[str, Any]]) -> None:
    """Print a table for every entry of `summarise`."""
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
        table = Table()
        for name in ("selector", "ε", "trials", "exact", "F1", "gap/Δ", "s/fit"):
            table.add_column(name, justify="left" if name == "selector" else "right", no_wrap=True)
        remarks = []
        for line in entry["selectors"]:
            numbers = []
            if line["trials"]:
                numbers = [_with_error(line, "exact"), _with_error(line, "f1")]
                numbers.append(f"{line['median_gap_in_sensitivities']:.3g}")
                numbers.append(f"{line['seconds_per_fit']:.2g}")
                if without := line["data_sets_without_its_condition"]:
                    remarks.append(f"{_named(line)}: condition not met on {without} data sets")
            if line["status"] != DONE:
                remarks.append(f"{_named(line)}: {line['status']}")
            epsilon, trials = f"{line['epsilon']:g}", f"{line['trials']:,}"
            table.add_row(escape(line["selector"]), epsilon, trials, *numbers)
        console.print(table, crop=False)
        for remark in remarks:
            console.print(remark, markup=False, soft_wrap=True)


def _named(line: Mapping[str, Any]) -> str:
    return f"{line['selector']} at ε = {line['epsilon']:g}"


def _with_error(line: Mapping[str, Any], key: str) -> str:
    error = line[f"{key}_standard_error"]
    return f"{line[key]:.2f}" + ("" if error is None else f" ± {error:.2f}")
