"""Settings of block R² where some are left open, and what is too much; no row is looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mipselect.blocks.defaults import default_block_rows, default_partitions
from mipselect.blocks.normalised import ColumnsOfFeatures
from mipselect.blocks.partitions import Blocks
from mipselect.blocks.r_squared import BlockR2, ListedFeatures
from mipselect.blocks.r_squared_cost import r_squared_seconds
from mipselect.errors import InvalidInput
from mipselect.validation import checked_epsilon, checked_time_limit, set_fields

MOST_SUPPORTS = 1_000_000
"""More supports are not listed; their scores and weights would fill the memory."""

MOST_SECONDS = 600.0
"""Default of the longest time that is estimated for the scores of all supports."""


def most_seconds_within(time_limit: float | None) -> float:
    """Return the longest estimate for a draw with a time limit: a longer limit allows more."""
    return MOST_SECONDS if time_limit is None else max(MOST_SECONDS, time_limit)


@dataclass(frozen=True, kw_only=True)
class BlockR2Choice:
    """Public options of block R²; those that are None are chosen by rules.

    Attributes
    ----------
    block_rows : int, optional
        b; else `default_block_rows`.
    partitions : int, optional
        T; else `default_partitions`.
    partition_seed : int, optional
        Else from the operating system.
    epsilon : float
        ε for which b is chosen.
    most_seconds : float
        More are refused.

    Raises
    ------
    InvalidInput
    """

    block_rows: int | None = None
    partitions: int | None = None
    partition_seed: int | None = None
    epsilon: float = 1.0
    most_seconds: float = MOST_SECONDS

    def __post_init__(self) -> None:
        set_fields(
            self,
            epsilon=checked_epsilon(self.epsilon),
            most_seconds=checked_time_limit(self.most_seconds, "most_seconds"),
        )

    def require_listed(self, count: int, support_size: int) -> None:
        """Raise `InvalidInput` for what is too much or too little whatever n is.

        Parameters
        ----------
        count : int
            Features to choose from.
        support_size : int
            s.
        """
        total = math.comb(count, support_size)
        if total > MOST_SUPPORTS:
            raise InvalidInput(
                f"block R² looks at every support, and there are {total:,}, more than "
                f"{MOST_SUPPORTS:,}: choose fewer features, leave some out, or take least squares "
                "on blocks, Instance.from_blocks"
            )
        given = Blocks.of(self.block_rows, self.partitions, self.partition_seed)
        if self.block_rows is not None:
            BlockR2(given).require_rows(support_size)

    def settings(
        self, n: int, columns: ColumnsOfFeatures, count: int, support_size: int
    ) -> BlockR2:
        """Return the settings for n rows, or refuse what is too much.

        Parameters
        ----------
        n : int
        columns : ColumnsOfFeatures
        count : int
            Features to choose from, the first parts of `columns`.
        support_size : int
            s.

        Raises
        ------
        InvalidInput
            For more than 1,000,000 supports, for b ≤ s + 2, for n < b, or where the estimated time
            is longer than `most_seconds`.
        """
        self.require_listed(count, support_size)
        b = self.block_rows
        if b is None:
            b = default_block_rows(n, self.epsilon, support_size)
        one = Blocks.of(b, 1, self.partition_seed)
        BlockR2(one).require_rows(support_size)
        if n < one.rows:
            raise InvalidInput(f"{n} rows are no block of {one.rows}")
        features = ListedFeatures(columns, count, support_size, one.rows)
        seconds = r_squared_seconds(n, 1, features)
        partitions = default_partitions(seconds) if self.partitions is None else self.partitions
        blocks = Blocks.of(one.rows, partitions, self.partition_seed)
        seconds *= blocks.partitions
        if seconds > self.most_seconds:
            total = math.comb(count, support_size)
            raise InvalidInput(
                f"block R² of {total:,} supports in {blocks.terms(n):,} blocks "
                f"would take about {seconds:,.0f} s on one core, more than most_seconds = "
                f"{self.most_seconds:g}: raise it, or the time limit of a draw, take fewer "
                "partitions or features, or least squares on blocks, Instance.from_blocks"
            )
        return BlockR2(blocks)
