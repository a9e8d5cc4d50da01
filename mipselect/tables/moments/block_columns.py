"""Columns of rows that are not scaled, of which blocks are made: no range of them is used."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.blocks.normalised import ColumnsOfFeatures
from mipselect.blocks.partitions import Blocks
from mipselect.errors import InvalidInput
from mipselect.tables.moments.columns import ArrayColumns, SchemaColumns, TableColumns, UnitBounds
from mipselect.tables.public_map import PublicMap
from mipselect.tables.weights import counted_shares
from mipselect.validation import checked_feature_names, set_fields


@dataclass(frozen=True)
class ArrayBlockColumns(UnitBounds):
    """Columns of arrays; blocks have no intercept.

    Attributes
    ----------
    names : tuple of str
    groups : tuple of tuple of int
        The columns of every feature.
    always : tuple of tuple of int
        Those that are always in.
    feature_names : tuple of str
    blocks : Blocks
    """

    names: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]
    always: tuple[tuple[int, ...], ...]
    feature_names: tuple[str, ...]
    blocks: Blocks
    reads: ClassVar[tuple[str, ...]] = ()
    weighted: ClassVar[bool] = False

    def __post_init__(self) -> None:
        names = checked_feature_names(self.names, len(self.names))
        features = checked_feature_names(self.feature_names, len(self.groups))
        listed = sorted(j for part in (*self.groups, *self.always) for j in part)
        if listed != list(range(len(names))):
            raise InvalidInput("every column must be in one of groups and always, once")
        set_fields(self, names=names, feature_names=features)

    @cached_property
    def parts(self) -> ColumnsOfFeatures:
        """Columns that are normalised together; the target is the last of p + 1."""
        p = len(self.names)
        return ColumnsOfFeatures(
            (*self.groups, *self.always, (p,)), np.zeros(p + 1, dtype=np.bool_)
        )

    def rows(self, batch: tuple[FloatArray, FloatArray]) -> FloatArray:
        """Put X and y side by side, shape (m, p + 1)."""
        X, y = batch
        return np.column_stack([X, y]).astype(np.float64, copy=False)

    def to_dict(self) -> dict[str, Any]:
        """Return all but the seed, ready for JSON."""
        return {
            "kind": "blocks of arrays",
            "names": list(self.names),
            "groups": [list(group) for group in self.groups],
            "always": [list(part) for part in self.always],
            "feature_names": list(self.feature_names),
            **self.blocks.public(),
        }


@dataclass(frozen=True)
class TableBlockColumns(SchemaColumns):
    """Columns of a table by its schema, numbers as they are."""

    blocks: Blocks

    @property
    def public(self) -> PublicMap:
        """See `SchemaColumns`."""
        return self.question.without_ranges

    @property
    def weighted(self) -> bool:
        """True if the schema has a survey weight."""
        return self.public.weight is not None

    @cached_property
    def parts(self) -> ColumnsOfFeatures:
        """Columns that are normalised together; the target is the last of p + 1."""
        return parts_of_table(self.public)

    def rows(self, batch: Any) -> FloatArray:
        """Map an Arrow batch with the columns `public.names` to X and y, shape (m, p + 1).

        Where rows are weighted, how much each counts is one more column, the last. Rows that are
        mapped already stay as they are.
        """
        if isinstance(batch, np.ndarray):
            return batch
        p, shares = len(self.names), self.public.shares(batch)
        rows = np.empty((batch.num_rows, p + 1 + self.weighted))
        self.public.encode(batch, rows[:, :p], rows[:, p])
        if shares is not None:
            rows[:, -1] = counted_shares(shares)
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return all but the seed, ready for JSON."""
        return self.stated("blocks of a table", **self.blocks.public())


Columns = ArrayColumns | TableColumns | ArrayBlockColumns | TableBlockColumns
"""Columns that are added up: their names and bounds, public."""

BlockColumns = ArrayBlockColumns | TableBlockColumns
"""Columns x and y of rows, and the features that they are normalised by. The rows of blocks are
added up, in [-1, 1]; `rows` has the rows before."""


def parts_of_table(public: PublicMap) -> ColumnsOfFeatures:
    """Return the columns of every field, and the target; columns of categories are indicators."""
    p = len(public.columns)
    indicators = np.zeros(p + 1, dtype=np.bool_)
    for encoder, block in zip(public.encoders, public.blocks, strict=True):
        indicators[block.start + encoder.numbers : block.stop] = True
    return ColumnsOfFeatures((*map(tuple, public.blocks), (p,)), indicators)
