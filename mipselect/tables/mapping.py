"""Rows of a table through the public map, batch by batch, and one row for each person."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.arrays import FloatArray
from mipselect.errors import InferredTypesWarning, InvalidInput, warn
from mipselect.tables import values
from mipselect.tables.encoders import Scaled, Unscaled
from mipselect.tables.fields import NUMBERS
from mipselect.tables.parts import Part, TableFile, of_chosen, require_columns, total_rows
from mipselect.tables.public_map import InputMap, PublicMap, counted_shares
from mipselect.tables.sources import open_source
from mipselect.validation import listed

FIRST_ROWS = 1 << 16
"""Room that there is at first where nobody knows how many rows there are."""

GROWTH = 1.25


def open_table(source: Any, public: PublicMap) -> tuple[Part, ...]:
    """Look at the headers of a table; raise `InvalidInput` for a column that is not there."""
    parts = open_columns(source, public.names)
    if not isinstance(source, str | Path | TableFile):
        _look_at_types(parts[0], public)
    return parts


def _look_at_types(part: Part, public: PublicMap) -> None:
    """Warn where types contradict the schema, as those that are inferred from all rows may.

    Numbers are texts beside others that are none, as where one row has a text; codes such as 01 are
    numbers, as where none has. No row is looked at.
    """
    types = zip(part.names, part.fields, strict=True)
    as_number = {name: field["type"] in NUMBERS for name, field in types}
    used = [encoder.field for encoder in (*public.encoders, public.target.encoder)]
    fields = dict.fromkeys(field.source for field in used)
    numbers = [field.name for field in fields if field.is_number]
    inferred = any(as_number[name] for name in numbers)
    apart = [name for name in numbers if inferred and not as_number[name]]
    apart += [
        field.name
        for field in fields
        if not field.is_number
        and as_number[field.name]
        and any(values.is_code(str(text)) for text in field.categories or ())
    ]
    if apart:
        are = "is" if len(apart) == 1 else "are"
        warn_of_inferred_types(f"{listed(apart)} of {part.label} {are}")


@cache
def warn_of_inferred_types(names: str) -> None:
    """Warn that a frame has columns of other types than its schema; once for the same columns."""
    warn(
        f"{names} stored otherwise than the schema says: numbers as texts, or codes such as 01 as "
        "numbers. What infers types from all rows, as read_csv does, lets one row change how all "
        "are read, which no guarantee covers: give the path, or read with dtype=str. This hangs on "
        "the types of columns, and by them on rows: keep it to yourself",
        InferredTypesWarning,
    )


def known_rows(source: Any, public: PublicMap) -> int | None:
    """Look at the headers; return the number of rows where they say it.

    They do not of people, nor is it known of a source of None, a table that is not there yet.
    """
    parts = () if source is None else open_table(source, public)
    known = source is not None and public.unit is None
    return total_rows(part.rows for part in parts) if known else None


def open_columns(source: Any, names: Sequence[str]) -> tuple[Part, ...]:
    """Look at the headers; raise `InvalidInput` unless each has each of these names once."""
    parts = open_source(source)
    for part in parts:
        require_columns(part.label, names, part.names)
    return parts


def mapped_batches(source: Any, inputs: InputMap) -> Iterator[NDArray[np.float32]]:
    """Map the rows of a table, some at a time: arrays of shape (rows, q), in their order.

    Parameters
    ----------
    source : path or table
        See `mipselect.tables.sources.open_source`.
    inputs : InputMap
        A map of fields with ranges.

    Raises
    ------
    InvalidInput
        Naming the fields that are not there, before a row is read.
    """
    parts, width = open_columns(source, inputs.inputs), len(inputs.columns)

    def mapped() -> Iterator[NDArray[np.float32]]:
        for part in parts:
            for batch in part.read(inputs.inputs):
                X = np.empty((batch.num_rows, width), np.float32)
                inputs.encode_inputs(batch, X)
                yield X

    return mapped()


def read_rows(
    parts: Sequence[Part],
    public: PublicMap,
    spare: int = 0,
) -> tuple[NDArray[np.floating[Any]], NDArray[np.float64], NDArray[np.float64] | None]:
    """Map all rows, and leave one for each person.

    Returns
    -------
    X : ndarray of shape (n, q + spare), of the type of the map
        The last `spare` columns are for the caller to fill.
    y : ndarray of shape (n,)
        NaN where there is no target.
    shares : ndarray of shape (n,), or None
        How much each row counts, in [0, 1]; None where the schema has no weight.
    """
    q = len(public.columns)
    known = total_rows(part.rows for part in parts)
    room = FIRST_ROWS if known is None else known
    X, y = np.empty((room, q + spare), public.dtype), np.empty(room, np.float64)
    identities: list[pa.Array] = []
    read: list[NDArray[np.float64]] = []
    n = 0
    for part in parts:
        for batch in part.read(public.names):
            end = n + batch.num_rows
            if end > len(y):
                room = max(end, int(GROWTH * len(y)))
                X.resize((room, q + spare), refcheck=False)
                y.resize(room, refcheck=False)
            public.encode(batch, X[n:end, :q], y[n:end])
            if (found := public.shares(batch)) is not None:
                read.append(found)
            if public.unit is not None:
                who = batch.column(len(public.names) - 1)
                identities.append(values.identities(who, public.unit))
            n = end
    shares = np.concatenate([np.empty(0), *read]) if public.weight is not None else None
    if n and public.unit is not None:
        n = one_row_each(X[:n], y[:n], identities, public, shares)
    if n == 0:
        raise InvalidInput(f"{parts[0].label}: the table has no rows")
    X.resize((n, q + spare), refcheck=False)
    y.resize(n, refcheck=False)
    return X, y, None if shares is None else counted_shares(shares[:n])


def numbered(identities: Sequence[pa.Array]) -> NDArray[np.int64]:
    """Return whose each row of all batches is: people from 0 in order of their rows; shape (n,)."""
    encoded = pa.chunked_array(list(identities), pa.string()).dictionary_encode("encode")
    numbers: NDArray[np.int64] = encoded.combine_chunks().indices.to_numpy()
    return numbers


def one_row_each(
    X: NDArray[np.floating[Any]],
    y: NDArray[np.float64],
    identities: Sequence[pa.Array],
    public: PublicMap,
    shares: NDArray[np.float64] | None = None,
) -> int:
    """Leave one row for each identity at the beginning of X and y, and return how many.

    Parameters
    ----------
    X : ndarray of shape (n, q), changed in place
    y : ndarray of shape (n,), changed in place
        NaN where there is no target.
    identities : sequence of arrow arrays, n values in all
        Whose row it is. Rows without a value are those of one person.
    public : PublicMap
        Its rule says which row stays; "mean" takes means of numbers over the rows where there is
        one, and the rest from the first row.
    shares : ndarray of shape (n,), changed in place, optional
        How much each row counts, NaN where its weight is missing: a number to the rule.

    Notes
    -----
    People stand in the order of the row that stays.
    """
    person, rule = numbered(identities), public.unit_rule
    order = np.arange(len(person)) if rule != "last" else np.arange(len(person))[::-1]
    _, places = np.unique(person[order], return_index=True)
    kept = np.sort(order[places])
    if rule == "mean":
        _mean_of_numbers(X, y, person, kept, public)
        if shares is not None:
            shares[kept] = _means(shares, person)[person[kept]]
    # Rows move up only, so that none is overwritten before it is read.
    for start in range(0, len(kept), 1 << 16):
        chunk = kept[start : start + (1 << 16)]
        for one in (X, y) if shares is None else (X, y, shares):
            one[start : start + len(chunk)] = one[chunk]
    return len(kept)


def _mean_of_numbers(
    X: NDArray[np.floating[Any]],
    y: NDArray[np.float64],
    person: NDArray[np.int64],
    kept: NDArray[np.int64],
    public: PublicMap,
) -> None:
    """Write the means of each person's numbers to the row that stays."""
    who = person[kept]
    for encoder, block in zip(public.encoders, public.blocks, strict=True):
        if not isinstance(encoder, Scaled | Unscaled):
            continue
        column, flag = block.start, block.start + 1
        flagged = flag < block.stop
        known = np.where(X[:, flag] == 0.0, X[:, column], np.nan) if flagged else X[:, column]
        mean = _means(known, person)[who]
        X[kept, column] = np.where(np.isnan(mean), encoder.gap, mean)
        if flagged:
            X[kept, flag] = np.isnan(mean)
    if isinstance(public.target.encoder, Scaled | Unscaled):
        y[kept] = _means(y, person)[who]


def _means(numbers: FloatArray, person: NDArray[np.int64]) -> NDArray[np.float64]:
    """Compute the mean of each person's numbers that are not NaN; NaN if there is none.

    Numbers in [-1, 1] have a mean in [-1, 1], also when rounded: a sum of k of them is never
    rounded beyond k.
    """
    there = ~np.isnan(numbers)
    count = np.bincount(person, weights=there)
    total = np.bincount(person, weights=np.where(there, numbers, 0.0))
    return np.where(count > 0.0, total / np.maximum(count, 1.0), np.nan)


def chosen_rows(
    parts: tuple[Part, ...],
    public: PublicMap,
    choose: Callable[[int], NDArray[np.bool_]],
) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """Choose rows of a table, or people with all of their rows.

    Parameters
    ----------
    parts : tuple of Part
        Parts of a table that can be read again.
    public : PublicMap
        With the field that says whose row it is, if there is one.
    choose : callable
        From the number of rows, or people, to a bool array of their length.

    Returns
    -------
    chosen, others : tuples of Part
        With these rows, and with all others.
    """
    name = public.names[-1] if public.unit is None else public.unit.name
    starts, rows = [], 0
    identities: list[pa.Array] = []
    for part in parts:
        starts.append(rows)
        for batch in part.read((name,)):
            rows += batch.num_rows
            if public.unit is not None:
                identities.append(values.identities(batch.column(0), public.unit))
    if public.unit is None:
        chosen = choose(rows)
    else:
        person = numbered(identities)
        chosen = choose(int(person.max()) + 1 if len(person) else 0)[person]
    places = [slice(*ends) for ends in pairwise([*starts, rows])]

    def of_all(some: NDArray[np.bool_]) -> tuple[Part, ...]:
        return tuple(of_chosen(part, some[at]) for part, at in zip(parts, places, strict=True))

    return of_all(chosen), of_all(~chosen)
