"""Columns of what is added up, all of it public, and the map of one row.

For rows by themselves they are Z = [1, x, y]. The entries of Z are integers in -65,536..65,536:
multiples of `GRID`, cut towards zero, of columns in [-1, 1]. A row in Z depends on one row of the
table, and on nothing else. For blocks they are x and y as they are: no range of them is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar, NoReturn

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


@dataclass(frozen=True)
class TableColumns:
    """Columns of a table after the public map of its schema, in [-1, 1].

    With a survey weight w in [0, 1] a row is multiplied by √w, and √w itself is the last of its
    columns: that of an intercept. The ones before them still count the rows.

    Attributes
    ----------
    question : TableQuestion
        No field is always in: the columns stand as their fields in the schema, whatever is. A
        range of a field that is left out says nothing.

    Raises
    ------
    InvalidInput
        For what is wrong with the question, and a rule that needs all rows of a person together.
    """

    question: TableQuestion
    y_bound: ClassVar[float] = 1.0
    blocks: ClassVar[None] = None

    def __post_init__(self) -> None:
        set_fields(self, question=self.question.of_moments())
        _ = self.public
        rule = self.question.unit_rule
        if rule != "first":
            raise InvalidInput(
                f"unit_rule {rule!r} needs all rows of a person together, and moments are one "
                "pass: use first, or make one row of each person before, with SQL"
            )

    @property
    def public(self) -> PublicMap:
        """The map of a row."""
        return self.question.public

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns x, p of them; the weight is the last."""
        weight = self.public.weight
        named = () if weight is None else (weight.name,)
        return tuple(column.name for column in self.public.columns) + named

    @property
    def x_bounds(self) -> tuple[float, ...]:
        """All 1."""
        return (1.0,) * len(self.names)

    @property
    def ones(self) -> int:
        """0: the ones that count the rows; or the place of √w."""
        return 0 if self.public.weight is None else len(self.names)

    @property
    def reads(self) -> tuple[str, ...]:
        """Columns of a table that `rows` takes in a batch."""
        return self.public.names

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
        """Return what the columns are made of, ready for JSON."""
        asked = self.question
        return {
            "kind": "table",
            "schema": asked.schema.content,
            "target": asked.target,
            "never": list(asked.never),
            "ranges": {name: list(ends) for name, ends in asked.ranges.items()},
        }


def array_columns(names: Sequence[str], x_bound: Any, y_bound: Any) -> ArrayColumns:
    """Check the bounds of arrays; raise `InvalidInput` where one is missing."""
    for bound, name in ((x_bound, "x_bound"), (y_bound, "y_bound")):
        if bound is None:
            raise InvalidInput(f"{name} must be given; choose it without looking at the data")
    return ArrayColumns(tuple(names), checked_scales(x_bound, "x_bound", len(names)), y_bound)


Columns = ArrayColumns | TableColumns
"""Columns of rows by themselves: their names and bounds, public."""


@dataclass(frozen=True)
class BlockColumns:
    """Columns x and y of rows as they are, and how they are normalised within blocks of rows.

    Sums over these blocks are those of one draw of the partitions, and no file has them.

    Attributes
    ----------
    names : tuple of str
        Names of the columns x, p of them.
    parts : ColumnsOfFeatures
        Columns that are normalised together; the target is the last of p + 1.
    blocks : Blocks
    weighted : bool
        Whether rows have one more column, the last: how much each counts.
    """

    names: tuple[str, ...]
    parts: ColumnsOfFeatures
    blocks: Blocks
    weighted: bool = False
    y_bound: ClassVar[float] = 1.0
    ones: ClassVar[int] = 0

    @classmethod
    def of_table(cls, public: PublicMap, blocks: Blocks) -> BlockColumns:
        """Return the columns of a map that uses no range."""
        names = tuple(column.name for column in public.columns)
        return cls(names, parts_of_table(public), blocks, public.weight is not None)

    @property
    def x_bounds(self) -> tuple[float, ...]:
        """All 1."""
        return (1.0,) * len(self.names)

    def to_dict(self) -> NoReturn:
        """Raise `InvalidInput`."""
        raise InvalidInput(
            "sums over blocks of rows are neither saved nor added; make them of all rows again"
        )


def parts_of_table(public: PublicMap) -> ColumnsOfFeatures:
    """Return the columns of every field, and the target; columns of categories are indicators."""
    p = len(public.columns)
    indicators = np.zeros(p + 1, dtype=np.bool_)
    for encoder, block in zip(public.encoders, public.blocks, strict=True):
        indicators[block.start + encoder.numbers : block.stop] = True
    return ColumnsOfFeatures((*map(tuple, public.blocks), (p,)), indicators)
