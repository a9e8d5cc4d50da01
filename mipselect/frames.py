"""X and y as arrays of numbers, from arrays, data frames and Arrow tables.

What only looks like a number is refused by row and column: masked entries, missing values, dates,
text. So is an index that `DataFrame.to_csv` stored as a column, by its name.
"""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from mipselect.arrays import FloatArray, blocks_of
from mipselect.errors import InvalidInput
from mipselect.validation import checked_names, shown

Names = Sequence[str] | None

ADVICE = "values must be finite numbers or true/false"
MISSING = (
    "missing values (NaN) need a schema, whose public rules say what each counts as. No guarantee "
    "covers an imputer: what it learns depends on every row"
)
TEXTS = "a table with texts needs a schema; two classes may be given as 0 and 1"
DATES = "dates and times are no numbers; leave them out, or turn them into numbers yourself"
STORED_INDEX = re.compile(r"(Unnamed: \d+|__index_level_\d+__)?")
"""Names of the index of a data frame that was stored as a column without a name."""


def numeric_matrix(X: ArrayLike, names: Names = None) -> tuple[FloatArray, tuple[str, ...] | None]:
    """Return a table as finite numbers, and the names of its columns.

    Parameters
    ----------
    X : array_like of shape (n, p)
        Numbers or truth values; pandas, or anything that offers an Arrow table or stream (PyArrow,
        Polars, DuckDB). Lazy frames are refused.
    names : sequence of str, optional
        Names for the columns, in place of those that X has.

    Returns
    -------
    matrix : ndarray of shape (n, p)
        float32 if all of X is, else float64. It may share memory with X.
    names : tuple of str, or None
        The names that were given or that a frame has; whole numbers as labels become text.

    Raises
    ------
    InvalidInput
        With the row and the column that is wrong.
    """
    refuse_lazy(X, "X")
    is_pandas = is_of(X, "pandas.DataFrame")
    table = None if is_pandas else _arrow_table(X)
    if names is None:
        own = getattr(X, "columns", None) if table is None else table.column_names
        labels = _labels(own) if isinstance(own, Iterable) else None
    else:
        labels = checked_names(names)
    if table is not None:
        matrix = _arrow_matrix(table)
    elif is_pandas:
        matrix = _pandas_matrix(X, labels)
    else:
        matrix = _numbers(plain_array(X, "X"), labels, "X")
    if matrix.ndim != 2 or matrix.size == 0:
        raise InvalidInput(f"X must be a non-empty table of shape (n, p), got shape {matrix.shape}")
    _require_finite(matrix, labels, "X")
    return matrix, labels


def numeric_vector(y: ArrayLike) -> FloatArray:
    """Return finite numbers as an array, of whatever shape y has; see `numeric_matrix`."""
    vector = _numbers(plain_array(y, "y"), None, "y")
    _require_finite(vector, None, "y")
    return vector


def numeric_target(y: ArrayLike, n: int) -> FloatArray:
    """Return one finite number for each of n rows of X; see `numeric_matrix`."""
    target = numeric_vector(y)
    if target.shape != (n,):
        raise InvalidInput(f"y must have one value per row of X, ({n},); got {target.shape}")
    return target


def plain_array(values: ArrayLike, what: str) -> NDArray[Any]:
    """Return an array that holds what it seems to hold; text and None are let through.

    Raises
    ------
    InvalidInput
        For masked entries, dates and times, pandas' NA, complex numbers, records, lazy frames
        and what is no array at all.
    """
    refuse_lazy(values, what)
    rows = values if isinstance(values, list | tuple) else ()
    try:
        if any(isinstance(row, np.ma.MaskedArray) for row in rows):
            values = np.ma.array(rows)
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"{what} must hold real numbers only: {error}") from error
    if isinstance(values, np.ma.MaskedArray):
        masked = np.argwhere(np.ma.getmaskarray(values))
        if masked.size:
            raise InvalidInput(f"{what}: {_place(masked[0], None)} is masked; {MISSING}")
    if array.dtype.kind in "Mm":
        raise InvalidInput(f"{what} holds {array.dtype}; {DATES}")
    if array.dtype.kind in "cV":
        raise InvalidInput(
            f"Complex data not supported, nor records: {what} must hold real numbers only, got "
            f"{array.dtype}"
        )
    if array.dtype.kind == "O":
        if array.ndim == 0:
            hint = ", give X.toarray()" if hasattr(values, "toarray") else ""
            raise InvalidInput(f"{what} must be an array, got {type(values).__name__}{hint}")
        _refuse(array, None, what, kinds=(DATE, NA))
    return array


def refuse_lazy(values: object, what: str) -> None:
    """Raise `InvalidInput` for a frame whose values are not there yet."""
    collects = hasattr(values, "collect") and not hasattr(values, "__arrow_c_stream__")
    if hasattr(values, "__dask_graph__") or (collects and not hasattr(values, "__array__")):
        way = ".compute()" if hasattr(values, "__dask_graph__") else ".collect()"
        raise InvalidInput(f"{what} is lazy, a {type(values).__name__}; give {what}{way}")


def refuse_stored_index(names: Sequence[str], what: str, places: Iterable[int]) -> None:
    """Raise `InvalidInput` if a column is the index of a data frame that was stored with it."""
    for place, name in zip(places, names, strict=False):
        if STORED_INDEX.fullmatch(name):
            called = f"is called {name!r}" if name else "has no name"
            raise InvalidInput(
                f"{what}: column {place} {called}, as the stored index of a data frame is; leave "
                "it out (to_csv(index=False)), or rename it if it is a feature"
            )


def _arrow_matrix(table: Any) -> FloatArray:
    """Convert a `pyarrow.Table` to numbers, missing values to NaN."""
    single = table.num_columns and all(column.type == pa.float32() for column in table.columns)
    dtype = np.float32 if single else np.float64
    result = np.empty((table.num_rows, table.num_columns), dtype, order="F")
    for k, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        kind, types = column.type, pa.types
        if not (types.is_boolean(kind) or is_numeric(kind) or types.is_null(kind)):
            advice = DATES if types.is_temporal(kind) else ADVICE
            raise InvalidInput(f"X: column {shown(name)} is of type {kind}; {advice}")
        result[:, k] = doubles(column)
    return result


def is_numeric(kind: Any) -> bool:
    """Return whether an Arrow type is one of numbers."""
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def doubles(column: pa.Array | pa.ChunkedArray) -> NDArray[np.float64]:
    """Convert a column of numbers or truth values to doubles, each rounded once; null is NaN."""
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.string())  # PyArrow rounds twice, and differently at every scale.
    # Unsafe only in that integers beyond 2⁵³ are rounded.
    converted = column.cast(pa.float64(), safe=False)
    found: NDArray[np.float64] = converted.to_numpy(zero_copy_only=False)
    return found


def _arrow_table(X: object) -> Any:
    """Return the Arrow table that X offers, or None."""
    if not (hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__")):
        return None
    try:
        return pa.table(X)
    except (TypeError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None  # A single column: it has values and no table.


def is_of(X: object, *classes: str) -> bool:
    """Return whether X is of one of these classes; their packages need not be there."""
    known = (each.rpartition(".") for each in classes)
    found = ((sys.modules.get(package), name) for package, _, name in known)
    return any(each is not None and isinstance(X, getattr(each, name)) for each, name in found)


def _pandas_matrix(frame: Any, names: Names) -> FloatArray:
    """Convert a data frame to numbers, missing values to NaN; at once, for columns may be many."""
    for j, dtype in enumerate(frame.dtypes):
        if dtype.kind in "Mm" or str(dtype).startswith("period"):
            raise InvalidInput(f"X: {_column(j, names)} is of type {dtype}; {DATES}")
        if dtype.kind not in "biuf":
            column = np.asarray(frame.iloc[:, j], dtype=object)[:, None]
            _refuse(column, names, "X", first_column=j)
            if not isinstance(dtype, np.dtype):
                raise InvalidInput(f"X: {_column(j, names)} is of type {dtype}; {ADVICE}")
    single = all(dtype == np.float32 for dtype in frame.dtypes)
    extended = any(not isinstance(dtype, np.dtype) for dtype in frame.dtypes)
    missing = {"na_value": np.nan} if extended else {}
    matrix: FloatArray = frame.to_numpy(dtype=np.float32 if single else np.float64, **missing)
    return matrix


def _labels(labels: Iterable[Any]) -> tuple[str, ...]:
    """Return column labels as names: text, or whole numbers as text."""
    names = []
    for j, label in enumerate(labels):
        if not isinstance(label, str | Integral) or isinstance(label, bool):
            raise InvalidInput(
                f"X: column {j} is labelled by a {type(label).__name__}; labels must be texts "
                "or whole numbers: rename the columns"
            )
        names.append(label if isinstance(label, str) else str(int(label)))
    refuse_stored_index(names, "X", range(len(names)))
    return checked_names(names)


def _numbers(array: NDArray[Any], names: Names, what: str) -> FloatArray:
    """Convert to float32 or float64; text is no number."""
    if array.dtype.kind not in "biuf":
        _refuse(array, names, what)
    with np.errstate(over="ignore"):
        return array.astype(np.float32 if array.dtype == np.float32 else np.float64, copy=False)


DATE_TYPES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
DATE, NA = "a date or a time", "<NA>"


def _wrong(value: Any) -> tuple[str, str] | None:
    """Name the kind of a value, which is sensitive and never quoted, and say what helps.

    None is right: a number.
    """
    if isinstance(value, str):
        return "text", TEXTS
    if value is None:
        return "nothing", MISSING
    try:
        if isinstance(value, Real | Decimal | np.bool_):
            float(value)
            return None
        if value != value:
            return NA, MISSING
    except OverflowError:
        return "no finite number", ADVICE
    except (TypeError, ValueError):  # pandas' NA cannot tell whether it is itself.
        return NA, MISSING
    if isinstance(value, DATE_TYPES):
        return DATE, DATES
    return f"a value of type {type(value).__name__}", ADVICE


def _refuse(
    array: NDArray[Any],
    names: Names,
    what: str,
    *,
    kinds: Collection[str] = (),
    first_column: int = 0,
) -> None:
    """Raise `InvalidInput` for the first entry that is wrong, of some kinds or of any."""
    for k, value in enumerate(array.flat):
        wrong = _wrong(value)
        if wrong is not None and (not kinds or wrong[0] in kinds):
            row, *rest = (int(i) for i in np.unravel_index(k, array.shape))
            at = _place((row, *(j + first_column for j in rest)), names)
            kind, advice = wrong
            raise InvalidInput(f"{what} must hold real numbers only: {at} holds {kind}; {advice}")


def _require_finite(array: FloatArray, names: Names, what: str) -> None:
    if not all(np.isfinite(block).all() for block in blocks_of(array)):
        bad = np.argwhere(~np.isfinite(array))
        first = float(array[tuple(bad[0])])
        more = f" ({len(bad)} such values in all)" if len(bad) > 1 else ""
        advice = MISSING if np.isnan(first) else ADVICE
        raise InvalidInput(
            f"{what} must be finite: {_place(bad[0], names)} holds {first}{more}; {advice}"
        )


def _place(indices: Sequence[int] | NDArray[Any], names: Names) -> str:
    row = f"row {int(indices[0])}"
    return row if len(indices) < 2 else f"{row}, {_column(int(indices[1]), names)}"


def _column(j: int, names: Names) -> str:
    if names is None:
        return f"column {j} (x{j})"
    return f"column {j} ({names[j]})" if j < len(names) else f"column {j}"


def refuse_another_order(X: Any, y: Any) -> None:
    """Raise `InvalidInput` for two frames of pandas whose labels say that rows came apart.

    Rows are taken by their place, as scikit-learn takes them. Labels 0, 1, 2, ... may come from
    an array, as after a scaler, and say nothing beside others; but not the same labels in another
    order. Other labels must be the same on both sides.
    """
    if not (is_of(X, "pandas.DataFrame") and is_of(y, "pandas.Series", "pandas.DataFrame")):
        return
    if len(X) != len(y) or X.index.equals(y.index):
        return
    shared, counted = X.index.isin(y.index), sys.modules["pandas"].RangeIndex(len(X))
    named = not (X.index.equals(counted) or y.index.equals(counted))
    if shared.all() or named:
        found = "index labels at other places" if shared.any() else "no index label in common"
        raise InvalidInput(
            f"X and y have {found}: rows are taken by their place, and y may be of other rows. "
            "y.loc[X.index] has the order of X; where the places are right, give y.to_numpy()"
        )
