"""`mipselect compare`: do several solvers give the same certified answers, and how fast?"""

from __future__ import annotations

import math
from typing import Any

from mipselect.backends.discovery import NATIVE, known_solvers, solver_by_name
from mipselect.backends.protocols import Capability
from mipselect.cli.agreement import FoundBySolver, contradictions
from mipselect.cli.agreement import compare as compare_with_expected
from mipselect.cli.compare_options import ALL, CompareArguments, Formulations
from mipselect.cli.compare_report import Round, compare_report, print_rounds
from mipselect.cli.output import check_output
from mipselect.cli.progress import Watch
from mipselect.cli.start import say
from mipselect.errors import InvalidInput, MipselectError, NotCertified, SolverFailure, about
from mipselect.problem.instance import Instance
from mipselect.problem.stored.files import expected, files_of, load_instance
from mipselect.search import MistakeLevels, mistake_levels
from mipselect.search.monolithic.whole import whole_levels
from mipselect.search.progress import ProgressCallback


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
            stored = (
                compare_with_expected(problem, answer.levels, wanted) if answer.levels else None
            )
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
        if named is not None and name != NATIVE:
            with about("--solvers"):
                solver_by_name(name)
        status = statuses[name]
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
    solver: Any = NATIVE
    if name != NATIVE:
        solver = solver_by_name(name, threads=arguments.threads, seed=arguments.seed)
    search: Any = whole_levels if formulation == "whole" else mistake_levels
    try:
        levels = search(
            instance,
            solver=solver,
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
