"""Sheets of Excel, some rows at a time: the first row is the header, and no column has a type.

The stored value of a formula counts. An error such as #N/A is no value. The table ends with the
last row that has a value in one of its columns; a row without any before it is one without values.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, repeat
from typing import Any

import pyarrow as pa

from mipselect.disk import DAMAGE
from mipselect.errors import InvalidInput
from mipselect.tables.fields import BLANKS
from mipselect.tables.parts import ROWS, Part, positions_of
from mipselect.tables.values import arrow_cells, written
from mipselect.validation import listed, shown

CELLS = 1 << 20
"""Values that are read together."""

EXTRA = "pip install 'mipselect[excel]'"
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
            for rows in _pieces(found.iter_rows(min_row=2, max_col=width), width, label):
                columns = [arrow_cells(_value(row[k]) for row in rows) for k in positions]
                yield pa.record_batch(columns, list(chosen))

    return Part(label, names, ({"type": "string"},) * width, None, read, has_types=False)


@contextmanager
def _opened(path: str, label: str, sheet: str | None) -> Iterator[tuple[Any, str]]:
    """Open a sheet, and return it with its name."""
    try:
        import openpyxl
    except ImportError:
        raise InvalidInput(f"{label}: files of Excel need openpyxl: {EXTRA}") from None
    with open(path, "rb") as file:
        try:
            with _in_silence():
                book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        except DAMAGE as error:
            raise InvalidInput(f"{label}: cannot be read as Excel") from error
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


def _pieces(rows: Iterator[Any], width: int, label: str) -> Iterator[list[Any]]:
    """Yield some rows at a time, up to the last one with a value."""
    count = max(1, min(ROWS, CELLS // width))
    known = _up_to_the_last(rows, (None,) * width)
    while True:
        try:
            with _in_silence():
                piece = list(islice(known, count))
        except DAMAGE as error:
            raise InvalidInput(f"{label}: the file is damaged") from error
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


@contextmanager
def _in_silence() -> Iterator[None]:
    """Keep warnings of openpyxl to itself: some depend on what stands in a row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
