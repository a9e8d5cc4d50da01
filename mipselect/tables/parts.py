"""Files of a table, and its parts: their headers, which of their rows count, and which files.

No file counts twice under two names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import fs

from mipselect.disk import regular_file
from mipselect.errors import InvalidInput
from mipselect.validation import did_you_mean, listed, printable, shown

COMMA = ","


@dataclass(frozen=True)
class TableFile:
    """A table in files, with the way they are written; a source wherever a path is one.

    Parameters
    ----------
    path : str or Path
        A file, a URL, a folder or a pattern.
    delimiter : str
        What stands between two values of a CSV file: one ASCII character.
    sheet : str, optional
        Sheet of an Excel file; default: the first one.

    Raises
    ------
    InvalidInput
        Naming what is wrong with one of them.

    Notes
    -----
    What is given must apply: a delimiter for a Parquet file is refused when it is opened.

    Files of CSV are in UTF-8, with or without its mark; those of SPSS, Stata and SAS say how
    their letters are written. A value that cannot be decoded is in no list of categories and is no
    number; nothing is refused for it, and no other value changes.

    Examples
    --------
    >>> from mipselect.tables import TableFile
    >>> TableFile("visits.csv", delimiter=";").delimiter
    ';'
    """

    path: str | Path
    delimiter: str = COMMA
    sheet: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | Path):
            raise InvalidInput(f"path must be a str or a Path, got {shown(self.path)}")
        mark = self.delimiter
        plain = isinstance(mark, str) and len(mark) == 1 and (mark.isprintable() or mark == "\t")
        if not plain or not mark.isascii() or mark == '"' or mark.isalnum():
            raise InvalidInput(
                "delimiter must be one character of ASCII between two values, such as ';' or a "
                f"tab, and no letter, digit or quote; got {shown(mark)}"
            )
        if self.sheet is not None and not isinstance(self.sheet, str):
            raise InvalidInput(f"sheet must be the name of a sheet, got {shown(self.sheet)}")

    def __str__(self) -> str:
        return str(self.path)


ROWS = 1 << 16
"""Rows that are looked at together."""

Read = Callable[[Sequence[str]], Iterator[Any]]

Place = tuple[Hashable, str]
"""What a file has in common under all its names, and one of these."""


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
    has_types : bool
        False where all columns are stored as texts, or cell by cell.
    """

    label: str
    names: tuple[str, ...]
    fields: tuple[Mapping[str, Any], ...]
    rows: int | None
    read: Read
    places: tuple[Place, ...] = ()
    has_types: bool = True


def total_rows(counts: Iterable[int | None]) -> int | None:
    """Add up numbers of rows; return None where one of them is not known."""
    known = list(counts)
    return None if None in known else sum(count for count in known if count is not None)


def positions_of(names: Sequence[str], columns: Sequence[str]) -> list[int]:
    """Find the first place of each name among columns; all of them are there."""
    first = {name: k for k, name in reversed([*enumerate(columns)])}
    return [first[name] for name in names]


def require_columns(label: str, names: Sequence[str], columns: Sequence[str]) -> None:
    """Raise `InvalidInput` unless each of these names is that of one column.

    Parameters
    ----------
    label : str
        How the table is called in a message.
    names : sequence of str
    columns : sequence of str
        Those of the table.
    """
    counts = Counter(columns)
    absent = [name for name in names if name not in counts]
    if absent:
        # No column that is wanted by its own name is proposed for another.
        taken = set(names)
        lacking = listed([name if name == name.strip() else shown(name) for name in absent])
        hint = did_you_mean(absent[0], [one for one in counts if one not in taken])
        raise InvalidInput(
            f"{label}: there is no column {lacking}; columns: {listed(columns)}{hint}"
        )
    repeated = [name for name in names if counts[name] > 1]
    if repeated:
        raise InvalidInput(f"{label}: two columns are called {listed(repeated)}")


def arrow_part(label: str, schema: pa.Schema, rows: int | None, read: Read) -> Part:
    """Make a part whose columns are those of an Arrow schema."""
    fields = tuple({"type": kind_of(column.type)} for column in schema)
    return Part(label, tuple(schema.names), fields, rows, read)


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


@dataclass(frozen=True, eq=False)
class ChosenRows:
    """Rows of a table, by their places; sensitive.

    Attributes
    ----------
    parts : tuple of Part
        Parts of the whole table.
    chosen : bool array, shape (n,)
        In the order in which the parts are read.
    starts : tuple of int
        Place of the first row of every part.
    """

    parts: tuple[Part, ...]
    chosen: NDArray[np.bool_] = field(repr=False)
    starts: tuple[int, ...]

    def __invert__(self) -> ChosenRows:
        """Return all other rows."""
        return replace(self, chosen=~self.chosen)

    def __len__(self) -> int:
        return int(self.chosen.sum())

    def opened(self) -> tuple[Part, ...]:
        """Return parts that read the chosen rows only."""
        ends = (*self.starts[1:], len(self.chosen))
        return tuple(
            _of_chosen(part, self.chosen[start:end])
            for part, start, end in zip(self.parts, self.starts, ends, strict=True)
        )


def _of_chosen(part: Part, chosen: NDArray[np.bool_]) -> Part:
    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        start = 0
        for batch in part.read(names):
            end = start + batch.num_rows
            if end > len(chosen):
                raise InvalidInput(f"{part.label}: has changed while it was read")
            yield batch.filter(pa.array(chosen[start:end]))
            start = end

    return replace(part, rows=int(chosen.sum()), read=read)


def identity_of(system: fs.FileSystem, path: str, url: str = "") -> Hashable:
    """Identify a file: of this machine by device and inode, which all links to it share.

    Parameters
    ----------
    system : FileSystem
    path : str
    url : str
        The URL that names the system.

    Raises
    ------
    InvalidInput
        If it is no regular file.
    """
    if isinstance(system, fs.SubTreeFileSystem):
        return identity_of(system.base_fs, system.base_path + path, url)
    if isinstance(system, fs.LocalFileSystem):
        found = regular_file(Path(path)).stat()
        return found.st_dev, found.st_ino
    # The query may name another server.
    where = urlsplit(url)
    return system.type_name, where.netloc, where.query, path


def places_of_dataset(source: Any) -> list[Place]:
    """List the files of a `pyarrow.dataset.Dataset`, also of one that is made of several."""
    inside = [place for one in getattr(source, "children", ()) for place in places_of_dataset(one)]
    files = getattr(source, "files", ())
    return [*inside, *((identity_of(source.filesystem, path), path) for path in files)]


def refuse_twice(places: Iterable[Place]) -> None:
    """Raise `InvalidInput`, with both names, where two of these files are one."""
    names: dict[Hashable, str] = {}
    for identity, name in places:
        if identity in names:
            raise InvalidInput(
                f"{printable(names[identity])} and {printable(name)} are one file, given twice or "
                "under two names, as by a link, and its rows would count twice; remove one of the "
                "names, or list the files that are meant"
            )
        names[identity] = name
