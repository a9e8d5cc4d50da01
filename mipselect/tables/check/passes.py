"""`check_table`: a table beside its schema, batch by batch. SENSITIVE."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mipselect.errors import InvalidInput
from mipselect.tables.check.counts import FieldCounts
from mipselect.tables.check.field_check import FieldCheck, PersonCheck
from mipselect.tables.check.fits import TrialBounds, TrialFit, trial_fits
from mipselect.tables.check.identities import IdentityCheck, identities_beside
from mipselect.tables.check.kinds import FieldRule, columns_read, rules_of
from mipselect.tables.check.sums import ColumnSums, Squeezed, comparable
from mipselect.tables.check.table_check import NEARLY, TableCheck
from mipselect.tables.encoders import Encoder, Indicators
from mipselect.tables.input_map import Ranges, checked_fields
from mipselect.tables.parts import Part, positions_of, require_columns
from mipselect.tables.people import PersonCounts
from mipselect.tables.schema import TableSchema, unit_of
from mipselect.tables.sources import open_source, read_again
from mipselect.validation import listed

TELLING_A_CLASS = 0.4
"""R² from which on a field alone tells so much of two classes that it is doubtful; of a number
`NEARLY`. An amount that only one class has may be small in many of its rows."""

Progress = Callable[[int], object]
"""Receives the number of rows that were read so far."""


def check_table(
    source: Any,
    schema: TableSchema,
    *,
    target: str | None = None,
    always: Sequence[str] = (),
    never: Sequence[str] = (),
    ranges: Ranges | None = None,
    support_size: int | None = None,
    coef_bound: float | None = None,
    ridge: float | None = None,
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
        The field to predict; it is looked at as such, and fitted.
    always, never : sequence of str
        Fields that are always in, or left out.
    ranges : mapping of str to (float, float), optional
        Public ranges in place of those of the schema, in units of the fields.
    support_size : int, optional
        How many fields a greedy search takes for the fit; 5 by default.
    coef_bound, ridge : float, optional
        As for `Instance.from_table`, with the same defaults. Where one of these, `ranges` or
        `support_size` is given, the question is one of a selection by loss, as in `select`: bounds
        that bind are findings.
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
    stated = (support_size, coef_bound, ridge, ranges or None)
    options = TrialBounds.of(support_size, coef_bound, ridge, intercept=intercept)
    rules = rules_of(schema, never, ranges)
    kept_in = checked_fields(schema, always, "always", target)
    schema.refuse_ignored(kept_in, "always")
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
    if aim is not None:
        fits = _fits(again, pass_one, aim, kept_in, options)
    ignored = frozenset(schema.ignored)
    known = {rule.name for rule in rules} | {field.name for field in schema.fields}
    return TableCheck(
        rows=pass_one.rows,
        rows_without_values=pass_one.empty,
        fields=tuple(FieldCheck.of(counts, target) for counts in pass_one.fields),
        people=None if pass_one.people is None else PersonCheck.of(pass_one.people),
        target=target,
        repeats=pass_one.repeats,
        telling=() if aim is None else pass_one.telling(aim),
        fits=fits,
        not_compared=not_compared,
        ignored=tuple(dict.fromkeys(n for part in parts for n in part.names if n not in known)),
        of_loss=any(value is not None for value in stated),
        identities=tuple(IdentityCheck.of(counts, ignored) for counts in pass_one.identities),
    )


def _place_of(schema: TableSchema, rules: Sequence[FieldRule], target: str) -> int:
    """Return the place of the target among the rules."""
    name = schema.field(target, "target").name
    schema.refuse_ignored({name}, "target")
    for k, rule in enumerate(rules):
        if rule.name == name:
            return k
    raise InvalidInput(f"the target {name!r} cannot be in never, nor say whose row it is")


def _opened(source: Any, schema: TableSchema, rules: Sequence[FieldRule]) -> tuple[Part, ...]:
    """Look at the headers; say of a schema that hardly fits that it may be of another table."""
    parts = open_source(source)
    names = [*columns_read(rules, unit_of(schema)), *schema.ignored]
    for part in parts:
        there = set(part.names)
        absent = [name for name in names if name not in there]
        if len(part.names) > 1 and len(absent) > len(names) / 2:
            raise InvalidInput(
                f"{part.label}: {len(absent)} of the {len(names)} fields of the schema are no "
                f"columns ({listed(absent)}); is it the schema of another table? Columns: "
                f"{listed(part.names)}"
            )
        require_columns(part.label, names, part.names, schema.roles)
    return parts


@dataclass
class _Counted:
    """Counts of a pass over a table."""

    fields: list[FieldCounts]
    people: PersonCounts | None
    encoders: Mapping[int, Encoder]
    sums: ColumnSums
    identities: list[PersonCounts]
    rows: int = 0
    empty: int = 0

    @classmethod
    def of(
        cls,
        parts: Sequence[Part],
        schema: TableSchema,
        rules: Sequence[FieldRule],
        encoders: Mapping[int, Encoder],
        progress: Progress | None,
    ) -> _Counted:
        """Read all rows."""
        unit = unit_of(schema)
        counted = cls(
            [FieldCounts(rule) for rule in rules],
            None if unit is None else PersonCounts(unit),
            encoders,
            ColumnSums(tuple(encoders.values())),
            identities_beside(schema, parts),
        )
        names = columns_read(rules, unit)
        of_identities = [each.unit.name for each in counted.identities]
        read = list(dict.fromkeys([*names, *of_identities]))
        places = positions_of(of_identities, read)
        for part in parts:
            for batch in part.read(read):
                counted.add(batch.select(range(len(names))))
                for each, place in zip(counted.identities, places, strict=True):
                    each.add(batch.column(place))
                if progress is not None:
                    progress(counted.rows)
        return counted

    def add(self, batch: Any) -> None:
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
        self.sums.add([columns[k] for k in self.encoders], chosen)

    @property
    def names(self) -> list[str]:
        """Names of the fields that are compared."""
        return [self.fields[k].rule.name for k in self.encoders]

    def telling(self, aim: int) -> tuple[tuple[str, float], ...]:
        """Return fields that alone explain nearly all of the target, with their share of it."""
        if aim not in self.encoders or not self.sums.has_enough_rows:
            return ()
        shares = self.sums.explained_alone(list(self.encoders).index(aim))
        pairs = zip(self.names, shares, strict=True)
        of_classes = len(self.fields[aim].rule.field.category_words) == 2
        least = TELLING_A_CLASS if of_classes else NEARLY
        return tuple((name, share) for name, share in pairs if share >= least)

    @property
    def repeats(self) -> tuple[tuple[str, str], ...]:
        """Names of fields that say the same."""
        names = self.names
        return tuple((names[a], names[b]) for a, b in self.sums.repeats())


def _fits(
    source: Any,
    counted: _Counted,
    aim: int,
    always: frozenset[str],
    options: TrialBounds,
) -> tuple[TrialFit, ...]:
    """Fit the target on the fields with a range or categories, where there is something to fit."""
    sums, encoders = counted.sums, counted.encoders
    is_known = aim in encoders and not isinstance(encoders[aim], Squeezed)
    if not (is_known and sums.has_enough_rows) or counted.fields[aim].is_constant:
        return ()
    own = [
        j
        for j, (k, encoder) in enumerate(encoders.items())
        if k != aim and not isinstance(encoder, Squeezed)
    ]
    names = [counted.names[j] for j in own]
    kept = [m for m, name in enumerate(names) if name in always]
    target = sums.blocks[list(encoders).index(aim)].start
    blocks = [sums.blocks[j] for j in own]
    fits = trial_fits(sums.gram(), blocks, target, names, kept, options)
    beyond, rows = np.zeros(len(fits)), 0
    for part in open_source(source):
        for batch in part.read(counted.names):
            for start in range(0, batch.num_rows, sums.rows_at_a_time):
                some = batch.slice(start, sums.rows_at_a_time)
                Z = sums.encoded(some.columns)
                rows += len(Z)
                for m, fit in enumerate(fits):
                    beyond[m] += (np.abs(Z[:, list(fit.places)] @ fit.coef) >= fit.reach).sum()
    return tuple(
        replace(fit, beyond=float(count / max(rows, 1)))
        for fit, count in zip(fits, beyond, strict=True)
    )
