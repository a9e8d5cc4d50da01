"""Settings of block R² where some are left open, and the time they take; no row is looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mipselect.blocks.normalised import ColumnsOfFeatures
from mipselect.blocks.partitions import Blocks, default_block_rows, default_partitions
from mipselect.blocks.r_squared import BlockR2, ListedFeatures, batch_size
from mipselect.errors import InvalidInput
from mipselect.validation import checked_epsilon, checked_time_limit, set_fields

MOST_SUPPORTS = 1_000_000
"""More supports are not listed; their scores and weights would fill the memory."""

MOST_SECONDS = 600.0
"""Default of the longest time that is estimated for the scores of all supports."""

SECONDS_PER_PRODUCT = 2e-8
"""Time of one product of two columns in one block, changed by a step, in both passes; slow core."""

SECONDS_PER_STEP = 8e-5
"""More of every step of a batch of blocks, however few they are."""


def r_squared_seconds(n: int, partitions: int, features: ListedFeatures) -> float:
    """Estimate the seconds of `r_squared_counts` on one core; no row is looked at.

    A support of s features is a step from one of s - 1. Among the supports with d features
    C(k, d-1) have the k-th, from 0, as their last.

    Parameters
    ----------
    n : int
        Rows.
    partitions : int
        T.
    features : ListedFeatures
        Their widths, s and b.
    """
    widths, s = features.widths, features.support_size
    left = sum(widths) + 1
    # Before the first step: the products of all columns, and their centring.
    steps, products = 0, features.block_rows * left * (left + 20) // 2
    for k, width in enumerate(widths):
        # No more than s - 1 features before the last one of a support can be chosen.
        for size in range(1, s + 1):
            nodes = math.comb(k, size - 1)
            if size == s:
                steps += nodes if width > 1 else 0
                products += nodes * width**3
            elif size == s - 1 and width == 1:
                steps += nodes
                products += nodes * left
            else:
                steps += nodes * width
                products += nodes * width * left**2
        left -= width
    blocks = n // features.block_rows * partitions
    batches = math.ceil(blocks / batch_size(sum(widths)))
    return blocks * products * SECONDS_PER_PRODUCT + batches * steps * SECONDS_PER_STEP


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

    @property
    def blocks(self) -> Blocks:
        """Blocks of what is given; the rest is as by default."""
        return Blocks.of(self.block_rows, self.partitions, self.partition_seed)

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
        given = self.blocks
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
        one.count(n)
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
