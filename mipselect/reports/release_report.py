"""`ReleaseReport`: a set of releases as one document for people."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from mipselect.documents.blocks import (
    Alert,
    Block,
    BulletList,
    Document,
    Heading,
    IntervalPlot,
    Paragraph,
    PlotRow,
    TextTable,
)
from mipselect.documents.pages import html_page, html_part, markdown_page
from mipselect.errors import InvalidInput
from mipselect.privacy import Guarantee, Ledger, Release
from mipselect.privacy.guarantee import ROW, amount
from mipselect.quality import Quality
from mipselect.reports.guarantees import (
    guarantee_blocks,
    seeded_alert,
    spending_blocks,
    total_of,
    warnings_of,
)
from mipselect.reports.methods import citation_blocks, deployment_blocks
from mipselect.reports.qualities import quality_blocks
from mipselect.reports.released import (
    EVALUATION,
    MODEL,
    SELECTION,
    ReportedRelease,
    field_words,
    tables_of,
)
from mipselect.validation import joined, plural

EXPLAINED = (
    "A release is an answer with randomness in it, which limits what can be concluded from it "
    "about any one person; how far is said below. Nothing else in this report was computed from "
    "the data."
)


NEAR_CHANCE = (
    "Near chance: at this ε, with so few rows, the fields were drawn almost the same whatever the "
    "data. Take them as nearly random."
)


@dataclass(frozen=True, kw_only=True)
class ReleaseReport:
    """A set of releases as one document: results, guarantee, costs and sources, in plain words.

    Nothing in it depends on data but the releases. `of` makes one of objects; the command
    ``mipselect report`` makes one of files.

    Parameters
    ----------
    title : str
    releases : tuple of ReportedRelease
    ledger : Ledger, optional
        That paid: the report says what is left.
    notes : tuple of str
        About the set, such as a file that was given twice.
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

    title: str
    releases: tuple[ReportedRelease, ...]
    ledger: Ledger | None = None
    notes: tuple[str, ...] = ()
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
        """The guarantee of all releases together, by basic composition."""
        return total_of(self.releases)

    @property
    def warnings(self) -> list[str]:
        """Reasons against one account of all releases, a sentence each."""
        return warnings_of(self.releases, self.ledger)

    @property
    def document(self) -> Document:
        """The report as a title and blocks."""
        return Document(self.title, tuple(self._blocks()))

    def html(self) -> str:
        """Return the report as one HTML file, which loads nothing and runs nothing."""
        return html_page(self.document)

    def markdown(self) -> str:
        """Return the report as Markdown."""
        return markdown_page(self.document)

    def _repr_html_(self) -> str:
        """Write the report for a notebook."""
        return html_part([Heading(1, self.title), *self._blocks()])

    def _blocks(self) -> Iterator[Block]:
        yield from self._opening()
        for k, one in enumerate(self.releases, start=1):
            yield from _blocks_of(one, k, self._fields_of(one))
        yield from guarantee_blocks(self.releases, self.total)
        yield from spending_blocks(self.releases, self.total, self.ledger)
        yield from citation_blocks(self.releases)
        yield from deployment_blocks(self.releases, self.facts)

    def _fields_of(self, one: ReportedRelease) -> str:
        """Name the release that the fields of a model are of; "" where they were drawn."""
        names = {other.digest: other.name for other in self.releases}
        if one.features_of is None:
            return ""
        return f"on the fields of {names.get(one.features_of, 'a release that is not here')}"

    def _opening(self) -> Iterator[Block]:
        yield from seeded_alert(self.releases)
        yield Paragraph(f"{_question(self.releases)} {EXPLAINED}")
        yield TextTable(
            ("release", "what it is about", "privacy loss"),
            tuple(
                (one.name, f"{k}. {_what(one)}", _loss(one))
                for k, one in enumerate(self.releases, start=1)
            ),
        )
        if self.notes:
            yield BulletList(self.notes)
        yield from map(Alert, separate_draws(self.releases))


def of_object(one: Release | Quality, name: str) -> ReportedRelease:
    """Return what a report knows of a release, from the release alone."""
    from mipselect.regression import ModelRelease

    match one:
        case ModelRelease():
            found = ReportedRelease(name=name, guarantee=one.guarantee, model=one)
            if one.table is None:
                return found
            target, unit, always = one.table.target, one.table.unit, one.table.always
            titles = field_words(one)
            return replace(found, target=target, titles=titles, unit=unit, always=always)
        case Release():
            return ReportedRelease(name=name, guarantee=one.guarantee, releases=(one,))
        case Quality():
            return ReportedRelease(name=name, guarantee=one.guarantee, quality=one)
        case _:
            raise InvalidInput(
                f"{name}: a report is of Release, ModelRelease or Quality, not of a "
                f"{type(one).__name__}"
            )


def default_title(releases: Sequence[ReportedRelease]) -> str:
    """Return a title that names the tables."""
    tables = tables_of(releases)
    return f"Private results from {joined(tables)}" if tables else "Private results"


def _question(releases: Sequence[ReportedRelease]) -> str:
    """Say what was to be found out, of which table, by how many releases."""
    tables, targets = tables_of(releases), _aims(releases)
    where = f" of the table{'s' if len(tables) > 1 else ''} {joined(tables)}" if tables else ""
    aims = joined(targets) if targets else "a target"
    kinds = {one.kind for one in releases}
    if MODEL in kinds:
        question = f"Which fields{where} go with {aims}, and how?"
    elif SELECTION in kinds:
        question = f"Which fields{where} go with {aims}?"
    else:
        question = f"How good are predictions of {aims} on the rows{where or ' of a table'}?"
    verb = "answers" if len(releases) == 1 else "answer"
    kind = "private release" if all(one.private for one in releases) else "release"
    return f"{question} {plural(len(releases), kind)} {verb}."


def _aims(releases: Sequence[ReportedRelease]) -> list[str]:
    """List the targets, with their titles where one of the releases has them."""
    found: dict[str, str] = {}
    for one in releases:
        if one.target is not None:
            found[one.target] = found.get(one.target) or one.titles.get(one.target, "")
    return [f"{name} ({words})" if words else name for name, words in found.items()]


def _blocks_of(one: ReportedRelease, number: int, fields_of: str) -> Iterator[Block]:
    target = one.target or "the target"
    yield Heading(2, f"{number}. {_what(one)}")
    yield from seeded_alert([one])
    yield Paragraph(_origin(one, fields_of))
    if one.near_chance:
        yield Alert(NEAR_CHANCE)
    if one.model is not None:
        # What reads tables takes long to import.
        from mipselect.reports.models import coefficient_blocks

        yield from coefficient_blocks(one, one.model)
        if one.model.quality is not None:
            yield Heading(3, "How good is it?")
            yield from quality_blocks(one.model.quality, target)
    elif one.quality is not None:
        yield from quality_blocks(one.quality, target)
    elif one.releases:
        yield from selection_blocks(one)


def _what(one: ReportedRelease) -> str:
    target = one.target or "the target"
    return {
        SELECTION: f"Which fields go with {target}",
        MODEL: f"How {target} goes with other fields",
        EVALUATION: f"How well {target} is predicted",
    }.get(one.kind, f"Private answer of mipselect {one.kind}")


def _origin(one: ReportedRelease, fields_of: str) -> str:
    """Say from which table, by which method and under which guarantee a release was drawn."""
    parts = [one.name]
    if one.about is not None:
        parts.append(f"about the model {one.about}")
    if one.data is not None:
        each = "" if one.unit == ROW else f", one for each {one.unit}"
        rows = "" if one.rows is None else f", {plural(one.rows, 'row')}{each}"
        parts.append(f"from {one.data}{rows}")
    selection = None if fields_of else one.method
    methods = [name for name in (selection, one.regression) if name is not None]
    if methods:
        parts.append(f"drawn by {' and '.join(methods)}")
    parts += filter(None, [fields_of, _loss(one)])
    return f"{'; '.join(parts)}."


def _loss(one: ReportedRelease) -> str:
    return amount(one.guarantee) if one.private else f"NOT PRIVATE ({amount(one.guarantee)})"


def selection_blocks(one: ReportedRelease) -> Iterator[Block]:
    """Describe the draws of a selection."""
    draws = len(one.releases)
    names = [release.feature_names or tuple(map(str, release.support)) for release in one.releases]
    size = len(names[0]) if len({len(each) for each in names}) == 1 else None
    fields = "" if size is None else f" of {plural(size, 'field')}"
    whence = f" among {plural(len(one.candidates), 'field')}" if one.candidates else ""
    each = " each" if draws > 1 and size is not None else ""
    yield Paragraph(f"{plural(draws, 'random draw')}{fields}{each}{whence}.")
    counts = Counter(name for each in names for name in each)
    listed = sorted(counts, key=lambda name: -counts[name])
    if draws == 1:
        yield TextTable(("field that was drawn",), tuple((_named(one, name),) for name in names[0]))
        yield Paragraph(
            "The draw prefers fields that go with the target, and is random all the same: another "
            "draw may choose others. A field that is missing here need not be unimportant."
        )
        return
    yield IntervalPlot(
        tuple(
            PlotRow(_named(one, name), share, 0.0, share, f"{counts[name]} of {draws}")
            for name, share in ((name, 100.0 * counts[name] / draws) for name in listed)
        ),
        "percent of the draws that chose the field",
    )
    yield Paragraph(
        "Each draw prefers fields that go with the target, and is random all the same. A field in "
        f"which the draws agree is a safer answer than one that came once.{_by_chance(one, size)}"
    )


def separate_draws(releases: Iterable[ReportedRelease]) -> list[str]:
    """Say where draws of fields are several for one target, and may answer differently."""
    drawn: dict[tuple[str | None, str | None], list[ReportedRelease]] = defaultdict(list)
    for one in releases:
        if one.draws_fields:
            drawn[one.data, one.target].append(one)
    return [_separate(each) for each in drawn.values() if len(each) > 1]


def _separate(draws: Sequence[ReportedRelease]) -> str:
    target, count = draws[0].target or "the target", len(draws)
    answers = {frozenset(release.feature_names) for one in draws for release in one.drawn}
    differ = "They name the same fields."
    if len(answers) > 1:
        differ = "They name different fields, and none of them corrects another."
    return (
        f"{joined([one.name for one in draws])} are {'two' if count == 2 else count} draws of "
        f"fields for {target}, each random by itself and paid for by itself. {differ}"
    )


def _named(one: ReportedRelease, name: str) -> str:
    """Name a field, with its title where the release has it."""
    words = one.titles.get(name)
    return f"{name} ({words})" if words else name


def _by_chance(one: ReportedRelease, size: int | None) -> str:
    """Return the share of draws with a field, without any look at the data."""
    if not one.candidates or size is None:
        return ""
    share = size / len(one.candidates)
    draws = len(one.releases)
    return (
        f" By chance alone, without any look at the data, a field would come in "
        f"{share * draws:.2g} of {draws} draws."
    )
