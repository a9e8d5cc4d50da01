"""The one way of `select`, `release` and `fit`: plan, charge, draw, deliver."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from rich.console import Console

from mipselect import errors, privacy
from mipselect.blocks.grid import MOST_ROWS
from mipselect.cli import output
from mipselect.cli.options import DrawOptions
from mipselect.cli.progress import Watch
from mipselect.cli.start import let_signals_raise, say
from mipselect.errors import InvalidInput, about
from mipselect.mechanisms.base import Mechanism
from mipselect.privacy import Guarantee
from mipselect.privacy.guarantee import ROW, amount, is_row
from mipselect.privacy.public_fields import in_words, noted, public_settings
from mipselect.problem.problem import Problem
from mipselect.problem.stored import StoredData
from mipselect.quality.measures import Quality
from mipselect.search.progress import ProgressCallback
from mipselect.selectors.base import PrivateSelector, RowsSelector, ScoreSelector
from mipselect.selectors.exact_draws import ExactDrawSelector
from mipselect.selectors.problem import ProblemSelector
from mipselect.tables.described import looking_like_identifiers
from mipselect.tables.public_map import people_in_words
from mipselect.validation import checked_integer, listed

if TYPE_CHECKING:
    from mipselect.cli.inputs import ProblemSource

Drawn = TypeVar("Drawn")


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasePlan:
    """A draw of a support, and what it may cost; checked, and public. A fit adds a model on it.

    Attributes
    ----------
    head : mapping
        First entries of a report, which name the data.
    drawing : DrawOptions
        ε, and a seed, which takes the privacy away.
    ledger : Ledger or None
        Pays for all of it at once, and remembers it.
    method : PrivateSelector
        Selects the features.

    Raises
    ------
    BudgetExceeded
        If the draw costs more than is left in the ledger.
    RelationMismatch
        If the ledger is kept under another relation.
    """

    drawn_is: ClassVar = "support"
    """What is drawn, in a word."""

    head: Mapping[str, Any]
    drawing: DrawOptions
    ledger: privacy.Ledger | None
    method: PrivateSelector

    def __post_init__(self) -> None:
        with about("--epsilon and --delta"):
            total = self.together
        # Where ρ is counted the mechanism may state one that only the data's shape settles.
        if self.ledger is not None and (self.ledger.currency != "rho" or total.rho is not None):
            self.ledger.after(total)

    @property
    def title(self) -> str:
        """Name of the data in messages."""
        return output.table_named(self.head)

    def doubts(self, n: int | None) -> list[str]:
        """Say what public numbers speak against the draw; n is None where it is not known."""
        return self.together.doubts(n)

    @property
    def relation(self) -> str:
        """That of the ledger, if the method states it, else that of the method."""
        own = self.method.guarantee.relation
        asked = own if self.ledger is None else self.ledger.relation
        return asked if asked in self.method.guarantees else own

    def total(self, stated: Mapping[str, Guarantee]) -> Guarantee:
        """Return the guarantee of all, from what the method states: a ρ once p is known."""
        one = self.method.guarantees[self.relation]
        return replace(one, rho=stated.get(self.relation, one).rho, private=not self.seeded)

    def parts(self, total: Guarantee) -> Mapping[str, Guarantee]:
        """Return the guarantees of all, which is `total`, and of parts, by their keys in JSON."""
        return {"guarantee_of_one_draw": total, "guarantee_of_all_draws": total}

    def price(self, total: Guarantee) -> str:
        """Say what is drawn, and what each part of it costs; `total` is the guarantee of all."""
        return f"1 draw at {amount(total)}, by {self.method.name}"

    def law(self, data: StoredData, progress: ProgressCallback) -> Mechanism[Any]:
        """Make the law that features are drawn from; nothing is drawn. Sensitive.

        Scores are of data as they are, values of clipped data.
        """
        method = self.method
        if isinstance(method, RowsSelector):
            return method.law(method.problem(data.problem), data.rows(), self.source)
        assert isinstance(method, ProblemSelector)
        return method.on(data.made(), self.source, progress)

    def draw(self, law: Mechanism[Any], data: StoredData, ledger: privacy.Ledger | None) -> Any:
        """Charge the ledger, if there is one, and draw; return the release."""
        drawn = law.release(ledger, rng=self.source)
        # Scores have no names; the features do.
        names = tuple(data.problem.feature_names[j] for j in drawn.support)
        return replace(drawn, feature_names=names)

    def entries(self, release: Any) -> dict[str, Any]:
        """Return what was drawn, as part of a JSON object."""
        return {"releases": [release.to_dict()]}

    def show(self, console: Console, release: Any) -> None:
        """Print the same."""
        row = " ".join(map(str, release.support)), ", ".join(release.feature_names)
        output.print_table(console, ("features", "names"), [row], left=("features", "names"))

    @property
    def seeded(self) -> bool:
        """True if the draws repeat, and are not private."""
        return self.drawing.charge.seed is not None

    @property
    def together(self) -> Guarantee:
        """Guarantee of all that is drawn, from options alone; under add-remove n is private."""
        return self.total(self.method.guarantees)

    @property
    def hides_n(self) -> bool:
        """True if the number of rows is private."""
        return self.together.relation == "add-remove"

    @cached_property
    def source(self) -> Any:
        """Source of all random choices."""
        return self.drawing.charge.source()

    def stating(self, total: Guarantee) -> dict[str, Any]:
        """Return the guarantee of all and its parts, as part of a JSON object."""
        return {
            "private": total.private,
            "cost": self.price(total),
            **{key: part.to_dict() for key, part in self.parts(total).items()},
            **({} if total.private else {"warning": output.NOT_PRIVATE}),
        }

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
            "method": method.name,
            "epsilon": self.drawing.epsilon,
            **public,
            "number_of_supports": sum(
                math.comb(asked.n_features, size) for size in sizes or [asked.support_size]
            ),
            "sensitivity": sensitivity,
            **dict.fromkeys(METHOD_FIELDS),
            **recorded,
            "mipselect": version("mipselect"),
        }

    def deliver(self, source: ProblemSource, delivery: output.Delivery) -> None:
        """Say what would be drawn, or draw it; then deliver the report.

        For a dry run no row is read and nothing is charged. What is said of the draw depends on
        what is public alone.

        Raises
        ------
        InvalidInput
            For an output that would replace what is read, or the ledger; before a row is read.
        """
        read = [*source.files, *filter(None, [self.drawing.charge.ledger])]
        output.check_output(delivery.output, read, replace=delivery.replace)
        data = None if self.drawing.dry_run else source.data()
        problem, n = source.problem() if data is None else (data.problem, data.data.n)
        recorded, known = self.recorded(problem, n), None if self.hides_n else n
        if "target" in self.head and "schema" not in self.head:
            note_of_identifiers(problem.feature_names)
        unit = recorded.get("protected_unit", ROW)
        notes = warnings(self.head, unit, self.ledger, self.doubts(known))
        chance = None if known is None else self.method.chance_level(problem, known)
        asked = {**self.head, **recorded, "notes": notes}
        if data is None:
            self._plan(problem, asked, delivery)
        else:
            near = None if chance is None else chance.near
            self._draw(data, {**asked, "nearly_blind": near}, delivery)
        if chance is not None and chance.sentence:
            say(f"warning: {chance.sentence}")

    def _plan(self, problem: Problem, asked: Mapping[str, Any], delivery: output.Delivery) -> None:
        """Deliver what would be drawn, and what the ledger would have left."""
        with about(self.title):
            total = self.total(self.method.stated(self.method.problem(problem)))
        ledger, left, budget = self.ledger, None, ""
        if ledger is not None:
            before, after = ledger.remaining, ledger.after(total)
            left = {
                "identity": ledger.identity,
                "remaining": before.to_dict(),
                "would_remain": after.to_dict(),
            }
            has, would_have = map(left_in_words, (before, after))
            budget = f"Budget: the ledger has {has} left, and would have {would_have}."

        def render(console: Console) -> None:
            nothing = "dry run; no row was read, nothing drawn and nothing spent"
            self._print(console, nothing, total, asked)
            if budget:
                output.line(console, budget)

        told = {"dry_run": True, "sensitive": False, **self.stating(total), "ledger": left}
        delivery.deliver({**asked, **told}, render)

    def _draw(self, data: StoredData, asked: Mapping[str, Any], delivery: output.Delivery) -> None:
        """Make the law, charge, draw and deliver."""
        watch = Watch(self.title, details=False)
        with about(self.title), watch, without_numbers(self.method, "no budget is spent"):
            law = self.law(data, watch)
            law.prepare()

        def draw(paying: privacy.Ledger | None) -> Any:
            spent = "no budget is spent"
            if paying is not None:
                spent = "what was charged to the ledger stays charged"
            with about(self.title), watch, without_numbers(self.method, spent):
                return self.draw(law, data, paying)

        def entries(release: Any) -> dict[str, Any]:
            return {**self.stating(release.guarantee), **self.entries(release)}

        def show(console: Console, release: Any) -> None:
            words = "drawn {}, not private" if self.seeded else "released {}"
            self._print(console, words.format(self.drawn_is), release.guarantee, asked, release)

        charge_and_deliver(self.ledger, asked, draw, entries, show, delivery)

    def _print(
        self,
        console: Console,
        what: str,
        total: Guarantee,
        settings: Mapping[str, Any],
        release: Any = None,
    ) -> None:
        """Print what was or would be drawn, its cost and guarantee, and the public settings."""
        if self.seeded:
            output.banner(console, output.NOT_PRIVATE)
        output.heading(console, f"{self.title}: {what}")
        if release is not None:
            self.show(console, release)
        guarantee = total.of_unit(settings.get("protected_unit", ROW))
        for text in (f"Cost: {self.price(total)}.", f"Guarantee: {guarantee}."):
            output.line(console, text)
        print_settings(console, settings)


def default_method(ledger: privacy.Ledger | None) -> str:
    """Choose permute-and-flip, or the exponential mechanism where ρ is counted: it costs less ρ."""
    if ledger is not None and ledger.currency == "rho":
        return "exponential"
    return "permute-and-flip"


@contextmanager
def without_numbers(method: PrivateSelector, spent: str) -> Iterator[None]:
    """Take what depends on the data out of the messages of errors; `spent` says what it cost."""
    details = "; 'mipselect solve' shows the details, which are sensitive"
    nothing = f"so nothing was released and {spent}"
    try:
        yield
    except errors.SolverFailure:
        words = f"the solver failed, {nothing}{details}"
    except errors.NotCertified:
        words = f"not certified within the tolerance, {nothing}; allow more time"
        words += f" or use another solver{details}"
        if isinstance(method, ExactDrawSelector):
            words = f"no exact draw was made within the time limit, {nothing}; allow more time"
            words += ", a smaller ε or smaller sizes, or use another method"
    except errors.BoundViolated:
        words = f"a proven bound was wrong, which no data should bring about, {nothing}"
        words += ": this is an error of mipselect; please report it"
    except errors.ConditionNotMet:
        words = (
            "the data are not proven to meet the condition of the mechanism, so nothing was "
            "released; this refusal itself depends on the data, as a release would have, and no "
            "guarantee covers it; --test-epsilon with --delta never refuses for this reason, nor "
            f"do the other methods{details}"
        )
    else:
        return
    raise errors.MipselectError(words)


METHOD_FIELDS = (
    *("sizes", "complexity", "pool_size", "tolerance", "solver", "top_k", "alpha", "blocks"),
    *("mcmc_steps", "mcmc_radius"),
)
"""What methods here record; null of the others."""


def note_of_identifiers(names: Sequence[str]) -> None:
    """Print which of these names of features look like identifiers, where there is no schema."""
    alike, looks = looking_like_identifiers(names)
    leave = "it leaves it" if len(alike) == 1 else "them leaves them"
    if alike:
        say(f"note: {listed(alike)} {looks}, and may be drawn; --features without {leave} out.")


def print_settings(console: Console, settings: Mapping[str, Any]) -> None:
    """Print public settings in the words of `PUBLIC_FIELDS`, as a report does."""
    told = public_settings(settings, hides_n=False).items()
    output.line(console, f"Settings: {'; '.join(in_words(*each) for each in told)}")
    if "unit_rule" in settings:
        people = people_in_words(settings["protected_unit"], settings["unit_rule"])
        output.line(console, f"People: {people}")
    if settings["features"] is not None:
        output.line(console, f"Features: {listed(settings['features'])}")
    if "always" in settings:
        always = [*settings["always"], *(["an intercept"] if settings["intercept"] else [])]
        text = listed(always) if always else "nothing"
        if settings["always"] and not settings["always_counts"]:
            text += f"; no score depends on {listed(settings['always'])}"
        output.line(console, f"Always in: {text}")


def warnings(
    head: Mapping[str, Any], unit: str, ledger: privacy.Ledger | None, doubts: Sequence[str]
) -> list[str]:
    """Print what a release means less than it seems to, a line each, and return the sentences.

    Parameters
    ----------
    head : mapping
        First entries of the report: they name the table, and its schema if it has one.
    unit : str
        What the guarantee is about: "row", or the field that says whose row it is.
    ledger : Ledger or None
    doubts : sequence of str
        What speaks against the draw besides a ledger that counts people.
    """
    said = list(doubts)
    if ledger is not None and unit == ROW and not is_row(ledger.unit):
        where, what = "a schema", "nothing says"
        if "schema" in head:
            where, what = "its schema", "the schema does not say"
        said.append(
            f"the ledger counts one row as one {ledger.unit}, but {what} whose row is whose: the "
            f"guarantee is about one row, and about one {ledger.unit} only if none has more than "
            f"one row; csvw-eo:privacyUnit in {where} names the field that says it"
        )
    for sentence in said:
        say(f"warning: {sentence}")
    return said


def charge_and_deliver(
    ledger: privacy.Ledger | None,
    asked: Mapping[str, Any],
    draw: Callable[[privacy.Ledger | None], Drawn],
    entries: Callable[[Drawn], Mapping[str, Any]],
    show: Callable[[Console, Drawn], None],
    delivery: output.Delivery,
) -> None:
    """Draw, at the charge of a ledger, and deliver the answer with its place in the ledger.

    What is not known to be better than chance is said to be so at the end.

    Parameters
    ----------
    ledger : Ledger or None
    asked : mapping
        What a report begins with, of which an entry of the ledger has what is `noted`.
    draw : callable
        Charges the ledger that it is given, then draws.
    entries, show : callable
        What was drawn as part of a JSON object, with the key "private"; and as text.
    delivery : Delivery

    Raises
    ------
    Interrupted
        After an interrupt, if the ledger may have been charged.
    """
    let_signals_raise()
    paying = None if ledger is None else ledger.noting(noted(asked))
    try:
        drawn = draw(paying)
        charged = None if ledger is None else ledger.receipt()

        def render(console: Console) -> None:
            show(console, drawn)
            print_charged(console, charged)

        told = entries(drawn)
        # Whoever knows the seed can repeat the draw: it is a function of the data.
        sensitive = not told["private"]
        delivery.deliver({**asked, "sensitive": sensitive, **told, "ledger": charged}, render)
    except KeyboardInterrupt:
        if ledger is None:
            raise
        raise output.Interrupted(
            "interrupted: nothing was released, but the ledger may have been charged; "
            f"'mipselect ledger show {ledger.path}' shows it"
        ) from None
    quality = getattr(drawn, "quality", drawn)
    if isinstance(quality, Quality) and not quality.beats_chance:
        say(f"warning: {quality.verdict}")


def print_charged(console: Console, receipt: Mapping[str, Any] | None) -> None:
    """Print the receipt of a ledger; None without one."""
    if receipt is None:
        nothing = "nothing remembers this release, and further ones add to it"
        output.line(console, f"No --ledger was given: {nothing}.")
        return
    left = left_in_words(Guarantee.from_dict(receipt["remaining"]))
    head = receipt["head"]
    output.line(
        console,
        f"Ledger {receipt['file']}: charged; {left} is left. Its row {head['number']} is "
        f"{head['hash']}.",
    )


def left_in_words(remaining: Guarantee) -> str:
    """Write what is left in a ledger, in what it counts."""
    return amount(remaining) if remaining.rho is None else f"ρ = {remaining.rho:.15g}"
