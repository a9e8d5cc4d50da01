"""Columns of what is added up, all of it public, and the map of one row.

For rows by themselves they are Z = [1, x, y]. The entries of Z are integers in -65,536..65,536:
multiples of `GRID`, cut towards zero, of columns in [-1, 1]. A row in Z depends on one row of the
table, and on nothing else. For blocks they are x and y as they are: no range of them is used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mipselect.array_checks import checked_scales
from mipselect.arrays import FloatArray
from mipselect.blocks.normalised import ColumnsOfFeatures
from mipselect.blocks.partitions import Blocks
from mipselect.errors import InvalidInput
from mipselect.grid import GRID, on_grid
from mipselect.tables.public_map import PublicMap, TableQuestion, counted_shares
from mipselect.validation import checked_feature_names, checked_scale, set_fields


@dataclass(frozen=True)
class ArrayColumns:
    """Columns of arrays, clipped to public bounds and divided by them.

    Attributes
    ----------
    names : tuple of str
        Names of the columns x, p of them.
    x_bounds : tuple of float
        b_j of every column: an entry of Z stands for so many times itself; shape (p,).
    y_bound : float
        b_y, the same of the target.
    ones : int
        Place in Z of the column of an intercept: the ones that count the rows.
    """

    names: tuple[str, ...]
    x_bounds: tuple[float, ...]
    y_bound: float
    ones: ClassVar[int] = 0
    blocks: ClassVar[None] = None
    reads: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        size = len(self.names)
        set_fields(
            self,
            names=checked_feature_names(self.names, size),
            x_bounds=checked_scales(self.x_bounds, "x_bound", size),
            y_bound=checked_scale(self.y_bound, "y_bound"),
        )

    def rows(self, batch: FloatArray) -> FloatArray:
        """Map rows of x and y, which are finite, shape (m, p + 1), to Z."""
        Z = np.ones((len(batch), len(self.names) + 2))
        bounds = np.array([*self.x_bounds, self.y_bound])
        Z[:, 1:] = on_grid(batch.astype(np.float64, copy=False), bounds)
        Z *= 1.0 / GRID
        return Z

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""
        return {"kind": "arrays", **asdict(self)}


class UnitBounds:
    """Columns and a target that lie in [-1, 1]."""

    y_bound: ClassVar[float] = 1.0

    @property
    def x_bounds(self: Any) -> tuple[float, ...]:
        """All 1."""
        return (1.0,) * len(self.names)

    @property
    def ones(self) -> int:
        """0: the ones that count the rows."""
        return 0


@dataclass(frozen=True)
class SchemaColumns(UnitBounds, ABC):
    """Columns of a table by its schema, of which some fields are left out.

    Attributes
    ----------
    question : TableQuestion
        No field is always in: the columns stand as their fields in the schema, whatever is.
    """

    question: TableQuestion

    def __post_init__(self) -> None:
        if self.question.always:
            set_fields(self, question=replace(self.question, always=()))

    @property
    @abstractmethod
    def public(self) -> PublicMap:
        """The map of a row; `InvalidInput` for what is wrong with the question."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns x, p of them."""
        return tuple(column.name for column in self.public.columns)

    @property
    def reads(self) -> tuple[str, ...]:
        """Columns of a table that `rows` takes in a batch."""
        return self.public.names

    @abstractmethod
    def rows(self, batch: Any) -> FloatArray:
        """Return what a batch adds, shape (m, p + 2), or (m, p + 1) before it is in blocks."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return all of it, ready for JSON."""

    def stated(self, kind: str, **more: Any) -> dict[str, Any]:
        """Return what the columns are made of, ready for JSON."""
        asked = self.question
        named = {"target": asked.target, "never": list(asked.never)}
        return {"kind": kind, "schema": asked.schema.content, **named, **more}


@dataclass(frozen=True)
class TableColumns(SchemaColumns):
    """Columns of a table after the public map of its schema, in [-1, 1].

    With a survey weight w in [0, 1] a row is multiplied by √w, and √w itself is the last of its
    columns: that of an intercept. The ones before them still count the rows.

    Raises
    ------
    InvalidInput
        For what is wrong with the question, and a rule that needs all rows of a person together.
    """

    blocks: ClassVar[None] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.public
        rule = self.question.unit_rule
        if rule != "first":
            raise InvalidInput(
                f"unit_rule {rule!r} needs all rows of a person together, and moments are one "
                "pass: use first, or make one row of each person before, with SQL"
            )

    @cached_property
    def public(self) -> PublicMap:
        """See `SchemaColumns`; a range of a field that is left out says nothing."""
        return self.question.of_moments().public

    @cached_property
    def names(self) -> tuple[str, ...]:
        """See `SchemaColumns`; the weight is the last."""
        weight = self.public.weight
        named = () if weight is None else (weight.name,)
        return tuple(column.name for column in self.public.columns) + named

    @property
    def ones(self) -> int:
        """0, or the place of √w."""
        return 0 if self.public.weight is None else len(self.names)

    def rows(self, batch: Any) -> FloatArray:
        """Map an Arrow batch with the columns `public.names` to Z."""
        m, public = batch.num_rows, self.public
        shares = public.shares(batch)
        factors = None if shares is None else np.sqrt(counted_shares(shares))
        Z = np.empty((m, len(self.names) + 2), order="F")
        Z[:, 0] = 1.0 / GRID
        if factors is not None:
            Z[:, self.ones] = np.trunc(factors / GRID)
        widest = max(map(len, public.blocks))
        scratch = np.empty((m, widest), np.float32, order="F")
        # Field after field, so that its columns are still in the cache when they are cut.
        for k, (encoder, block) in enumerate(zip(public.encoders, public.blocks, strict=True)):
            part, out = scratch[:, : len(block)], Z[:, 1 + block.start : 1 + block.stop]
            encoder.encode(public.stored(batch, k), part)
            np.multiply(part, 1.0 / GRID, out=out, dtype=np.float64)
            if factors is not None:
                out *= factors[:, None]
            np.trunc(out, out=out)
        y = np.nan_to_num(public.targets(batch), nan=0.0)
        np.multiply(y, 1.0 / GRID if factors is None else factors / GRID, out=Z[:, -1])
        np.trunc(Z[:, -1], out=Z[:, -1])
        return Z

    def to_dict(self) -> dict[str, Any]:
        """See `SchemaColumns`."""
        ranges = {name: list(ends) for name, ends in self.question.ranges.items()}
        return self.stated("table", ranges=ranges)


def array_columns(names: Sequence[str], x_bound: Any, y_bound: Any) -> ArrayColumns:
    """Check the bounds of arrays; raise `InvalidInput` where one is missing."""
    for bound, name in ((x_bound, "x_bound"), (y_bound, "y_bound")):
        if bound is None:
            raise InvalidInput(f"{name} must be given; choose it without looking at the data")
    return ArrayColumns(tuple(names), checked_scales(x_bound, "x_bound", len(names)), y_bound)


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

    def rows(self, batch: FloatArray) -> FloatArray:
        """Return rows of x and y as they are, shape (m, p + 1)."""
        return batch.astype(np.float64, copy=False)

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
