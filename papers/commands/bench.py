"""`mipselect bench`: every selector on the same data, trial by trial into a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mipselect import Instance
from mipselect.cli.extension import (
    SEARCH_PANEL,
    SENSITIVE,
    Delivery,
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
from mipselect.errors import InvalidInput
from mipselect.problem.stored.files import load_problem

from ..contestants import CONTESTANTS, Rules
from ..contests import Contest, DataSet, contests_of, forget, summarise, trials_of
from ..runner import DONE, EXPERIMENT, first_of, run

MOST_TRIALS = 1_000_000
DATA_PANEL = "Data from a recipe, drawn again"

EXAMPLES = """Examples:

mipselect bench paper-p100 --epsilon 0.5,1,2,5 --trials 50

mipselect bench paper-p100 --rows 3000,4000 --data-seeds 1,2,3 --epsilon 1

mipselect plot bench.jsonl --x n --epsilon 1 --output rows.svg
"""

Number = TypeVar("Number", int, float)


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
    epsilons = _list("--epsilon", arguments.epsilon, float)
    for value in epsilons:
        require_positive("--epsilon", value)
    checked_integer(arguments.trials, "--trials", 1, MOST_TRIALS)
    checked_integer(arguments.seed, "--seed", 0)
    rules = _rules(arguments)
    check_writable(arguments.output)
    names = _selectors(arguments.selectors)
    rows, seeds = arguments.rows, arguments.data_seeds
    all_rows = [None] if rows is None else _list("--rows", rows, int)
    all_seeds = [None] if seeds is None else _list("--data-seeds", seeds, int)
    contests: list[Contest] = []
    skipped: list[str] = []
    known: list[DataSet] = []
    for name, n, data_seed in product(arguments.instances, all_rows, all_seeds):
        data, instance = _described(name, n, data_seed)
        if data.identity in [other.identity for other in known]:
            raise InvalidInput(f"{data.title} is given twice")
        known.append(data)
        some, reasons = contests_of(data, instance, names, epsilons, rules, arguments.seed)
        contests += some
        skipped += [reason for reason in reasons if reason not in skipped]
    for reason in skipped:
        say(f"skipped {reason}")
    if not contests:
        raise InvalidInput("there is nothing to run: no selector applies")
    forget()
    done, failed = run(trials_of(contests, arguments.trials), arguments.output)
    # A failure is one for all repeats.
    refused = {trial.recipe: row for trial, row in reversed(failed)}
    failures = [
        f"{'(sensitive) ' * one.sensitive}{one.title}: {row['status']}: {row['remark']}"
        for one, row in reversed(refused.items())
        if isinstance(one, Contest)
    ]
    lines = [line for row in done for line in row["readings"]]
    lines += [
        {**one.facts, "status": row["status"], "remark": row["remark"]}
        for one, row in refused.items()
        if isinstance(one, Contest)
    ]
    _deliver(summarise(lines), skipped, failures, arguments)
    if failures:
        raise first_of(failures)


def _described(name: str, n: int | None, data_seed: int | None) -> tuple[DataSet, Instance]:
    problem = load_problem(name, n=n, seed=data_seed)
    instance = problem.instance()
    if problem.mapped and instance.classes is not None:
        # Rows without a class have no intercept there, which no selector is told.
        raise InvalidInput(
            f"{name}: bench takes a table with a schema for losses of numbers, not "
            f"for {instance.loss}"
        )
    return DataSet.of(name, problem, instance), instance


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


def _deliver(
    summary: list[dict[str, Any]],
    skipped: list[str],
    failures: list[str],
    arguments: BenchArguments,
) -> None:
    sensitive = any(entry["sensitive"] for entry in summary)
    report: dict[str, Any] = {
        "command": "bench",
        "sensitive": sensitive,
        "private": False,
        "randomness": "seeded",
        "warning": [SENSITIVE, EXPERIMENT] if sensitive else [EXPERIMENT],
        "file": str(arguments.output),
        "skipped": skipped,
        "failures": failures,
        "instances": summary,
    }

    def render(console: Console) -> None:
        for warning in report["warning"]:
            banner(console, warning)
        print_summary(console, summary)
        for failure in failures:
            console.print(failure, markup=False, style="bold red", soft_wrap=True)
        if arguments.output.exists():
            told = f"Every trial is a line of {arguments.output}."
            console.print(told, markup=False, soft_wrap=True)

    deliver(report, render, as_json=arguments.delivery.as_json, output=None)


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
