"""The one way of `select`, `release` and `fit`: plan, charge, draw, deliver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mipselect.cli.arguments import check_sizes, flags_of, of_nothing
from mipselect.cli.cautions import (
    cautions,
    expected_check,
    note_of_identifiers,
    reminders_of_a_plan,
    warn_before_a_draw,
)
from mipselect.cli.inputs import MomentsFile, TaskSource
from mipselect.cli.ledger_entry import charged_report, ledger_entry, print_charged
from mipselect.cli.options import Delivery
from mipselect.cli.output import NOT_PRIVATE, banner, heading, line
from mipselect.cli.progress import Watch
from mipselect.cli.settings import print_settings, settings_report, unit_of
from mipselect.cli.start import say
from mipselect.errors import InvalidInput, about
from mipselect.grid import MOST_ROWS
from mipselect.privacy.guarantee import ROW
from mipselect.problem.problem import Problem
from mipselect.selectors.chance_level import ChanceLevel, chance_level

if TYPE_CHECKING:  # Each command imports its own.
    from mipselect.cli.fitting import FitPlan
    from mipselect.cli.releasing import SupportPlan


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
        votes = "--blocks" in flags_of(type(self.plan.method))
        votes_of_folds = votes and isinstance(self.source, MomentsFile)
        if n is None or self.hides_n or votes_of_folds:
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
