"""Rows of a table after its public map, by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mipselect.tables import PublicMap, TableSchema
from mipselect.tables.mapping import open_table, read_rows
from mipselect.tables.public_map import TableQuestion


@dataclass(frozen=True)
class FeatureTable:
    """X and y in [-1, 1]; a missing target is 0, the midpoint."""

    X: NDArray[Any]
    y: NDArray[np.float64]
    weights: NDArray[np.float64] | None
    public: PublicMap

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.public.columns)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The fields to choose from."""
        return tuple(encoder.field.name for encoder in self.public.features)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The columns of each of them."""
        return tuple(map(tuple, self.public.blocks[: len(self.public.features)]))

    @property
    def always_groups(self) -> tuple[tuple[int, ...], ...]:
        return tuple(map(tuple, self.public.blocks[len(self.public.features) :]))

    @property
    def always(self) -> tuple[int, ...]:
        """The columns that are always in."""
        return tuple(j for group in self.always_groups for j in group)


def public_map(schema: TableSchema, **question: Any) -> PublicMap:
    return TableQuestion(schema, **question).public


def map_table(source: Any, schema: TableSchema, **question: Any) -> FeatureTable:
    """Map every row, whatever stands in it."""
    public = public_map(schema, **question)
    X, y, weights = read_rows(open_table(source, public), public)
    return FeatureTable(X, np.nan_to_num(y, nan=0.0), weights, public)
