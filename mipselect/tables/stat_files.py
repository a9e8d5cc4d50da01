"""Files of SPSS, Stata and SAS, some rows at a time; what a value stands for depends on it alone.

Texts are read byte for byte, for a program that decodes them stops at one that it cannot decode.
Dates are numbers in these files, and become dates here, for the same reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.errors import InvalidInput
from mipselect.tables.parts import ROWS, Part
from mipselect.tables.stat_codebook import Missing, lone_label, missing_codes, properties
from mipselect.tables.stat_types import StatType, type_of
from mipselect.tables.transcoded import UTF8, checked_encoding, in_utf8

BYTE_FOR_BYTE = "ISO-8859-1"
CELLS = 1 << 22
"""Values that are read together: those before them are passed over again each time."""

EXTRA = "pip install 'mipselect[stat]'"
LEGACY = "cp1252"
"""Encoding of a file that does not say its own, where it is not UTF-8."""

UTF8_STATA = re.compile(rb"<stata_dta><header><release>1(1[89]|[2-9]\d)<")
"""The beginning of a file of Stata 14 or later."""


@dataclass(frozen=True)
class StatColumn:
    """A column of such a file, by its header.

    Attributes
    ----------
    stored_name : str
        Byte for byte, as the reader is asked for it.
    name : str
    type : StatType
    missing : Missing
        Values that the file declares to be none.
    public : dict
        Properties of a field of a Table Schema.
    notes : tuple of str
    """

    stored_name: str
    name: str
    type: StatType
    missing: Missing
    public: dict[str, Any]
    notes: tuple[str, ...]


def stat_part(path: str, label: str, encoding: str | None) -> Part:
    """Look at the header of a file; `encoding` takes the place of the one it says.

    Raises
    ------
    InvalidInput
        If pyreadstat is not installed, or the file is none that it reads.
    """
    reader = _reader(path, label)
    said, header = (
        reader("cannot be read", metadataonly=True, encoding=each)[1]
        for each in (None, BYTE_FOR_BYTE)
    )
    known = encoding or _encoding_of(said, path, label)
    columns = tuple(_columns(header, known, path))
    stored = {column.name: column for column in columns}

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        chosen = [stored[name] for name in names]
        count, start, found = max(ROWS, CELLS // max(1, len(names))), 0, 0
        while names and found == start:
            cells, _ = reader(
                "the file is damaged",
                usecols=[column.stored_name for column in chosen],
                row_offset=start,
                row_limit=count,
                encoding=BYTE_FOR_BYTE,
            )
            arrays = [_array(c, cells[c.stored_name], known) for c in chosen]
            batch = pa.record_batch(arrays, list(names))
            for place in range(0, batch.num_rows, ROWS):
                yield batch.slice(place, ROWS)
            found, start = start + batch.num_rows, start + count

    rows = header.number_rows
    return Part(
        label,
        tuple(column.name for column in columns),
        tuple({"type": column.type.kind, **column.public} for column in columns),
        rows if isinstance(rows, int) and rows >= 0 else None,
        read,
        notes=tuple(note for column in columns for note in column.notes),
    )


def _reader(path: str, label: str) -> Callable[..., Any]:
    """Return what reads the file by pyreadstat, with one clear line where it fails."""
    try:
        import pyreadstat
    except ImportError:
        raise InvalidInput(
            f"{label}: files of SPSS, Stata and SAS need pyreadstat: {EXTRA}"
        ) from None
    ending = path.lower().rpartition(".")[2]
    names = {"sav": "sav", "zsav": "sav", "dta": "dta", "xpt": "xport"}
    # Of SPSS the codes of no value are read as they are; letters of Stata and SAS as nothing.
    ways: dict[str, Any] = {"user_missing": True} if names.get(ending) == "sav" else {}
    ways |= {"output_format": "dict", "disable_datetime_conversion": True}
    read = getattr(pyreadstat, f"read_{names.get(ending, ending)}")

    def asked(failure: str, **asked: Any) -> Any:
        try:
            return read(path, **ways, **asked)
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeError) as error:
            raise InvalidInput(f"{label}: {failure}") from error

    return asked


def _encoding_of(header: Any, path: str, label: str) -> str:
    """Return the encoding that the file says, or that files of its kind have."""
    said = header.file_encoding
    if said:
        return checked_encoding(said, f"{label}: the encoding that the file says")
    ending = path.lower().rpartition(".")[2]
    if ending == "dta":
        with open(path, "rb") as file:
            return UTF8 if UTF8_STATA.match(file.read(64)) else LEGACY
    return UTF8 if ending == "xpt" else LEGACY


def _columns(header: Any, encoding: str, path: str) -> Iterator[StatColumn]:
    """Yield the columns of a header that was read byte for byte."""

    def text(stored: str | None) -> str:
        # With a mark for what cannot be decoded.
        return (stored or "").encode("latin-1").decode(encoding, "replace").strip()

    labels = header.column_names_to_labels
    for stored in header.column_names:
        kind = type_of(
            path, header.readstat_variable_types[stored], header.original_variable_types[stored]
        )
        missing = missing_codes(header.missing_ranges.get(stored, ()), text)
        listed = {
            (text(value) if isinstance(value, str) and kind.is_text else value): text(label)
            for value, label in header.variable_value_labels.get(stored, {}).items()
        }
        ordered = header.variable_measure.get(stored) == "ordinal"
        public = properties(kind, text(labels.get(stored)), listed, missing, ordered=ordered)
        name = text(stored)
        notes = (*missing.notes(name), *lone_label(name, kind, listed, missing))
        yield StatColumn(stored, name, kind, missing, public, notes)


def _array(column: StatColumn, cells: list[Any], encoding: str) -> pa.Array:
    """Convert the values of one column, null where there is none."""
    if column.type.is_text:
        return _texts(cells, encoding)
    # Nothing becomes NaN.
    numbers: NDArray[np.float64] = np.array(cells, dtype=np.float64)
    for low, high in column.missing.ranges:
        numbers[(numbers >= low) & (numbers <= high)] = np.nan
    return column.type.array(numbers)


def _texts(cells: list[Any], encoding: str) -> pa.Array:
    """Encode texts as bytes in UTF-8; texts that cannot be decoded are no UTF-8."""
    encoded = pa.array(cells, pa.string(), from_pandas=True).dictionary_encode()
    known = [text.encode("latin-1") for text in encoded.dictionary.to_pylist()]
    if encoding != UTF8:
        known = [in_utf8(text, encoding) for text in known]
    return pa.DictionaryArray.from_arrays(encoded.indices, pa.array(known, pa.binary()))
