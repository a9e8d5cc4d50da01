"""From an instance and a budget to releases; the only way out of the command line for a support."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mipselect.cli.arguments import MethodOptions, method_asked_for
from mipselect.cli.ledger_entry import noted
from mipselect.cli.options import MethodKind, about, require_positive
from mipselect.cli.output import NOT_PRIVATE, banner, heading
from mipselect.errors import (
    BoundViolated,
    ConditionNotMet,
    NotCertified,
    SolverFailure,
)
from mipselect.instance import Instance
from mipselect.methods import (
    ExponentialMethod,
    PrivateMethod,
    Rows,
    SummedRows,
    mechanism_of,
)
from mipselect.privacy import Guarantee, Ledger, Release
from mipselect.privacy.guarantee import ROW
from mipselect.search.progress import ProgressCallback
from mipselect.validation import checked_integer

MOST_DRAWS = 100_000
NOT_SPENT = "no budget is spent"
STAYS_CHARGED = "what was charged to the ledger stays charged"


@dataclass(frozen=True)
class Plan:
    """Draws that are to be released and what they may cost; checked, and public.

    Attributes
    ----------
    name : str
        Of the method, on the command line.
    method : PrivateMethod
    draws : int
    seed : int or None
        A seed takes the privacy away.
    budget : Guarantee
        The most that all draws together may cost.
    ledger : Ledger or None
        Pays for them all at once, and remembers it.
    """

    name: str
    method: PrivateMethod
    draws: int
    seed: int | None
    budget: Guarantee
    ledger: Ledger | None = None

    @property
    def one(self) -> Guarantee:
        """Guarantee of one draw, under the relation of the ledger if there is one."""
        return replace(_stated(self.method, self.ledger), private=self.seed is None)

    def noting(self, asked: Mapping[str, Any]) -> Plan:
        """The same with a ledger that notes what is asked: what is public and short, never n."""
        if self.ledger is None:
            return self
        own = {"method": self.name, "epsilon": self.method.epsilon, "draws": self.draws}
        return replace(self, ledger=self.ledger.noting({**noted(asked), **own}))

    @property
    def cost(self) -> str:
        """One plain sentence on the price."""
        each, total = amount(self.one), amount(self.one.times(self.draws))
        if self.draws == 1:
            return f"1 draw at {each}"
        return f"{self.draws} draws at {each} each: {total} in total"


def plan_draws(
    *,
    method: MethodKind,
    epsilon: float,
    options: MethodOptions,
    draws: int,
    budget: float | None,
    seed: int | None,
    ledger: Ledger | None = None,
) -> Plan:
    """Check the options of a release before any data are read.

    Raises
    ------
    InvalidInput
        Naming the option.
    BudgetExceeded
        If all draws together cost more than `budget`, or than is left in the ledger.
    RelationMismatch
        If the ledger is kept under another relation.
    """
    chosen = method_asked_for(method, epsilon, options)
    checked_integer(draws, "--draws", 1, MOST_DRAWS)
    if seed is not None:
        checked_integer(seed, "--seed", 0)
    with about("--epsilon, --delta and --draws"):
        total = _stated(chosen, ledger).times(draws)
    allowed = replace(total, conditions=())
    if budget is not None:
        require_positive("--budget", budget)
        allowed = replace(allowed, epsilon=budget)
        ledger_of(allowed).spend(total)
    # Where ρ is counted the mechanism may state one that only the data's shape settles.
    if ledger is not None and (ledger.currency != "rho" or total.rho is not None):
        ledger.check(total)
    return Plan(method.value, chosen, draws, seed, allowed, ledger)


def _stated(method: PrivateMethod, ledger: Ledger | None) -> Guarantee:
    """Return the guarantee of one draw, under the ledger's relation if the method states it."""
    if ledger is None:
        return method.guarantee
    return ledger.promised(method.guarantees.get(ledger.relation, method.guarantee))


def ledger_of(budget: Guarantee) -> Ledger:
    """A ledger that can spend this much, under the relation of what is drawn."""
    return Ledger(budget.epsilon, budget.delta, budget.relation)


@dataclass(frozen=True)
class DrawnReleases:
    """Releases, and the ledger that paid for them."""

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


def draw(
    given: Instance | Rows | SummedRows, plan: Plan, progress: ProgressCallback
) -> DrawnReleases:
    """Prepare, and release `plan.draws` supports, paid at once.

    They are paid from the plan's ledger or, without one, from one with `plan.budget`.

    Raises
    ------
    NotCertified, ConditionNotMet, SolverFailure, BoundViolated
        Without any number in the message: such numbers are sensitive.
    """
    rng = None if plan.seed is None else random.Random(plan.seed)
    ledger = ledger_of(plan.budget) if plan.ledger is None else plan.ledger
    names = given.feature_names
    with without_numbers(plan.method, NOT_SPENT):
        mechanism = mechanism_of(given, plan.method, rng, progress)
        mechanism.prepare()
    spent = NOT_SPENT if plan.ledger is None else STAYS_CHARGED
    with without_numbers(plan.method, spent):
        drawn = mechanism.releases(plan.draws, ledger, rng=rng)
    # Scores have no names; the features do.
    releases = tuple(
        replace(release, feature_names=tuple(names[j] for j in release.support))
        for release in drawn
    )
    return DrawnReleases(releases, plan, ledger)


def planned_report(plan: Plan) -> Mapping[str, Any]:
    """Return the planned draws and what they promise, as part of a JSON object."""
    report: dict[str, Any] = {
        "private": plan.seed is None,
        "method": plan.name,
        "draws": plan.draws,
        "cost": plan.cost,
        "guarantee_of_one_draw": plan.one.to_dict(),
        "guarantee_of_all_draws": plan.one.times(plan.draws).to_dict(),
    }
    if plan.seed is not None:
        report["warning"] = NOT_PRIVATE
    return report


def drawn_report(drawn: DrawnReleases) -> Mapping[str, Any]:
    """The releases as part of a JSON object."""
    return {
        # Whoever knows the seed can repeat the draw: it is a function of the data.
        "sensitive": not drawn.private,
        **planned_report(drawn.plan),
        "private": drawn.private,
        "guarantee_of_one_draw": drawn.one.to_dict(),
        "guarantee_of_all_draws": drawn.total.to_dict(),
        "releases": [release.to_dict() for release in drawn.releases],
    }


def print_drawn(console: Console, drawn: DrawnReleases, title: str, unit: str = ROW) -> None:
    """Print the releases as text, and their guarantee for all rows of one `unit`."""
    private = drawn.private
    if not private:
        banner(console, NOT_PRIVATE)
    kind = "released supports" if private else "drawn supports, not private"
    heading(console, f"{title}: {kind}")
    table = Table()
    table.add_column("draw", justify="right")
    table.add_column("features", overflow="fold")
    table.add_column("names", overflow="fold")
    for k, release in enumerate(drawn.releases, start=1):
        table.add_row(
            str(k),
            " ".join(map(str, release.support)),
            escape(", ".join(release.feature_names)),
        )
    console.print(table)
    if private:
        console.print(f"Cost: {drawn.plan.cost}.")
        promised = drawn.total.of_unit(unit)
        console.print(f"Guarantee of all draws together: {promised}.", markup=False)
    else:
        console.print(f"With private randomness this would cost: {drawn.plan.cost}.")


@contextmanager
def without_numbers(method: PrivateMethod, spent: str) -> Iterator[None]:
    """Take what depends on the data out of the messages of errors; `spent` says what it cost."""
    details = "; 'mipselect solve' shows the details, which are sensitive"
    try:
        yield
    except SolverFailure:
        raise SolverFailure(
            f"the solver failed, so nothing was released and {spent}{details}"
        ) from None
    except NotCertified:
        if isinstance(method, ExponentialMethod):
            raise NotCertified(
                "no exact draw was made within the time limit, so nothing was released and "
                f"{spent}; allow more time, a smaller ε or smaller sizes, or use another method",
                bound=float("-inf"),
            ) from None
        raise NotCertified(
            f"not certified within the tolerance, so nothing was released and {spent}; "
            f"allow more time or use another solver{details}",
            bound=float("-inf"),
        ) from None
    except BoundViolated:
        raise BoundViolated(
            "a proven bound was wrong, which no data should bring about, so nothing was released "
            f"and {spent}: this is an error of mipselect; please report it"
        ) from None
    except ConditionNotMet:
        raise ConditionNotMet(
            "the data are not proven to meet the condition of the mechanism, so nothing was "
            "released; this refusal itself depends on the data, as a release would have, and no "
            "guarantee covers it; --test-epsilon with --delta never refuses for this reason, nor "
            f"do the other methods{details}"
        ) from None


def amount(guarantee: Guarantee) -> str:
    """(ε, δ) in short, or ε alone."""
    if guarantee.delta == 0.0:
        return f"ε = {guarantee.epsilon:.15g}"
    return f"(ε, δ) = ({guarantee.epsilon:.15g}, {guarantee.delta:.15g})"
