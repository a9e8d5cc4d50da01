"""`StreamedRows`: a table that is read in blocks, again for every question about all its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.instance import Instance
from mipselect.layout import Layout
from mipselect.moments import Moments
from mipselect.moments.batches import pieces_of_table
from mipselect.moments.columns import TableColumns, table_columns
from mipselect.moments.stored import ONE
from mipselect.tables.schema import TableSchema
from mipselect.validation import checked_integer

BLOCK = 1 << 14
"""Rows of a block: of rank correlations within such blocks little is lost."""


@dataclass(frozen=True, eq=False)
class StreamedRows:
    """A table with a schema, in blocks of so many rows in their order; made by `of`.

    Attributes
    ----------
    source : path or table
        Must give the same rows in the same order whenever it is read. Sensitive.
    columns : TableColumns
    layout : Layout
    support_size : int
    block : int
        Public.

    Notes
    -----
    A row that is replaced changes one block, whatever else is in the table. One that is added or
    removed moves all rows behind it, so nothing is promised under add-remove; and several rows of
    a person would be dropped from several blocks.
    """

    source: Any = field(repr=False)
    columns: TableColumns = field(repr=False)
    layout: Layout = field(repr=False)
    support_size: int
    block: int = BLOCK

    @classmethod
    def of(
        cls,
        source: Any,
        schema: TableSchema,
        *,
        target: str,
        support_size: int,
        always: Sequence[str] = (),
        never: Sequence[str] = (),
        block: int = BLOCK,
    ) -> StreamedRows:
        """Check the question and the headers; see `Instance.from_table` for the arguments."""
        columns = table_columns(schema, target, never, None, "first")
        if columns.public.unit is not None:
            raise InvalidInput(
                "rows of one person may be in several blocks: make one row of each person first, "
                "and a schema without csvw-eo:privacyUnit"
            )
        if hasattr(source, "__next__") or hasattr(source, "read_next_batch"):
            raise InvalidInput("the source is read several times; an iterator is read once")
        for _ in pieces_of_table(source, columns):
            pass
        # The layout of an instance with the same question; of one row of zeros.
        sums = np.zeros((1, len(columns.names) + 2, len(columns.names) + 2), dtype=np.int64)
        sums[0, 0, 0] = ONE
        blank = Moments(columns, sums)
        posed = Instance.from_moments(
            blank, support_size=support_size, always=always, intercept=False
        )
        size = checked_integer(block, "block", 2)
        return cls(source, columns, posed.layout, posed.support_size, size)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name for every feature."""
        return self.layout.feature_names

    def blocks(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Columns in the order of the layout, and the target, of one block after the other."""
        place = {name: k for k, name in enumerate(self.columns.names)}
        names = self.layout.column_names
        order = [place[names[j]] for j in self.layout.order.tolist()]
        kept_X, kept_y = np.empty((0, len(order)), np.float32), np.empty(0)
        for piece in pieces_of_table(self.source, self.columns):
            for batch in piece.read():
                X = np.empty((batch.num_rows, len(place)), np.float32)
                y = np.empty(batch.num_rows)
                self.columns.public.encode(batch, X, y)
                y[np.isnan(y)] = 0.0
                kept_X, kept_y = np.vstack([kept_X, X[:, order]]), np.append(kept_y, y)
                full = len(kept_y) - len(kept_y) % self.block
                for start in range(0, full, self.block):
                    rows = slice(start, start + self.block)
                    yield kept_X[rows], kept_y[rows]
                kept_X, kept_y = kept_X[full:].copy(), kept_y[full:].copy()
        if len(kept_y):
            yield kept_X, kept_y
