"""The one way of `select`, `release` and `fit`: plan, charge, draw, deliver."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, cast

from rich.console import Console

from mipselect.backends.discovery import NATIVE, solver_by_name
from mipselect.cli.arguments import check_sizes, flags_of, of_nothing
from mipselect.cli.cautions import note_of_the_table, warnings
from mipselect.cli.ledger_entry import charged_report, ledger_entry, print_charged
from mipselect.cli.options import AUTO, Delivery
from mipselect.cli.output import NOT_PRIVATE, banner, heading, line
from mipselect.cli.progress import Watch
from mipselect.cli.start import say
from mipselect.errors import InvalidInput, about
from mipselect.grid import MOST_ROWS
from mipselect.parameters import parameters_of
from mipselect.privacy.guarantee import ROW
from mipselect.privacy.public_fields import PUBLIC_FIELDS, in_words
from mipselect.problem.problem import Problem
from mipselect.problem.stored import StoredData
from mipselect.search.supports import number_of_listed
from mipselect.selectors import MistakesSelector, TopRSelector
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.chance_level import ChanceLevel
from mipselect.selectors.exact_draws import ExactDrawSelector, asked_sizes
from mipselect.selectors.problem import ProblemSelector
from mipselect.selectors.scored import RowsSelector
from mipselect.tables.public_map import people_in_words
from mipselect.validation import listed, sizes_in_words

if TYPE_CHECKING:  # Each command imports its own.
    from mipselect.cli.fit_plan import FitPlan
    from mipselect.cli.releasing import SupportPlan
    from mipselect.selectors import MCMCSelector


class TaskSource(Protocol):
    """Source of a problem and its data."""

    def problem(self) -> tuple[Problem, int | None]:
        """Return the problem, and the number of rows where it is known; no row is read."""
        ...

    def data(self) -> StoredData:
        """Return all of it; sensitive."""
        ...


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
    """

    title: str
    head: Mapping[str, Any]
    source: TaskSource
    plan: SupportPlan | FitPlan

    @property
    def hides_n(self) -> bool:
        """True if the number of rows is private."""
        return self.plan.together.relation == "add-remove"

    def settings(self, problem: Problem, n: int | None) -> dict[str, Any]:
        """Return what is recorded; raise `InvalidInput` for a problem that is not for the plan."""
        plan, method, loss = self.plan, self.plan.method, problem.loss
        check_sizes(method, problem.n_features, self.title)
        if self.hides_n and "add-remove" not in problem.relations:
            which, has_both = "scores from blocks of rows", "--score loss with public bounds"
            if problem.score == "loss":
                enough = problem.least_ridge(MOST_ROWS)
                which, has_both = "so small a ridge", f"a --ridge of at least {enough:.2g}"
            raise InvalidInput(
                f"{self.title}: the guarantee of {which} is for replacing one row, and add-remove "
                f"is asked for: {has_both} has both"
            )
        by_chain = "--mcmc-radius" in flags_of(type(method))
        if by_chain and loss is not None and loss.name != "squared":
            raise InvalidInput(
                f"{self.title}: --method mcmc is for the squared loss, not {loss.name}"
            )
        with about(self.title):
            report = settings_report(problem, method, None if self.hides_n else n)
        units = problem.units
        several = (
            {} if units is None or units.protected_unit == ROW else {"unit_rule": units.unit_rule}
        )
        return {**report, **several, **plan.settings}

    def warnings(self, problem: Problem, settings: Mapping[str, Any], n: int | None) -> list[str]:
        """Say what comes before a draw; it depends on what is public alone."""
        plan = self.plan
        if plan.ledger is not None or plan.seed is None:
            note_of_the_table(self.head, problem.feature_names)
        known = None if self.hides_n else n
        unit, doubts = unit_of(settings), plan.doubts(known)
        return warnings(self.head, plan.together, unit, plan.ledger, known, doubts)

    def chance_level(self, problem: Problem, n: int | None) -> ChanceLevel | None:
        """Compare what a draw from n rows can find with its noise; None if that is not known."""
        if n is None or self.hides_n:
            return None
        return self.plan.method.chance_level(problem, n)

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
    notes = task.warnings(problem, settings, n)
    with about(task.title):
        stated = plan.method.stated(plan.method.problem(problem))
        total = plan.total(stated)

    def render(console: Console) -> None:
        if plan.seed is not None:
            banner(console, NOT_PRIVATE)
        heading(console, f"{task.title}: dry run; no row was read, nothing drawn and nothing spent")
        plan.show(console, stated, unit_of(settings))
        print_settings(console, settings)

    ledger, left = plan.ledger, None
    if ledger is not None:
        left = {
            "identity": ledger.identity,
            "remaining": ledger.remaining.to_dict(),
            "would_remain": ledger.after(total).to_dict(),
        }
    report = {
        **task.head,
        "dry_run": True,
        "sensitive": False,
        **plan.report(stated),
        **settings,
        "notes": notes,
        "ledger": left,
    }
    delivery.deliver(report, render)
    for warning in task.of_little_use(problem, task.chance_level(problem, n)):
        say(f"warning: {warning}")


def _deliver_answer(task: Task, delivery: Delivery) -> None:
    """Read, charge, draw and deliver; say so where the draw stays near chance level."""
    plan, data = task.plan, task.source.data()
    problem, n = data.problem, data.data.n
    settings = task.settings(problem, n)
    notes = task.warnings(problem, settings, n)
    with ledger_entry(plan.ledger, {**task.head, **settings}, plan.noted) as ledger:
        with about(task.title), Watch(task.title, details=False) as watch:
            answer = plan.draw(data, ledger, watch)
        chance = task.chance_level(problem, n)
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
            "nearly_blind": None if chance is None else chance.near,
            **settings,
            "notes": notes,
            "ledger": charged,
        }
        delivery.deliver(report, render)
    for warning in chain(task.of_little_use(problem, chance), answer.warnings):
        say(f"warning: {warning}")


OF_ROWS = ("top_k", "alpha", "blocks", "mcmc_steps", "mcmc_radius")
"""Recorded options of the methods here that draw from rows: named as on the command line."""

OF_THE_GUARANTEE = ("relation", "delta")
"""Options that the guarantee records."""


def settings_report(problem: Problem, method: PrivateSelector, n: int | None) -> dict[str, Any]:
    """Return the public settings of a release for its JSON object; null is what does not apply.

    Parameters
    ----------
    problem : Problem
    method : PrivateSelector
    n : int or None
        The number of rows; None where it is private, or not known before a row is read.
    """
    asked, sizes = method.problem(problem), asked_sizes(method)
    public = asked.public()
    if "always" in public:
        public["always_counts"] = method.looks_at_always
    known = n is not None and isinstance(method, ProblemSelector)
    report = {
        "n": n,
        **public,
        "sizes": None if sizes is None else list(sizes),
        "complexity": None,
        "number_of_supports": sum(
            math.comb(asked.n_features, size) for size in sizes or [asked.support_size]
        ),
        "sensitivity": asked.sensitivity(n) if known and n is not None else None,
        **dict.fromkeys(("pool_size", "tolerance", "solver", *OF_ROWS)),
    }
    if isinstance(method, ExactDrawSelector) and len(method.sizes or ()) > 1:
        report["complexity"] = method.complexity
    if isinstance(method, TopRSelector | MistakesSelector):
        search = method.search
        report["tolerance"] = search.proven_tolerance
        name = NATIVE if search.solver == AUTO else search.solver
        ours = name == NATIVE
        release = version("mipselect") if ours else solver_by_name(name).status.version
        report["solver"] = {"name": name, "version": release}
        if isinstance(method, TopRSelector) or method.test_epsilon is not None:
            report["pool_size"] = number_of_listed(asked, search.pool_size)
    if isinstance(method, RowsSelector):
        for name, own in parameters_of(method).items():
            key = (own.flag or "").removeprefix("--").replace("-", "_")
            if key and key not in OF_THE_GUARANTEE:
                report[key] = getattr(method, name)
    if "--mcmc-radius" in flags_of(type(method)):
        report["mcmc_radius"] = cast("MCMCSelector", method).radius_of(asked)
    return {**report, "mipselect": version("mipselect")}


def unit_of(settings: Mapping[str, Any]) -> str:
    """Return the unit that a guarantee is about: "row", or the field of the privacy unit."""
    unit: str = settings.get("protected_unit", ROW)
    return unit


def print_settings(console: Console, settings: Mapping[str, Any]) -> None:
    """Print a `settings_report` in the words of `PUBLIC_FIELDS`, as a report does."""
    told = {name: settings[name] for name in PUBLIC_FIELDS if settings.get(name) is not None}
    if settings["sizes"] is not None:
        told["sizes"] = sizes_in_words(settings["sizes"])
    if (solver := settings["solver"]) is not None:
        told["solver"] = f"{solver['name']} {solver['version']}"
    line(console, f"Settings: {'; '.join(in_words(*each) for each in told.items())}")
    if "unit_rule" in settings:
        line(console, f"People: {people_in_words(unit_of(settings), settings['unit_rule'])}")
    if settings["features"] is not None:
        line(console, f"Features: {listed(settings['features'])}")
    if "always" in settings:
        always = [*settings["always"], *(["an intercept"] if settings["intercept"] else [])]
        text = listed(always) if always else "nothing"
        if settings["always"] and not settings["always_counts"]:
            text += f"; no score depends on {listed(settings['always'])}"
        line(console, f"Always in: {text}")
