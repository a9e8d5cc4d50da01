"""Draws of supports: planned from options, paid at once, released."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console
from rich.markup import escape

from mipselect.cli.arguments import method_asked_for
from mipselect.cli.ledger_entry import check_ledger, in_words, opened
from mipselect.cli.options import SupportDrawOptions, check_seed
from mipselect.cli.output import NOT_PRIVATE, banner, heading, table_of
from mipselect.errors import BoundViolated, ConditionNotMet, NotCertified, SolverFailure, about
from mipselect.mechanisms.base import Mechanism, Support
from mipselect.privacy import Guarantee, Ledger, Release
from mipselect.privacy.guarantee import ROW, amount
from mipselect.privacy.randomness import Rng
from mipselect.problem.stored import StoredData
from mipselect.search.progress import ProgressCallback
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.exact_draws import ExactDrawSelector
from mipselect.selectors.problem import ProblemSelector
from mipselect.selectors.scored import RowsSelector
from mipselect.validation import checked_integer

NOT_SPENT = "no budget is spent"
STAYS_CHARGED = "what was charged to the ledger stays charged"


def spent_by(ledger: Ledger | None) -> str:
    """Say what a draw that fails has cost."""
    return NOT_SPENT if ledger is None else STAYS_CHARGED


@contextmanager
def without_numbers(method: PrivateSelector, spent: str) -> Iterator[None]:
    """Take what depends on the data out of the messages of errors; `spent` says what it cost."""
    details = "; 'mipselect solve' shows the details, which are sensitive"
    try:
        yield
    except SolverFailure:
        raise SolverFailure(
            f"the solver failed, so nothing was released and {spent}{details}"
        ) from None
    except NotCertified:
        if isinstance(method, ExactDrawSelector):
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


MOST_DRAWS = 100_000


@dataclass(frozen=True)
class SupportPlan:
    """Draws of supports that are to be released, and what they may cost; checked, and public.

    `FitPlan` is the same of a model.

    Attributes
    ----------
    name : str
        Name of the method on the command line.
    method : PrivateSelector
    draws : int
    seed : int or None
        A seed takes the privacy away.
    ledger : Ledger or None
        Pays for them all at once, and remembers it.
    """

    name: str
    method: PrivateSelector
    draws: int
    seed: int | None
    ledger: Ledger | None = None

    @property
    def one(self) -> Guarantee:
        """Guarantee of one draw, under the relation of the ledger if there is one."""
        return replace(_stated(self.method, self.ledger), private=self.seed is None)

    @property
    def together(self) -> Guarantee:
        """Guarantee of all that is drawn, from options alone; under add-remove n is private."""
        return self.one.times(self.draws)

    def doubts(self, n: int | None) -> tuple[str, ...]:
        """Return none: a selection has no test that may fail."""
        return ()

    @property
    def cost(self) -> str:
        """One plain sentence on the price."""
        each, total = amount(self.one), amount(self.together)
        if self.draws == 1:
            return f"1 draw at {each}"
        return f"{self.draws} draws at {each} each: {total} in total"

    @property
    def noted(self) -> Mapping[str, Any]:
        """Entries of a ledger besides the settings."""
        return {"method": self.name, "epsilon": self.method.epsilon, "draws": self.draws}

    @property
    def settings(self) -> Mapping[str, Any]:
        """Recorded settings besides those of the problem and the method: none."""
        return {}

    def total(self, stated: Mapping[str, Guarantee]) -> Guarantee:
        """Return the guarantee of all, from what the method states: a ρ once p is known."""
        return self._one(stated).of_draws(self.draws)

    def _one(self, stated: Mapping[str, Guarantee]) -> Guarantee:
        return replace(self.one, rho=stated.get(self.one.relation, self.one).rho)

    def of_draws(self, one: Guarantee) -> dict[str, Any]:
        """Describe draws that have this guarantee each, as part of a JSON object."""
        return {
            "private": self.seed is None,
            "method": self.name,
            "draws": self.draws,
            "cost": self.cost,
            "guarantee_of_one_draw": one.to_dict(),
            "guarantee_of_all_draws": one.times(self.draws).to_dict(),
            **({} if self.seed is None else {"warning": NOT_PRIVATE}),
        }

    def report(self, stated: Mapping[str, Guarantee]) -> Mapping[str, Any]:
        """Return the planned draws and their guarantee, as part of a JSON object."""
        return self.of_draws(self._one(stated))

    def show(self, console: Console, stated: Mapping[str, Guarantee], unit: str) -> None:
        """Print the same."""
        total = self.total(stated)
        console.print(f"Would be drawn: by {self.name}, {self.cost}.")
        if self.ledger is not None:
            left, after = in_words(self.ledger.remaining), in_words(self.ledger.after(total))
            console.print(f"Budget: the ledger has {left} left, and would have {after}.")
        promised = total.of_unit(unit)
        console.print(f"Guarantee of all draws together: {promised}.", markup=False)

    def show_terms(self, console: Console) -> None:
        """Print what was drawn cost, which the releases say."""

    def draw(
        self, data: StoredData, ledger: Ledger | None, progress: ProgressCallback
    ) -> DrawnReleases:
        """Charge the ledger, if there is one, and draw.

        Raises
        ------
        NotCertified, ConditionNotMet, SolverFailure, BoundViolated
            Without any number in the message: such numbers are sensitive.
        """
        rng = None if self.seed is None else random.Random(self.seed)
        names = data.problem.feature_names
        with without_numbers(self.method, NOT_SPENT):
            mechanism = law_of(data, self.method, rng, progress)
            mechanism.prepare()
        with without_numbers(self.method, spent_by(ledger)):
            drawn = mechanism.releases(self.draws, ledger, rng=rng)
        # Scores have no names; the features do.
        releases = tuple(
            replace(release, feature_names=tuple(names[j] for j in release.support))
            for release in drawn
        )
        return DrawnReleases(releases, self)


def plan_draws(drawing: SupportDrawOptions) -> SupportPlan:
    """Open the ledger and check the options of a release, before any data are read.

    Raises
    ------
    InvalidInput
        Naming the option.
    BudgetExceeded
        If all draws together cost more than is left in the ledger.
    RelationMismatch
        If the ledger is kept under another relation.
    """
    ledger = opened(drawing.ledger)
    name = default_method(ledger) if drawing.method is None else drawing.method
    chosen = method_asked_for(name, drawing.epsilon, drawing.of_the_method)
    checked_integer(drawing.draws, "--draws", 1, MOST_DRAWS)
    check_seed(drawing.seed)
    with about("--epsilon, --delta and --draws"):
        total = _stated(chosen, ledger).times(drawing.draws)
    check_ledger(ledger, total)
    return SupportPlan(name, chosen, drawing.draws, drawing.seed, ledger)


def default_method(ledger: Ledger | None) -> str:
    """Choose permute-and-flip, or the exponential mechanism where ρ is counted: it costs less ρ."""
    if ledger is not None and ledger.currency == "rho":
        return "exponential"
    return "permute-and-flip"


def _stated(method: PrivateSelector, ledger: Ledger | None) -> Guarantee:
    """Return the guarantee of one draw, under the ledger's relation if the method states it."""
    if ledger is None:
        return method.guarantee
    return method.guarantees.get(ledger.relation, method.guarantee)


@dataclass(frozen=True)
class DrawnReleases:
    """Releases, and the plan that they follow; `FittedModel` is the same of a model."""

    releases: tuple[Release, ...]
    plan: SupportPlan

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
        """Sentences for standard error: none."""
        return ()

    def report(self) -> Mapping[str, Any]:
        """Return it as part of a JSON object."""
        return {
            **self.plan.of_draws(self.one),
            "private": self.private,
            "releases": [release.to_dict() for release in self.releases],
        }

    def show(self, console: Console, title: str, unit: str = ROW) -> None:
        """Print it, and its guarantee for all rows of one `unit`; `title` names the data."""
        if not self.private:
            banner(console, NOT_PRIVATE)
        kind = "released supports" if self.private else "drawn supports, not private"
        heading(console, f"{title}: {kind}")
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


def law_of(
    given: StoredData, method: PrivateSelector, rng: Rng, progress: ProgressCallback
) -> Mechanism[Support]:
    """Return what is drawn from. Scores are of data as they are, values of clipped data."""
    if isinstance(method, RowsSelector):
        return method.law(method.problem(given.problem), given.rows(), rng)
    assert isinstance(method, ProblemSelector)
    return method.on(given.drawn_from(), rng, progress)
