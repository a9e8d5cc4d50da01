"""`Part`: a table, or a file of one, whose header was looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from mipselect.errors import InvalidInput
from mipselect.tables.places import Place
from mipselect.validation import did_you_mean, listed

ROWS = 1 << 16
"""Rows that are looked at together."""

Read = Callable[[Sequence[str]], Iterator[Any]]


@dataclass(frozen=True)
class Part:
    """A table, or a file of a table that is stored in several.

    Attributes
    ----------
    label : str
        How it is called in a message.
    names : tuple of str
        Names of its columns; there may be repeated ones.
    fields : tuple of mapping
        What the header says of each column, as properties of a field of a Table Schema: how it is
        stored as its `type`, and perhaps more.
    rows : int or None
        Their number, where it is known without reading them.
    read : callable
        From some of the names to batches with these columns in this order; of arrays, which have
        no names, to pairs (X, y).
    places : tuple of Place
        The files that it is read from, as far as they are known.
    notes : tuple of str
        What else a person should know of the header.
    has_types : bool
        False where all columns are stored as texts, or cell by cell.
    """

    label: str
    names: tuple[str, ...]
    fields: tuple[Mapping[str, Any], ...]
    rows: int | None
    read: Read
    places: tuple[Place, ...] = ()
    notes: tuple[str, ...] = ()
    has_types: bool = True

    @property
    def file(self) -> tuple[int, int] | None:
        """Bytes and time of the last change of a file that is here."""
        path = Path(self.label)
        if not path.is_file():
            return None
        found = path.stat()
        return found.st_size, found.st_mtime_ns


def total_rows(counts: Iterable[int | None]) -> int | None:
    """Add up numbers of rows; return None where one of them is not known."""
    known = list(counts)
    return None if None in known else sum(count for count in known if count is not None)


def positions_of(names: Sequence[str], columns: Sequence[str]) -> list[int]:
    """Find the first place of each name among columns; all of them are there."""
    first = {name: k for k, name in reversed([*enumerate(columns)])}
    return [first[name] for name in names]


def near_column(label: str, name: str, columns: Sequence[str], wanted: Iterable[str] = ()) -> str:
    """Write a hint for the end of a message that there is no such column.

    No column that is `wanted` by its own name is proposed for another.
    """
    one_name = len(columns) == 1 and ".csv" in label.lower()
    hint = " (is --delimiter what separates the values?)" if one_name else ""
    taken = set(wanted)
    return did_you_mean(name, [one for one in columns if one not in taken]) + hint


def require_columns(
    label: str,
    names: Iterable[str],
    columns: Sequence[str],
    roles: Mapping[str, str] | None = None,
) -> None:
    """Raise `InvalidInput` unless each of these names is that of one column.

    Parameters
    ----------
    label : str
        How the table is called in a message.
    names : iterable of str
    columns : sequence of str
        Those of the table.
    roles : mapping of str to str, optional
        What some of the names are for, such as "person column".
    """
    counts, names = Counter(columns), list(names)
    absent = [name for name in names if name not in counts]
    if absent:
        repeated = [name for name, count in counts.items() if count > 1]
        hint = (
            f"; several columns are called {listed(repeated)}: is one of these meant?"
            if repeated
            else near_column(label, absent[0], columns, names)
        )
        roles = roles or {}
        plain = [name for name in absent if name not in roles]
        said = [f"column {listed(plain)}"] if plain else []
        said += [f"{roles[name]} {name}" for name in absent if name in roles]
        raise InvalidInput(
            f"{label}: there is no {' and no '.join(said)}; columns: {listed(columns)}{hint}"
        )
    repeated = [name for name in names if counts[name] > 1]
    if repeated:
        roles = {name: f"for the {role}" for name, role in (roles or {}).items()}
        why = [f" ({roles[name]})" for name in repeated if name in roles]
        raise InvalidInput(f"{label}: two columns are called {listed(repeated)}{''.join(why)}")


WORDS_OF_FIELDS = {"title": ("label", "title"), "description": ("description", "comment")}
"""Properties of a Table Schema, and the keys in the metadata of an Arrow field that say them."""


def arrow_part(label: str, schema: pa.Schema, rows: int | None, read: Read) -> Part:
    """Make a part whose columns are those of an Arrow schema, with what its metadata say."""
    fields: list[dict[str, str]] = []
    for field in schema:
        said = {
            key.decode("utf-8", "replace").lower(): text.decode("utf-8", "replace").strip()
            for key, text in (field.metadata or {}).items()
        }
        words = {
            name: next((said[key] for key in keys if said.get(key)), "")
            for name, keys in WORDS_OF_FIELDS.items()
        }
        told = {name: text for name, text in words.items() if text}
        fields.append({"type": kind_of(field.type), **told})
    return Part(label, tuple(schema.names), tuple(fields), rows, read)


def kind_of(kind: pa.DataType) -> str:
    """Return the type of a Table Schema for an Arrow type."""
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return kind_of(kind.storage_type)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return kind_of(kind.value_type)
    for name, holds in (
        ("boolean", types.is_boolean),
        ("integer", types.is_integer),
        ("number", lambda t: types.is_floating(t) or types.is_decimal(t)),
        ("date", types.is_date),
        ("datetime", types.is_timestamp),
        ("time", types.is_time),
        ("duration", types.is_temporal),
        ("array", types.is_nested),
    ):
        if holds(kind):
            return name
    return "string"


def pieces(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield some columns, no more than `ROWS` rows at a time."""
    for batch in batches:
        chosen = batch.select(list(names))
        for start in range(0, chosen.num_rows, ROWS):
            yield chosen.slice(start, ROWS)
