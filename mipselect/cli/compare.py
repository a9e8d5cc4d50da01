"""`mipselect compare`: do several solvers give the same certified answers, and how fast?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mipselect.backends.discovery import NATIVE, known_solvers, solver_by_name
from mipselect.backends.protocols import Capability
from mipselect.cli.compare_options import ALL, CompareArguments, Formulations
from mipselect.cli.output import (
    SENSITIVE,
    banner,
    check_output,
    dimension,
    finite_or_none,
    heading,
    line,
    picked,
    table_of,
)
from mipselect.cli.progress import Watch
from mipselect.cli.solve import RELATIVE, compared, effort_counts
from mipselect.cli.start import say
from mipselect.errors import InvalidInput, MipselectError, NotCertified, SolverFailure, about
from mipselect.problem.instance import Instance
from mipselect.problem.stored import expected, files_of, load_instance
from mipselect.search import MistakeLevels, mistake_levels
from mipselect.search.monolithic.whole import whole_levels
from mipselect.search.progress import ProgressCallback

REFERENCE = "highs"


@dataclass(frozen=True, eq=False)
class FoundBySolver:
    """Levels that one solver found, and the lower bound that it proved.

    Attributes
    ----------
    solver : str
    formulation : str
    levels : MistakeLevels or None
        What was found, certified or not; None if nothing was.
    bound : float
        Proven lower bound on the value of every support.
    remark : str
        Why it is not certified; empty if it is.
    """

    solver: str
    formulation: str
    levels: MistakeLevels | None
    bound: float
    remark: str = ""

    @property
    def name(self) -> str:
        """The solver and its formulation."""
        return self.solver if self.formulation == "cuts" else f"{self.solver} ({self.formulation})"

    @property
    def certified(self) -> bool:
        """True if levels were found and everything about them is proven."""
        return self.levels is not None and self.levels.certified


@dataclass(frozen=True, eq=False)
class Round:
    """One instance and what the solvers answered."""

    name: str
    instance: Instance
    answers: list[FoundBySolver]
    contradictions: list[str]

    @property
    def compared(self) -> bool:
        """True if there are two answers or more."""
        return len(self.answers) > 1

    @property
    def reference(self) -> float | None:
        """Seconds that HiGHS took, if it certified anything."""
        for answer in self.answers:
            if answer.solver == REFERENCE and answer.certified and answer.levels is not None:
                return answer.levels.effort.seconds
        return None


def compare(arguments: CompareArguments) -> None:
    """Run the command."""
    search, delivery, instances = arguments.search, arguments.delivery, arguments.instances
    search.settings()
    tasks, skipped = _tasks(arguments.solvers, arguments.formulation)
    read = [path for name in instances for path in files_of(name)]
    check_output(delivery.output, read, replace=delivery.replace)
    problems = [(name, load_instance(name), expected(name)) for name in instances]
    rounds = []
    for name, problem, wanted in problems:
        answers, conflicts = [], []
        for solver, how in tasks:
            task = f"{name} with {solver}, {how}"
            try:
                with Watch(task, details=True) as watch:
                    answer = _ask(problem, solver, how, arguments, watch)
            except InvalidInput as error:
                skipped.append(f"{task}: {error}")
                continue
            answers.append(answer)
            stored = compared(problem, answer.levels, wanted) if answer.levels else None
            if stored is not None and answer.certified and not stored.agrees:
                conflicts.append(f"{answer.name} {stored.sentence}")
        rounds.append(Round(name, problem, answers, conflicts + contradictions(answers)))
    for reason in skipped:
        say(f"skipped {reason}")
    report = compare_report(rounds, skipped)
    delivery.deliver(report, lambda console: print_rounds(console, rounds, skipped))
    _fail_if_needed(rounds)


def _tasks(solvers: str, formulation: Formulations) -> tuple[list[tuple[str, str]], list[str]]:
    """Return pairs of a solver and a formulation, and reasons for those that are skipped."""
    tasks, skipped = [], []
    named = None if solvers == ALL else list(dict.fromkeys(solvers.split(",")))
    statuses = known_solvers()
    for name in statuses if named is None else named:
        status = statuses.get(name)
        if named is not None and name != NATIVE:
            with about("--solvers"):
                status = solver_by_name(name).status
        assert status is not None
        if not status.usable:
            skipped.append(f"{name}: {status.reason}")
            continue
        if formulation is not Formulations.WHOLE:
            tasks.append((name, "cuts"))
        if formulation is not Formulations.CUTS:
            if Capability.MISOCP in status.capabilities:
                tasks.append((name, "whole"))
            elif named is not None and formulation is Formulations.WHOLE:
                raise InvalidInput(f"--solvers: {name!r} does not take whole models")
            else:
                skipped.append(f"{name}, whole: it takes no models with quadratic terms")
    if len(tasks) < 2:
        raise InvalidInput(
            f"comparing needs two answers, and {solvers!r} gives {len(tasks)}; "
            f"solvers are {', '.join(statuses)}"
        )
    return tasks, skipped


def _ask(
    instance: Instance,
    name: str,
    formulation: str,
    arguments: CompareArguments,
    progress: ProgressCallback,
) -> FoundBySolver:
    search: Any = whole_levels if formulation == "whole" else mistake_levels
    try:
        levels = search(
            instance,
            solver=name,
            tolerance=arguments.search.tolerance,
            time_limit=arguments.search.time_limit,
            progress=progress,
        )
    except NotCertified as error:
        found = error.partial if isinstance(error.partial, MistakeLevels) else None
        return FoundBySolver(
            name, formulation, found, min(error.bound, error.incumbent), str(error)
        )
    except SolverFailure as error:
        return FoundBySolver(name, formulation, None, -math.inf, str(error))
    return FoundBySolver(name, formulation, levels, float(levels.bounds.min()))


def _fail_if_needed(rounds: list[Round]) -> None:
    for each in rounds:
        if each.contradictions:
            raise MipselectError(f"(sensitive) {each.name}: {each.contradictions[0]}")
    for each in rounds:
        for answer in each.answers:
            if not answer.certified:
                raise MipselectError(
                    f"(sensitive) {each.name}: {answer.name} certified nothing: {answer.remark}"
                )
    if not any(each.compared for each in rounds):
        raise MipselectError(
            "nothing was compared: no instance has two answers; the lines with 'skipped' say why"
        )


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
                f"{proving.name} proves {what} to be at {bound:.12g} or above, and {naming.name} "
                f"has a support in it of value {value:.12g}"
            )


def compare_report(rounds: list[Round], skipped: list[str]) -> Mapping[str, Any]:
    """Return the JSON object of all instances."""
    return {
        "command": "compare",
        "sensitive": True,
        "warning": SENSITIVE,
        "skipped": skipped,
        "compared": sum(each.compared for each in rounds),
        "agree": not any(each.contradictions for each in rounds),
        "certified": all(answer.certified for each in rounds for answer in each.answers),
        "instances": [
            {
                "instance": each.name,
                **picked(each.instance, "n", "p", "n_features", "support_size", "sensitivity"),
                "contradictions": each.contradictions,
                "answers": [_answer_report(answer, each.reference) for answer in each.answers],
            }
            for each in rounds
        ],
    }


def _answer_report(answer: FoundBySolver, reference: float | None) -> dict[str, Any]:
    report: dict[str, Any] = {
        **picked(answer, "solver", "formulation", "certified", "remark"),
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
        "time_relative_to_highs": levels.effort.seconds / reference if reference else None,
    }


def print_rounds(console: Console, rounds: list[Round], skipped: list[str]) -> None:
    """Print what each solver spent and found, what contradicts what, and what was skipped."""
    banner(console, SENSITIVE)
    for each in rounds:
        instance = each.instance
        size = dimension(instance.p, instance.n_features)
        heading(console, f"{each.name}: n = {instance.n:,}, {size}, s = {instance.support_size}")
        if each.answers:
            console.print(_effort_table(each))
        if not each.compared:
            console.print("Not compared: that needs two answers.")
        found = {a.name: a.levels for a in each.answers if a.levels is not None}
        if found:
            console.print(_levels_table(found))
        if found and not any(levels.effort.masters for levels in found.values()):
            console.print("No master was needed: the bounds and enumeration settled everything.")
        for answer in each.answers:
            if answer.remark:
                console.print(f"{answer.name}: {answer.remark}", markup=False)
        for sentence in each.contradictions:
            console.print(f"CONTRADICTION: {sentence}", markup=False, style="bold red")
    count = sum(each.compared for each in rounds)
    if count and not any(each.contradictions for each in rounds):
        console.print("No answer contradicts another.")
    line(console, f"Compared: {count} of {len(rounds)} instances. Skipped: {len(skipped)}.")
    for reason in skipped:
        line(console, f"- {reason}")


def _effort_table(each: Round) -> Table:
    spent = ("masters", "iterations", "cuts", "nodes", "seconds", "× HiGHS")
    numbers = ("certified", "optimum", *spent)
    table = table_of("solver", *numbers, right=numbers)
    reference = each.reference
    for answer in each.answers:
        if answer.levels is None:
            table.add_row(escape(answer.name), "NO")
            continue
        effort = answer.levels.effort
        table.add_row(
            escape(answer.name),
            "yes" if answer.certified else "NO",
            f"{answer.levels.values[0]:.10g}",
            f"{effort.masters:,}",
            f"{effort.iterations:,}",
            f"{effort.cuts:,}",
            f"{effort.solver_nodes:,}",
            f"{effort.seconds:.3f}",
            f"{effort.seconds / reference:.2f}" if reference else "-",
        )
    return table


def _levels_table(found: dict[str, MistakeLevels]) -> Table:
    titles = ["level", *(f"{escape(name)}\nvalue / bound" for name in found)]
    table = table_of(*titles, right=titles)
    for i in range(max(len(levels) for levels in found.values())):
        cells = [
            f"{levels.values[i]:.8g}\n{levels.bounds[i]:.8g}" if i < len(levels) else "-"
            for levels in found.values()
        ]
        table.add_row(str(i), *cells)
    return table
