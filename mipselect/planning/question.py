"""`Question`: what a plan is about, before a row of the table is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from mipselect.blocks.normalised import ColumnsOfFeatures
from mipselect.blocks.partitions import Blocks, default_rows_of_least_squares
from mipselect.blocks.r_squared import ListedFeatures
from mipselect.blocks.r_squared_choice import BlockR2Choice, r_squared_seconds
from mipselect.errors import InvalidInput
from mipselect.problem.block_scores import UNWEIGHTED_R2, BlockOptions, BlockScores
from mipselect.problem.instance import Instance
from mipselect.problem.problem import checked_ridge
from mipselect.problem.scores import BLOCKS, LOSS, R2, SCORES
from mipselect.tables import PublicMap, TableSchema
from mipselect.tables.defaults import DEFAULT_RIDGE, default_coef_bound
from mipselect.tables.input_map import Ranges
from mipselect.tables.instances import ScoredTable, instance_of_table
from mipselect.tables.moments.columns import parts_of_table
from mipselect.tables.question import TableQuestion
from mipselect.tables.schema import PRIVACY_UNIT
from mipselect.validation import (
    checked_choice,
    checked_integer,
    checked_scale,
    listed,
    set_fields,
)

SECONDS_OF_PARTITIONS = 0.5
"""Estimated time of the block R² of one simulated table: fewer partitions are drawn than by
`select` where all of them take longer."""

SECONDS_OF_SCORES = 2.0
"""Estimated time of the block R² of one partition: fewer rows are scored where it takes longer."""

LEAST_BLOCKS = 20
"""So many blocks are scored however long they take."""

ENTRIES_OF_PARTITIONS = 20_000_000
"""Rows times columns times partitions of least squares on blocks; fewer partitions beyond."""


@dataclass(frozen=True)
class Question:
    """A selection from a table, as its schema alone describes it.

    A survey weight is not simulated: every row of a simulated table counts the same.

    Parameters
    ----------
    schema : TableSchema
    target : str
    support_size : int
        s.
    score : {"blocks", "block-r2", "loss"}, optional
        Default: that of `select`, a score from blocks that `BlockOptions` chooses.
    always, never, ranges, intercept, coef_bound, ridge
        As for `Instance.from_table`. All but the first two are for the loss.

    Raises
    ------
    InvalidInput
        For what is wrong with the schema or the question; for what is said about the loss where
        fields have no range.
    """

    schema: TableSchema
    target: str
    support_size: int
    score: str | None = None
    always: Sequence[str] = ()
    never: Sequence[str] = ()
    ranges: Ranges | None = None
    intercept: bool = True
    coef_bound: float | None = None
    ridge: float | None = None
    weighted: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        if self.schema.weight is not None:
            if self.score == R2:
                raise InvalidInput(UNWEIGHTED_R2)
            set_fields(self, schema=self.schema.without_weight, weighted=True)
            # The default of `select` where the schema has a weight.
            if self.score is None:
                set_fields(self, score=BLOCKS)
        if self.score is not None:
            checked_choice(self.score, "score", SCORES)
        if self.score != LOSS and self.without_range:
            self._refuse_what_is_of_the_loss()
        checked_integer(self.support_size, "support_size", 1, len(self.public.features))
        checked_scale(self.bound, "coef_bound")
        if self.ridge is not None:
            set_fields(self, ridge=checked_ridge(self.ridge))

    @cached_property
    def without_range(self) -> tuple[str, ...]:
        """Fields that the loss needs a range of, and has none."""
        given, public = self.of_the_table.ranges, self._unranged
        fields = [encoder.field for encoder in (*public.encoders, public.target.encoder)]
        return tuple(field.name for field in fields if field.gap and field.name not in given)

    @cached_property
    def public(self) -> PublicMap:
        """Map of a row of the table into columns; numbers as they are where a range is missing."""
        if self.score != LOSS and self.without_range:
            return self._unranged
        return self.of_the_table.public

    @cached_property
    def of_the_table(self) -> TableQuestion:
        """The question about the fields of the table."""
        return TableQuestion(self.schema, self.target, self.always, self.never, self.ranges or {})

    @cached_property
    def bound(self) -> float:
        """r: what was given, or the default."""
        if self.coef_bound is not None:
            return self.coef_bound
        return default_coef_bound(self.support_size, len(self.public.always), self.intercept)

    @property
    def penalty(self) -> float:
        """λ: what was given, or the default."""
        return DEFAULT_RIDGE if self.ridge is None else self.ridge

    def instance(self, table: Any, coef_bound: float, ridge: float) -> Instance:
        """Ask the question of a table, with these in place of its own r and λ."""
        return instance_of_table(
            table,
            self.of_the_table,
            support_size=self.support_size,
            intercept=self.intercept,
            coef_bound=coef_bound,
            ridge=ridge,
        )

    def blocks(self, rows: int, epsilon: float) -> BlockOptions:
        """Return the score from blocks of so many rows at ε, with b by its public rule.

        Where the loss is in question it is that which blocks would have by default.

        T is that of `select`, or as many as take half a second, but at least one.

        Raises
        ------
        InvalidInput
            If block R² was asked for and is too much, or there are too few rows.
        """
        asked = (rows, *self._listed)
        of_blocks = None if self.score == LOSS else self.score
        score = BlockOptions(score=of_blocks, epsilon=epsilon).chosen(*asked)
        if score == R2:
            blocks = BlockR2Choice(epsilon=epsilon).settings(*asked).blocks
            in_time = int(SECONDS_OF_PARTITIONS / self._seconds(rows, blocks.rows))
        else:
            classes = self._unranged.target.classes is not None
            blocks = Blocks.of(default_rows_of_least_squares(classes=classes))
            in_time = ENTRIES_OF_PARTITIONS // (rows * len(self._unranged.columns))
        blocks = replace(blocks, partitions=min(blocks.partitions, max(1, in_time)))
        return BlockOptions(score=score, **blocks.public())

    def rows_scored(self, rows: int, options: BlockOptions) -> int:
        """Return how many of n rows a score from blocks is computed for where time is short.

        All of them, or as many as take the block R² of one partition two seconds by its public
        estimate. The law of a draw depends on ε times the sum over blocks, so that with
        n' rows in place of n it is that of nε/n' at the same b, with more noise of sampling.
        """
        if options.score != R2:
            return rows
        assert options.block_rows is not None
        share = SECONDS_OF_SCORES / self._seconds(rows, options.block_rows)
        return min(rows, max(LEAST_BLOCKS * options.block_rows, int(share * rows)))

    def in_blocks(self, table: Any, options: BlockOptions, seed: int) -> Instance | BlockScores:
        """Ask the question of blocks of a table with one row of each person.

        Parameters
        ----------
        table : table
        options : BlockOptions
            From `blocks`.
        seed : int
            Seed of the partitions.
        """
        one, seeded = self.of_single_rows, replace(options, partition_seed=seed)
        return ScoredTable(table, one.of_the_table, one.support_size, {}, seeded).made()

    @cached_property
    def of_single_rows(self) -> Question:
        """The question about a table with one row of each person."""
        unit = self.schema.privacy_unit
        if unit is None:
            return self
        content = self.schema.content
        del content[PRIVACY_UNIT]
        return replace(self, schema=TableSchema.of(content), never=(*self.never, unit))

    @property
    def _listed(self) -> tuple[ColumnsOfFeatures, int, int]:
        public = self._unranged
        return parts_of_table(public), len(public.features), self.support_size

    def _seconds(self, rows: int, block_rows: int) -> float:
        """Estimate the seconds of the block R² of one partition."""
        return r_squared_seconds(rows, 1, ListedFeatures(*self._listed, block_rows))

    @property
    def _unranged(self) -> PublicMap:
        return self.of_the_table.without_ranges

    def _refuse_what_is_of_the_loss(self) -> None:
        given = {
            "ranges": bool(self.ranges),
            "intercept": not self.intercept,
            "coef_bound": self.coef_bound is not None,
            "ridge": self.ridge is not None,
        }
        for name in (name for name, stated in given.items() if stated):
            raise InvalidInput(
                f"{name} is for the loss, which needs a range of {listed(self.without_range)} too"
            )
