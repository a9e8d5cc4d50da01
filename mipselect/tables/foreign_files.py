"""Files of Excel, SPSS, Stata and SAS, some rows at a time; what a value stands for depends on it.

Of a sheet of Excel the first row is the header, and no column has a type. The stored value of a
formula counts. An error such as #N/A is no value. The table ends with the last row that has a value
in one of its columns; a row without any before it is one without values.

Of the others texts are read byte for byte, for a program that decodes them stops at one that it
cannot decode. Dates are numbers in these files, and become dates here, for the same reason. What
the header says of types, labels and codes of no value becomes properties of a Table Schema.
"""

from __future__ import annotations

import codecs
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any

import numpy as np
import pyarrow as pa

from mipselect.errors import InvalidInput
from mipselect.tables.fields import BLANKS
from mipselect.tables.parts import ROWS, UTF8, Part, positions_of
from mipselect.tables.values import arrow_cells, written
from mipselect.validation import LAST_INTEGER, listed, shown

CELLS = 1 << 20
"""Values that are read together."""

FIRST_ROW = "the header must be the first row; remove what stands above it, or give another --sheet"


def excel_part(path: str, label: str, sheet: str | None) -> Part:
    """Look at the first row of a sheet; the first sheet if none is named.

    Raises
    ------
    InvalidInput
        If openpyxl is not installed, there is no such sheet, or the first row is no header.
    """
    with _opened(path, label, sheet) as (found, named):
        first = [cell.value for cell in next(found.iter_rows(max_row=1), ())]
    names = _header(first, f"{label}: the first row of sheet {shown(named)}")
    width = len(names)

    def read(chosen: Sequence[str]) -> Iterator[pa.RecordBatch]:
        positions = positions_of(chosen, names)
        with _opened(path, label, sheet) as (found, _):
            for rows in _pieces(found.iter_rows(min_row=2, max_col=width), width):
                columns = [arrow_cells(_value(row[k]) for row in rows) for k in positions]
                yield pa.record_batch(columns, list(chosen))

    return Part(label, names, ({"type": "string"},) * width, None, read, has_types=False)


@contextmanager
def _opened(path: str, label: str, sheet: str | None) -> Iterator[tuple[Any, str]]:
    """Open a sheet, and return it with its name."""
    try:
        import openpyxl
    except ImportError:
        raise InvalidInput(
            f"{label}: files of Excel need openpyxl: pip install 'mipselect[excel]'"
        ) from None
    with open(path, "rb") as file:
        with warnings.catch_warnings(action="ignore"):
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        try:
            sheets = {each.title: each for each in book.worksheets}
            if not sheets or (sheet is not None and sheet not in sheets):
                wanted = "a sheet of cells" if sheet is None else f"sheet {shown(sheet)}"
                known = f"; sheets: {listed(list(sheets))}" if sheets else ""
                raise InvalidInput(f"{label}: there is no {wanted}{known}")
            named = next(iter(sheets)) if sheet is None else sheet
            # What a file says of its size need not be right.
            sheets[named].reset_dimensions()
            yield sheets[named], named
        finally:
            book.close()


def _header(cells: Sequence[Any], where: str) -> tuple[str, ...]:
    """Return names without outer blanks; raise `InvalidInput` unless they are those of a table."""
    names = [_name(cell) for cell in cells]
    while names and not names[-1]:
        names.pop()
    if not names:
        raise InvalidInput(f"{where} is empty; {FIRST_ROW}")
    if len(names) - names.count("") == 1:
        raise InvalidInput(f"{where} has one name only; {FIRST_ROW}")
    if "" in names:
        raise InvalidInput(
            f"{where} has no name in column {names.index('') + 1}, and has names behind it; "
            f"{FIRST_ROW}"
        )
    return tuple(names)


def _name(cell: Any) -> str:
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return written(float(cell)) or ""
    return "" if cell is None else str(cell).strip(BLANKS)


def _pieces(rows: Iterator[Any], width: int) -> Iterator[list[Any]]:
    """Yield some rows at a time, up to the last one with a value."""
    count = max(1, min(ROWS, CELLS // width))
    known = _up_to_the_last(rows, (None,) * width)
    while True:
        # Some warnings of openpyxl depend on what stands in a row.
        with warnings.catch_warnings(action="ignore"):
            piece = list(islice(known, count))
        if not piece:
            return
        yield piece


def _up_to_the_last(rows: Iterator[Any], nothing: tuple[None, ...]) -> Iterator[Any]:
    """Yield the rows up to the last with a value; rows without one in between stay."""
    empty = 0
    for row in rows:
        if all(_value(cell) is None for cell in row):
            empty += 1
            continue
        yield from repeat(nothing, empty)
        empty = 0
        yield row


def _value(cell: Any) -> Any:
    """Return what stands in a cell; None where there is nothing, or an error."""
    return None if cell is None or cell.data_type == "e" else cell.value


# SPSS, Stata and SAS.

BYTE_FOR_BYTE = "ISO-8859-1"
LOST = "mipselect.lost"
# A surrogate in the place of each byte that cannot be decoded.
codecs.register_error(LOST, lambda error: ("\udcff", error.start + 1))  # type: ignore[attr-defined]

CELLS_OF_STAT = 1 << 22
"""Values that are read together: those before them are passed over again each time."""

LEGACY = "cp1252"
"""Encoding of a file that does not say its own, where it is not UTF-8."""

UTF8_STATA = re.compile(rb"<stata_dta><header><release>1(1[89]|[2-9]\d)<")
"""The beginning of a file of Stata 14 or later."""

MOST_CODES = 100
"""Codes of no value that a range is written out as."""

DAY = 86_400.0
SPSS, SIXTY = -12_219_379_200.0, -315_619_200.0
"""Seconds from 1970 to the beginning of time: 14 October 1582, and 1960 of Stata and SAS."""

EARLIEST, LATEST = -62_135_596_800.0, 253_402_300_799.0
"""Seconds from 1970 to the first and the last one of the years 1 to 9999."""

OF_SPSS = {
    **dict.fromkeys(("DATE", "ADATE", "EDATE", "JDATE", "SDATE"), "date"),
    **dict.fromkeys(("DATETIME", "YMDHMS"), "datetime"),
}
DATE_OF_SAS = re.compile(
    "DATE|DAY|JULIAN|(WORD|WEEK)DAT[EX]|[BE]8601DA|(DDMMYY|YYMMDD)[BDNPS]?|MMDDYY[BDNPS]?"
)
MOMENT_OF_SAS = re.compile("DATETIME|DATEAMPM|[BE]8601DT")
WHOLE = ("int8", "int16", "int32")


def stat_part(path: str, label: str) -> Part:
    """Look at the header of a file.

    Raises
    ------
    InvalidInput
        If pyreadstat is not installed, or the file is none that it reads.
    """
    reader = _reader(path, label)
    codes = {"user_missing": True} if path.lower().endswith("sav") else {}
    said, header = (
        reader("cannot be read", metadataonly=True, encoding=each, **codes)[1]
        for each in (None, BYTE_FOR_BYTE)
    )
    known = _encoding_of(said, path, label)
    columns = list(_columns(header, known, path))
    names, fields = tuple(name for _, _, name, _ in columns), tuple(each[3] for each in columns)
    stored = {name: (stored_name, kind) for stored_name, kind, name, _ in columns}

    def read(names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        chosen = [stored[name] for name in names]
        count, start, found = max(ROWS, CELLS_OF_STAT // max(1, len(names))), 0, 0
        while names and found == start:
            cells, _ = reader(
                "the file is damaged",
                usecols=[stored_name for stored_name, _ in chosen],
                row_offset=start,
                row_limit=count,
                encoding=BYTE_FOR_BYTE,
            )
            arrays = [_array(kind, cells[each], known) for each, kind in chosen]
            batch = pa.record_batch(arrays, list(names))
            for place in range(0, batch.num_rows, ROWS):
                yield batch.slice(place, ROWS)
            found, start = start + batch.num_rows, start + count

    rows = header.number_rows
    known_rows = rows if isinstance(rows, int) and rows >= 0 else None
    return Part(label, names, fields, known_rows, read)


def _reader(path: str, label: str) -> Callable[..., Any]:
    """Return what reads the file by pyreadstat, with one clear line where it fails."""
    try:
        import pyreadstat
    except ImportError:
        raise InvalidInput(
            f"{label}: files of SPSS, Stata and SAS need pyreadstat: pip install 'mipselect[stat]'"
        ) from None
    ending = path.lower().rpartition(".")[2]
    names = {"sav": "sav", "zsav": "sav", "dta": "dta", "xpt": "xport"}
    # What the file declares to be no value is read as nothing.
    ways: dict[str, Any] = {"output_format": "dict", "disable_datetime_conversion": True}
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
        try:
            found = codecs.lookup(said).name
            "\n".encode(found)
            return found
        except (LookupError, UnicodeError, ValueError):
            raise InvalidInput(
                f"{label}: no encoding of texts is called {shown(said)}, which the file says"
            ) from None
    ending = path.lower().rpartition(".")[2]
    if ending == "dta":
        with open(path, "rb") as file:
            return UTF8 if UTF8_STATA.match(file.read(64)) else LEGACY
    return UTF8 if ending == "xpt" else LEGACY


def _columns(
    header: Any, encoding: str, path: str
) -> Iterator[tuple[str, StatType, str, dict[str, Any]]]:
    """Yield the columns of a header that was read byte for byte.

    Each has its stored name, its type, its name, and properties of a field of a Table Schema.
    """

    def text(stored: str | None) -> str:
        # With a mark for what cannot be decoded.
        return (stored or "").encode("latin-1").decode(encoding, "replace").strip()

    def plain(code: Any, kind: StatType) -> Any:
        # None for what cannot stand in the column: in Stata a letter is no value.
        if kind.kind == "string":
            return text(code) or None if isinstance(code, str) else None
        if not isinstance(code, int | float) or not abs(code) < LAST_INTEGER:
            return None
        return int(code) if float(code).is_integer() else float(code)

    titles = header.column_names_to_labels
    for stored in header.column_names:
        shown_as = header.original_variable_types[stored] or ""
        kind = _type_of(path, header.readstat_variable_types[stored], shown_as)
        labels = header.variable_value_labels.get(stored, {})
        codes = {plain(code, kind): text(label) for code, label in labels.items()}
        codes.pop(None, None)
        missing: list[list[Any]] = [
            [text(end) if isinstance(end, str) else float(end) for end in (at["lo"], at["hi"])]
            for at in header.missing_ranges.get(stored, ())
        ]
        none = dict.fromkeys(plain(code, kind) for ends in missing for code in _between(*ends))
        none.pop(None, None)
        listed = {
            code: label
            for code, label in codes.items()
            if not any(low <= code <= high for low, high in missing)
        }
        title = text(titles.get(stored))
        public: dict[str, Any] = {"title": title} if title else {}
        if none:
            entries = [_entry(str(code), codes.get(code, "")) for code in none]
            public["missingValues"] = [{"value": ""}, *entries]
        whole = kind.kind != "string" and all(isinstance(code, int) for code in listed)
        if len(listed) > 1 and kind.kind in ("string", "integer", "number"):
            # A label never replaces its code.
            public["categories"] = [_entry(code, label) for code, label in listed.items()]
            if header.variable_measure.get(stored) == "ordinal":
                public["categoriesOrdered"] = True
        of_codes = whole and "categories" in public
        yield stored, kind, text(stored), {"type": "integer" if of_codes else kind.kind, **public}


def _between(low: Any, high: Any) -> list[Any]:
    """List the codes of no value in a range: one, or a few whole numbers."""
    if isinstance(low, str) or low == high:
        return [low]
    few = high - low < MOST_CODES and low.is_integer() and high.is_integer()
    return list(range(int(low), int(high) + 1)) if few else []


def _entry(value: Any, label: str) -> dict[str, Any]:
    return {"value": value, "label": label} if label else {"value": value}


def _array(kind: StatType, cells: list[Any], encoding: str) -> pa.Array:
    """Convert the values of one column; null where there is none, or a date beyond the calendar.

    Texts become bytes in UTF-8; texts that cannot be decoded are no UTF-8.
    """
    if kind.kind == "string":
        encoded = pa.array(cells, pa.string(), from_pandas=True).dictionary_encode()
        known = [text.encode("latin-1") for text in encoded.dictionary.to_pylist()]
        if encoding != UTF8:
            known = [text.decode(encoding, LOST).encode(UTF8, "surrogatepass") for text in known]
        return pa.DictionaryArray.from_arrays(encoded.indices, pa.array(known, pa.binary()))
    numbers = np.array(cells, dtype=np.float64)  # Nothing becomes NaN.
    if kind.unit == 0.0:
        return pa.array(numbers, mask=np.isnan(numbers))
    with np.errstate(over="ignore", invalid="ignore"):
        seconds = np.floor(numbers * kind.unit + kind.zero)
        none = ~((seconds >= EARLIEST) & (seconds <= LATEST))
    moments = np.where(none, 0.0, seconds).astype("datetime64[s]")
    return pa.array(moments.astype("datetime64[D]") if kind.kind == "date" else moments, mask=none)


# Types, by storage and format.


@dataclass(frozen=True)
class StatType:
    """A type of a Table Schema, and what the numbers of a date count.

    Attributes
    ----------
    kind : str
        string, integer, number, date or datetime.
    unit : float
        Seconds that 1 stands for, of a date or a time.
    zero : float
        Seconds from 1970 to where 0 is.
    """

    kind: str
    unit: float = 0.0
    zero: float = 0.0


def _type_of(path: str, storage: str, shown_as: str) -> StatType:
    """Return the type of a column, by the ending of the file, its storage and its format.

    The storage is double, float, int8, int16, int32, string or string_ref; a format is F8.2, %td
    or DATE9.
    """
    if storage.startswith("string"):
        return StatType("string")
    ending = path.lower().rpartition(".")[2]
    if ending == "dta":
        # Weeks, months and years are numbers.
        if re.match("%[-+]?t?d", shown_as):
            return StatType("date", DAY, SIXTY)
        if re.match("%[-+]?t[cC]", shown_as):
            return StatType("datetime", 1e-3, SIXTY)
        return StatType("integer" if storage in WHOLE else "number")
    name = re.sub(r"[\d.]+$", "", shown_as.upper())
    if ending in ("sav", "zsav"):
        kind = OF_SPSS.get(name)
        if kind:
            return StatType(kind, 1.0, SPSS)
        whole = re.fullmatch(r"[FN]\d+(\.0)?", shown_as.upper())
        return StatType("integer" if whole else "number")
    if DATE_OF_SAS.fullmatch(name):
        return StatType("date", DAY, SIXTY)
    return StatType("datetime", 1.0, SIXTY) if MOMENT_OF_SAS.fullmatch(name) else StatType("number")
