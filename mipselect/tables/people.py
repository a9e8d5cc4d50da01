"""People with several rows: counted, and made into one row by a public rule for each alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.tables import values
from mipselect.tables.encoders import Scaled, Unscaled
from mipselect.tables.fields import Field
from mipselect.tables.public_map import PublicMap
from mipselect.validation import checked_choice

Rule = Literal["first", "last", "mean"]


RULES = {
    "first": "the first in the order of the file counts",
    "last": "the last in the order of the file counts",
    "mean": "means of the numbers count, and of all else the first in the order of the file",
}
"""Words for the rules of a table about several rows of one person."""


def people_in_words(unit: str, rule: str) -> str:
    """Say what becomes of several rows of one person; `unit` is the field that says whose they are.

    Examples
    --------
    >>> people_in_words("id", "last")
    'Of all rows with the same id the last in the order of the file counts (unit_rule last)'
    """
    return f"Of all rows with the same {unit} {RULES[rule]} (unit_rule {rule})"


def checked_rule(rule: str, unit: str | None) -> str:
    """Return the rule; raise `InvalidInput` if it is unknown, or not "first" without a unit."""
    checked_choice(rule, "unit_rule", get_args(Rule))
    if unit is None and rule != "first":
        raise InvalidInput(
            f"unit_rule {rule!r} needs csvw-eo:privacyUnit in the schema: the field that says "
            "whose row it is"
        )
    return rule


@dataclass
class PersonCounts:
    """Rows of each person; what is remembered is one number for each of them.

    Attributes
    ----------
    unit : Field
        That says whose row it is.
    rows : dict of bytes or None to int
        By the identity; None is that of all rows without one.
    """

    unit: Field
    rows: dict[bytes | None, int] = field(default_factory=dict)

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
            if one not in self.rows:
                new.append(first)
            self.rows[one] = self.rows.get(one, 0) + count
        return np.array(sorted(new), dtype=np.intp)


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
            shares[kept] = _means_where_present(shares, person)[person[kept]]
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
        present = X[:, flag] == 0.0 if flag < block.stop else ~np.isnan(X[:, column])
        mean, count = _means(X[:, column], present, person)
        X[kept, column] = np.where(count > 0, mean, encoder.gap)[who]
        if flag < block.stop:
            X[kept, flag] = count[who] == 0
    if isinstance(public.target.encoder, Scaled | Unscaled):
        y[kept] = _means_where_present(y, person)[who]


def _means_where_present(
    numbers: NDArray[np.float64], person: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Compute the mean of each person's numbers, NaN if there is none."""
    mean, count = _means(numbers, ~np.isnan(numbers), person)
    return np.where(count > 0, mean, np.nan)


def _means(
    numbers: FloatArray,
    present: NDArray[np.bool_],
    person: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Compute the mean of each person's present numbers, 0 if there is none, and their count.

    Numbers in [-1, 1] have a mean in [-1, 1], also when rounded: a sum of k of them is never
    rounded beyond k.
    """
    count = np.bincount(person, weights=present).astype(np.int64)
    total = np.bincount(person, weights=np.where(present, numbers, 0.0))
    return total / np.maximum(count, 1), count
