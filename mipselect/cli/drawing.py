"""From an instance and a budget to releases; the only way out of the command line for a support."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from mipselect.cli.options import Method, about, refuse, require_positive
from mipselect.cli.output import NOT_PRIVATE, banner, heading
from mipselect.cli.sizes import parse_sizes
from mipselect.errors import (
    BoundViolated,
    ConditionNotMet,
    InvalidInput,
    NotCertified,
    SolverFailure,
)
from mipselect.instance import Instance
from mipselect.methods import (
    ExponentialMethod,
    MistakesMethod,
    SearchOptions,
    SupportMethod,
    TopRMethod,
)
from mipselect.privacy import Guarantee, Ledger, Release
from mipselect.search.progress import ProgressCallback
from mipselect.validation import checked_integer

MOST_DRAWS = 100_000


@dataclass(frozen=True)
class Plan:
    """What is to be released and what it may cost; checked, and public.

    Attributes
    ----------
    name : str
        Of the method, on the command line.
    method : SupportMethod
    draws : int
    seed : int or None
        A seed takes the privacy away.
    budget : Guarantee
        The most that all draws together may cost.
    """

    name: str
    method: SupportMethod
    draws: int
    seed: int | None
    budget: Guarantee


def plan_draws(
    *,
    method: Method,
    epsilon: float,
    draws: int,
    test_epsilon: float | None,
    delta: float | None,
    budget: float | None,
    seed: int | None,
    sizes: str | None,
    complexity: float | None,
    search: SearchOptions,
    search_given: dict[str, object],
) -> Plan:
    """Check the options of a release before any data are read.

    Raises
    ------
    InvalidInput
        Naming the option.
    BudgetExceeded
        If all draws together cost more than `budget`.
    """
    require_positive("--epsilon", epsilon)
    checked_integer(draws, "--draws", 1, MOST_DRAWS)
    if seed is not None:
        checked_integer(seed, "--seed", 0)
    if method is not Method.MISTAKES:
        refuse(method, {"--test-epsilon": test_epsilon, "--delta": delta})
    if method is Method.EXPONENTIAL:
        refuse(method, {**search_given, "--time-limit": None})
    else:
        refuse(method, {"--sizes": sizes, "--complexity": complexity})
    if test_epsilon is None and delta is None:
        if method is Method.MISTAKES:
            refuse(method, {"--pool-size (without --test-epsilon)": search_given["--pool-size"]})
    elif test_epsilon is None or delta is None:
        raise InvalidInput("--test-epsilon and --delta belong together: give both or neither")
    else:
        require_positive("--test-epsilon", test_epsilon)
        if not 0.0 < delta < 0.5:
            raise InvalidInput(f"--delta must lie strictly between 0 and 1/2, got {delta}")
    if method is Method.EXPONENTIAL:
        chosen: SupportMethod = _exponential(epsilon, sizes, complexity, search.time_limit)
    elif method is Method.TOP_R:
        chosen = TopRMethod(epsilon=epsilon, search=search)
    else:
        chosen = MistakesMethod(
            epsilon=epsilon, test_epsilon=test_epsilon, delta=delta, search=search
        )
    with about("--epsilon, --delta and --draws"):
        total = chosen.guarantee.times(draws)
    allowed = total
    if budget is not None:
        require_positive("--budget", budget)
        allowed = Guarantee(budget, total.delta)
        Ledger(allowed.epsilon, allowed.delta).spend(total)
    return Plan(method.value, chosen, draws, seed, allowed)


def _exponential(
    epsilon: float, sizes: str | None, complexity: float | None, time_limit: float | None
) -> ExponentialMethod:
    allowed = None if sizes is None else parse_sizes(sizes)
    if complexity is None:
        return ExponentialMethod(epsilon=epsilon, sizes=allowed, time_limit=time_limit)
    if allowed is None or len(allowed) == 1:
        raise InvalidInput("--complexity is for a choice between sizes: give --sizes, such as 1-8")
    with about("--complexity"):
        return ExponentialMethod(
            epsilon=epsilon, sizes=allowed, complexity=complexity, time_limit=time_limit
        )


@dataclass(frozen=True)
class Drawn:
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
        return self.ledger.spent

    @property
    def cost(self) -> str:
        """One plain sentence on the price."""
        draws = len(self.releases)
        each, total = _amount(self.one), _amount(self.total)
        if draws == 1:
            return f"1 draw at {each}"
        return f"{draws} draws at {each} each: {total} in total"


def draw(instance: Instance, plan: Plan, progress: ProgressCallback) -> Drawn:
    """Prepare, and release `plan.draws` supports, each paid from a ledger with `plan.budget`.

    Raises
    ------
    NotCertified, ConditionNotMet, SolverFailure, BoundViolated
        Without any number in the message: such numbers are sensitive.
    """
    rng = None if plan.seed is None else random.Random(plan.seed)
    ledger = Ledger(plan.budget.epsilon, plan.budget.delta)
    with _without_numbers(plan.method):
        mechanism = plan.method.mechanism(instance, progress)
        releases = tuple(mechanism.release(ledger, rng=rng) for _ in range(plan.draws))
    return Drawn(releases, plan, ledger)


def drawn_report(drawn: Drawn) -> Mapping[str, Any]:
    """The releases as part of a JSON object."""
    private = all(release.private for release in drawn.releases)
    report: dict[str, Any] = {
        # Whoever knows the seed can repeat the draw: it is a function of the data.
        "sensitive": not private,
        "private": private,
        "method": drawn.plan.name,
        "draws": len(drawn.releases),
        "cost": drawn.cost,
        "guarantee_of_one_draw": drawn.one.to_dict(),
        "guarantee_of_all_draws": drawn.total.to_dict(),
        "releases": [release.to_dict() for release in drawn.releases],
    }
    if not private:
        report["warning"] = NOT_PRIVATE
    return report


def print_drawn(console: Console, drawn: Drawn, title: str) -> None:
    """Print the releases and their guarantee as text."""
    private = all(release.private for release in drawn.releases)
    if not private:
        banner(console, NOT_PRIVATE)
    kind = "released supports" if private else "drawn supports, not private"
    heading(console, f"{title}: {kind}")
    table = Table()
    table.add_column("draw", justify="right")
    table.add_column("columns", overflow="fold")
    table.add_column("names", overflow="fold")
    for k, release in enumerate(drawn.releases, start=1):
        table.add_row(
            str(k),
            " ".join(map(str, release.support)),
            escape(", ".join(release.feature_names)),
        )
    console.print(table)
    if private:
        console.print(f"Cost: {drawn.cost}.")
        console.print(f"Guarantee of all draws together: {drawn.total}.", markup=False)
    else:
        console.print(f"With private randomness this would cost: {drawn.cost}.")


@contextmanager
def _without_numbers(method: SupportMethod) -> Iterator[None]:
    """Take what depends on the data out of the messages of errors."""
    details = "; 'mipselect solve' shows the details, which are sensitive"
    try:
        yield
    except SolverFailure:
        raise SolverFailure(
            f"the solver failed, so nothing was released and no budget is spent{details}"
        ) from None
    except NotCertified:
        if isinstance(method, ExponentialMethod):
            raise NotCertified(
                "no exact draw was made within the time limit, so nothing was released and no "
                "budget is spent; allow more time, a smaller ε or smaller sizes, or use another "
                "method",
                bound=float("-inf"),
            ) from None
        raise NotCertified(
            "not certified within the tolerance, so nothing was released and no budget is spent; "
            f"allow more time or use another solver{details}",
            bound=float("-inf"),
        ) from None
    except BoundViolated:
        raise BoundViolated(
            "a proven bound was wrong, which no data should bring about, so nothing was released "
            "and no budget is spent: this is an error of mipselect; please report it"
        ) from None
    except ConditionNotMet:
        raise ConditionNotMet(
            "the data are not proven to meet the condition of the mechanism, so nothing was "
            "released; this refusal itself depends on the data, as a release would have, and no "
            "guarantee covers it; --test-epsilon with --delta never refuses for this reason, nor "
            f"do the other methods{details}"
        ) from None


def _amount(guarantee: Guarantee) -> str:
    if guarantee.delta == 0.0:
        return f"ε = {guarantee.epsilon:.15g}"
    return f"(ε, δ) = ({guarantee.epsilon:.15g}, {guarantee.delta:.15g})"
