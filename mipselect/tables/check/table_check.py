"""`check_table`: a table beside its schema, in one pass over its batches. SENSITIVE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mipselect.errors import InvalidInput
from mipselect.tables.check.counts import FieldCounts, PersonCounts
from mipselect.tables.check.field_check import FieldCheck, PersonCheck
from mipselect.tables.check.findings import Finding, percent
from mipselect.tables.check.fits import FitOptions, TrialFit, trial_fits
from mipselect.tables.check.kinds import FieldRule, rules_of
from mipselect.tables.check.sums import ColumnSums, Squeezed, comparable
from mipselect.tables.defaults import DEFAULT_RIDGE
from mipselect.tables.encoders import Encoder, Indicators
from mipselect.tables.input_map import Ranges, checked_fields
from mipselect.tables.parts import Part, require_columns
from mipselect.tables.schema import TableSchema
from mipselect.tables.sources import open_source, read_again
from mipselect.validation import checked_integer, checked_nonnegative, checked_positive, listed

BEYOND = 0.01
"""Share of predictions beyond their bound that is a finding."""

SUPPORT_SIZE = 5

Progress = Callable[[int], object]
"""Receives the number of rows that were read so far."""


@dataclass(frozen=True)
class TableCheck:
    """What does not fit between a table and its schema; SENSITIVE, for the curator's eyes.

    Attributes
    ----------
    rows : int
    rows_without_values : int
        Rows where no field has a value: of a CSV file, records that have not as many values as
        the header.
    fields : tuple of FieldCheck
        In the order of the schema.
    people : PersonCheck or None
        Where the schema has a privacy unit.
    target : str or None
    repeats : tuple of (str, str)
        Fields that say the same: absolute correlation of columns above 0.999.
    fits : tuple of TrialFit
        Of the target on all fields and on a few; do the public bounds bind?
    not_compared : tuple of str
        Fields with too many columns to be compared.
    ignored : tuple of str
        Columns of the table that the schema does not have.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mipselect.tables import TableSchema, check_table
    >>> schema = TableSchema.of_numbers({"age": (0, 100), "charges": (0, 1000)})
    >>> table = pa.table({"age": [20, 40, 60], "charges": [900, 31000, 52000]})
    >>> for finding in check_table(table, schema).findings:
    ...     print(finding)
    ...
    charges: 67 % of values are above the maximum 1,000; take a range where nearly all values \
lie, such as from the codebook
    """

    rows: int
    rows_without_values: int
    fields: tuple[FieldCheck, ...]
    people: PersonCheck | None
    target: str | None
    repeats: tuple[tuple[str, str], ...]
    fits: tuple[TrialFit, ...]
    not_compared: tuple[str, ...]
    ignored: tuple[str, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A line for everything that does not fit: the table, people, fields, target, bounds."""
        of_people = () if self.people is None else self.people.findings
        of_fields = (finding for field in self.fields for finding in field.findings)
        repeats = (
            Finding(f"{one} and {other}", "say the same (correlation above 0.999); leave one out")
            for one, other in self.repeats
        )
        return (*self._of_rows(), *of_people, *of_fields, *repeats, *self._of_bounds())

    def _of_rows(self) -> list[Finding]:
        if not self.rows:
            return [Finding("the table", "has no rows")]
        if not self.rows_without_values:
            return []
        share = percent(self.rows_without_values / self.rows)
        return [
            Finding(
                "the table",
                f"{self.rows_without_values:,} rows ({share}) have no value in any field; of a CSV "
                "file these are records with more or fewer values than the header, as where a "
                "value with the delimiter in it has no quotes",
            )
        ]

    def _of_bounds(self) -> list[Finding]:
        lines = []
        bound = [fit.what for fit in self.fits if fit.is_bound]
        if bound:
            lines.append(
                f"the bound on the length of the coefficients binds for {' and for '.join(bound)}: "
                "effects are shrunk; --coef-bound is public, and a larger one lets effects in, "
                "and noise"
            )
        for fit in self.fits:
            if fit.beyond is not None and fit.beyond > BEYOND:
                lines.append(
                    f"{percent(fit.beyond)} of rows have predictions from {fit.what} at or beyond "
                    f"the bound of {fit.reach:.3g} halves of the target's range; is that range "
                    "where nearly all values lie?"
                )
        return [Finding("the bounds", text) for text in lines]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        return {
            "rows": self.rows,
            "rows_without_values": self.rows_without_values,
            "fields": [field.to_dict() for field in self.fields],
            "people": None if self.people is None else self.people.to_dict(),
            "target": self.target,
            "repeats": [list(pair) for pair in self.repeats],
            "bounds": [
                {
                    "what": fit.what,
                    "fields": list(fit.fields),
                    "coef_bound_binds": fit.is_bound,
                    "prediction_bound": fit.reach,
                    "share_at_prediction_bound": fit.beyond,
                }
                for fit in self.fits
            ],
            "not_compared": list(self.not_compared),
            "ignored_columns": list(self.ignored),
            "findings": [{"about": one.about, "text": one.text} for one in self.findings],
        }


def check_table(
    source: Any,
    schema: TableSchema,
    *,
    target: str | None = None,
    always: Sequence[str] = (),
    never: Sequence[str] = (),
    ranges: Ranges | None = None,
    support_size: int = SUPPORT_SIZE,
    coef_bound: float | None = None,
    ridge: float = DEFAULT_RIDGE,
    intercept: bool = True,
    progress: Progress | None = None,
) -> TableCheck:
    """Count what does not fit between a table and its schema; the result is SENSITIVE.

    Parameters
    ----------
    source : path or table
        See `mipselect.tables.sources.open_source`. It is read once, with a target twice; of it no
        more than a batch is in memory, unless it is a stream that can be read only once.
    schema : TableSchema
    target : str, optional
        The field to predict; then bounds are looked at too.
    always, never : sequence of str
        Fields that are always in, or left out.
    ranges : mapping of str to (float, float), optional
        Public ranges in place of those of the schema, in units of the fields.
    support_size : int
        How many fields a greedy search takes, for the bounds.
    coef_bound, ridge : float
        As for `Instance.from_table`, with the same defaults.
    intercept : bool
    progress : callable, optional
        Receives the number of rows that were read so far.

    Returns
    -------
    TableCheck
        All rows count in it. Only in the fits a person counts once, by the first row.

    Raises
    ------
    InvalidInput
        For what is wrong with the arguments or a header; nothing is raised because of the rows.

    Notes
    -----
    What it shows depends on the rows. A range or a category that was changed because of it is no
    longer public knowledge, unless it is corrected from a codebook.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mipselect.tables import TableSchema, check_table
    >>> smoker = {"name": "smoker", "type": "string", "categories": ["no", "yes"]}
    >>> check = check_table(pa.table({"smoker": ["0", "1"]}), TableSchema.of({"fields": [smoker]}))
    >>> print(check.findings[0].text.split(";")[0])
    all values are in no list
    """
    size = checked_integer(support_size, "support_size", 1)
    bound = None if coef_bound is None else checked_positive(coef_bound, "coef_bound")
    options = FitOptions(size, bound, checked_nonnegative(ridge, "ridge"), intercept)
    rules = rules_of(schema, never, ranges)
    kept_in = checked_fields(schema, always, "always", target)
    aim = None if target is None else _place_of(schema, rules, target)
    encoders, not_compared = comparable(rules)
    if aim is not None and isinstance(encoders.get(aim), Indicators):
        raise InvalidInput(
            f"the target {target!r} must be a number, ordered categories or two classes; its "
            "schema has categories without an order"
        )
    again = source if target is None else read_again(source)
    parts = _opened(again, schema, rules)
    pass_one = _Counted.of(parts, schema, rules, encoders, progress)
    fits: tuple[TrialFit, ...] = ()
    if aim is not None and aim in encoders and not pass_one.fields[aim].is_constant:
        fits = _fits(again, pass_one.sums, encoders, rules, aim, kept_in, options)
    places = list(encoders)
    known = {rule.name for rule in rules} | {field.name for field in schema.fields}
    return TableCheck(
        rows=pass_one.rows,
        rows_without_values=pass_one.empty,
        fields=tuple(FieldCheck.of(counts, target) for counts in pass_one.fields),
        people=None if pass_one.people is None else PersonCheck.of(pass_one.people),
        target=target,
        repeats=tuple(
            (rules[places[a]].name, rules[places[b]].name) for a, b in pass_one.sums.repeats()
        ),
        fits=fits,
        not_compared=not_compared,
        ignored=tuple(dict.fromkeys(n for part in parts for n in part.names if n not in known)),
    )


def _place_of(schema: TableSchema, rules: Sequence[FieldRule], target: str) -> int:
    """Return the place of the target among the rules."""
    name = schema.field(target, "target").name
    for k, rule in enumerate(rules):
        if rule.name == name:
            return k
    raise InvalidInput(f"the target {name!r} cannot be in never, nor say whose row it is")


def _opened(source: Any, schema: TableSchema, rules: Sequence[FieldRule]) -> tuple[Part, ...]:
    """Look at the headers; say of a schema that hardly fits that it may be of another table."""
    parts, unit = open_source(source), schema.privacy_unit
    names = [*(rule.name for rule in rules), *(() if unit is None else (unit,))]
    for part in parts:
        absent = [name for name in names if name not in part.names]
        if len(part.names) > 1 and len(absent) > len(names) / 2:
            raise InvalidInput(
                f"{part.label}: {len(absent)} of the {len(names)} fields of the schema are no "
                f"columns ({listed(absent)}); is it the schema of another table? Columns: "
                f"{listed(part.names)}"
            )
        require_columns(part.label, names, part.names)
    return parts


@dataclass
class _Counted:
    """Counts of a pass over a table."""

    fields: list[FieldCounts]
    people: PersonCounts | None
    sums: ColumnSums
    rows: int = 0
    empty: int = 0

    @classmethod
    def of(
        cls,
        parts: Sequence[Part],
        schema: TableSchema,
        rules: Sequence[FieldRule],
        encoders: dict[int, Encoder],
        progress: Progress | None,
    ) -> _Counted:
        """Read all rows."""
        unit = schema.privacy_unit
        counted = cls(
            [FieldCounts(rule) for rule in rules],
            None if unit is None else PersonCounts(schema.field(unit, "privacy unit")),
            ColumnSums(tuple(encoders.values())),
        )
        names = [*(rule.name for rule in rules), *(() if unit is None else (unit,))]
        for part in parts:
            for batch in part.read(names):
                counted.add(batch, list(encoders))
                if progress is not None:
                    progress(counted.rows)
        return counted

    def add(self, batch: Any, places: Sequence[int]) -> None:
        """Count a batch, whose columns are the fields, the privacy unit last."""
        columns = batch.columns
        self.rows += batch.num_rows
        present = np.zeros(batch.num_rows, dtype=bool)
        for column in columns:
            present |= ~column.is_null().to_numpy(zero_copy_only=False)
        self.empty += int((~present).sum())
        for counts, column in zip(self.fields, columns, strict=False):
            counts.add(column)
        chosen = None if self.people is None else self.people.add(columns[-1])
        self.sums.add([columns[k] for k in places], chosen)


def _fits(
    source: Any,
    sums: ColumnSums,
    encoders: dict[int, Encoder],
    rules: Sequence[FieldRule],
    aim: int,
    always: frozenset[str],
    options: FitOptions,
) -> tuple[TrialFit, ...]:
    """Fit the target on the fields with a range or categories; no fit where it has neither."""
    places = list(encoders)
    own = [j for j, k in enumerate(places) if k != aim and not isinstance(encoders[k], Squeezed)]
    if isinstance(encoders[aim], Squeezed) or not own:
        return ()
    blocks, names = sums.blocks, [rules[places[j]].name for j in own]
    kept = [m for m, name in enumerate(names) if name in always]
    target = blocks[places.index(aim)].start
    fits = trial_fits(sums.gram(), [blocks[j] for j in own], target, names, kept, options)
    beyond, rows = np.zeros(len(fits)), 0
    read = [rules[k].name for k in places]
    for part in open_source(source):
        for batch in part.read(read):
            for start in range(0, batch.num_rows, step := sums.rows_at_a_time):
                Z = sums.encoded([column.slice(start, step) for column in batch.columns])
                rows += len(Z)
                for m, fit in enumerate(fits):
                    beyond[m] += (np.abs(Z[:, list(fit.places)] @ fit.coef) >= fit.reach).sum()
    return tuple(
        replace(fit, beyond=float(count / max(rows, 1)))
        for fit, count in zip(fits, beyond, strict=True)
    )
