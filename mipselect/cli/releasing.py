"""The one way of `select`, `release` and `fit`: plan, charge, draw, deliver."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mipselect.blocks.grid import MOST_ROWS
from mipselect.cli.charging import (
    Result,
    charge_and_deliver,
    check_ledger,
    left_in_words,
    note_of_identifiers,
    opened,
    table_named,
    warnings,
)
from mipselect.cli.options import AUTO, PARSED, SupportDrawOptions, check_solver, stated
from mipselect.cli.output import (
    NOT_PRIVATE,
    Delivery,
    banner,
    check_output,
    heading,
    line,
    print_table,
)
from mipselect.cli.progress import Watch
from mipselect.cli.start import say
from mipselect.errors import (
    BoundViolated,
    ConditionNotMet,
    InvalidInput,
    MipselectError,
    NotCertified,
    SolverFailure,
    about,
)
from mipselect.mechanisms.base import Mechanism
from mipselect.parameters import parameters_of
from mipselect.privacy import Guarantee, Ledger
from mipselect.privacy.guarantee import ROW, amount
from mipselect.privacy.public_fields import in_words, public_settings
from mipselect.problem.problem import Problem
from mipselect.problem.stored import StoredData
from mipselect.search.progress import ProgressCallback
from mipselect.selectors import BY_NAME
from mipselect.selectors.base import PrivateSelector, RowsSelector, ScoreSelector
from mipselect.selectors.exact_draws import ExactDrawSelector
from mipselect.selectors.problem import ProblemSelector
from mipselect.tables.public_map import people_in_words
from mipselect.validation import checked_integer, checked_positive, listed

if TYPE_CHECKING:
    from mipselect.cli.inputs import ProblemSource

GUARANTEES_OF_DRAWS = ("guarantee_of_one_draw", "guarantee_of_all_draws")
"""Keys of the guarantee of a draw in a JSON object, from when a command could draw several."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasePlan(ABC):
    """A release that is to be drawn, and what it may cost; checked, and public.

    Attributes
    ----------
    head : mapping
        First entries of a report, which name the data.
    seed : int or None
        A seed takes the privacy away.
    ledger : Ledger or None
        Pays for all of it at once, and remembers it.
    method : PrivateSelector
        Selects the features.
    epsilon : float
        ε that was asked for.
    """

    head: Mapping[str, Any]
    seed: int | None
    ledger: Ledger | None
    method: PrivateSelector
    epsilon: float

    @property
    def title(self) -> str:
        """Name of the data in messages."""
        return table_named(self.head)

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
    def stating(self, total: Guarantee) -> dict[str, Any]:
        """Return what is drawn, with this guarantee of all, as part of a JSON object."""

    @property
    @abstractmethod
    def cost(self) -> list[str]:
        """Lines on what is drawn, and the price of each part."""

    @abstractmethod
    def law(self, data: StoredData, progress: ProgressCallback) -> Mechanism[Any]:
        """Make the law that features are drawn from; nothing is drawn. Sensitive."""

    @abstractmethod
    def draw(self, law: Mechanism[Any], data: StoredData, ledger: Ledger | None) -> Result:
        """Charge the ledger, if there is one, and draw."""

    @property
    def together(self) -> Guarantee:
        """Guarantee of all that is drawn, from options alone; under add-remove n is private."""
        return self.total(self.method.guarantees)

    @property
    def hides_n(self) -> bool:
        """True if the number of rows is private."""
        return self.together.relation == "add-remove"

    @cached_property
    def source(self) -> random.Random:
        """Source of all random choices."""
        return random.SystemRandom() if self.seed is None else random.Random(self.seed)

    def recorded(self, problem: Problem, n: int | None) -> dict[str, Any]:
        """Return the public settings for the JSON object; null is what does not apply.

        Raises
        ------
        InvalidInput
            For a problem that is not for the plan.
        """
        if sizes := self.method.sizes:
            largest = f"{self.title}: the largest of --sizes"
            checked_integer(sizes[-1], largest, 1, problem.n_features)
        if self.hides_n and "add-remove" not in problem.relations:
            which, has_both = "scores from blocks of rows", "--score loss with public bounds"
            if problem.score == "loss":
                enough = problem.least_ridge(MOST_ROWS)
                which, has_both = "so small a ridge", f"a --ridge of at least {enough:.2g}"
            raise InvalidInput(
                f"{self.title}: the guarantee of {which} is for replacing one row, and add-remove "
                f"is asked for: {has_both} has both"
            )
        method, known = self.method, None if self.hides_n else n
        with about(self.title):
            asked = method.problem(problem)
            public, sensitivity = asked.public(), None
            if isinstance(method, ProblemSelector) and known is not None:
                sensitivity = asked.sensitivity(known)
            recorded = method.recorded(asked)
        if "always" in public:
            public["always_counts"] = not isinstance(method, ScoreSelector)
        if (units := problem.units) is not None and units.protected_unit != ROW:
            public["unit_rule"] = units.unit_rule
        return {
            "n": known,
            **public,
            "number_of_supports": sum(
                math.comb(asked.n_features, size) for size in sizes or [asked.support_size]
            ),
            "sensitivity": sensitivity,
            **dict.fromkeys(METHOD_FIELDS),
            **recorded,
            "mipselect": version("mipselect"),
            **self.settings,
        }

    def deliver(self, source: ProblemSource, delivery: Delivery, *, dry_run: bool) -> None:
        """Say what would be drawn, or draw it; then deliver the report.

        For a dry run no row is read and nothing is charged. What is said of the draw depends on
        what is public alone.

        Raises
        ------
        InvalidInput
            For an output that would replace what is read, or the ledger; before a row is read.
        """
        read = [*source.files, *(() if self.ledger is None else filter(None, [self.ledger.path]))]
        check_output(delivery.output, read, replace=delivery.replace)
        data = None if dry_run else source.data()
        problem, n = source.problem() if data is None else (data.problem, data.data.n)
        recorded, known = self.recorded(problem, n), None if self.hides_n else n
        if "target" in self.head and "schema" not in self.head:
            note_of_identifiers(problem.feature_names)
        doubts = self.doubts(known)
        notes = warnings(self.head, self.together, unit_of(problem), self.ledger, known, doubts)
        chance = None if known is None else self.method.chance_level(problem, known)
        if data is None:
            self._plan(problem, recorded, notes, delivery)
        else:
            near = None if chance is None else chance.near
            asked = {**self.head, **recorded, "nearly_blind": near, "notes": notes}
            self._draw(data, asked, delivery)
        if chance is not None and chance.sentence:
            say(f"warning: {chance.sentence}")

    def _plan(
        self, problem: Problem, recorded: Mapping[str, Any], notes: list[str], delivery: Delivery
    ) -> None:
        """Deliver what would be drawn, and what the ledger would have left."""
        with about(self.title):
            stated = self.method.stated(self.method.problem(problem))
            total = self.total(stated)
        ledger, left, lines = self.ledger, None, self.cost
        if ledger is not None:
            before, after = ledger.remaining, ledger.after(total)
            left = {
                "identity": ledger.identity,
                "remaining": before.to_dict(),
                "would_remain": after.to_dict(),
            }
            words = f"{left_in_words(before)} left, and would have {left_in_words(after)}"
            lines = [*lines, f"Budget: the ledger has {words}."]

        def render(console: Console) -> None:
            if self.seed is not None:
                banner(console, NOT_PRIVATE)
            nothing = "no row was read, nothing drawn and nothing spent"
            heading(console, f"{self.title}: dry run; {nothing}")
            for text in (*lines, f"Guarantee: {total.of_unit(unit_of(problem))}."):
                line(console, text)
            print_settings(console, recorded)

        begun = {**self.head, "dry_run": True, "sensitive": False, **self.stating(total)}
        delivery.deliver({**begun, **recorded, "notes": notes, "ledger": left}, render)

    def _draw(self, data: StoredData, asked: Mapping[str, Any], delivery: Delivery) -> None:
        """Make the law, charge, draw and deliver."""
        watch = Watch(self.title, details=False)
        with about(self.title), watch, without_numbers(self.method, "no budget is spent"):
            law = self.law(data, watch)
            law.prepare()

        def draw(paying: Ledger | None) -> Result:
            spent = "no budget is spent"
            if paying is not None:
                spent = "what was charged to the ledger stays charged"
            with about(self.title), watch, without_numbers(self.method, spent):
                return self.draw(law, data, paying)

        def settings(console: Console) -> None:
            print_settings(console, asked)

        noted = {name: value for name, value in self.settings.items() if value is not None}
        noted |= {"method": self.method.name, "epsilon": self.epsilon}
        charge_and_deliver(self.ledger, asked, noted, draw, delivery, settings)


@dataclass(frozen=True, kw_only=True, eq=False)
class SupportPlan(ReleasePlan):
    """A draw of a support."""

    @property
    def relation(self) -> str:
        """That of the ledger, if the method states it, else that of the method."""
        own = self.method.guarantee.relation
        asked = own if self.ledger is None else self.ledger.relation
        return asked if asked in self.method.guarantees else own

    def total(self, stated: Mapping[str, Guarantee]) -> Guarantee:
        """See `ReleasePlan`."""
        one = self.method.guarantees[self.relation]
        return replace(one, rho=stated.get(self.relation, one).rho, private=self.seed is None)

    @property
    def cost(self) -> list[str]:
        """See `ReleasePlan`."""
        return [f"Cost: 1 draw at {amount(self.together)}, by {self.method.name}."]

    def stating(self, total: Guarantee) -> dict[str, Any]:
        """See `ReleasePlan`."""
        return {
            "private": total.private,
            "method": self.method.name,
            "cost": f"1 draw at {amount(total)}",
            **dict.fromkeys(GUARANTEES_OF_DRAWS, total.to_dict()),
            **({} if total.private else {"warning": NOT_PRIVATE}),
        }

    def law(self, data: StoredData, progress: ProgressCallback) -> Mechanism[Any]:
        """See `ReleasePlan`. Scores are of data as they are, values of clipped data."""
        method = self.method
        if isinstance(method, RowsSelector):
            return method.law(method.problem(data.problem), data.rows(), self.source)
        assert isinstance(method, ProblemSelector)
        return method.on(data.made(), self.source, progress)

    def draw(self, law: Mechanism[Any], data: StoredData, ledger: Ledger | None) -> Result:
        """See `ReleasePlan`."""
        drawn = law.release(ledger, rng=self.source)
        # Scores have no names; the features do.
        names = tuple(data.problem.feature_names[j] for j in drawn.support)
        release, unit = replace(drawn, feature_names=names), unit_of(data.problem)

        def show(console: Console) -> None:
            if not release.private:
                banner(console, NOT_PRIVATE)
            kind = "released support" if release.private else "drawn support, not private"
            heading(console, f"{self.title}: {kind}")
            row = " ".join(map(str, release.support)), ", ".join(names)
            print_table(console, ("features", "names"), [row], left=("features", "names"))
            for text in (*self.cost, f"Guarantee: {release.guarantee.of_unit(unit)}."):
                line(console, text)

        report = {**self.stating(release.guarantee), "releases": [release.to_dict()]}
        return Result(report=report, show=show)


def default_method(ledger: Ledger | None) -> str:
    """Choose permute-and-flip, or the exponential mechanism where ρ is counted: it costs less ρ."""
    if ledger is not None and ledger.currency == "rho":
        return "exponential"
    return "permute-and-flip"


def method_asked_for(name: str, epsilon: float, options: Mapping[str, Any]) -> PrivateSelector:
    """Make a method; raise `InvalidInput`, naming the option, for what is wrong or not its own."""
    checked_positive(epsilon, "--epsilon")
    kind, chosen = BY_NAME[name], stated(**options)
    flags = flags_of(kind)
    for option in chosen:
        if option not in flags:
            others = [other for other, it in BY_NAME.items() if option in flags_of(it)]
            raise InvalidInput(
                f"{option} does not apply to --method {name}, but to {', '.join(others)}"
            )
    check_solver(chosen.get("--solver", AUTO))
    values = {
        flags[option]: PARSED[option][0](value) if option in PARSED else value
        for option, value in chosen.items()
    }
    # Nothing would come of these beside the others.
    if name == "mistakes" and "pool_size" in values and "test_epsilon" not in values:
        raise InvalidInput(
            "--pool-size (without --test-epsilon) does not apply to --method mistakes"
        )
    if "complexity" in values and len(values.get("sizes", ())) < 2:
        raise InvalidInput("--complexity is for a choice between sizes: give --sizes, such as 1-8")
    if issubclass(kind, ScoreSelector):
        # An instance's number of rows is public unless it is said to be private.
        values.setdefault("relation", "replace-one")
    named = {field: option for option, field in flags.items()}
    method: PrivateSelector = kind(epsilon=epsilon, **values)
    return method.check(lambda field: named.get(field, field))


def flags_of(kind: type[PrivateSelector]) -> dict[str, str]:
    """Return the names of those parameters of a method that are options, by their option."""
    known = parameters_of(kind).items()
    return {about.flag: name for name, about in known if about.flag is not None}


def plan_draws(drawing: SupportDrawOptions, head: Mapping[str, Any]) -> SupportPlan:
    """Open the ledger and check the options of a release, before any data are read.

    Parameters
    ----------
    drawing : SupportDrawOptions
    head : mapping
        See `ReleasePlan`.

    Raises
    ------
    InvalidInput
        Naming the option.
    BudgetExceeded
        If the draw costs more than is left in the ledger.
    RelationMismatch
        If the ledger is kept under another relation.
    """
    ledger = opened(drawing.charge.ledger)
    name = default_method(ledger) if drawing.method is None else drawing.method
    plan = SupportPlan(
        head=head,
        seed=drawing.charge.seed,
        ledger=ledger,
        method=method_asked_for(name, drawing.epsilon, drawing.further),
        epsilon=drawing.epsilon,
    )
    with about("--epsilon and --delta"):
        total = replace(plan, seed=None).together
    check_ledger(ledger, total)
    return plan


@contextmanager
def without_numbers(method: PrivateSelector, spent: str) -> Iterator[None]:
    """Take what depends on the data out of the messages of errors; `spent` says what it cost."""
    details = "; 'mipselect solve' shows the details, which are sensitive"
    try:
        yield
    except SolverFailure:
        words = f"the solver failed, so nothing was released and {spent}{details}"
    except NotCertified:
        words = (
            f"not certified within the tolerance, so nothing was released and {spent}; allow more "
            f"time or use another solver{details}"
        )
        if isinstance(method, ExactDrawSelector):
            words = (
                f"no exact draw was made within the time limit, so nothing was released and {spent}"
                "; allow more time, a smaller ε or smaller sizes, or use another method"
            )
    except BoundViolated:
        words = (
            "a proven bound was wrong, which no data should bring about, so nothing was released "
            f"and {spent}: this is an error of mipselect; please report it"
        )
    except ConditionNotMet:
        words = (
            "the data are not proven to meet the condition of the mechanism, so nothing was "
            "released; this refusal itself depends on the data, as a release would have, and no "
            "guarantee covers it; --test-epsilon with --delta never refuses for this reason, nor "
            f"do the other methods{details}"
        )
    else:
        return
    raise MipselectError(words)


METHOD_FIELDS = (
    *("sizes", "complexity", "pool_size", "tolerance", "solver", "top_k", "alpha", "blocks"),
    *("mcmc_steps", "mcmc_radius"),
)
"""What methods here record; null of the others."""


def unit_of(problem: Problem) -> str:
    """Return the unit that a guarantee is about: "row", or the field of the privacy unit."""
    return ROW if problem.units is None else problem.units.protected_unit


def print_settings(console: Console, settings: Mapping[str, Any]) -> None:
    """Print public settings in the words of `PUBLIC_FIELDS`, as a report does."""
    told = public_settings(settings, hides_n=False).items()
    line(console, f"Settings: {'; '.join(in_words(*each) for each in told)}")
    if "unit_rule" in settings:
        line(
            console, f"People: {people_in_words(settings['protected_unit'], settings['unit_rule'])}"
        )
    if settings["features"] is not None:
        line(console, f"Features: {listed(settings['features'])}")
    if "always" in settings:
        always = [*settings["always"], *(["an intercept"] if settings["intercept"] else [])]
        text = listed(always) if always else "nothing"
        if settings["always"] and not settings["always_counts"]:
            text += f"; no score depends on {listed(settings['always'])}"
        line(console, f"Always in: {text}")
