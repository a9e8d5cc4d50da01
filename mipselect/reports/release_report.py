"""`ReleaseReport`: a set of releases as one document for people, in plain words.

What is found, what is said of one person, and what was spent. All of it was released or is public.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mipselect.documents.markdown import filled, html_page
from mipselect.errors import InvalidInput
from mipselect.privacy import Guarantee, Release
from mipselect.privacy.guarantee import ROW, amount, compose, is_row, limit, neighbours
from mipselect.quality import Quality
from mipselect.reports import methods
from mipselect.validation import joined, plural, printable

if TYPE_CHECKING:  # What reads tables takes long to import.
    from mipselect.regression import ModelRelease

SELECTION, MODEL, EVALUATION = "selection", "model", "evaluation"
"""Kinds of releases that a report has words for."""


@dataclass(frozen=True)
class LedgerNote:
    """Place of a release in a ledger: the ledger, its unit, and the number and hash of the row."""

    identity: str
    unit: str
    number: int
    hash: str


@dataclass(frozen=True, kw_only=True)
class ReportedRelease:
    """One release of a report.

    Attributes
    ----------
    name : str
        Name of its file, or what stands for it.
    guarantee : Guarantee
    data, target, method : str or None
        Names of the table, of the field, and of the method that drew fields.
    selection : Release or None
        The draw of fields, where there is no model.
    model : ModelRelease or None
    quality : Quality or None
        For an evaluation; that of a model is in the model.
    settings : mapping
        Public numbers and words, by their names in a file.
    candidates : tuple of str
        Fields that could be chosen; empty where they are not known.
    always : tuple of str
        Fields that are in whatever is chosen.
    features_of : str or None
        SHA-256 of the release that the features of a model are of; None where they were drawn.
    titles : mapping of str to str
        Title and unit of fields, in words, as far as the release has them.
    near_chance : bool
        Whether the draw was almost the same whatever the data, by public numbers.
    about : str or None
        The model that an evaluation is about.
    unit : str
        "row", or the field that says whose row it is.
    ledger : LedgerNote or None
    version : str or None
        Version of mipselect.
    digest : str or None
        SHA-256 of the file.

    Raises
    ------
    InvalidInput
        For a seeded draw: whoever knows the seed can repeat it, and nothing is guaranteed.
    """

    name: str
    guarantee: Guarantee
    data: str | None = None
    target: str | None = None
    method: str | None = None
    selection: Release | None = None
    model: ModelRelease | None = None
    quality: Quality | None = None
    settings: Mapping[str, int | float | str | tuple[float, ...]] = field(default_factory=dict)
    candidates: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    features_of: str | None = None
    titles: Mapping[str, str] = field(default_factory=dict)
    near_chance: bool = False
    about: str | None = None
    unit: str = "row"
    ledger: LedgerNote | None = None
    version: str | None = None
    digest: str | None = None

    def __post_init__(self) -> None:
        if not self.guarantee.private:
            raise InvalidInput(f"{self.name}: is not private, for it was drawn with a seed")

    @property
    def kind(self) -> str:
        """One of `SELECTION`, `MODEL` and `EVALUATION`."""
        if self.model is not None:
            return MODEL
        return SELECTION if self.quality is None else EVALUATION

    @property
    def made_by(self) -> list[str]:
        """Names of the methods that drew fields and coefficients, as far as they are known."""
        return [name for name in (self.method, self.model and self.model.regression) if name]

    @property
    def topic(self) -> str:
        """Title of its section."""
        target = "the target" if self.target is None else self.named(self.target)
        return {
            SELECTION: f"Which fields go with {target}",
            MODEL: f"How {target} goes with other fields",
            EVALUATION: f"How well {target} is predicted",
        }[self.kind]

    @property
    def unit_condition(self) -> str:
        """Condition on which one row is what the ledger counts; empty where there is none."""
        if self.ledger is None or self.unit != ROW or is_row(self.ledger.unit):
            return ""
        return f"no {self.ledger.unit} has more than one row"

    @property
    def drawn(self) -> Release | None:
        """What was drawn: a model, or fields."""
        return self.selection if self.model is None else self.model

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fields that were drawn, or are in the model."""
        one = self.drawn
        return () if one is None else one.feature_names or tuple(map(str, one.support))

    @property
    def draw(self) -> str:
        """How many fields were drawn, and among how many."""
        whence = f" among {plural(len(self.candidates), 'field')}" if self.candidates else ""
        return f"A random draw of {plural(len(self.names), 'field')}{whence}."

    def named(self, name: str) -> str:
        """Name a field, with its title where the release has it."""
        words = self.titles.get(name)
        return f"{name} ({words})" if words else name

    @property
    def has_model(self) -> bool:
        """True of a fit, unless a private test decided that no model is released."""
        return self.model is not None and self.model.has_model

    @property
    def draws_fields(self) -> bool:
        """True where fields were drawn: not of a model whose fields were known before."""
        if self.model is None:
            return self.selection is not None
        selection, then, _ = self.model.mechanism.partition(", then ")
        return bool(then) and selection != "all features"

    @property
    def model_fields(self) -> str:
        """Which fields are in the model, and which of them always."""
        assert self.model is not None
        always = () if self.model.table is None else self.model.table.always
        kept = f"; always in: {', '.join(always)}" if always else ""
        return f"{plural(len(self.names), 'field')} in the model: {', '.join(self.names)}{kept}."

    @property
    def coefficients(self) -> dict[str, Any]:
        """The table of coefficients, by the names of its parts in the template."""
        # What reads tables takes long to import.
        from mipselect.tables.encoders import INTERCEPT, Term

        def meaning(term: Term) -> str:
            """Say what differs, with the title of its field where that says more than the unit."""
            words = "" if term.kind == INTERCEPT else self.titles.get(term.field, "")
            says_more = words and words != f"in {term.unit}"
            return f"{term.meaning} ({words})" if says_more else term.meaning

        assert self.model is not None
        titles = ("what differs", f"estimate{self._unit_of_target}", "odds")
        rows = [(meaning(term), *cells[:2]) for term, cells in self.model.in_units.listed()]
        there = [k for k in range(len(titles)) if any(row[k] for row in rows)]
        return {
            "titles": [titles[k] for k in there],
            "rows": [[row[k] for k in there] for row in rows],
            "numbers": titles[1:],
            "notes": self.model.reading_notes,
        }

    @property
    def _unit_of_target(self) -> str:
        """The unit of the target as the end of a phrase; "" for classes and unknown units."""
        if self.model is None or self.model.table is None or self.model.classes is not None:
            return ""
        entries = {each["name"]: each for each in self.model.table.schema.content["fields"]}
        unit = one_line(entries.get(self.model.table.target, {}).get("unit"))
        return unit and f", in {unit}"

    @property
    def measured(self) -> str:
        """On which rows the quality was measured; "" without one."""
        quality = self.quality if self.model is None else self.model.quality
        if quality is None:
            return ""
        rows = "rows" if quality.rows is None else plural(quality.rows, "row")
        if quality.share is None:
            return f"Measured on {rows} of a table that was given for it."
        kept = f"{100.0 * quality.share:.6g} %"
        return f"Measured on {rows} that were kept apart from the fit ({kept})."

    @property
    def rows(self) -> int | None:
        """The number of rows, where it is public."""
        n = self.settings.get("n")
        if n is None and self.quality is not None:
            return self.quality.rows
        return n if isinstance(n, int) else None


@dataclass(frozen=True, kw_only=True)
class ReleaseReport:
    """A set of releases as one document: results, guarantee, costs and sources, in plain words.

    Nothing in it depends on data but the releases. `of` makes one of objects; the command
    ``mipselect report`` makes one of files.

    Parameters
    ----------
    releases : tuple of ReportedRelease
    title : str, optional
        Default: one that names the tables.
    facts : mapping
        What only people know, by the names `mipselect.reports.methods.FACTS`.

    Raises
    ------
    InvalidInput
        Without a release, or if the δ of all of them add up to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.regression import AdaSSPRegressor
    >>> from mipselect.reports import ReleaseReport
    >>> X = np.random.default_rng(0).uniform(-1, 1, (5000, 2))
    >>> model = AdaSSPRegressor(x_bound=1.0, y_bound=1.0).fit(X, X[:, 0])
    >>> report = ReleaseReport.of([model.release_], title="A first model")
    >>> report.markdown().splitlines()[0]
    '# A first model'
    >>> report.total.epsilon
    1.0
    """

    releases: tuple[ReportedRelease, ...]
    title: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.releases:
            raise InvalidInput("a report needs one release or more")
        _ = self.total

    @classmethod
    def of(
        cls, releases: Sequence[Release | Quality], *, title: str = "Private releases"
    ) -> ReleaseReport:
        """Make a report of releases, models and qualities.

        Parameters
        ----------
        releases : sequence of Release, ModelRelease or Quality
        title : str

        Raises
        ------
        InvalidInput
            If one of them is something else.
        """
        reported = [of_object(one, f"release {k}") for k, one in enumerate(releases, start=1)]
        return cls(title=title, releases=tuple(reported))

    @cached_property
    def total(self) -> Guarantee:
        """The guarantee of all releases together, by basic composition.

        Under the relation of all of them, or else under replace-one, to which add-remove is
        converted.
        """
        relations = _each(one.guarantee.relation for one in self.releases)
        relation = relations[0] if len(relations) == 1 else "replace-one"
        return compose([one.guarantee.to(relation) for one in self.releases], relation)

    @property
    def tables(self) -> list[str]:
        """The tables that releases are of."""
        return _each(one.data for one in self.releases)

    @property
    def units(self) -> list[str]:
        """The units that releases protect."""
        return _each(one.unit for one in self.releases)

    @property
    def unit_conditions(self) -> list[str]:
        """The conditions on which a row is what a ledger counts."""
        return _each(one.unit_condition for one in self.releases)

    @property
    def heading(self) -> str:
        """The title, or one that names the tables."""
        tables = f" from {joined(self.tables)}" if self.tables else ""
        return self.title or f"Private results{tables}"

    def to_dict(self) -> dict[str, Any]:
        """Return what the report is of, and what all of it costs, ready for JSON."""
        return {
            "title": self.heading,
            "releases": [
                {
                    "file": one.name,
                    "sha256": one.digest,
                    "kind": one.kind,
                    "data": one.data,
                    "target": one.target,
                    "private": one.guarantee.private,
                    "guarantee": one.guarantee.to_dict(),
                }
                for one in self.releases
            ],
            "guarantee": self.total.to_dict(),
            "warnings": self.warnings,
            "notes": self.separate_draws,
        }

    def html(self) -> str:
        """Return the report as one HTML file, which loads nothing and runs nothing."""
        return html_page(self.heading, [self.markdown()])

    def markdown(self) -> str:
        """Return the report as Markdown."""
        return filled(
            "release.md.jinja",
            report=self,
            mixed=len({one.guarantee.relation for one in self.releases}) > 1,
            deployed=[one for one in self.releases if one.method is not None],
            limit=limit,
            methods=methods,
        )

    def origin(self, one: ReportedRelease) -> str:
        """Say from which table, by which method and under which guarantee a release was drawn."""
        parts = [one.name]
        if one.about is not None:
            parts.append(f"about the model {one.about}")
        if one.data is not None:
            each = "" if one.unit == ROW else f", one for each {one.unit}"
            rows = "" if one.rows is None else f", {plural(one.rows, 'row')}{each}"
            parts.append(f"from {one.data}{rows}")
        known = one.made_by[1:] if one.features_of else one.made_by
        if known:
            parts.append(f"drawn by {' and '.join(known)}")
        if one.features_of is not None:
            names = {other.digest: other.name for other in self.releases}
            parts.append(
                f"on the fields of {names.get(one.features_of, 'a release that is not here')}"
            )
        return f"{'; '.join([*parts, amount(one.guarantee)])}."

    @property
    def separate_draws(self) -> list[str]:
        """Sentences on several draws of fields for one target, which may answer differently."""
        drawn: dict[tuple[str | None, str | None], list[ReportedRelease]] = defaultdict(list)
        for one in self.releases:
            if one.draws_fields:
                drawn[one.data, one.target].append(one)
        return [_separate(each) for each in drawn.values() if len(each) > 1]

    @property
    def stated(self) -> list[tuple[str, str]]:
        """What all releases together guarantee, its unit and its conditions, as rows."""
        units = self.units
        unit = units[0] if len(units) == 1 else ROW
        conditions = (*self.total.conditions, *self.unit_conditions)
        return [
            ("privacy loss of all releases", amount(self.total)),
            ("neighbouring tables", f"differ by {neighbours(self.total.relation, unit)}"),
            ("conditions", "; ".join(conditions) or "none"),
        ]

    @property
    def whose(self) -> str:
        """Sentences on whom the guarantee is about: one row, or all rows of one unit."""
        units = self.units
        if units == [ROW]:
            about = "The guarantee is about one row of the table. It is about"
            if not (conditions := self.unit_conditions):
                return f"{about} a person if nobody has more than one row."
            return (
                f"{about} one {joined(_counted(self.releases))} only on the condition that "
                f"{joined(conditions)}: the table does not say whose row is whose."
            )
        named = _counted([one for one in self.releases if one.unit != ROW])
        stands = f", which stands for one {joined(named)}" if named else ""
        known = [unit for unit in units if unit != ROW]
        said = (
            f"The guarantee is about all rows with the same {joined(known)}, made one row{stands}: "
            "it covers everything that the table holds about that one."
        )
        # What reads tables takes long to import.
        from mipselect.tables.public_map import RULES, people_in_words

        rules = ((one.unit, one.settings.get("unit_rule")) for one in self.releases)
        for unit, rule in dict.fromkeys(each for each in rules if each[1] in RULES):
            said += f" {people_in_words(unit, str(rule))}."
        if ROW in units:
            said += " Some releases are about one row only: together they are about one row."
        return said

    @property
    def costs(self) -> list[tuple[str, ...]]:
        """What each release is about and cost, and all of them together, as rows."""
        releases = enumerate(self.releases, start=1)
        named = [(one.name, f"{k}. {one.topic}", one.guarantee) for k, one in releases]
        rows: list[tuple[str, ...]] = []
        for name, topic, each in [*named, ("together", "", self.total)]:
            rows.append((name, topic, f"{each.epsilon:.15g}", f"{each.delta:.15g}", each.relation))
        return rows

    @property
    def warnings(self) -> list[str]:
        """Reasons against one account of all releases, a sentence each."""
        found, releases = [], self.releases
        without = [one.name for one in releases if one.ledger is None]
        ledgers = _each(one.ledger.identity for one in releases if one.ledger)
        digests = {one.digest for one in releases}
        if strangers := [one.name for one in releases if one.features_of not in {None, *digests}]:
            found.append(
                f"The fields of {joined(strangers)} were released before, by a file that is not in "
                "this report: its cost comes on top."
            )
        if len(ledgers) > 1:
            found.append(
                f"The releases were charged to {len(ledgers)} ledgers ({joined(ledgers)}). If "
                "these are of the same people, no ledger alone says what was spent."
            )
        if without:
            verb = "was" if len(without) == 1 else "were"
            found.append(
                f"{joined(without)} {verb} charged to no ledger: no budget remembers that."
            )
        if len(self.tables) > 1:
            found.append(
                f"The releases are of {len(self.tables)} tables ({joined(self.tables)}). A person "
                "may be in more than one."
            )
        if len(self.units) > 1:
            found.append(f"The releases protect different units: {joined(self.units)}.")
        return found


def _each(values: Iterable[str | None]) -> list[str]:
    """Return values, each once; without what is empty."""
    return list(dict.fromkeys(value for value in values if value))


def _separate(draws: Sequence[ReportedRelease]) -> str:
    target, count = draws[0].target or "the target", len(draws)
    answers = {frozenset(one.names) for one in draws}
    differ = "They name the same fields."
    if len(answers) > 1:
        differ = "They name different fields, and none of them corrects another."
    return (
        f"{joined([one.name for one in draws])} are {'two' if count == 2 else count} draws of "
        f"fields for {target}, each random by itself and paid for by itself. {differ}"
    )


def of_object(one: Release | Quality, name: str) -> ReportedRelease:
    """Return what a report knows of a release, from the release alone."""
    if type(one) is Release:
        return ReportedRelease(name=name, guarantee=one.guarantee, selection=one)
    if isinstance(one, Quality):
        return ReportedRelease(name=name, guarantee=one.guarantee, quality=one)
    # What reads tables takes long to import.
    from mipselect.regression import ModelRelease

    if not isinstance(one, ModelRelease):
        raise InvalidInput(
            f"{name}: a report is of Release, ModelRelease or Quality, not of a "
            f"{type(one).__name__}"
        )
    found = ReportedRelease(name=name, guarantee=one.guarantee, model=one)
    if one.table is None:
        return found
    target, unit, always = one.table.target, one.table.unit, one.table.always
    return replace(found, target=target, titles=field_words(one), unit=unit, always=always)


def _counted(releases: Sequence[ReportedRelease]) -> list[str]:
    """Return what ledgers count a row as, each once, where that is more than a row."""
    units = dict.fromkeys(one.ledger.unit for one in releases if one.ledger)
    return [unit for unit in units if not is_row(unit)]


def field_words(model: ModelRelease) -> dict[str, str]:
    """Return title and unit of the fields of a model, in words; "" where its schema has none."""
    if model.table is None:
        return {}
    return {entry["name"]: words_of(entry) for entry in model.table.schema.content["fields"]}


def words_of(entry: Mapping[str, object]) -> str:
    """Write title and unit of a field of a schema; "" where it has none."""
    title, unit = one_line(entry.get("title")), one_line(entry.get("unit"))
    return f"{title}, in {unit}" if title and unit else title or (unit and f"in {unit}")


def one_line(text: object) -> str:
    """Write a text of a schema as one printable line; "" for anything else."""
    return printable(" ".join(text.split())) if isinstance(text, str) else ""
