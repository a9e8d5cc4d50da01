"""One release as a report knows it: all of it was released or is public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mipselect.errors import InvalidInput
from mipselect.privacy import Guarantee, Release
from mipselect.privacy.guarantee import ROW, amount, is_row
from mipselect.quality import Quality
from mipselect.validation import checked_name, plural, printable, shown

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
        Marked as none if the draw was seeded.
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
    def private(self) -> bool:
        """False if a draw was seeded: then nothing is guaranteed."""
        return self.guarantee.private

    @property
    def drawn(self) -> Release | None:
        """What was drawn: a model, or fields."""
        return self.selection if self.model is None else self.model

    @property
    def fields_drawn(self) -> tuple[str, ...]:
        """Names of the fields of a selection."""
        one = self.selection
        return () if one is None else one.feature_names or tuple(map(str, one.support))

    @property
    def draw(self) -> str:
        """How many fields were drawn, and among how many."""
        whence = f" among {plural(len(self.candidates), 'field')}" if self.candidates else ""
        return f"A random draw of {plural(len(self.fields_drawn), 'field')}{whence}."

    @property
    def loss(self) -> str:
        """What it cost, marked if nothing is guaranteed."""
        cost = amount(self.guarantee)
        return cost if self.private else f"NOT PRIVATE ({cost})"

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
        names = self.model.feature_names or tuple(map(str, self.model.support))
        always = () if self.model.table is None else self.model.table.always
        kept = f"; always in: {', '.join(always)}" if always else ""
        return f"{plural(len(names), 'field')} in the model: {', '.join(names)}{kept}."

    @property
    def coefficients(self) -> dict[str, Any]:
        """The table of coefficients, by the names of its parts in the template."""
        # What reads tables takes long to import.
        from mipselect.regression.coefficients import CoefficientTable, reading_notes
        from mipselect.tables.encoders import INTERCEPT, Term

        def meaning(term: Term) -> str:
            """Say what differs, with the title of its field where that says more than the unit."""
            words = "" if term.kind == INTERCEPT else self.titles.get(term.field, "")
            says_more = words and words != f"in {term.unit}"
            return f"{term.meaning} ({words})" if says_more else term.meaning

        assert self.model is not None
        table = CoefficientTable.of(self.model)
        titles = ("what differs", f"estimate{self._unit_of_target}", "odds")
        rows = [(meaning(term), *cells[:2]) for term, cells in table.listed()]
        there = [k for k in range(len(titles)) if any(row[k] for row in rows)]
        return {
            "titles": [titles[k] for k in there],
            "rows": [[row[k] for k in there] for row in rows],
            "numbers": titles[1:],
            "notes": reading_notes(table),
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


def field_words(model: ModelRelease) -> dict[str, str]:
    """Return title and unit of the fields of a model, in words; "" where its schema has none."""
    if model.table is None:
        return {}
    return {entry["name"]: words_of(entry) for entry in model.table.schema.content["fields"]}


def words_of(entry: Mapping[str, object]) -> str:
    """Write title and unit of a field of a schema; "" where it has none."""
    title, unit = one_line(entry.get("title")), one_line(entry.get("unit"))
    return f"{title}, in {unit}" if title and unit else title or (unit and f"in {unit}")


def titles_in_words(report: Mapping[str, Any]) -> dict[str, str]:
    """Read titles and units by field from the JSON object of a release.

    Raises
    ------
    InvalidInput
        If it is none.
    """
    titles = report.get("titles") or {}
    if not isinstance(titles, dict) or not all(isinstance(e, dict) for e in titles.values()):
        raise InvalidInput(f"titles must be objects by field, got {shown(titles)}")
    return {checked_name(name, "titles"): words_of(entry) for name, entry in titles.items()}


def one_line(text: object) -> str:
    """Write a text of a schema as one printable line; "" for anything else."""
    return printable(" ".join(text.split())) if isinstance(text, str) else ""
