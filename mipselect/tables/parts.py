"""Files of a table, its parts, and the rows of CSV: headers, which rows count, and which files.

No file counts twice under two names. In a CSV file every record is one row, whatever stands in it:
a line, or several where a value in quotes has line breaks, which count as LF. A record with more or
fewer values than the header, and an empty line, is a row without values. No type is guessed and
nothing is refused, for either would depend on the rows.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, fs
from pyarrow import csv as arrow_csv

from mipselect.disk import regular_file
from mipselect.errors import InvalidInput
from mipselect.tables.fields import BLANKS
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


def of_chosen(part: Part, chosen: NDArray[np.bool_]) -> Part:
    """Return a part that reads the chosen rows only, which are sensitive."""

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


# CSV.

UTF8 = "utf-8"
BYTE_FOR_BYTE = "latin-1"
"""Every byte is a letter of it, so that PyArrow never meets text that it cannot read."""

BLOCK = 1 << 22
LARGEST_BLOCK = 1 << 30
"""Bytes that PyArrow looks at together; a record must fit into them."""

INSTEAD_OF_NUL = b"\x01"

DELIMITERS = {",": "','", ";": "';'", "\t": "tab", "|": "'|'"}
"""Usual delimiters, as they are given to --delimiter."""

SAVE_AS_UTF8 = (
    'save the file as UTF-8, which a spreadsheet calls "CSV UTF-8" (its plain CSV is often cp1252)'
)
NO_UTF8 = f"not UTF-8; {SAVE_AS_UTF8}"


@dataclass(frozen=True)
class CsvRows:
    """The records of one file, which `opener` opens at its beginning.

    Parameters
    ----------
    label : str
        The name of the file, for messages.
    opener : callable
        Returns a binary stream; of the compressed bytes if `compressed`.
    compressed : bool
        By gzip.
    delimiter : str
        See `TableFile`.
    block : int
        Bytes that PyArrow looks at together at first; more where a record does not fit into them.
    """

    label: str
    opener: Callable[[], IO[bytes]]
    compressed: bool
    delimiter: str = ","
    block: int = BLOCK

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the columns of these names as bytes, in this order; null in rows without values."""
        positions = positions_of(names, self.header)
        done, block = 0, self.block
        while True:
            seen = 0
            try:
                for batch in self._parsed(positions, block):
                    # After a new start with larger blocks the first rows are there already.
                    fresh = batch.slice(min(batch.num_rows, max(0, done - seen)))
                    seen += batch.num_rows
                    done += fresh.num_rows
                    if fresh.num_rows:
                        yield fresh
                return
            except pa.ArrowInvalid as error:
                if "Empty CSV" in str(error):  # A header without a line end.
                    return
                if block >= LARGEST_BLOCK:
                    raise InvalidInput(
                        f"{self.label}: (sensitive) a record is larger than 1 GiB, as where a "
                        "double quote is left open"
                    ) from error
                block *= 16

    def _parsed(self, positions: Sequence[int], block: int) -> Iterator[pa.RecordBatch]:
        columns = [f"f{k}" for k in positions]
        kept = _KeptRecords()
        with self.text() as file:
            reader = arrow_csv.open_csv(
                _PlainLines(file),
                # The header is read as a record, for two of its names may be the same.
                read_options=arrow_csv.ReadOptions(
                    autogenerate_column_names=True,
                    block_size=block,
                    use_threads=False,
                    encoding=BYTE_FOR_BYTE,
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.delimiter,
                    newlines_in_values=True,
                    ignore_empty_lines=False,
                    invalid_row_handler=kept.skip,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=columns,
                    column_types=dict.fromkeys(columns, pa.string()),
                    strings_can_be_null=False,
                ),
            )
            header = 1
            for batch in reader:
                if batch.num_rows:
                    arrays = [_as_bytes(column) for column in kept.placed(batch)]
                    yield pa.record_batch(arrays, columns).slice(header)
                    header = 0
            rest = pa.nulls(kept.left, pa.binary())
            yield pa.record_batch([rest] * len(columns), columns)

    @cached_property
    def header(self) -> tuple[str, ...]:
        """Names of the columns, without outer blanks.

        Raises
        ------
        InvalidInput
            For a header that cannot be read, or whose names another delimiter separates.
        """
        try:
            with self.text() as file:
                text = io.TextIOWrapper(file, BYTE_FOR_BYTE, newline="")
                header = next(csv.reader(text, delimiter=self.delimiter, strict=True), [])
                text.detach()
            if any("\0" in name for name in header):
                raise InvalidInput(f"{self.label}: this is UTF-16 or no text; {SAVE_AS_UTF8}")
            names = [name.encode(BYTE_FOR_BYTE).decode(UTF8).strip(BLANKS) for name in header]
        except csv.Error as error:
            raise InvalidInput(f"{self.label}: the header cannot be read: {error}") from error
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{self.label}: the header is {NO_UTF8}") from error
        require_delimiter(self.label, names, self.delimiter)
        return tuple(names)

    @contextmanager
    def text(self) -> Iterator[IO[bytes]]:
        """Open the text of the file, behind its byte order mark."""
        with ExitStack() as files:
            file: Any = files.enter_context(self.opener())
            if self.compressed:
                file = files.enter_context(gzip.GzipFile(fileobj=file, mode="rb"))
            buffered = files.enter_context(io.BufferedReader(file))
            mark = buffered.peek(4)[:4]
            if mark.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise InvalidInput(f"{self.label}: this is UTF-16; {SAVE_AS_UTF8}")
            if mark.startswith(codecs.BOM_UTF8):
                buffered.read(len(codecs.BOM_UTF8))
            yield buffered


def require_delimiter(label: str, header: Sequence[str], delimiter: str) -> None:
    """Raise `InvalidInput` for a header of one name that another delimiter makes several of."""
    if len(header) != 1:
        return
    counts = {other: header[0].count(other) for other in DELIMITERS if other != delimiter}
    likely = max(counts, key=lambda other: counts[other])
    if counts[likely]:
        raise InvalidInput(
            f"{label}: values seem to be separated by {DELIMITERS[likely]}, for with "
            f"{DELIMITERS.get(delimiter, shown(delimiter))} the header has one name; use "
            f"--delimiter {DELIMITERS[likely]}, in Python TableFile"
        )


class _PlainLines:
    """A stream as PyArrow can read it in pieces that do not depend on the rows before.

    Every line ends with LF, and so do line breaks in values: where a piece ends between a CR and
    its LF, PyArrow drops the LF. `INSTEAD_OF_NUL` stands for every NUL: PyArrow overlooks quotes
    just behind one, and then ends a piece at a line break in quotes.
    """

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self._text = io.TextIOWrapper(file, BYTE_FOR_BYTE)

    def read(self, size: int) -> bytes:
        """Read `size` bytes; fewer at the end."""
        return self._text.read(size).encode(BYTE_FOR_BYTE).replace(b"\0", INSTEAD_OF_NUL)


class _KeptRecords:
    """Records that PyArrow skips; each leaves a row without values in its place."""

    def __init__(self) -> None:
        self._next, self._skipped = 1, list[int]()

    def skip(self, record: arrow_csv.InvalidRow) -> str:
        """Note the number of a record that has not as many values as the header."""
        self._skipped.append(record.number)
        return "skip"

    @property
    def left(self) -> int:
        """Number of records skipped behind the last one that was kept."""
        return len(self._skipped)

    def placed(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """Return the columns of the records kept, with null in the place of every skipped one."""
        kept = batch.num_rows
        skipped = np.array(self._skipped, dtype=np.int64) - self._next
        among = skipped[skipped - np.arange(len(skipped)) < kept]
        self._next += kept + len(among)
        if not len(among):
            return list(batch.columns)
        del self._skipped[: len(among)]
        is_skipped = np.zeros(kept + len(among), dtype=bool)
        is_skipped[among] = True
        places = pa.array(np.cumsum(~is_skipped) - 1, mask=is_skipped)
        return [column.take(places) for column in batch.columns]


def _as_bytes(column: pa.Array) -> pa.Array:
    """Encode a column as the bytes that stand in the file."""
    if compute.all(compute.string_is_ascii(column), min_count=0).as_py() is not False:
        return column.cast(pa.binary())
    encoded = column.dictionary_encode()
    known = [text.encode(BYTE_FOR_BYTE) for text in encoded.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(encoded.indices, pa.array(known, pa.binary()))
