"""Report of `compare`, as JSON and as tables; it is sensitive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mipselect.cli.agreement import FoundBySolver
from mipselect.cli.output import (
    SENSITIVE,
    banner,
    dimension,
    finite_or_none,
    heading,
    line,
    picked,
    table_of,
)
from mipselect.cli.solved import effort_counts
from mipselect.problem.instance import Instance
from mipselect.search import MistakeLevels

REFERENCE = "highs"


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


def _reference_seconds(answers: list[FoundBySolver]) -> float | None:
    for answer in answers:
        if answer.solver == REFERENCE and answer.certified and answer.levels is not None:
            return answer.levels.effort.seconds
    return None


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
                "answers": [
                    _answer_report(answer, _reference_seconds(each.answers))
                    for answer in each.answers
                ],
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
            console.print(_effort_table(each.answers))
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
    compared = sum(each.compared for each in rounds)
    if compared and not any(each.contradictions for each in rounds):
        console.print("No answer contradicts another.")
    line(console, f"Compared: {compared} of {len(rounds)} instances. Skipped: {len(skipped)}.")
    for reason in skipped:
        line(console, f"- {reason}")


def _effort_table(answers: list[FoundBySolver]) -> Table:
    spent = ("masters", "iterations", "cuts", "nodes", "seconds", "× HiGHS")
    numbers = ("certified", "optimum", *spent)
    table = table_of("solver", *numbers, right=numbers)
    reference = _reference_seconds(answers)
    for answer in answers:
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
