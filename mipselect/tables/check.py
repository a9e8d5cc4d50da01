"""`check_table`: the values of a table beside its schema, counted batch by batch. SENSITIVE.

No sentence proposes a range or a category: they come from a codebook or the design of a study,
never from the data.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.errors import InvalidInput
from mipselect.tables import values
from mipselect.tables.fields import POINTS, Field
from mipselect.tables.mapping import open_columns
from mipselect.tables.parts import SAVE_AS_UTF8
from mipselect.tables.public_map import Ranges, checked_fields, checked_schema, with_ranges
from mipselect.tables.schema import NO_POINT, WEIGHT, TableSchema, seconds, unit_of
from mipselect.validation import listed, printable

CLIPPED = 0.05
"""Share of clipped values that is a finding: one value in fifty is usually no loss."""

IN_NO_LIST = 0.01
MOSTLY = 0.5

CODE_ROWS, CODE_SHARE = 5, 0.001
"""Rows, and their share, from which on one number beyond the range may be a code of no value."""

SHOWN = 5
"""Odd values, and codes of the schema, that are shown."""

MOST_REMEMBERED = 1000
"""Different values of one kind that are counted at a time."""

MOST_BYTES, CUT = 80, b"..."
"""Bytes of an odd value that are remembered, and what stands for the others."""

BEYOND_TEXTS = "a number from 2^53 on"

SENTENCES = {
    "missing": "are missing; see whether this is the column that is meant, and whether its "
    "missingValues are those of the codebook",
    "required": "are missing, and the field is required: they count as the middle of the range; "
    "leave out constraints.required",
    "clipped": "are {beyond}; take a range where nearly all values lie, such as from the codebook",
    "code": "are {value}, {beyond}, and count as it; if that is a code of no value, such as "
    'unknown, add it to the "missingValues" of the field',
    "no weight": "are 0 or below; a weight must be a number above 0",
    "trimmed": "are {beyond}, and count as it; right where that is meant to trim, else take the "
    "largest weight of the design of the survey",
    "unlisted": "are in no list; the file writes other codes than {codes}; see the codebook",
    "number": "are text that is no number and not in missingValues, and count as missing; a "
    'decimal comma is said by "decimalChar": ",", a sign between thousands by "groupChar", a date '
    'by the type "date"; a unit beside the number belongs into the schema',
    "bytes": f"are in no list, some with bytes that are no UTF-8; {SAVE_AS_UTF8}",
    "point": "are no {type} of ISO 8601, such as 2020-01-31",
}
"""What is said of values that do not fit, and what would be right."""

FINE, MISSING, BELOW, ABOVE, UNLISTED, UNREADABLE = range(6)
KINDS = ("fine", "missing", "below", "above", "unlisted", "unreadable")
"""Names of the kinds, by their numbers."""

Progress = Callable[[int], object]
"""Receives the number of rows that were read so far."""


def kinds_of(column: pa.Array, field: Field) -> NDArray[np.int8]:
    """Find the kind of every value of a field, shape (rows,); no value raises an error.

    A weight has no least value: what is not above 0 is below.
    """
    if field.is_measured:
        numbers = values.numbers(column, field)
        kinds = np.where(np.isnan(numbers), MISSING, FINE).astype(np.int8)
        if field.maximum is not None:
            kinds[numbers > field.maximum] = ABOVE
        if field.role == WEIGHT:
            kinds[numbers <= 0.0] = BELOW
        elif field.minimum is not None:
            kinds[numbers < field.minimum] = BELOW
    elif field.is_listed:
        codes = values.codes(column, field)
        absent = np.where(codes == values.MISSING, MISSING, UNLISTED)
        kinds = np.where(codes >= 0, FINE, absent).astype(np.int8)
    else:
        kinds = _kinds_of_texts(column, field)
    if field.is_number and (kinds != FINE).any():
        kinds[values.unreadable(column, field)] = UNREADABLE
    return kinds


def _kinds_of_texts(column: pa.Array, field: Field) -> NDArray[np.int8]:
    """Tell values that are there from missing ones; a date must be one."""
    plain = Field(field.name, "string", missing_values=field.missing_values)
    texts = values.identities(column, plain)
    kinds = np.zeros(len(texts), np.int8)
    if field.type in POINTS:
        kinds[seconds(column, field) == NO_POINT] = UNREADABLE
    kinds[texts.is_null().to_numpy(zero_copy_only=False)] = MISSING
    return kinds


class Finding(NamedTuple):
    """One thing that does not fit, in one line, about a field or "the table".

    Attributes
    ----------
    about, text : str
        The sentence has neither the name nor a full stop.

    Examples
    --------
    >>> from mipselect.tables import Finding
    >>> print(Finding("charges", "93 % of values are above the maximum 1,000"))
    charges: 93 % of values are above the maximum 1,000
    """

    about: str
    text: str

    def __str__(self) -> str:
        return printable(f"{self.about}: {self.text}")


def percent(share: float) -> str:
    """Write a share in percent; only none is 0, and only all is 100."""
    if 0.0 < share < 0.001:
        return "less than 0.1 %"
    if share >= 1.0:
        return "100 %"
    digits = 1 if share < 0.1 or share >= 0.995 else 0
    return f"{min(100.0 * share, 99.9):.{digits}f} %"


@dataclass
class FieldCheck:
    """Counts of the values of one field, and what does not fit; sensitive.

    Attributes
    ----------
    field : Field
        With its range; public.
    gap : str
        What a person has to write before the field can be used with ranges; "" if nothing.
    kinds : dict of str to int
        Values that are fine, missing, below, above, unlisted or unreadable; in all as many as rows.
    frequent : list of Counter of bytes
        Values below, above, in no list and unreadable, at the place of their kind, at most
        `MOST_REMEMBERED` of each; the most frequent stay.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mipselect.tables import TableSchema, check_table
    >>> smoker = {"name": "smoker", "type": "string", "categories": ["no", "yes"]}
    >>> table = pa.table({"smoker": ["0", "1", "0", "yes"]})
    >>> (found,) = check_table(table, TableSchema.of({"fields": [smoker]})).fields
    >>> found.kinds["unlisted"], found.share("unlisted"), found.odd
    (3, 0.75, (('0', 2), ('1', 1)))
    """

    field: Field
    gap: str = ""
    kinds: dict[str, int] = dataclasses.field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    frequent: list[Counter[bytes | None]] = dataclasses.field(
        default_factory=lambda: [Counter() for _ in KINDS], repr=False
    )

    def add(self, column: pa.Array) -> None:
        """Count the values of a batch."""
        kinds = kinds_of(column, self.field)
        for k, name in enumerate(KINDS):
            self.kinds[name] += int((kinds == k).sum())
        for k in (BELOW, ABOVE, UNLISTED, UNREADABLE):
            if (kinds == k).any():
                self._remember(k, column.filter(pa.array(kinds == k)))

    def _remember(self, kind: int, column: pa.Array) -> None:
        """Count values of a kind as they are written; of too many the most frequent stay."""
        plain, counter = Field(self.name, "string", missing_values=()), self.frequent[kind]
        counted = values.identities(column, plain).view(pa.binary()).value_counts()
        counts = counted.field("counts").to_numpy()
        for at in np.argsort(-counts, kind="stable")[:MOST_REMEMBERED].tolist():
            cell = counted.field("values")[at].as_py()
            short = cell if cell is None or len(cell) <= MOST_BYTES else cell[:MOST_BYTES] + CUT
            counter[short] += int(counts[at])
        if len(counter) > MOST_REMEMBERED:
            self.frequent[kind] = Counter(dict(counter.most_common(MOST_REMEMBERED)))

    @property
    def name(self) -> str:
        """Name of the field."""
        return self.field.name

    @property
    def is_weight(self) -> bool:
        """True of the survey weight of a row."""
        return self.field.role == WEIGHT

    @property
    def rows(self) -> int:
        """Rows that were counted."""
        return sum(self.kinds.values())

    def share(self, kind: str) -> float:
        """Return the share of the rows whose value is of a kind; 0 where there are no rows."""
        return self.kinds[kind] / max(self.rows, 1)

    @property
    def cells(self) -> list[str]:
        """Its name, and how many values are of each kind."""
        counts = [f"{k:,} ({percent(k / self.rows)})" if k else "" for k in self.kinds.values()]
        return [self.name, *counts]

    @property
    def odd(self) -> tuple[tuple[str, int], ...]:
        """The most frequent values in no list or unreadable, as printable texts, and their rows."""
        return self._shown(UNLISTED, UNREADABLE)

    def _shown(self, *kinds: int) -> tuple[tuple[str, int], ...]:
        found: Counter[str] = Counter()
        for kind in kinds:
            for cell, count in self.frequent[kind].items():
                text = BEYOND_TEXTS if cell is None else cell.decode("utf-8", "backslashreplace")
                found[printable(text)] += count
        return tuple(sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:SHOWN])

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A line for everything that does not fit."""
        lines = (self._line(k) for k in range(1, len(KINDS)))
        return tuple(Finding(self.name, text) for text in lines if text)

    def _line(self, kind: int) -> str:
        """Say that values are of a kind, if so many are that it matters; else ""."""
        own, count, shown = self.field, self.kinds[KINDS[kind]], self._shown(kind)
        sentence, least = self._sentence(kind)
        if sentence == "clipped" and shown and self._is_code(kind, shown[0][1]):
            sentence, count, least = "code", shown[0][1], 0.0
        share, what = count / max(self.rows, 1), "weights" if self.is_weight else "values"
        if share <= least:
            return ""
        side, end = ("minimum", own.minimum) if kind == BELOW else ("maximum", own.maximum)
        said = SENTENCES[sentence].format(
            beyond="" if end is None else f"{KINDS[kind]} the {side} {end:,.12g}",
            value=shown[0][0] if shown else "",
            codes=self._codes,
            type=own.type,
        )
        how_many = f"all {what}" if share == 1.0 else f"{percent(share)} of {what}"
        frequent = ", ".join(f"'{text}' ({rows:,} rows)" for text, rows in shown)
        odd = f". Most frequent: {frequent}" if kind in (UNLISTED, UNREADABLE) else ""
        return f"{how_many} {said}{odd}"

    def _sentence(self, kind: int) -> tuple[str, float]:
        """Choose the sentence on values of a kind, and the share beyond which it is said."""
        own = self.field
        if kind == MISSING:
            return ("required", 0.0) if own.required else ("missing", MOSTLY)
        if kind in (BELOW, ABOVE):
            of_weight = "no weight" if kind == BELOW else "trimmed"
            return (of_weight, 0.0) if self.is_weight else ("clipped", CLIPPED)
        if kind == UNLISTED:
            whole = (cell for cell in self.frequent[kind] if cell and not cell.endswith(CUT))
            lost = any(cell.decode("utf-8", "ignore").encode() != cell for cell in whole)
            return "bytes" if lost else "unlisted", IN_NO_LIST
        return "number" if own.is_number else "point", 0.0

    def _is_code(self, kind: int, count: int) -> bool:
        """Tell if one number is most of those on its side, and less than half of all."""
        least = max(CODE_ROWS, CODE_SHARE * self.rows, MOSTLY * self.kinds[KINDS[kind]])
        return least <= count < MOSTLY * self.rows

    @property
    def _codes(self) -> str:
        if self.field.type != "boolean":
            return _some(self.field.category_names)
        true, false = _some(self.field.true_values), _some(self.field.false_values)
        return f"{true} for true and {false} for false"

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, ready for JSON."""
        own = self.field
        low, high = (own.minimum, own.maximum) if own.is_measured else (None, None)
        return {
            "name": self.name,
            "type": self.field.type,
            "role": "weight" if self.is_weight else None,
            "minimum": None if self.is_weight else low,
            "maximum": high,
            "counts": self.kinds,
            "shares": {kind: self.share(kind) for kind in KINDS},
            "most_frequent_odd_values": [
                {"value": text, "rows": count} for text, count in self.odd
            ],
            "findings": [finding.text for finding in self.findings],
        }


def _some(codes: Sequence[str]) -> str:
    more = ", ..." if len(codes) > SHOWN else ""
    return f"{', '.join(map(repr, codes[:SHOWN]))}{more}"


@dataclass
class PersonCheck:
    """Rows of each person, counted by one number for each of them; sensitive.

    Attributes
    ----------
    unit : Field
        The privacy unit, which says whose row it is.
    counts : dict of bytes or None to int
        Rows by the identity; None is that of all rows without one, which are those of one person.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mipselect.tables import TableSchema, check_table
    >>> age = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}}
    >>> fields = [{"name": "id", "type": "string"}, age]
    >>> schema = TableSchema.of({"csvw-eo:privacyUnit": "id", "fields": fields})
    >>> people = check_table(pa.table({"id": ["a", "b", "a"], "age": [3, 4, 5]}), schema).people
    >>> people.summary
    '2 people by id, 50 % of them with several rows, at most 2'
    """

    unit: Field
    counts: dict[bytes | None, int] = dataclasses.field(default_factory=dict, repr=False)

    def add(self, column: pa.Array) -> NDArray[np.intp]:
        """Count the rows of a batch; return the places of those of people who are new."""
        found = values.identities(column, self.unit).dictionary_encode("encode")
        # As bytes, for a text need not be UTF-8.
        who = found.dictionary.view(pa.binary()).to_pylist()
        codes = found.indices.to_numpy()
        places = np.empty(len(who), dtype=np.intp)
        # Of the rows of one person the place that is written at last stays: the first.
        places[codes[::-1]] = np.arange(len(codes))[::-1]
        new = []
        for one, first, count in zip(who, places, np.bincount(codes).tolist(), strict=True):
            if one not in self.counts:
                new.append(first)
            self.counts[one] = self.counts.get(one, 0) + count
        return np.array(sorted(new), dtype=np.intp)

    @property
    def summary(self) -> str:
        """The counts in words."""
        _, people, _, most, repeated, without = self.to_dict().values()
        said = f"{people:,} people by {self.unit.name}, one row each"
        if most > 1:
            said = (
                f"{people:,} people by {self.unit.name}, {percent(repeated / people)} of them with "
                f"several rows, at most {most:,}"
            )
        return f"{said}; {without:,} rows without one are those of one person" if without else said

    def to_dict(self) -> dict[str, Any]:
        """Return the counts, ready for JSON."""
        counts = self.counts.values()
        return {
            "field": self.unit.name,
            "people": len(counts),
            "rows": sum(counts),
            "most_rows": max(counts, default=0),
            "people_with_several_rows": sum(count > 1 for count in counts),
            "rows_without_identity": self.counts.get(None, 0),
        }


@dataclass(frozen=True)
class TableCheck:
    """Findings that do not fit between a table and its schema; SENSITIVE, for the curator's eyes.

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
    ignored : tuple of str
        Columns of the table that the schema does not have.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mipselect.tables import TableSchema, check_table
    >>> schema = TableSchema.of_numbers({"age": (0, 100), "charges": (0, 1000)})
    >>> table = pa.table({"age": [20, 40, 60], "charges": [900, 1100, 1200]})
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
    ignored: tuple[str, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A line for everything that does not fit: the table, then each field."""
        found = [finding for each in self.fields for finding in each.findings]
        if not self.rows:
            found.insert(0, Finding("the table", "has no rows"))
        elif self.rows_without_values:
            share = percent(self.rows_without_values / self.rows)
            text = (
                f"{self.rows_without_values:,} rows ({share}) have no value in any field; of a CSV "
                "file these are records with more or fewer values than the header, as where a "
                "value with the delimiter in it has no quotes"
            )
            found.insert(0, Finding("the table", text))
        return tuple(found)

    @property
    def notes(self) -> list[str]:
        """Sentences about the table that are no findings."""
        found, lacking = [f"{self.rows:,} rows"], [each.name for each in self.fields if each.gap]
        if self.people is not None:
            found.append(self.people.summary)
        if lacking:
            found.append(
                "no range, no categories, or no feature made of it in the schema: "
                f"{listed(lacking)}; 'fit' and --score loss refuse that, while blocks need no "
                "range of a number. Write it from public knowledge, give what is never a feature "
                f'"mipselect:role": "ignored", or leave fields out: --never {",".join(lacking)}'
            )
        if self.ignored:
            found.append(f"columns that are not in the schema, ignored: {listed(self.ignored)}")
        return [f"{text[:1].upper()}{text[1:]}." for text in found]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        return {
            "rows": self.rows,
            "rows_without_values": self.rows_without_values,
            "fields": [each.to_dict() for each in self.fields],
            "people": None if self.people is None else self.people.to_dict(),
            "ignored_columns": list(self.ignored),
            "findings": [one._asdict() for one in self.findings],
        }


def check_table(
    source: Any,
    schema: TableSchema,
    *,
    never: Sequence[str] = (),
    ranges: Ranges | None = None,
    progress: Progress | None = None,
) -> TableCheck:
    """Count what does not fit between a table and its schema; the result is SENSITIVE.

    Parameters
    ----------
    source : path or table
        See `mipselect.tables.sources.open_source`. It is read once; of it no more than a batch is
        in memory.
    schema : TableSchema
    never : sequence of str
        Fields that are left out.
    ranges : mapping of str to (float, float), optional
        Public ranges in place of those of the schema, in units of the fields.
    progress : callable, optional
        Receives the number of rows that were read so far.

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
    ranged = with_ranges(checked_schema(schema), ranges)
    apart = {*checked_fields(schema, never, "never", None), *schema.ignored, schema.privacy_unit}
    fields = [
        FieldCheck(each, "" if each.name in schema.only_read else each.gap)
        for each in ranged.fields
        if each.name not in apart
    ]
    if not fields:
        raise InvalidInput("the schema has no field besides those of never and the privacy unit")
    unit = unit_of(schema)
    people = None if unit is None else PersonCheck(unit)
    names = [each.name for each in fields] + ([] if unit is None else [unit.name])
    parts = open_columns(source, names)
    rows = empty = 0
    for part in parts:
        for batch in part.read(names):
            absent = [column.is_null().to_numpy(zero_copy_only=False) for column in batch.columns]
            empty += int(np.logical_and.reduce(absent).sum())
            for each, column in zip(fields, batch.columns, strict=False):
                each.add(column)
            if people is not None:
                people.add(batch.columns[-1])
            rows += batch.num_rows
            if progress is not None:
                progress(rows)
    known = {*names, *(each.name for each in schema.fields)}
    return TableCheck(
        rows=rows,
        rows_without_values=empty,
        fields=tuple(fields),
        people=people,
        ignored=tuple(dict.fromkeys(n for part in parts for n in part.names if n not in known)),
    )
