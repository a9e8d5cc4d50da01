"""The one way of `select`, `release` and `fit`: plan, charge, draw, deliver."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console

from mipselect.backends.discovery import NATIVE, solver_by_name
from mipselect.cli.arguments import check_sizes, flags_of, of_nothing
from mipselect.cli.cautions import (
    cautions,
    expected_check,
    note_of_identifiers,
    reminders_of_a_plan,
    warn_before_a_draw,
)
from mipselect.cli.inputs import TaskSource
from mipselect.cli.ledger_entry import charged_report, ledger_entry, print_charged
from mipselect.cli.options import AUTO, Delivery
from mipselect.cli.output import NOT_PRIVATE, banner, bounds_in_words, dimension, heading, line
from mipselect.cli.progress import Watch
from mipselect.cli.start import say
from mipselect.errors import InvalidInput, about
from mipselect.grid import MOST_ROWS
from mipselect.parameters import parameters_of
from mipselect.privacy.guarantee import ROW
from mipselect.problem.problem import Problem
from mipselect.problem.scores import BLOCKS, LOSS, R2
from mipselect.search.options import SearchSettings
from mipselect.search.supports import number_of_listed
from mipselect.selectors import MistakesSelector, TopRSelector
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.chance_level import ChanceLevel, chance_level
from mipselect.selectors.exact_draws import ExactDrawSelector, asked_sizes
from mipselect.selectors.problem import ProblemSelector
from mipselect.selectors.scored import RowsSelector
from mipselect.tables.public_map import people_in_words
from mipselect.validation import listed, plural, sizes_in_words

if TYPE_CHECKING:  # Each command imports its own.
    from mipselect.cli.fitting import FitPlan
    from mipselect.cli.releasing import SupportPlan
    from mipselect.selectors import MCMCSelector


@dataclass(frozen=True, kw_only=True)
class Task:
    """A release of a table or an instance, with all that is public about it.

    Attributes
    ----------
    title : str
        Name of the data in messages.
    head : mapping
        First entries of a report.
    source : TaskSource
    plan : SupportPlan or FitPlan
    asked : mapping
        Options about a table with a schema as they were given, by their names.
    """

    title: str
    head: Mapping[str, Any]
    source: TaskSource
    plan: SupportPlan | FitPlan
    asked: Mapping[str, Any] = field(default_factory=dict)

    @property
    def hides_n(self) -> bool:
        """True if the number of rows is private."""
        return self.plan.together.relation == "add-remove"

    def settings(self, problem: Problem, n: int | None) -> dict[str, Any]:
        """Return what is recorded; raise `InvalidInput` for a problem that is not for the plan."""
        plan, method, loss = self.plan, self.plan.method, problem.loss
        check_sizes(method, problem.n_features, self.title)
        if self.hides_n and "add-remove" not in problem.relations:
            of_blocks = "scores from blocks of rows", "--score loss with public bounds has both"
            which, has_both = of_blocks
            if problem.score == "loss":
                enough = problem.least_ridge(MOST_ROWS)
                which, has_both = "so small a ridge", f"a --ridge of at least {enough:.2g} has both"
            raise InvalidInput(
                f"{self.title}: the guarantee of {which} is for replacing one row, and add-remove "
                f"is asked for: {has_both}"
            )
        if (
            "--mcmc-radius" in flags_of(type(method))
            and loss is not None
            and loss.name != "squared"
        ):
            raise InvalidInput(
                f"{self.title}: --method mcmc is for the squared loss, not {loss.name}"
            )
        with about(self.title):
            report = settings_report(problem, method, None if self.hides_n else n)
        units = problem.units
        several = {} if units is None or units.unit == ROW else {"unit_rule": units.unit_rule}
        return {**report, **several, **plan.settings}

    def cautions(self, settings: Mapping[str, Any], n: int | None) -> list[str]:
        """Say what comes before a draw; it depends on what is public alone."""
        plan = self.plan
        told = cautions(plan.ledger, unit_of(settings), plan.together, self.head, n)
        return [*told, *plan.doubts(n)]

    def chance_level(self, problem: Problem, n: int | None) -> ChanceLevel | None:
        """Compare what a draw from n rows can find with its noise; None if that is not known."""
        if n is None or self.hides_n:
            return None
        return chance_level(problem, self.plan.method, n)

    def of_little_use(self, problem: Problem, chance: ChanceLevel | None) -> Iterator[str]:
        """Say that a draw stays near chance, and that it is one of all features."""
        if chance is not None and chance.sentence:
            yield chance.sentence
        if nothing := of_nothing(self.plan.method, problem):
            yield nothing


def deliver_task(task: Task, delivery: Delivery, *, dry_run: bool) -> None:
    """Say what a task would draw, or draw it; then deliver the report."""
    if dry_run:
        _deliver_plan(task, delivery)
    else:
        _deliver_answer(task, delivery)


def _deliver_plan(task: Task, delivery: Delivery) -> None:
    """Check all that can be checked without the rows; no row is read and nothing is charged.

    Where the number of rows is known and public it is told if the draw would stay near chance.
    """
    problem, n = task.source.problem()
    settings, plan = task.settings(problem, n), task.plan
    notes = task.cautions(settings, None if task.hides_n else n)
    warn_before_a_draw(notes)
    note_of_identifiers(task.head, problem.feature_names)
    with about(task.title):
        stated = plan.method.stated(plan.method.problem(problem))
        total = plan.total(stated)

    def render(console: Console) -> None:
        if plan.seed is not None:
            banner(console, NOT_PRIVATE)
        heading(console, f"{task.title}: dry run; no row was read, nothing drawn and nothing spent")
        plan.show(console, stated, unit_of(settings))
        print_settings(console, settings)
        for reminder in reminders_of_a_plan(task.head, task.asked):
            line(console, reminder)

    ledger = plan.ledger
    report = {
        **task.head,
        "dry_run": True,
        "sensitive": False,
        **plan.report(stated),
        **settings,
        "notes": notes,
        "ledger": None
        if ledger is None
        else {
            "identity": ledger.identity,
            "remaining": ledger.remaining.to_dict(),
            "would_remain": ledger.after(total).to_dict(),
        },
    }
    delivery.deliver(report, render)
    for warning in task.of_little_use(problem, task.chance_level(problem, n)):
        say(f"warning: {warning}")


def _deliver_answer(task: Task, delivery: Delivery) -> None:
    """Read, charge, draw and deliver; say so where the draw stays near chance level."""
    plan, data = task.plan, task.source.data()
    n = None if task.hides_n else data.data.n
    settings = task.settings(data.problem, n)
    if "schema" in task.head and (plan.ledger is not None or plan.seed is None):
        say(f"note: {expected_check(task.head, task.asked)}")
    notes = task.cautions(settings, n)
    warn_before_a_draw(notes)
    note_of_identifiers(task.head, data.problem.feature_names)
    with ledger_entry(plan.ledger, {**task.head, **settings}, plan.noted) as ledger:
        with about(task.title), Watch(task.title, details=False) as watch:
            answer = plan.draw(data, ledger, watch)
        chance = task.chance_level(data.problem, n)
        charged = charged_report(plan.ledger)

        def render(console: Console) -> None:
            answer.show(console, task.title, unit_of(settings))
            print_charged(console, charged)
            plan.show_terms(console)
            print_settings(console, settings)

        report = {
            **task.head,
            # Whoever knows the seed can repeat the draw: it is a function of the data.
            "sensitive": not answer.private,
            **answer.report(),
            "nearly_blind": None if chance is None else chance.entirely,
            "blind_sizes": None if chance is None else list(chance.sizes),
            **settings,
            "notes": notes,
            "ledger": charged,
        }
        delivery.deliver(report, render)
    for warning in chain(task.of_little_use(data.problem, chance), answer.warnings):
        say(f"warning: {warning}")


def settings_report(problem: Problem, method: PrivateSelector, n: int | None) -> dict[str, Any]:
    """Describe the public settings of a release for its JSON object; null is what does not apply.

    Parameters
    ----------
    problem : Problem
    method : PrivateSelector
    n : int or None
        The number of rows; None where it is private, or not known before a row is read.
    """
    asked, search = method.problem(problem), _search(method)
    public = asked.public()
    if "always" in public:
        public["always_counts"] = method.looks_at_always
    sizes = asked_sizes(method)
    known = n is not None and isinstance(method, ProblemSelector)
    return {
        "n": n,
        **public,
        "sizes": None if sizes is None else list(sizes),
        "complexity": _complexity(method),
        "number_of_supports": sum(
            math.comb(asked.n_features, size) for size in sizes or [asked.support_size]
        ),
        "sensitivity": asked.sensitivity(n) if known and n is not None else None,
        "pool_size": _pool_size(asked, method),
        "tolerance": search.proven_tolerance if search else None,
        "solver": _solver(search.solver) if search else None,
        **_of_rows(method, asked),
        "mipselect": version("mipselect"),
    }


def unit_of(settings: Mapping[str, Any]) -> str:
    """Return the unit that a guarantee is about: "row", or the field of the privacy unit."""
    unit: str = settings.get("protected_unit", ROW)
    return unit


def print_settings(console: Console, settings: Mapping[str, Any]) -> None:
    """Print a `settings_report`."""

    def row(what: str, text: str) -> None:
        line(console, f"{what}: {text}")

    size = f"s = {settings['support_size']}"
    if settings["sizes"] is not None:
        size = f"s of {sizes_in_words(settings['sizes'])}"
    if settings["complexity"] is not None:
        size += f" with complexity {settings['complexity']:g}"
    parts = [] if settings["n"] is None else [f"n = {settings['n']:,}"]
    parts += [dimension(settings["p"], settings["n_features"]), size]
    parts += bounds_in_words(settings)
    if settings["sensitivity"] is not None:
        parts.append(f"sensitivity {settings['sensitivity']:.6g}")
    row("Problem", ", ".join(parts))
    if "unit_rule" in settings:
        row("People", people_in_words(unit_of(settings), settings["unit_rule"]))
    if (score := settings.get("score", LOSS)) != LOSS:
        row("Score", _score_in_words(score, settings))
    if "weight_bound" in settings:
        row(
            "Weights",
            f"rows count by {settings['weight']}, clipped to 0 and {settings['weight_bound']:g}; "
            "0 where it is missing",
        )
    if settings["features"] is not None:
        row("Features", listed(settings["features"]))
    if "always" in settings:
        always = [*settings["always"], *(["an intercept"] if settings["intercept"] else [])]
        remark = ""
        if settings["always"] and not settings["always_counts"]:
            remark = f"; no score depends on {listed(settings['always'])}"
        row("Always in", (listed(always) if always else "nothing") + remark)
    used = [f"{name} {settings[name]}" for name in OF_ROWS if settings[name] is not None]
    if settings["pool_size"] is not None:
        used.append(f"pool of {settings['pool_size']:,}")
    if settings["solver"] is not None:
        used.append(
            "tolerance {tolerance:g}, solver {solver[name]} {solver[version]}".format(**settings)
        )
    row("Search", "; ".join([*used, f"mipselect {settings['mipselect']}"]))


SCORES_OF_BLOCKS = {
    BLOCKS: ("least squares on blocks", "for any number of supports and several sizes"),
    R2: ("R² within blocks", "for supports that can all be listed"),
}
"""Scores in words, and what each is for."""


def _score_in_words(score: str, settings: Mapping[str, Any]) -> str:
    what, why = SCORES_OF_BLOCKS[score]
    blocks = "whose number of rows follows from n and ε"
    if settings["block_rows"] is not None:
        partitions = plural(settings["partitions"], "partition")
        blocks = f"of {settings['block_rows']} rows, in {partitions}"
    for_it = " to draw features" if "regression" in settings else ""
    return f"{what} {blocks}, {why}; no ranges were used{for_it}"


OF_ROWS = ("top_k", "alpha", "blocks", "mcmc_steps", "mcmc_radius")
"""Recorded options of the methods here that draw from rows: named as on the command line."""

OF_THE_GUARANTEE = ("relation", "delta")
"""Options that the guarantee records."""


def _of_rows(method: PrivateSelector, asked: Problem) -> Mapping[str, Any]:
    told: dict[str, Any] = dict.fromkeys(OF_ROWS)
    for name, known in parameters_of(method).items():
        key = (known.flag or "").removeprefix("--").replace("-", "_")
        if key and isinstance(method, RowsSelector) and key not in OF_THE_GUARANTEE:
            told[key] = getattr(method, name)
    if "--mcmc-radius" in flags_of(type(method)):
        told["mcmc_radius"] = cast("MCMCSelector", method).radius_of(asked)
    return told


def _search(method: PrivateSelector) -> SearchSettings | None:
    return method.search if isinstance(method, TopRSelector | MistakesSelector) else None


def _complexity(method: PrivateSelector) -> float | None:
    """Return a of the prior over sizes, where there is a choice between sizes."""
    if not isinstance(method, ExactDrawSelector) or method.sizes is None:
        return None
    return method.complexity if len(method.sizes) > 1 else None


def _solver(name: str) -> Mapping[str, str]:
    if name in (AUTO, NATIVE):
        return {"name": NATIVE, "version": version("mipselect")}
    return {"name": name, "version": solver_by_name(name).status.version}


def _pool_size(problem: Problem, method: PrivateSelector) -> int | None:
    match method:
        case TopRSelector():
            return number_of_listed(problem, method.search.pool_size)
        case MistakesSelector() if method.test_epsilon is not None:
            return number_of_listed(problem, method.search.pool_size)
        case _:
            return None
