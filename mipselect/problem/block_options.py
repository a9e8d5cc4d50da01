"""`BlockOptions`: public options of a score from blocks, and the way from rows to its values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mipselect.blocks.defaults import (
    MOST_DEFAULT_SECONDS,
    default_block_rows,
    default_rows_of_least_squares,
)
from mipselect.blocks.normalised import ColumnsOfFeatures
from mipselect.blocks.partitions import Blocks
from mipselect.blocks.r_squared import ListedFeatures
from mipselect.blocks.r_squared_choice import (
    MOST_SECONDS,
    MOST_SUPPORTS,
    BlockR2Choice,
    r_squared_seconds,
)
from mipselect.docstrings import completed_by
from mipselect.errors import InvalidInput
from mipselect.problem.block_problem import (
    UNWEIGHTED_R2,
    array_columns,
    block_moments_in_memory,
    problem_of_block_r2,
    problem_of_table_blocks,
    rows_of_table,
)
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.data import Rows
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.problem.scores import BLOCKS, R2, require_together
from mipselect.tables.mapping import known_rows, open_table
from mipselect.tables.moments import Moments
from mipselect.tables.moments.columns import TableBlockColumns, parts_of_table
from mipselect.tables.parts import total_rows
from mipselect.tables.public_map import PublicMap
from mipselect.tables.question import TableQuestion
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

    def _chosen_of_table(self, n: int | None, public: PublicMap, support_size: int) -> str:
        """Choose as `chosen` does for a table; a survey weight goes with least squares only."""
        if public.weight is None:
            return self.chosen(n, parts_of_table(public), len(public.features), support_size)
        if self.score == R2:
            raise InvalidInput(UNWEIGHTED_R2)
        return BLOCKS

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
        columns = array_columns(problem, Blocks()).parts
        if self.chosen(n, columns, problem.n_features, problem.support_size) == R2:
            return problem_of_block_r2(problem, columns, self, n)
        return problem.in_blocks(self.blocks, self.coef_bound, self.ridge)

    def of_table(
        self, source: Any, question: TableQuestion, support_size: int
    ) -> Instance | BlockScores:
        """Return what is drawn from, of a table with a schema; see `Instance.from_blocks`."""
        blocks, public = self._blocks_of(question), question.without_ranges
        # How many rows people have is private: the score must not depend on it.
        n, rows, at_once = None, None, public.unit is not None
        if self.score is None and not at_once:
            parts = open_table(source, public)
            n = total_rows(part.rows for part in parts)
            # A table in no file and of unknown length may be read once only.
            at_once = n is None and not any(part.places for part in parts)
            if n is None and not at_once:
                n = sum(batch.num_rows for part in parts for batch in part.read(public.names[:1]))
            if n == 0:
                raise InvalidInput(f"{parts[0].label}: the table has no rows")
        if at_once:
            rows = rows_of_table(source, public, self.order_seed)
            n = len(rows)
        if self._chosen_of_table(n, public, support_size) == R2:
            problem = problem_of_table_blocks(question, Blocks(), support_size=support_size)
            rows = rows_of_table(source, public) if rows is None else rows
            return BlockScores.of_table(problem, public, self, rows)
        columns = TableBlockColumns(question, blocks)
        if rows is None:
            moments = Moments.of_blocks(source, columns)
        else:
            moments = block_moments_in_memory(columns, public, rows)
        return Instance.from_moments(
            moments,
            support_size=support_size,
            always=question.always,
            coef_bound=self.coef_bound,
            ridge=self.ridge,
        )

    def _blocks_of(self, question: TableQuestion) -> Blocks:
        """Return the blocks of least squares of a table, b by the public rule."""
        if self.block_rows is not None:
            return self.blocks
        of_classes = question.without_ranges.target.classes is not None
        return replace(self.blocks, rows=default_rows_of_least_squares(classes=of_classes))

    def problem_of_table(
        self, source: Any, question: TableQuestion, support_size: int
    ) -> tuple[Problem, int | None]:
        """Return what is public of `of_table`, and n where a header says it; no row is read.

        A source of None is one that is not there yet.
        """
        public = question.without_ranges
        n = known_rows(source, public)
        problem = problem_of_table_blocks(
            question,
            self._blocks_of(question),
            support_size=support_size,
            coef_bound=self.coef_bound,
            ridge=self.ridge,
        )
        if self._chosen_of_table(n, public, support_size) == R2:
            problem = problem_of_block_r2(problem, parts_of_table(public), self, n)
        return problem, n


@dataclass(frozen=True)
class ScoredTable:
    """A table with a schema, the question about it, and the score of its supports.

    Attributes
    ----------
    source : path or table, or None
        None is one that is not there yet, of which the problem is known.
    question : TableQuestion
    support_size : int
    of_loss : mapping
        Settings of the loss: what was given of intercept, coef_bound, ridge and loss.
    blocks : BlockOptions or None
        Score from blocks of rows, for which types and categories of the schema are used and no
        range; None for the loss.
    """

    source: Any = field(repr=False)
    question: TableQuestion
    support_size: int
    of_loss: Mapping[str, Any]
    blocks: BlockOptions | None

    def problem(self) -> tuple[Problem, int | None]:
        """Return what is public, of a header that is right, and n if it is known; no row is read.

        Raises
        ------
        InvalidInput
        """
        question, size = self.question, self.support_size
        if self.blocks is not None:
            return self.blocks.problem_of_table(self.source, question, size)
        public = question.public
        problem = Problem.of_table(public, support_size=size, **self.of_loss)
        return problem, known_rows(self.source, public)

    def made(self) -> Instance | BlockScores:
        """Read the table; what is raised does not depend on the rows."""
        question, size = self.question, self.support_size
        if self.blocks is not None:
            return self.blocks.of_table(self.source, question, size)
        return Instance.of_table(self.source, question, support_size=size, **self.of_loss)
