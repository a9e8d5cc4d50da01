"""The one way of `select`, `release` and `fit`: plan, charge, draw, deliver."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console

from mipselect.backends.discovery import NATIVE, solver_by_name
from mipselect.cli.arguments import check_sizes, default_method, flags_of, method_asked_for
from mipselect.cli.cautions import note_of_the_table, warnings
from mipselect.cli.ledger_entry import (
    charged_report,
    check_ledger,
    ledger_entry,
    opened,
    print_charged,
)
from mipselect.cli.ledger_entry import in_words as left_in_words
from mipselect.cli.options import AUTO, SupportDrawOptions, check_seed
from mipselect.cli.output import NOT_PRIVATE, Delivery, banner, heading, line, print_table
from mipselect.cli.progress import Watch
from mipselect.cli.start import say
from mipselect.errors import (
    BoundViolated,
    ConditionNotMet,
    InvalidInput,
    NotCertified,
    SolverFailure,
    about,
)
from mipselect.grid import MOST_ROWS
from mipselect.mechanisms.base import Mechanism, Support
from mipselect.parameters import parameters_of
from mipselect.privacy import Guarantee, Ledger
from mipselect.privacy.guarantee import ROW, amount
from mipselect.privacy.public_fields import PUBLIC_FIELDS, in_words
from mipselect.privacy.randomness import Rng
from mipselect.problem.problem import Problem
from mipselect.problem.stored import StoredData
from mipselect.search.progress import ProgressCallback
from mipselect.search.supports import number_of_listed
from mipselect.selectors import MistakesSelector, TopRSelector
from mipselect.selectors.all_features import AllFeaturesSelector
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.exact_draws import ExactDrawSelector, asked_sizes
from mipselect.selectors.problem import ProblemSelector
from mipselect.selectors.scored import RowsSelector
from mipselect.tables.public_map import people_in_words
from mipselect.validation import checked_integer, listed, sizes_in_words

if TYPE_CHECKING:
    from mipselect.cli.inputs import ProblemSource
    from mipselect.selectors import MCMCSelector

MOST_DRAWS = 100_000


@dataclass(frozen=True, kw_only=True)
class Result:
    """Releases that were drawn: `report` is part of a JSON object, and `show` prints the same.

    Attributes
    ----------
    report : mapping
    show : callable
        Takes the console, and the unit of whose rows the guarantee is.
    warnings : tuple of str
        Sentences for standard error.
    """

    report: Mapping[str, Any]
    show: Callable[[Console, str], None]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasePlan(ABC):
    """A release that is to be drawn, and what it may cost; checked, and public.

    Attributes
    ----------
    title : str
        Name of the data in messages.
    head : mapping
        First entries of a report.
    seed : int or None
        A seed takes the privacy away.
    ledger : Ledger or None
        Pays for all of it at once, and remembers it.
    """

    title: str
    head: Mapping[str, Any]
    seed: int | None
    ledger: Ledger | None

    @property
    @abstractmethod
    def method(self) -> PrivateSelector:
        """Method that selects the features."""

    @property
    @abstractmethod
    def together(self) -> Guarantee:
        """Guarantee of all that is drawn, from options alone; under add-remove n is private."""

    @property
    @abstractmethod
    def noted(self) -> Mapping[str, Any]:
        """Entries of a ledger besides the settings of the problem."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """Recorded settings besides those of the problem and the method."""
        return {}

    def doubts(self, n: int | None) -> tuple[str, ...]:
        """Say what public numbers speak against the draw."""
        return ()

    @abstractmethod
    def total(self, stated: Mapping[str, Guarantee]) -> Guarantee:
        """Return the guarantee of all, from what the method states: a ρ once p is known."""

    @abstractmethod
    def report(self, stated: Mapping[str, Guarantee]) -> Mapping[str, Any]:
        """Return the planned draws and their guarantee, as part of a JSON object."""

    @abstractmethod
    def terms(self, stated: Mapping[str, Guarantee], unit: str) -> list[str]:
        """Say the same in lines."""

    def budget(self, total: Guarantee) -> list[str]:
        """Say what the ledger has left, and what a draw would leave, in what it counts."""
        if self.ledger is None:
            return []
        left, after = self.ledger.remaining, self.ledger.after(total)
        words = f"{left_in_words(left)} left, and would have {left_in_words(after)}"
        return [f"Budget: the ledger has {words}."]

    def cost_of_parts(self) -> list[str]:
        """Say what was drawn cost, where the answer does not say it."""
        return []

    @abstractmethod
    def draw(self, data: StoredData, ledger: Ledger | None, progress: ProgressCallback) -> Result:
        """Charge the ledger, if there is one, and draw.

        Raises
        ------
        NotCertified, ConditionNotMet, SolverFailure, BoundViolated
            Without any number in the message: such numbers are sensitive.
        """

    @property
    def hides_n(self) -> bool:
        """True if the number of rows is private."""
        return self.together.relation == "add-remove"

    def recorded(self, problem: Problem, n: int | None) -> dict[str, Any]:
        """Return what is recorded; raise `InvalidInput` for a problem that is not for the plan."""
        method, loss = self.method, problem.loss
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
        if (units := problem.units) is not None and units.protected_unit != ROW:
            report["unit_rule"] = units.unit_rule
        return {**report, **self.settings}

    def cautions(self, problem: Problem, recorded: Mapping[str, Any], n: int | None) -> list[str]:
        """Say what comes before a draw; it depends on what is public alone."""
        if self.ledger is not None or self.seed is None:
            note_of_the_table(self.head, problem.feature_names)
        known, unit = None if self.hides_n else n, unit_of(recorded)
        return warnings(self.head, self.together, unit, self.ledger, known, self.doubts(known))

    def near_chance(self, problem: Problem, n: int | None) -> tuple[bool | None, list[str]]:
        """Return whether no n rows can make a draw good, None if unknown; and what to say of it."""
        chance = None
        if n is not None and not self.hides_n:
            chance = self.method.chance_level(problem, n)
        said = ["" if chance is None else chance.sentence, of_nothing(self.method, problem)]
        return None if chance is None else chance.near, [text for text in said if text]

    def deliver(self, source: ProblemSource, delivery: Delivery, *, dry_run: bool) -> None:
        """Say what would be drawn, or draw it; then deliver the report."""
        found = self._planned(source, delivery) if dry_run else self._drawn(source, delivery)
        for sentence in found:
            say(f"warning: {sentence}")

    def _planned(self, source: ProblemSource, delivery: Delivery) -> list[str]:
        """Check all that can be checked without the rows; no row is read and nothing is charged.

        Where the number of rows is known and public it is told if the draw would stay near chance.
        """
        problem, n = source.problem()
        recorded = self.recorded(problem, n)
        notes = self.cautions(problem, recorded, n)
        with about(self.title):
            stated = self.method.stated(self.method.problem(problem))
            total = self.total(stated)

        def render(console: Console) -> None:
            if self.seed is not None:
                banner(console, NOT_PRIVATE)
            nothing = "no row was read, nothing drawn and nothing spent"
            heading(console, f"{self.title}: dry run; {nothing}")
            for text in self.terms(stated, unit_of(recorded)):
                line(console, text)
            print_settings(console, recorded)

        ledger, left = self.ledger, None
        if ledger is not None:
            left = {
                "identity": ledger.identity,
                "remaining": ledger.remaining.to_dict(),
                "would_remain": ledger.after(total).to_dict(),
            }
        report = {
            **self.head,
            "dry_run": True,
            "sensitive": False,
            **self.report(stated),
            **recorded,
            "notes": notes,
            "ledger": left,
        }
        delivery.deliver(report, render)
        return self.near_chance(problem, n)[1]

    def _drawn(self, source: ProblemSource, delivery: Delivery) -> list[str]:
        """Read, charge, draw and deliver."""
        data = source.data()
        problem, n = data.problem, data.data.n
        recorded = self.recorded(problem, n)
        notes = self.cautions(problem, recorded, n)
        with ledger_entry(self.ledger, {**self.head, **recorded}, self.noted) as ledger:
            with about(self.title), Watch(self.title, details=False) as watch:
                answer = self.draw(data, ledger, watch)
            blind, of_little_use = self.near_chance(problem, n)
            charged = charged_report(self.ledger)

            def render(console: Console) -> None:
                answer.show(console, unit_of(recorded))
                print_charged(console, charged)
                for text in self.cost_of_parts():
                    line(console, text)
                print_settings(console, recorded)

            report = {
                **self.head,
                # Whoever knows the seed can repeat the draw: it is a function of the data.
                "sensitive": not answer.report["private"],
                **answer.report,
                "nearly_blind": blind,
                **recorded,
                "notes": notes,
                "ledger": charged,
            }
            delivery.deliver(report, render)
        return [*of_little_use, *answer.warnings]


@dataclass(frozen=True, kw_only=True, eq=False)
class SupportPlan(ReleasePlan):
    """Draws of supports.

    Attributes
    ----------
    name : str
        Name of the method on the command line.
    selector : PrivateSelector
    draws : int
    """

    name: str
    selector: PrivateSelector
    draws: int

    @property
    def method(self) -> PrivateSelector:
        """See `ReleasePlan`."""
        return self.selector

    @property
    def one(self) -> Guarantee:
        """Guarantee of one draw, under the relation of the ledger if the method states it."""
        method = self.selector
        relation = method.guarantee.relation if self.ledger is None else self.ledger.relation
        stated = method.guarantees.get(relation, method.guarantee)
        return replace(stated, private=self.seed is None)

    @property
    def together(self) -> Guarantee:
        """See `ReleasePlan`."""
        return self.one.times(self.draws)

    @property
    def cost(self) -> str:
        """One plain sentence on the price."""
        each, total = amount(self.one), amount(self.together)
        if self.draws == 1:
            return f"1 draw at {each}"
        return f"{self.draws} draws at {each} each: {total} in total"

    @property
    def noted(self) -> Mapping[str, Any]:
        """See `ReleasePlan`."""
        return {"method": self.name, "epsilon": self.selector.epsilon, "draws": self.draws}

    def total(self, stated: Mapping[str, Guarantee]) -> Guarantee:
        """See `ReleasePlan`."""
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
        """See `ReleasePlan`."""
        return self.of_draws(self._one(stated))

    def terms(self, stated: Mapping[str, Guarantee], unit: str) -> list[str]:
        """See `ReleasePlan`."""
        total, drawn = self.total(stated), f"Would be drawn: by {self.name}, {self.cost}."
        together = f"Guarantee of all draws together: {total.of_unit(unit)}."
        return [drawn, *self.budget(total), together]

    def draw(self, data: StoredData, ledger: Ledger | None, progress: ProgressCallback) -> Result:
        """See `ReleasePlan`."""
        rng = None if self.seed is None else random.Random(self.seed)
        with without_numbers(self.selector, NOT_SPENT):
            mechanism = law_of(data, self.selector, rng, progress)
            mechanism.prepare()
        with without_numbers(self.selector, spent_by(ledger)):
            drawn = mechanism.releases(self.draws, ledger, rng=rng)
        # Scores have no names; the features do.
        names = data.problem.feature_names
        named = [
            replace(release, feature_names=tuple(names[j] for j in release.support))
            for release in drawn
        ]
        one, private = named[0].guarantee, all(release.private for release in named)

        def show(console: Console, unit: str) -> None:
            if not private:
                banner(console, NOT_PRIVATE)
            kind = "released supports" if private else "drawn supports, not private"
            heading(console, f"{self.title}: {kind}")
            rows = (
                (k, " ".join(map(str, each.support)), ", ".join(each.feature_names))
                for k, each in enumerate(named, start=1)
            )
            print_table(console, ("draw", "features", "names"), rows, left=("features", "names"))
            if private:
                console.print(f"Cost: {self.cost}.")
                total = one.times(self.draws).of_unit(unit)
                line(console, f"Guarantee of all draws together: {total}.")
            else:
                console.print(f"With private randomness this would cost: {self.cost}.")

        releases = [release.to_dict() for release in named]
        report = {**self.of_draws(one), "private": private, "releases": releases}
        return Result(report=report, show=show)


def plan_draws(drawing: SupportDrawOptions, title: str, head: Mapping[str, Any]) -> SupportPlan:
    """Open the ledger and check the options of a release, before any data are read.

    Parameters
    ----------
    drawing : SupportDrawOptions
    title, head
        See `ReleasePlan`.

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
    plan = SupportPlan(
        title=title,
        head=head,
        seed=drawing.seed,
        ledger=ledger,
        name=name,
        selector=method_asked_for(name, drawing.epsilon, drawing.of_the_method),
        draws=checked_integer(drawing.draws, "--draws", 1, MOST_DRAWS),
    )
    check_seed(drawing.seed)
    with about("--epsilon, --delta and --draws"):
        total = replace(plan, seed=None).together
    check_ledger(ledger, total)
    return plan


def law_of(
    given: StoredData, method: PrivateSelector, rng: Rng, progress: ProgressCallback
) -> Mechanism[Support]:
    """Return what is drawn from. Scores are of data as they are, values of clipped data."""
    if isinstance(method, RowsSelector):
        return method.law(method.problem(given.problem), given.rows(), rng)
    assert isinstance(method, ProblemSelector)
    return method.on(given.drawn_from(), rng, progress)


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


def of_nothing(method: PrivateSelector, problem: Problem) -> str:
    """Say so of a method that is paid for a draw of all p out of p features; "" of others."""
    if asked_sizes(method) or isinstance(method, AllFeaturesSelector):
        return ""
    if problem.support_size < problem.n_features:
        return ""
    return (
        f"all {problem.n_features:,} features are asked for, so the draw says nothing and costs ε: "
        "ask for fewer, or let 'mipselect fit' make a model of them, at no draw"
    )


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
