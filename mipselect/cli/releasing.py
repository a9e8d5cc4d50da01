"""Draws of supports: planned from options, paid at once, released."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console
from rich.markup import escape

from mipselect.cli.arguments import blocks_of_draws, method_asked_for
from mipselect.cli.declared import refuse
from mipselect.cli.failures import NOT_SPENT, amount, spent_by, without_numbers
from mipselect.cli.inputs import Input
from mipselect.cli.method_options import SupportDrawOptions
from mipselect.cli.options import MethodKind, require_positive
from mipselect.cli.output import NOT_PRIVATE, banner, heading, table_of
from mipselect.cli.table_options import ScoreOptions
from mipselect.cli.task import Task
from mipselect.errors import about
from mipselect.mechanisms.base import Mechanism, Support
from mipselect.privacy import Guarantee, Ledger, Release
from mipselect.privacy.guarantee import ROW
from mipselect.privacy.randomness import Rng
from mipselect.problem.block_options import BlockOptions
from mipselect.problem.problem import Problem
from mipselect.problem.stored.files import StoredData
from mipselect.search.progress import ProgressCallback
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.problem import ProblemSelector
from mipselect.selectors.scored import RowsSelector
from mipselect.validation import checked_integer

MOST_DRAWS = 100_000


@dataclass(frozen=True)
class Plan:
    """Draws that are to be released and what they may cost; checked, and public.

    Attributes
    ----------
    name : str
        Name of the method on the command line.
    method : PrivateSelector
    draws : int
    seed : int or None
        A seed takes the privacy away.
    budget : Guarantee
        The most that all draws together may cost.
    ledger : Ledger or None
        Pays for them all at once, and remembers it.
    """

    name: str
    method: PrivateSelector
    draws: int
    seed: int | None
    budget: Guarantee
    ledger: Ledger | None = None

    @property
    def one(self) -> Guarantee:
        """Guarantee of one draw, under the relation of the ledger if there is one."""
        return replace(_stated(self.method, self.ledger), private=self.seed is None)

    @property
    def cost(self) -> str:
        """One plain sentence on the price."""
        each, total = amount(self.one), amount(self.one.times(self.draws))
        if self.draws == 1:
            return f"1 draw at {each}"
        return f"{self.draws} draws at {each} each: {total} in total"

    def report(self) -> dict[str, Any]:
        """Describe the planned draws and their guarantee, as part of a JSON object."""
        return {
            "private": self.seed is None,
            "method": self.name,
            "draws": self.draws,
            "cost": self.cost,
            "guarantee_of_one_draw": self.one.to_dict(),
            "guarantee_of_all_draws": self.one.times(self.draws).to_dict(),
            **({} if self.seed is None else {"warning": NOT_PRIVATE}),
        }


def plan_draws(drawing: SupportDrawOptions) -> Plan:
    """Open the ledger and check the options of a release, before any data are read.

    Raises
    ------
    InvalidInput
        Naming the option.
    BudgetExceeded
        If all draws together cost more than the budget, or than is left in the ledger.
    RelationMismatch
        If the ledger is kept under another relation.
    """
    ledger = drawing.ledger.opened()
    name = default_method(ledger) if drawing.method is None else drawing.method
    chosen = method_asked_for(name, drawing.epsilon, drawing.of_the_method)
    checked_integer(drawing.draws, "--draws", 1, MOST_DRAWS)
    if drawing.seed is not None:
        checked_integer(drawing.seed, "--seed", 0)
    with about("--epsilon, --delta and --draws"):
        total = _stated(chosen, ledger).times(drawing.draws)
    allowed = replace(total, conditions=())
    if drawing.budget is not None:
        require_positive("--budget", drawing.budget)
        allowed = replace(allowed, epsilon=drawing.budget)
        ledger_of(allowed).spend(total)
    # Where ρ is counted the mechanism may state one that only the data's shape settles.
    if ledger is not None and (ledger.currency != "rho" or total.rho is not None):
        ledger.check(total)
    return Plan(name.value, chosen, drawing.draws, drawing.seed, allowed, ledger)


def default_method(ledger: Ledger | None) -> MethodKind:
    """Choose permute-and-flip, or the exponential mechanism where ρ is counted: it costs less ρ."""
    if ledger is not None and ledger.currency == "rho":
        return MethodKind.EXPONENTIAL
    return MethodKind.PERMUTE_AND_FLIP


def _stated(method: PrivateSelector, ledger: Ledger | None) -> Guarantee:
    """Return the guarantee of one draw, under the ledger's relation if the method states it."""
    if ledger is None:
        return method.guarantee
    return ledger.promised(method.guarantees.get(ledger.relation, method.guarantee))


def ledger_of(budget: Guarantee) -> Ledger:
    """Make a ledger that can spend this much, under the relation of what is drawn."""
    return Ledger(budget.epsilon, budget.delta, budget.relation)


@dataclass(frozen=True, kw_only=True)
class DrawTask(Task):
    """Draws of supports from an input.

    Attributes
    ----------
    given : Input
    plan : Plan
    """

    given: Input
    plan: Plan

    @classmethod
    def of(
        cls,
        given: Input,
        plan: Plan,
        title: str,
        head: Mapping[str, Any],
        asked: Mapping[str, Any] | None = None,
    ) -> DrawTask:
        """Put an input and a plan together."""
        return cls(
            asked=asked or {},
            title=title,
            head=head,
            method=plan.method,
            seed=plan.seed,
            ledger=plan.ledger,
            given=given,
            plan=plan,
        )

    @property
    def hides_n(self) -> bool:
        """See `Task`."""
        return self.plan.one.relation == "add-remove"

    @property
    def noted(self) -> Mapping[str, Any]:
        """See `Task`."""
        plan = self.plan
        return {"method": plan.name, "epsilon": plan.method.epsilon, "draws": plan.draws}

    @property
    def settings(self) -> Mapping[str, Any]:
        """None."""
        return {}

    def problem(self) -> tuple[Problem, int | None]:
        """See `Task`."""
        return self.given.problem()

    def total(self, stated: Mapping[str, Guarantee]) -> Guarantee:
        """See `Task`; scores state a ρ once the number of columns is known."""
        return self._one(stated).times(self.plan.draws)

    def _one(self, stated: Mapping[str, Guarantee]) -> Guarantee:
        one = self.plan.one
        return replace(one, rho=stated.get(one.relation, one).rho)

    def planned_report(self, stated: Mapping[str, Guarantee]) -> Mapping[str, Any]:
        """See `Task`."""
        plan, one = self.plan, self._one(stated)
        return {
            **plan.report(),
            "guarantee_of_one_draw": one.to_dict(),
            "guarantee_of_all_draws": one.times(plan.draws).to_dict(),
            "budget": {"epsilon": plan.budget.epsilon, "delta": plan.budget.delta},
        }

    def show_plan(self, console: Console, stated: Mapping[str, Guarantee], unit: str) -> None:
        """See `Task`."""
        total = self.total(stated)
        console.print(f"Would be drawn: by {self.plan.name}, {self.plan.cost}.")
        console.print(f"Budget: {budget_in_words(self.plan, total)}.", markup=False)
        promised = total.of_unit(unit)
        console.print(f"Guarantee of all draws together: {promised}.", markup=False)

    def show_terms(self, console: Console) -> None:
        """See `Task`; the releases say it."""

    def data(self) -> StoredData:
        """See `Task`."""
        return self.given.data()

    def draw(
        self, data: StoredData, ledger: Ledger | None, progress: ProgressCallback
    ) -> DrawnReleases:
        """See `Task`."""
        return draw(data, replace(self.plan, ledger=ledger), progress, self.title)


def budget_in_words(plan: Plan, total: Guarantee) -> str:
    """Say in words what all draws may cost together, and what they would leave."""
    if plan.ledger is not None:
        before, after = plan.ledger.remaining, plan.ledger.after(total)
        if before.rho is not None and after.rho is not None:
            return f"the ledger has ρ = {before.rho:.15g} left, and would have {after.rho:.15g}"
        return f"the ledger has {amount(before)} left, and would have {amount(after)}"
    ledger = ledger_of(plan.budget)
    ledger.spend(total)
    left = ledger.remaining.epsilon
    rest = f"of which {left:.15g} would be left" if left else "all of which would be spent"
    return f"ε = {plan.budget.epsilon:.15g}, {rest}"


@dataclass(frozen=True)
class DrawnReleases:
    """Releases, the plan that they follow, and the ledger that paid for them."""

    title: str
    releases: tuple[Release, ...]
    plan: Plan
    ledger: Ledger

    @property
    def one(self) -> Guarantee:
        """The guarantee of one draw."""
        return self.releases[0].guarantee

    @property
    def total(self) -> Guarantee:
        """The guarantee of all draws together."""
        return self.one.times(len(self.releases))

    @property
    def private(self) -> bool:
        """True if every draw came from the operating system's generator."""
        return all(release.private for release in self.releases)

    @property
    def warnings(self) -> tuple[str, ...]:
        """None."""
        return ()

    def report(self) -> Mapping[str, Any]:
        """See `Outcome`."""
        return {
            **self.plan.report(),
            "private": self.private,
            "guarantee_of_one_draw": self.one.to_dict(),
            "guarantee_of_all_draws": self.total.to_dict(),
            "releases": [release.to_dict() for release in self.releases],
        }

    def show(self, console: Console, unit: str = ROW) -> None:
        """See `Outcome`."""
        if not self.private:
            banner(console, NOT_PRIVATE)
        kind = "released supports" if self.private else "drawn supports, not private"
        heading(console, f"{self.title}: {kind}")
        table = table_of("draw", "features", "names", right=("draw",), fold=("features", "names"))
        for k, release in enumerate(self.releases, start=1):
            names = escape(", ".join(release.feature_names))
            table.add_row(str(k), " ".join(map(str, release.support)), names)
        console.print(table)
        if self.private:
            console.print(f"Cost: {self.plan.cost}.")
            promised = self.total.of_unit(unit)
            console.print(f"Guarantee of all draws together: {promised}.", markup=False)
        else:
            console.print(f"With private randomness this would cost: {self.plan.cost}.")


def block_draw(plan: Plan, scores: ScoreOptions) -> BlockOptions:
    """Return what a score from blocks has to know of a draw, and what is stated of it."""
    method = plan.method
    if not isinstance(method, ProblemSelector):
        refuse(scores, f"does not apply to --method {plan.name}")
        return BlockOptions(epsilon=method.epsilon)
    return blocks_of_draws(scores, method).seeded(plan.seed)


def law_of(
    given: StoredData, method: PrivateSelector, rng: Rng, progress: ProgressCallback
) -> Mechanism[Support]:
    """Return what is drawn from. Scores are of data as they are, values of clipped data."""
    if isinstance(method, RowsSelector):
        return method.law(method.problem(given.problem), given.rows(), rng)
    if isinstance(method, ProblemSelector):
        return method.on(given.drawn_from(), rng, progress)
    return method.on(given.instance(), rng, progress)


def draw(given: StoredData, plan: Plan, progress: ProgressCallback, title: str) -> DrawnReleases:
    """Prepare, and release `plan.draws` supports, paid at once.

    They are paid from the plan's ledger or, without one, from one with `plan.budget`.

    Raises
    ------
    NotCertified, ConditionNotMet, SolverFailure, BoundViolated
        Without any number in the message: such numbers are sensitive.
    """
    rng = None if plan.seed is None else random.Random(plan.seed)
    ledger = ledger_of(plan.budget) if plan.ledger is None else plan.ledger
    names = given.problem.feature_names
    with without_numbers(plan.method, NOT_SPENT):
        mechanism = law_of(given, plan.method, rng, progress)
        mechanism.prepare()
    with without_numbers(plan.method, spent_by(plan.ledger)):
        drawn = mechanism.releases(plan.draws, ledger, rng=rng)
    # Scores have no names; the features do.
    releases = tuple(
        replace(release, feature_names=tuple(names[j] for j in release.support))
        for release in drawn
    )
    return DrawnReleases(title, releases, plan, ledger)
