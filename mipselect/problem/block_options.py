"""`BlockOptions`: public options of a score from blocks, and the way from rows to its values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mipselect.blocks.defaults import block_r2_by_default, default_block_rows
from mipselect.blocks.normalised import ColumnsOfFeatures
from mipselect.blocks.partitions import OF_BLOCKS, Blocks
from mipselect.blocks.r_squared import ListedFeatures
from mipselect.blocks.r_squared_choice import MOST_SUPPORTS, BlockR2Choice
from mipselect.blocks.r_squared_cost import r_squared_seconds
from mipselect.errors import InvalidInput
from mipselect.problem.block_problem import array_columns, problem_of_blocks, rows_of_table
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.data import Rows
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.tables.mapping import open_table
from mipselect.tables.moments.block_columns import TableBlockColumns, parts_of_table
from mipselect.tables.parts import total_rows
from mipselect.tables.public_map import PublicMap
from mipselect.tables.schema import TableSchema
from mipselect.validation import checked_choice, checked_epsilon, set_fields

LEAST_SQUARES, R2 = "blocks", "block-r2"

UNKNOWN_ROWS = 10_000
"""n by which the default is chosen where it is not known before a row is read."""


@dataclass(frozen=True, kw_only=True)
class BlockOptions:
    """Public options of a score from blocks of rows; those that are None are chosen by rules.

    Attributes
    ----------
    score : {"blocks", "block-r2"}, optional
        Least squares on blocks, or block R². Default: block R² where supports are few, see
        `chosen`.
    block_rows, partitions, partition_seed : int, optional
        b and T; see `Instance.from_blocks` and `BlockScores`.
    coef_bound, ridge : float, optional
        r and λ of least squares.
    epsilon : float
        ε of a draw, for which the b of block R² is chosen.
    lists : bool
        True if what draws can list all supports, and draws one size.

    Raises
    ------
    InvalidInput
    """

    score: str | None = None
    block_rows: int | None = None
    partitions: int | None = None
    partition_seed: int | None = None
    coef_bound: float | None = None
    ridge: float | None = None
    epsilon: float = 1.0
    lists: bool = True

    def __post_init__(self) -> None:
        set_fields(self, epsilon=checked_epsilon(self.epsilon))
        if self.score is not None:
            checked_choice(self.score, "score", (LEAST_SQUARES, R2))
        if self.score == R2:
            if not self.lists:
                raise InvalidInput(
                    "score 'block-r2' goes with exact draws of one size: exponential and "
                    "permute-and-flip"
                )
            for name in ("coef_bound", "ridge"):
                if getattr(self, name) is not None:
                    raise InvalidInput(f"{name} goes with score 'blocks': block R² has none")

    def chosen(
        self, n: int | None, columns: ColumnsOfFeatures, count: int, support_size: int
    ) -> str:
        """Return "blocks" or "block-r2": what was asked for, or the default.

        Block R² is the default where all supports can be listed within a minute by a public
        estimate, and no feature is wide or nε small (`block_r2_by_default`). A bound, a ridge or
        b ≤ s + 2 ask for least squares.

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
            return LEAST_SQUARES
        rows = UNKNOWN_ROWS if n is None else n
        b = self.block_rows or default_block_rows(rows, self.epsilon, support_size)
        if rows < b:
            return LEAST_SQUARES
        features = ListedFeatures(columns, count, support_size, b)
        seconds = r_squared_seconds(rows, self.partitions or 1, features)
        widest = max(map(len, columns.parts))
        by_r2 = block_r2_by_default(seconds, widest, rows * self.epsilon)
        return R2 if by_r2 else LEAST_SQUARES

    @property
    def of_block_r2(self) -> dict[str, Any]:
        """Arguments of `BlockScores`."""
        return {name: getattr(self, name) for name in (*OF_BLOCKS, "epsilon")}

    @property
    def of_least_squares(self) -> dict[str, Any]:
        """Arguments of `Instance.from_blocks` that were given."""
        names = (*OF_BLOCKS, "coef_bound", "ridge")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    @property
    def blocks(self) -> Blocks:
        """Blocks of least squares."""
        return Blocks.of(self.block_rows, self.partitions, self.partition_seed)

    def of_rows(self, problem: Problem, rows: Rows) -> Instance | BlockScores:
        """Return what is drawn from, of rows whose columns stand as in the layout of a problem.

        Parameters
        ----------
        problem : Problem
            Without a loss or bounds.
        rows : Rows
        """
        if self._of_arrays(rows.n, problem) == R2:
            return BlockScores.of_rows(problem, rows, BlockR2Choice(**self.of_block_r2))
        return Instance.of_rows(problem.in_blocks(self.blocks, self.coef_bound, self.ridge), rows)

    def problem_of_arrays(self, problem: Problem, n: int | None = None) -> Problem:
        """Return what is public of `of_rows`; the blocks of block R² only where n is known."""
        if self._of_arrays(n, problem) == R2:
            return problem.in_block_r2(None)
        return problem.in_blocks(self.blocks, self.coef_bound, self.ridge)

    def _of_arrays(self, n: int | None, problem: Problem) -> str:
        columns = array_columns(problem, Blocks()).parts
        return self.chosen(n, columns, problem.n_features, problem.support_size)

    def of_table(
        self,
        source: Any,
        schema: TableSchema,
        *,
        target: str,
        support_size: int,
        always: Sequence[str] = (),
        never: Sequence[str] = (),
        unit_rule: str = "first",
    ) -> Instance | BlockScores:
        """Return what is drawn from, of a table with a schema; see `Instance.from_blocks`."""
        question: dict[str, Any] = {"target": target, "always": always, "never": never}
        columns = TableBlockColumns(schema, target, tuple(never), self.blocks)
        public = columns.question(always)
        n = None if self.score is not None else _public_rows(source, public, unit_rule)
        score = self.chosen(n, parts_of_table(public), len(public.features), support_size)
        question |= {"support_size": support_size, "unit_rule": unit_rule}
        if score == R2:
            return BlockScores.from_table(source, schema, **question, **self.of_block_r2)
        return Instance.from_blocks(source, schema=schema, **question, **self.of_least_squares)

    def problem_of_table(
        self, source: Any, schema: TableSchema, **question: Any
    ) -> tuple[Problem, int | None]:
        """Return what is public of `of_table`, and n where a header says it; no row is read.

        A source of None is one that is not there yet.
        """
        always, size = question.get("always", ()), question["support_size"]
        never = tuple(question.get("never", ()))
        columns = TableBlockColumns(schema, question["target"], never, self.blocks)
        public = columns.question(always)
        unknown = source is None or schema.privacy_unit is not None
        parts = () if source is None else open_table(source, public)
        n = None if unknown else total_rows(part.rows for part in parts)
        problem = problem_of_blocks(
            columns,
            support_size=size,
            coef_bound=self.coef_bound,
            ridge=self.ridge,
            always=always,
        )
        score = self.chosen(n, parts_of_table(public), len(public.features), size)
        return (problem.in_block_r2(None) if score == R2 else problem), n


def _public_rows(source: Any, public: PublicMap, unit_rule: str) -> int:
    """n, from the headers or in one pass: rows or, of a table with a privacy unit, people.

    How many rows people have is private: the score must not depend on it.
    """
    if public.unit is not None:
        return len(rows_of_table(source, public, unit_rule))
    parts = open_table(source, public)
    known = total_rows(part.rows for part in parts)
    if known is not None:
        return known
    return sum(batch.num_rows for part in parts for batch in part.read(public.names[:1]))
