"""`StreamedRows`: a table that is read in blocks, again for every question about all its rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.problem.problem import Problem
from mipselect.tables.fields import ROLE
from mipselect.tables.moments.columns import TableColumns
from mipselect.tables.moments.sums import open_tables
from mipselect.tables.problems import problem_of_table
from mipselect.tables.public_map import TableQuestion
from mipselect.tables.schema import TableSchema
from mipselect.tables.sources import read_again
from mipselect.validation import checked_integer, shown

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
    problem : Problem
    block : int
        Public.

    Notes
    -----
    A row that is replaced changes one block, whatever else is in the table. One that is added or
    removed moves all rows behind it, so there is no guarantee under add-remove; and several rows of
    a person would be dropped from several blocks.
    """

    source: Any = field(repr=False)
    columns: TableColumns = field(repr=False)
    problem: Problem = field(repr=False)
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
        fixed, left_out = ([n] if isinstance(n, str) else n for n in (always, never))
        question = TableQuestion(schema, target, fixed, left_out)
        columns = TableColumns(question)
        if schema.weight is not None:
            raise InvalidInput(
                "scores of blocks of a stream count every row the same, and the schema says that "
                f"{shown(schema.weight_name)} is the survey weight ({ROLE}). Without weights the "
                "sample is described and not the population: take the role out of the schema and "
                "leave the field out (never) if that is what you want"
            )
        if columns.public.unit is not None:
            raise InvalidInput(
                "rows of one person may be in several blocks: make one row of each person first, "
                "and a schema without csvw-eo:privacyUnit"
            )
        if hasattr(source, "__next__") or hasattr(source, "read_next_batch"):
            raise InvalidInput("the source is read several times; an iterator is read once")
        source = read_again(source)
        for _ in open_tables(source, columns.public):
            pass
        problem = problem_of_table(question.public, support_size=support_size, intercept=False)
        return cls(source, columns, problem.needing(()), checked_integer(block, "block", 2))

    def blocks(self) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield columns in the order of the layout, and the target, block after block."""
        place = {name: k for k, name in enumerate(self.columns.names)}
        layout = self.problem.layout
        order = [place[layout.column_names[j]] for j in layout.order.tolist()]
        kept_X, kept_y = np.empty((0, len(order)), np.float32), np.empty(0)
        for part in open_tables(self.source, self.columns.public):
            for batch in part.read(self.columns.reads):
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
