"""`BlockOptions`: public options of a score from blocks, and the way from rows to its values."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from mipselect.blocks.defaults import MOST_DEFAULT_SECONDS, default_block_rows
from mipselect.blocks.normalised import ColumnsOfFeatures
from mipselect.blocks.r_squared import ListedFeatures
from mipselect.blocks.r_squared_choice import (
    MOST_SECONDS,
    MOST_SUPPORTS,
    BlockR2Choice,
    r_squared_seconds,
)
from mipselect.docstrings import completed_by
from mipselect.problem.block_problem import columns_of_features, problem_of_block_r2
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.data import Rows
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.problem.scores import BLOCKS, R2, require_together
from mipselect.validation import checked_choice, set_fields

UNKNOWN_ROWS = 10_000
"""n by which the default is chosen where it is not known before a row is read."""


@completed_by(BlockR2Choice)
@dataclass(frozen=True, kw_only=True)
class BlockOptions(BlockR2Choice):
    """Public options of a score from blocks of rows; those that are None are chosen by rules.

    Attributes
    ----------
    score : {"blocks", "block-r2"}, optional
        Least squares on blocks, or block R². Default: block R² where supports are few, see
        `chosen`.
    block_rows, partitions, partition_seed, epsilon
        See `BlockR2Choice`.
    coef_bound, ridge : float, optional
        r and λ of least squares.
    time_limit : float, optional
        Seconds of a draw; more than 600 allow block R² so long by its public estimate.
    lists : bool
        True if what draws can list all supports, and draws one size.
    order_seed : int, optional
        From which the order of people is drawn, where nothing is to be private; default: from the
        operating system.

    Raises
    ------
    InvalidInput
    """

    score: str | None = None
    coef_bound: float | None = None
    ridge: float | None = None
    time_limit: float | None = None
    lists: bool = True
    order_seed: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        set_fields(self, most_seconds=max(MOST_SECONDS, self.time_limit or 0.0))
        if self.score is not None:
            checked_choice(self.score, "score", (BLOCKS, R2))
            require_together(self.score, vars(self), lists=self.lists)

    def seeded(self, seed: int | None) -> BlockOptions:
        """Return the same with partitions, and an order of people, of a draw with a seed."""
        return self if seed is None else replace(self, partition_seed=seed, order_seed=seed)

    def chosen(
        self, n: int | None, columns: ColumnsOfFeatures, count: int, support_size: int
    ) -> str:
        """Return "blocks" or "block-r2": what was asked for, or the default.

        Block R² is the default where all supports can be listed within a minute by a public
        estimate. A bound, a ridge or b ≤ s + 2 ask for least squares.

        Parameters
        ----------
        n : int or None
            Rows; None where they are not known yet.
        columns : ColumnsOfFeatures
            Those of the features come first, and the target is the last.
        count : int
            Features to choose from.
        support_size : int
        """
        if self.score is not None:
            return self.score
        stated = self.coef_bound is not None or self.ridge is not None
        short = self.block_rows is not None and self.block_rows <= support_size + 2
        if stated or short or not self.lists or math.comb(count, support_size) > MOST_SUPPORTS:
            return BLOCKS
        rows = UNKNOWN_ROWS if n is None else n
        b = self.block_rows or default_block_rows(rows, self.epsilon, support_size)
        if rows < b:
            return BLOCKS
        features = ListedFeatures(columns, count, support_size, b)
        seconds = r_squared_seconds(rows, self.partitions or 1, features)
        return R2 if seconds <= MOST_DEFAULT_SECONDS else BLOCKS

    def of_rows(self, problem: Problem, rows: Rows) -> Instance | BlockScores:
        """Return what is drawn from, of rows whose columns stand as in the layout of a problem.

        Parameters
        ----------
        problem : Problem
            Without a loss or bounds.
        rows : Rows
        """
        scored = self.problem_of_arrays(problem, rows.n)
        made = BlockScores if scored.score == R2 else Instance
        return made.of_rows(scored, rows)

    def problem_of_arrays(self, problem: Problem, n: int | None = None) -> Problem:
        """Return what is public of `of_rows`; the blocks of block R² only where n is known."""
        columns = columns_of_features(problem.layout)
        if self.chosen(n, columns, problem.n_features, problem.support_size) == R2:
            return problem_of_block_r2(problem, columns, self, n)
        return problem.in_blocks(self.blocks, self.coef_bound, self.ridge)
