"""Block R² of every support of a data set, which uses no range; options of scores from blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray, IntArray
from mipselect.blocks import r_squared
from mipselect.blocks.normalised import ColumnsOfFeatures
from mipselect.blocks.partitions import (
    MOST_DEFAULT_SECONDS,
    Blocks,
    default_block_rows,
    default_rows_of_least_squares,
)
from mipselect.blocks.scores import BLOCKS, R2, BlockOptions
from mipselect.errors import InvalidInput
from mipselect.frames import numeric_target
from mipselect.parameters import completed_by
from mipselect.problem.data import Rows, problem_with_rows
from mipselect.problem.instance import Instance
from mipselect.problem.layout import Always, Groups
from mipselect.problem.problem import OfProblem, Problem
from mipselect.validation import set_fields

UNWEIGHTED_R2 = (
    "score 'block-r2' counts every row the same, and the schema has a survey weight: score "
    "'blocks', which is the default then, and 'loss' take weights"
)


def listed_features(problem: Problem, block_rows: int) -> r_squared.ListedFeatures:
    """Return the features of a problem with the columns of each, in blocks of so many rows.

    Columns stand in the order of the layout, and the target is the last.
    """
    if problem.units is not None:
        columns = problem.units.parts
    else:
        layout = problem.layout
        widths = [len(part) for part in (*layout.groups, *layout.always)]
        ends = np.cumsum([0, *widths, 1]).tolist()
        parts = tuple(tuple(range(a, b)) for a, b in pairwise(ends))
        columns = ColumnsOfFeatures(parts, np.zeros(ends[-1], dtype=np.bool_))
    return r_squared.ListedFeatures(columns, problem.n_features, problem.support_size, block_rows)


@completed_by(Instance.from_blocks)
class BlockScores(OfProblem):
    """Block R²: the score F(S) of every support, which one row moves by at most 1.

    The rows are divided at random into blocks of b. Within a block every support S has the
    adjusted R² of ridge regression on it, as a share u(S) of the best of this block, from 0
    to 1. F(S) is the sum of u(S) over all blocks, the mean of T partitions. A row is in one block
    of each partition, and nothing that stands in it moves u beyond [0, 1]: no range of a column or
    of the target is asked for.

    Parameters
    ----------
    block_rows : int, optional
        b > s + 2, rows of a block. Default: a public rule of n, ε, s and widths.
    partitions : int, optional
        T. Default: up to 8, as long as all of them take no more than three seconds by the estimate.
    epsilon : float
        ε for which the default of `block_rows` is chosen; a draw states its own.

    Attributes
    ----------
    problem : Problem
        Public.
    n : int
        Rows; of a table with a privacy unit, people.

    Raises
    ------
    InvalidInput
        For more than 1,000,000 supports, or blocks of too few rows.

    Notes
    -----
    Rows are known up to n only: guarantees are those of replacing one. `ExponentialMechanism`
    takes scores where it takes an `Instance`, and draws ∝ exp(εF(S)/2).

    Of a table with a schema `Instance.from_table` with the score "block-r2" makes them: a category
    is one feature of several columns; a missing value is 0 after centring, and `=missing` a column
    of its feature.

    References
    ----------
    docs/mathematics/block-r2.md.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect import BlockScores, ExponentialMechanism
    >>> X = np.random.default_rng(0).standard_normal((2000, 8))
    >>> scores = BlockScores(X, X[:, 1] - X[:, 4], support_size=2, partition_seed=1)
    >>> scores.sensitivity, scores.number_of_supports
    (1.0, 28)
    >>> ExponentialMechanism(scores, epsilon=1.0).release().support
    (1, 4)
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        support_size: int,
        block_rows: int | None = None,
        partitions: int | None = None,
        partition_seed: int | None = None,
        epsilon: float = 1.0,
        groups: Groups = None,
        always: Always = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        problem, rows = problem_with_rows(
            X,
            y,
            support_size=support_size,
            feature_names=feature_names,
            groups=groups,
            always=always,
            loss=None,
        )
        options = BlockOptions(
            block_rows=block_rows,
            partitions=partitions,
            partition_seed=partition_seed,
            epsilon=epsilon,
        )
        set_fields(self, **vars(self.of_rows(of_r_squared(options, problem, rows.n), rows)))

    @classmethod
    def of_rows(cls, problem: Problem, rows: Rows) -> BlockScores:
        """Score the supports of a problem of block R² of arrays, whose blocks are settled.

        Raises
        ------
        InvalidInput
            For a target that is no number for each row.
        """
        target = numeric_target(rows.y, rows.n)
        return cls.of(problem, np.column_stack([rows.columns(problem), target]))

    @classmethod
    def of(cls, problem: Problem, rows: FloatArray) -> BlockScores:
        """Score the supports of rows whose columns stand as in the layout, the target last."""
        assert problem.blocks is not None
        new, features = cls.__new__(cls), listed_features(problem, problem.blocks.rows)
        set_fields(new, problem=problem, n=len(rows), _features=features, _rows=rows)
        return new

    _features: r_squared.ListedFeatures
    _rows: FloatArray

    def __repr__(self) -> str:
        return (
            f"BlockScores(n={self.n}, n_features={self.n_features}, "
            f"support_size={self.support_size}, block_rows={self._blocks.rows}, "
            f"partitions={self._blocks.partitions})"
        )

    @property
    def _blocks(self) -> Blocks:
        assert self.problem.blocks is not None
        return self.problem.blocks

    def value_error_of(self, n: int) -> float:
        """Return 0: sums are exact."""
        return 0.0

    @cached_property
    def counts(self) -> IntArray:
        """2²⁰ T F(S) of every support in lexicographic order, int64 of shape (N,). Sensitive."""
        return self._counted(r_squared.unwatched)

    def score(self, tick: r_squared.Tick) -> None:
        """Compute `counts`, unless they are known.

        Parameters
        ----------
        tick : callable
            See `r_squared_counts`; what it raises ends the work, and nothing is kept of it.
        """
        if "counts" not in vars(self):
            vars(self)["counts"] = self._counted(tick)

    def _counted(self, tick: r_squared.Tick) -> IntArray:
        counts = r_squared.r_squared_counts(
            self._rows, self._features, self._blocks, r_squared.cores(), tick
        )
        counts.flags.writeable = False
        return counts

    @cached_property
    def all_scores(self) -> FloatArray:
        """F(S) of every support in lexicographic order, shape (N,). Sensitive."""
        scores: FloatArray = self.counts / float(r_squared.UNITS * self._blocks.partitions)
        scores.flags.writeable = False
        return scores

    def scores(self, supports: ArrayLike) -> FloatArray:
        """Compute F of every row of `supports`, shape (m, s): shape (m,). Sensitive.

        Raises
        ------
        InvalidInput
            For anything but s distinct features a row.
        """
        return -self.values(self.problem.check_supports(supports))

    def values(self, supports: IntArray) -> FloatArray:
        """Compute -F of sorted supports, shape (m, s), small where a support is good. Sensitive."""
        return -self.all_scores[r_squared.lexicographic_ranks(supports, self.n_features)]

    @property
    def prepared(self) -> BlockScores:
        """Itself, for what lists supports with their values."""
        return self

    def with_support_size(self, support_size: int) -> BlockScores:
        """Return the scores themselves; a support of another size has no score here.

        Raises
        ------
        InvalidInput
            For another size.
        """
        self.problem.with_support_size(support_size)
        return self


UNKNOWN_ROWS = 10_000
"""n by which the default is chosen where it is not known before a row is read."""


def chosen(options: BlockOptions, problem: Problem, n: int | None) -> str:
    """Return "blocks" or "block-r2": what was asked for, or the default.

    Block R² is the default where all supports can be listed within a minute by a public
    estimate. A bound, a ridge, b ≤ s + 2 or a survey weight ask for least squares.

    Parameters
    ----------
    problem : Problem
        Its columns, those always in and s count; bounds and loss do not.
    n : int or None
        Rows; None where they are not known yet.
    """
    if problem.weight_bound is not None and options.score == R2:
        raise InvalidInput(UNWEIGHTED_R2)
    if options.score is not None:
        return options.score
    stated = (problem.weight_bound, options.coef_bound, options.ridge) != (None, None, None)
    short = options.block_rows is not None and options.block_rows <= problem.support_size + 2
    if stated or short or not options.lists or problem.number_of_supports > r_squared.MOST_SUPPORTS:
        return BLOCKS
    rows = UNKNOWN_ROWS if n is None else n
    b = options.block_rows or default_block_rows(rows, options.epsilon, problem.support_size)
    if rows < b:
        return BLOCKS
    seconds = r_squared.r_squared_seconds(
        rows, options.partitions or 1, listed_features(problem, b)
    )
    return R2 if seconds <= MOST_DEFAULT_SECONDS else BLOCKS


def scored(options: BlockOptions, problem: Problem, n: int | None = None) -> Problem:
    """Return the problem with the score that is chosen; see `of_r_squared` for n."""
    if chosen(options, problem, n) == R2:
        return of_r_squared(options, problem, n)
    classes = problem.units is not None and problem.units.target.classes is not None
    b = options.block_rows or default_rows_of_least_squares(classes=classes)
    blocks = Blocks.of(b, options.partitions, options.partition_seed)
    return problem.in_blocks(blocks, options.coef_bound, options.ridge)


def of_r_squared(options: BlockOptions, problem: Problem, n: int | None) -> Problem:
    """Return the problem of block R², with its blocks where n is known.

    Raises
    ------
    InvalidInput
        For too many supports, or blocks of too few rows.
    """
    s, blocks = problem.support_size, None
    r_squared.require_listable(problem.n_features, s)
    if options.block_rows is not None:
        r_squared.require_rows(options.blocks, s)
    if n is not None:
        b = options.block_rows or default_block_rows(n, options.epsilon, s)
        features = listed_features(problem, b)
        blocks = r_squared.settled_blocks(n, features, options.partitions, options.partition_seed)
    return replace(problem.needing(()), score=R2, blocks=blocks)


def scored_rows(
    options: BlockOptions, problem: Problem, rows: Rows, device: str | None = None
) -> Instance | BlockScores:
    """Return what is drawn from, of rows whose columns stand as in the layout of a problem.

    The problem has neither a loss nor bounds. A device adds up pairs, and not R² of blocks.
    """
    asked = scored(options, problem, rows.n)
    if asked.score == R2:
        return BlockScores.of_rows(asked, rows)
    return Instance.of_rows(asked, rows, device)
