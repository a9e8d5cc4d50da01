"""`mipselect compare`: do several solvers give the same certified answers, and how fast?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mipselect import search
from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.options import SEARCH_PANEL, SearchArguments
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
from mipselect.cli.start import say
from mipselect.errors import InvalidInput, MipselectError, NotCertified, SolverFailure, about

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
        "all: every solver that can be used here; the others are skipped.",
        default=ALL,
        metavar="NAME,NAME|all",
        panel=SEARCH_PANEL,
    )
    search: SearchArguments = group(SearchArguments, without=("--pool-size", "--solver"))
    delivery: Delivery = group(Delivery)


@dataclass(frozen=True, eq=False)
class FoundBySolver:
    """Levels that one solver found, and the lower bound that it proved.

    Attributes
    ----------
    solver : str
    levels : MistakeLevels or None
        What was found, certified or not; None if nothing was.
    bound : float
        Proven lower bound on the value of every support.
    remark : str
        Why it is not certified; empty if it is.
    """

    solver: str
    levels: MistakeLevels | None
    bound: float
    remark: str = ""

    @property
    def certified(self) -> bool:
        """True if levels were found and everything about them is proven."""
        return self.levels is not None and self.levels.certified


@command
def compare(arguments: CompareArguments) -> None:
    """Find the mistake levels of each INSTANCE with several solvers. The report is SENSITIVE.

    Fails if two answers contradict each other or what the file expects, or if one
    is not certified. A solver that cannot be used here is skipped and named.
    """
    from mipselect.problem.descriptions import expected, files_of
    from mipselect.problem.stored import load_instance

    arguments.search.settings()
    delivery, names = arguments.delivery, arguments.instances
    solvers, skipped = _solvers(arguments.solvers)
    read = [path for name in names for path in files_of(name)]
    check_output(delivery.output, read, replace=delivery.replace)
    problems = [(name, load_instance(name), expected(name)) for name in names]
    rounds: list[tuple[dict[str, Any], list[FoundBySolver]]] = []
    for name, instance, wanted in problems:
        answers, conflicts = [], []
        for solver in solvers:
            answer = _ask(instance, solver, arguments.search, f"{name} with {solver}")
            answers.append(answer)
            if answer.levels is not None and answer.certified:
                stored = compared(instance, answer.levels, wanted)
                if stored is not None and not stored.agrees:
                    conflicts.append(f"{answer.solver} {stored.sentence}")
        one = {
            "instance": name,
            **picked(instance, "n", "p", "n_features", "support_size", "sensitivity"),
            "contradictions": conflicts + contradictions(answers),
            "answers": [_answer_report(answer) for answer in answers],
        }
        rounds.append((one, answers))
    for reason in skipped:
        say(f"skipped {reason}")
    failures = [
        *(f"{one['instance']}: {why}" for one, _ in rounds for why in one["contradictions"][:1]),
        *(
            f"{one['instance']}: {answer.solver} certified nothing: {answer.remark}"
            for one, answers in rounds
            for answer in answers
            if not answer.certified
        ),
    ]
    report = {
        "command": "compare",
        "sensitive": True,
        "warning": SENSITIVE,
        "skipped": skipped,
        "compared": len(rounds),
        "agree": not any(one["contradictions"] for one, _ in rounds),
        "certified": all(answer.certified for _, answers in rounds for answer in answers),
        "instances": [one for one, _ in rounds],
    }

    def render(console: Console) -> None:
        banner(console, SENSITIVE)
        for one, answers in rounds:
            _print_round(console, one, answers)
        if report["agree"]:
            console.print("No answer contradicts another.")

    delivery.deliver(report, render)
    if failures:
        raise MipselectError(f"(sensitive) {failures[0]}")


def _solvers(named: str) -> tuple[list[str], list[str]]:
    """Return the solvers that can be used, and reasons for those that are skipped."""
    from mipselect.backends.discovery import NATIVE, solver_by_name

    known = search.known_solvers()
    usable = [name for name, status in known.items() if status.usable]
    skipped = [f"{name}: {each.reason}" for name, each in known.items() if not each.usable]
    if named != ALL:
        usable, skipped = list(dict.fromkeys(named.split(","))), []
        for name in usable:
            if name != NATIVE:
                with about("--solvers"):
                    solver_by_name(name)
    if len(usable) < 2:
        raise InvalidInput(
            f"comparing needs two answers, and {named!r} gives {len(usable)}; "
            f"solvers are {', '.join(known)}"
        )
    return usable, skipped


def _ask(instance: Instance, name: str, limits: SearchArguments, task: str) -> FoundBySolver:
    """Let one solver search for the levels of an instance."""
    keywords = picked(limits, "tolerance", "time_limit")
    try:
        with Watch(task, details=True) as watch:
            levels = search.mistake_levels(instance, solver=name, progress=watch, **keywords)
    except NotCertified as error:
        found = error.partial if isinstance(error.partial, search.MistakeLevels) else None
        return FoundBySolver(name, found, min(error.bound, error.incumbent), str(error))
    except SolverFailure as error:
        return FoundBySolver(name, None, -math.inf, str(error))
    return FoundBySolver(name, levels, float(levels.bounds.min()))


def contradictions(answers: Sequence[FoundBySolver]) -> list[str]:
    """Write a sentence for every bound above the value of a support that another answer has.

    Every support that one answer names lies in some level of the other, whose bound must not be
    above its value. As the bounds of a certified answer are within its tolerance of its values,
    certified values that are further apart than the tolerance are found by this too.
    """
    return [sentence for one, other in permutations(answers, 2) for sentence in _above(one, other)]


def _above(proving: FoundBySolver, naming: FoundBySolver) -> Iterator[str]:
    if naming.levels is None:
        return
    for support, value in zip(naming.levels.supports, naming.levels.values, strict=True):
        what, bound = "every support", proving.bound
        if proving.levels is not None:
            level = proving.levels.level_of(support)
            if level < len(proving.levels):
                what, bound = f"level {level}", float(proving.levels.bounds[level])
        if bound > value + RELATIVE * abs(value):
            yield (
                f"{proving.solver} proves {what} to be at {bound:.12g} or above, and "
                f"{naming.solver} has a support in it of value {value:.12g}"
            )


def _answer_report(answer: FoundBySolver) -> dict[str, Any]:
    """Return an answer as part of a JSON object."""
    report: dict[str, Any] = {
        **picked(answer, "solver", "certified", "remark"),
        "bound": finite_or_none(answer.bound),
    }
    levels = answer.levels
    if levels is None:
        return report
    return {
        **report,
        "optimum": float(levels.values[0]),
        "support": levels.supports[0].tolist(),
        "levels": [
            {"value": float(value), "bound": finite_or_none(float(bound))}
            for value, bound in zip(levels.values, levels.bounds, strict=True)
        ],
        "tolerance": levels.tolerance,
        "effort": effort_counts(levels.effort),
    }


def _print_round(
    console: Console, one: Mapping[str, Any], answers: Sequence[FoundBySolver]
) -> None:
    """Print what each solver spent and found of an instance, and what contradicts what."""
    size = f"p = {one['p']:,}"
    if one["n_features"] != one["p"]:
        size += f" columns, {one['n_features']:,} features"
    heading(console, f"{one['instance']}: n = {one['n']:,}, {size}, s = {one['support_size']}")
    spent, rows = ("masters", "iterations", "cuts", "solver_nodes"), []
    for answer, said in zip(answers, one["answers"], strict=True):
        row: list[object] = [answer.solver, "yes" if answer.certified else "NO"]
        if answer.levels is not None:
            effort = said["effort"]
            row += [f"{said['optimum']:.10g}", *(effort[name] for name in spent)]
            row.append(f"{effort['seconds']:.3f}")
        rows.append(row)
    titles = ("solver", "certified", "optimum", *spent[:3], "nodes", "seconds")
    print_table(console, titles, rows, left=titles[:1])
    if not any(answer.levels.effort.masters for answer in answers if answer.levels):
        console.print("No master was needed: the bounds and enumeration settled everything.")
    for answer in answers:
        if answer.remark:
            line(console, f"{answer.solver}: {answer.remark}")
    for sentence in one["contradictions"]:
        console.print(f"CONTRADICTION: {sentence}", markup=False, style="bold red")
