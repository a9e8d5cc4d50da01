"""`mipselect compare`: do several solvers give the same certified answers, and how fast?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mipselect import search
from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.options import SEARCH_PANEL, SearchArguments, check_solver
from mipselect.cli.output import (
    SENSITIVE,
    Delivery,
    banner,
    check_output,
    finite_or_none,
    heading,
    line,
    picked,
    print_table,
)
from mipselect.cli.progress import Watch
from mipselect.cli.solve import RELATIVE, compared, effort_counts
from mipselect.errors import InvalidInput, MipselectError, NotCertified, SolverFailure

if TYPE_CHECKING:  # --help imports none of them.
    from mipselect.problem.instance import Instance
    from mipselect.search import MistakeLevels

ALL = "all"

EXAMPLES = """Examples:

mipselect compare diabetes paper-p100 --solvers native,highs

mipselect compare tiny-plain --json
"""


@options
class CompareArguments:
    """Arguments of `compare`."""

    instances: list[str] = argument("INSTANCE", "Names of stored instances or .toml files.")
    solvers: str = option(
        "--solvers",
        "all: every solver that can be used here, see 'mipselect solvers'.",
        default=ALL,
        metavar="NAME,NAME|all",
        panel=SEARCH_PANEL,
    )
    search: SearchArguments = group(SearchArguments, without=("--pool-size", "--solver"))
    delivery: Delivery = group(Delivery)


@dataclass(frozen=True, eq=False)
class FoundBySolver:
    """Levels that one solver certified, and its lower bound on every support.

    `remark` says why there are no levels.
    """

    solver: str
    levels: MistakeLevels | None
    bound: float
    remark: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as part of a JSON object; what is infinite is null."""
        levels, report = self.levels, picked(self, "solver", "remark")
        report |= {"certified": levels is not None, "bound": finite_or_none(self.bound)}
        if levels is None:
            return report
        bounds = map(finite_or_none, levels.bounds.tolist())
        pairs = zip(levels.values.tolist(), bounds, strict=True)
        return report | {
            "optimum": float(levels.values[0]),
            "support": levels.supports[0].tolist(),
            "levels": [{"value": value, "bound": bound} for value, bound in pairs],
            "tolerance": levels.tolerance,
            "effort": effort_counts(levels.effort),
        }


@command
def compare(arguments: CompareArguments) -> None:
    """Find the mistake levels of each INSTANCE with several solvers. The report is SENSITIVE.

    Fails if two answers contradict each other or what the file expects, or if one
    is not certified.
    """
    from mipselect.problem.descriptions import expected, files_of
    from mipselect.problem.stored import load_instance

    delivery, names = arguments.delivery, arguments.instances
    solvers = _solvers(arguments.solvers)
    read = [path for name in names for path in files_of(name)]
    check_output(delivery.output, read, replace=delivery.replace)
    rounds, conflicts, failures = [], [], []
    for name, instance, wanted in [(name, load_instance(name), expected(name)) for name in names]:
        answers = [_ask(instance, solver, arguments.search, name) for solver in solvers]
        against = []
        for answer in answers:
            if answer.levels is not None:
                stored = compared(instance, answer.levels, wanted)
                if stored is not None and not stored.agrees:
                    against.append(f"{answer.solver} {stored.sentence}")
            else:
                failures.append(f"{name}: {answer.solver} certified nothing: {answer.remark}")
        against += contradictions(answers)
        conflicts += [f"{name}: {against[0]}"] if against else []
        rounds.append(
            {
                "instance": name,
                **picked(instance, "n", "p", "n_features", "support_size", "sensitivity"),
                "contradictions": against,
                "answers": [answer.to_dict() for answer in answers],
            }
        )
    report = {
        "command": "compare",
        "sensitive": True,
        "warning": SENSITIVE,
        "compared": len(rounds),
        "agree": not conflicts,
        "certified": not failures,
        "instances": rounds,
    }

    def render(console: Console) -> None:
        banner(console, SENSITIVE)
        for one in rounds:
            _print_round(console, one)
        if not conflicts:
            console.print("No answer contradicts another.")

    delivery.deliver(report, render)
    if wrong := conflicts + failures:
        raise MipselectError(f"(sensitive) {wrong[0]}")


def _solvers(named: str) -> list[str]:
    """Return the solvers that are named; raise `InvalidInput` for one that is not there."""
    from mipselect.backends import available_solvers

    usable = available_solvers()
    solvers = list(usable if named == ALL else dict.fromkeys(named.split(",")))
    for name in solvers:
        check_solver(name)
    if len(solvers) < 2:
        raise InvalidInput(
            f"comparing needs two answers, and {named!r} gives {len(solvers)}; "
            f"solvers are {', '.join(usable)}"
        )
    return solvers


def _ask(instance: Instance, solver: str, limits: SearchArguments, name: str) -> FoundBySolver:
    """Let one solver search for the levels of an instance."""
    keywords = picked(limits, "tolerance", "time_limit")
    try:
        with Watch(f"{name} with {solver}", details=True) as watch:
            levels = search.mistake_levels(instance, solver=solver, progress=watch, **keywords)
    except NotCertified as error:
        return FoundBySolver(solver, None, min(error.bound, error.incumbent), str(error))
    except SolverFailure as error:
        return FoundBySolver(solver, None, -math.inf, str(error))
    return FoundBySolver(solver, levels, float(levels.bounds.min()))


def contradictions(answers: Sequence[FoundBySolver]) -> list[str]:
    """Write a sentence for every bound above the value of a support that another answer has.

    Every support that one answer names lies in some level of the other, whose bound must not be
    above its value. As the bounds of a certified answer are within its tolerance of its values,
    certified values that are further apart than the tolerance are found by this too.
    """
    found = []
    for proving, naming in permutations(answers, 2):
        if naming.levels is None:
            continue
        for support, value in zip(naming.levels.supports, naming.levels.values, strict=True):
            what, bound = "every support", proving.bound
            if proving.levels is not None:
                level = proving.levels.level_of(support)
                if level < len(proving.levels):
                    what, bound = f"level {level}", float(proving.levels.bounds[level])
            if bound > value + RELATIVE * abs(value):
                found.append(
                    f"{proving.solver} proves {what} to be at {bound:.12g} or above, and "
                    f"{naming.solver} has a support in it of value {value:.12g}"
                )
    return found


def _print_round(console: Console, one: Mapping[str, Any]) -> None:
    """Print what each solver spent and found of an instance, and what contradicts what."""
    size = f"p = {one['p']:,}"
    if one["n_features"] != one["p"]:
        size += f" columns, {one['n_features']:,} features"
    heading(console, f"{one['instance']}: n = {one['n']:,}, {size}, s = {one['support_size']}")
    spent, rows = ("masters", "iterations", "cuts", "solver_nodes"), []
    for answer in one["answers"]:
        row = [answer["solver"], "yes" if answer["certified"] else "NO"]
        if effort := answer.get("effort"):
            row += [f"{answer['optimum']:.10g}", *(effort[name] for name in spent)]
            row.append(f"{effort['seconds']:.3f}")
        rows.append(row)
    titles = ("solver", "certified", "optimum", *spent[:3], "nodes", "seconds")
    print_table(console, titles, rows, left=titles[:1])
    for answer in one["answers"]:
        if answer["remark"]:
            line(console, f"{answer['solver']}: {answer['remark']}")
    for sentence in one["contradictions"]:
        console.print(f"CONTRADICTION: {sentence}", markup=False, style="bold red")
