"""Columns of Z = [1, x, y], all of it public, and the map of one row to the grid.

The entries of Z are integers in -65,536..65,536: multiples of `GRID`, cut towards zero, of columns
in [-1, 1]. A row in Z depends on one row of the table, and on nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.grid import GRID, on_grid
from mipselect.tables.public_map import PublicMap
from mipselect.tables.question import TableQuestion
from mipselect.tables.weights import counted_shares
from mipselect.validation import checked_feature_names, checked_scale, checked_scales, set_fields


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
    reads: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        size = len(self.names)
        set_fields(
            self,
            names=checked_feature_names(self.names, size),
            x_bounds=checked_scales(self.x_bounds, "x_bound", size),
            y_bound=checked_scale(self.y_bound, "y_bound"),
        )

    def rows(self, batch: tuple[FloatArray, FloatArray]) -> FloatArray:
        """Map (X, y), which are finite, to Z; shapes (m, p) and (m,)."""
        X, y = batch
        Z = np.empty((len(y), len(self.names) + 2))
        Z[:, 0] = 1.0
        Z[:, 1:-1] = on_grid(X.astype(np.float64, copy=False), np.array(self.x_bounds))
        Z[:, -1] = on_grid(y.astype(np.float64, copy=False), self.y_bound)
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
