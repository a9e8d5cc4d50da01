"""Some rows of a table as a table: all rows of the people that were chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from mipselect.errors import InvalidInput
from mipselect.tables import values
from mipselect.tables.parts import Part
from mipselect.tables.people import numbered
from mipselect.tables.public_map import PublicMap


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


def chosen_rows(
    parts: tuple[Part, ...],
    public: PublicMap,
    choose: Callable[[int], NDArray[np.bool_]],
) -> ChosenRows:
    """Choose rows of a table, or people with all of their rows.

    Parameters
    ----------
    parts : tuple of Part
        Parts of a table that can be read again.
    public : PublicMap
        With the field that says whose row it is, if there is one.
    choose : callable
        From the number of rows, or people, to a bool array of their length.
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
        return ChosenRows(parts, choose(rows), tuple(starts))
    person = numbered(identities)
    people = int(person.max()) + 1 if len(person) else 0
    return ChosenRows(parts, choose(people)[person], tuple(starts))


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
