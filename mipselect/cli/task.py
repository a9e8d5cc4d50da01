"""The one way of `select`, `release` and `fit`: plan, charge, draw, deliver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from rich.console import Console

from mipselect.cli.ledger_entry import (
    charged_report,
    noted,
    print_charged,
    told_of_the_ledger,
)
from mipselect.cli.options import Delivery
from mipselect.cli.output import NOT_PRIVATE, banner, deliver, heading, line
from mipselect.cli.reminders import expected_check, like_identifiers, reminders_of_a_plan
from mipselect.cli.search_progress import Watch
from mipselect.cli.settings import print_settings, settings_report, unit_of
from mipselect.cli.sizes import check_sizes, warn_of_nothing
from mipselect.cli.streams import say
from mipselect.cli.usefulness import chance_level
from mipselect.errors import InvalidInput, about
from mipselect.privacy import Guarantee, Ledger
from mipselect.problem.problem import Problem
from mipselect.problem.stored.files import StoredData
from mipselect.search.progress import ProgressCallback
from mipselect.selectors import MCMCSelector
from mipselect.selectors.base import PrivateSelector


class Outcome(Protocol):
    """Result of a draw."""

    @property
    def private(self) -> bool:
        """True if every draw came from the operating system's generator."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences for standard error."""
        ...

    def report(self) -> Mapping[str, Any]:
        """Return it as part of a JSON object."""
        ...

    def show(self, console: Console, unit: str) -> None:
        """Print it, and its guarantee for all rows of one `unit`."""
        ...


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """A release as it is planned, with all that is public about it.

    Attributes
    ----------
    title : str
        Name of the data in messages.
    head : mapping
        First entries of a report.
    method : PrivateSelector
    seed : int or None
        A seed takes the privacy away.
    ledger : Ledger or None
        Pays before anything is drawn.
    asked : mapping
        Options about a table with a schema as they were given, by their names.
    """

    title: str
    head: Mapping[str, Any]
    method: PrivateSelector
    seed: int | None
    ledger: Ledger | None
    asked: Mapping[str, Any] = field(default_factory=dict)

    @property
    @abstractmethod
    def hides_n(self) -> bool:
        """True if the number of rows is private."""

    @property
    @abstractmethod
    def noted(self) -> Mapping[str, Any]:
        """Entries of a ledger besides the settings."""

    @property
    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """Recorded settings besides those of the problem and the method."""

    @abstractmethod
    def problem(self) -> tuple[Problem, int | None]:
        """Return the problem, and the number of rows where it is known; no row is read."""

    @abstractmethod
    def total(self, stated: Mapping[str, Guarantee]) -> Guarantee:
        """Return the guarantee of all that is drawn, from what the method states."""

    @abstractmethod
    def planned_report(self, stated: Mapping[str, Guarantee]) -> Mapping[str, Any]:
        """Return the planned draws and their guarantee, as part of a JSON object."""

    @abstractmethod
    def show_plan(self, console: Console, stated: Mapping[str, Guarantee], unit: str) -> None:
        """Print the same."""

    @abstractmethod
    def data(self) -> StoredData:
        """Read the data; sensitive."""

    @abstractmethod
    def draw(self, data: StoredData, ledger: Ledger | None, progress: ProgressCallback) -> Outcome:
        """Charge the ledger and draw.

        Raises
        ------
        NotCertified, ConditionNotMet, SolverFailure, BoundViolated
            Without any number in the message: such numbers are sensitive.
        """

    @abstractmethod
    def show_terms(self, console: Console) -> None:
        """Print what it cost, where the answer does not say it."""


def deliver_task(task: Task, delivery: Delivery, *, dry_run: bool) -> None:
    """Say what a task would draw, or draw it; then deliver the report."""
    if dry_run:
        _deliver_plan(task, delivery)
    else:
        _deliver_answer(task, delivery)


def _deliver_plan(task: Task, delivery: Delivery) -> None:
    """Check all that can be checked without the rows; no row is read and nothing is charged."""
    problem, n = task.problem()
    settings = _checked_settings(task, problem, n)
    with about(task.title):
        stated = task.method.stated(task.method.problem(problem))
        total = task.total(stated)

    def render(console: Console) -> None:
        if task.seed is not None:
            banner(console, NOT_PRIVATE)
        heading(console, f"{task.title}: dry run; no row was read, nothing drawn and nothing spent")
        task.show_plan(console, stated, unit_of(settings))
        print_settings(console, settings)
        for reminder in reminders_of_a_plan(task.head, task.asked, problem.feature_names):
            line(console, reminder)

    ledger = task.ledger
    report = {
        **task.head,
        "dry_run": True,
        "sensitive": False,
        **task.planned_report(stated),
        **settings,
        "ledger": None if ledger is None else _ledger_after(ledger, total),
    }
    deliver(report, render, as_json=delivery.as_json, output=delivery.output)
    warn_of_nothing(task.method, problem)


def _deliver_answer(task: Task, delivery: Delivery) -> None:
    """Read, charge, draw and deliver; say so where the draw stays near chance level."""
    data = task.data()
    n = None if task.hides_n else data.data.n
    settings = _checked_settings(task, data.problem, n)
    for alike in like_identifiers(task.head, data.problem.feature_names):
        say(f"note: {alike}")
    ledger = task.ledger
    if ledger is not None:
        ledger = ledger.noting({**noted({**task.head, **settings}), **task.noted})
    with told_of_the_ledger(task.ledger):
        with about(task.title), Watch(task.title, details=False) as watch:
            answer = task.draw(data, ledger, watch)
        chance = None if n is None else chance_level(data.problem, task.method, n)
        charged = charged_report(task.ledger)

    def render(console: Console) -> None:
        answer.show(console, unit_of(settings))
        print_charged(console, charged)
        task.show_terms(console)
        print_settings(console, settings)
        if "schema" in task.head:
            line(console, expected_check(task.head, task.asked))

    report = {
        **task.head,
        # Whoever knows the seed can repeat the draw: it is a function of the data.
        "sensitive": not answer.private,
        **answer.report(),
        "nearly_blind": None if chance is None else chance.entirely,
        "blind_sizes": None if chance is None else list(chance.sizes),
        **settings,
        "ledger": charged,
    }
    deliver(report, render, as_json=delivery.as_json, output=delivery.output)
    sentence = [] if chance is None or not chance.sentence else [chance.sentence]
    for warning in (*sentence, *answer.warnings):
        say(f"warning: {warning}")
    warn_of_nothing(task.method, data.problem)


def _checked_settings(task: Task, problem: Problem, n: int | None) -> dict[str, Any]:
    """Return what is recorded; raise `InvalidInput` for a problem that the method is not for."""
    check_sizes(task.method, problem.n_features, task.title)
    if task.hides_n and "add-remove" not in problem.relations:
        raise InvalidInput(
            f"{task.title}: the guarantee of scores from blocks of rows is for replacing one row, "
            "and add-remove is asked for: --score loss with public bounds has both"
        )
    loss = problem.loss
    if isinstance(task.method, MCMCSelector) and loss is not None and loss.name != "squared":
        raise InvalidInput(f"{task.title}: --method mcmc is for the squared loss, not {loss.name}")
    with about(task.title):
        report = settings_report(problem, task.method, None if task.hides_n else n)
    return {**report, **task.settings}


def _ledger_after(ledger: Ledger, total: Guarantee) -> Mapping[str, Any]:
    """Return what the ledger has left and what it would have left, as part of a JSON object."""
    return {
        "identity": ledger.identity,
        "remaining": ledger.remaining.to_dict(),
        "would_remain": ledger.after(total).to_dict(),
    }
