"""A CSV file as columns of bytes: every record is one row, whatever stands in it.

A record is a line, or several where a value in quotes has line breaks, which count as LF. A
record with more or fewer values than the header, and an empty line, is a row without values. No
type is guessed and nothing is refused, for either would depend on the rows.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute
from pyarrow import csv as arrow_csv

from mipselect.errors import InvalidInput
from mipselect.tables.fields import BLANKS
from mipselect.tables.parts import positions_of
from mipselect.validation import shown

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
