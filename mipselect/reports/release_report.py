"""`ReleaseReport`: a set of releases as one document for people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from mipselect.documents.markdown import filled, html_page, html_part
from mipselect.errors import InvalidInput
from mipselect.privacy import Guarantee, Ledger, Release
from mipselect.privacy.guarantee import ROW
from mipselect.quality import Quality
from mipselect.reports import guarantees, methods
from mipselect.reports.released import (
    MODEL,
    SELECTION,
    ReportedRelease,
    field_words,
    tables_of,
)
from mipselect.validation import joined, plural


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
        return guarantees.total_of(self.releases)

    @property
    def warnings(self) -> list[str]:
        """Reasons against one account of all releases, a sentence each."""
        return guarantees.warnings_of(self.releases, self.ledger)

    def html(self) -> str:
        """Return the report as one HTML file, which loads nothing and runs nothing."""
        return html_page(self.title, [self.markdown()])

    def markdown(self) -> str:
        """Return the report as Markdown."""
        releases, results = self.releases, None
        if any(one.model is not None or one.quality is not None for one in releases):
            # What reads tables takes long to import.
            from mipselect.reports import results  # type: ignore[assignment]
        return filled(
            "release.md.jinja",
            report=self,
            seeded_names=[one.name for one in releases if not one.private],
            question=_question(releases),
            origins=[_origin(one, releases) for one in releases],
            separate_draws=separate_draws(releases),
            mixed=len({one.guarantee.relation for one in releases}) > 1,
            deployed=[one for one in releases if one.method is not None and one.private],
            guarantees=guarantees,
            methods=methods,
            results=results,
            joined=joined,
        )

    def _repr_html_(self) -> str:
        """Write the report for a notebook."""
        return html_part([self.markdown()])


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


def _origin(one: ReportedRelease, releases: Sequence[ReportedRelease]) -> str:
    """Say from which table, by which method and under which guarantee a release was drawn."""
    parts = [one.name]
    if one.about is not None:
        parts.append(f"about the model {one.about}")
    if one.data is not None:
        each = "" if one.unit == ROW else f", one for each {one.unit}"
        rows = "" if one.rows is None else f", {plural(one.rows, 'row')}{each}"
        parts.append(f"from {one.data}{rows}")
    selection = None if one.features_of else one.method
    known = [name for name in (selection, one.regression) if name is not None]
    if known:
        parts.append(f"drawn by {' and '.join(known)}")
    if one.features_of is not None:
        names = {other.digest: other.name for other in releases}
        parts.append(f"on the fields of {names.get(one.features_of, 'a release that is not here')}")
    return f"{'; '.join([*parts, one.loss])}."


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
