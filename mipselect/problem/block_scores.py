"""`BlockScores`: block R² of every support of a data set; no range of any column is used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray, IntArray
from mipselect.blocks.normalised import ColumnsOfFeatures
from mipselect.blocks.r_squared import (
    UNITS,
    BlockR2,
    ListedFeatures,
    Tick,
    cores,
    r_squared_counts,
    unwatched,
)
from mipselect.blocks.r_squared_choice import MOST_SECONDS, BlockR2Choice
from mipselect.frames import numeric_target
from mipselect.problem.block_problem import columns_of_features, problem_of_block_r2
from mipselect.problem.data import Rows, problem_with_rows
from mipselect.problem.layout import Always, Groups
from mipselect.problem.of_problem import OfProblem
from mipselect.problem.problem import Problem
from mipselect.validation import set_fields

if TYPE_CHECKING:
    from mipselect.tables.schema import TableSchema


class BlockScores(OfProblem):
    """Block R²: the score F(S) of every support, which one row moves by at most 1.

    The rows are divided at random into blocks of b. Within a block every support S has the
    adjusted R² of ridge regression on it, as a share u(S) of the best of this block, from 0
    to 1. F(S) is the sum of u(S) over all blocks, the mean of T partitions. A row is in one block
    of each partition, and nothing that stands in it moves u beyond [0, 1]: no range of a column or
    of the target is asked for.

    Parameters
    ----------
    X, y : array_like
        Shapes (n, p) and (n,), as for `Instance`. Classes are two numbers.
    support_size : int
        s, how many features to choose.
    block_rows : int, optional
        b > s + 2, rows of a block. Default: a public rule of n, ε, s and widths.
    partitions : int, optional
        T. Default: up to 8, as long as all of them take no more than three seconds by the estimate.
    partition_seed : int, optional
        The partitions are drawn from it; default from the operating system. Choose it without
        looking at the data.
    epsilon : float
        ε for which the default of `block_rows` is chosen; a draw states its own.
    groups, always, feature_names : optional
        As for `Instance`.
    most_seconds : float
        Refuse if the scores would take longer on one core by a public estimate; ``inf`` never
        refuses.

    Attributes
    ----------
    problem : Problem
        Public.
    settings : BlockR2
        Public but for the seed.
    n : int
        Rows; of a table with a privacy unit, people.

    Raises
    ------
    InvalidInput
        For more than 1,000,000 supports, blocks of too few rows, or too long a time.

    Notes
    -----
    Rows are known up to n only: guarantees are those of replacing one. `ExponentialMechanism`
    takes scores where it takes an `Instance`, and draws ∝ exp(εF(S)/2).

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

    settings: BlockR2
    n: int

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
        most_seconds: float = MOST_SECONDS,
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
        columns = columns_of_features(problem.layout)
        choice = BlockR2Choice(
            block_rows=block_rows,
            partitions=partitions,
            partition_seed=partition_seed,
            epsilon=epsilon,
            most_seconds=most_seconds,
        )
        settled = problem_of_block_r2(problem, columns, choice, rows.n)
        self._hold(settled, columns, _side_by_side(settled, rows))

    @classmethod
    def of_rows(cls, problem: Problem, rows: Rows) -> BlockScores:
        """Score the supports of a problem of block R² of arrays, whose blocks are settled.

        Parameters
        ----------
        problem : Problem
        rows : Rows
            Finite.

        Raises
        ------
        InvalidInput
            For a target that is no number for each row.
        """
        columns = columns_of_features(problem.layout)
        return cls.of(problem, columns, _side_by_side(problem, rows))

    @classmethod
    def of(cls, problem: Problem, columns: ColumnsOfFeatures, rows: FloatArray) -> BlockScores:
        """Score the supports of rows that stand as these columns do, the target last."""
        scores = cls.__new__(cls)
        scores._hold(problem, columns, rows)
        return scores

    @classmethod
    def from_table(
        cls,
        source: Any,
        schema: TableSchema,
        *,
        target: str,
        support_size: int,
        always: Sequence[str] = (),
        never: Sequence[str] = (),
        block_rows: int | None = None,
        partitions: int | None = None,
        partition_seed: int | None = None,
        epsilon: float = 1.0,
        unit_rule: str = "first",
        most_seconds: float = MOST_SECONDS,
    ) -> BlockScores:
        """Read a table with a schema, whose numbers need no range.

        A category is one feature of several columns; a missing value is 0 after centring, and
        `=missing` a column of its feature.

        Parameters
        ----------
        source, schema, target, always, never, unit_rule
            As for `Instance.from_table`. Several rows of a person become one.
        support_size, block_rows, partitions, partition_seed, epsilon, most_seconds
            As for the class.

        Raises
        ------
        InvalidInput
        """
        from mipselect.tables.instances import block_scores_of_table
        from mipselect.tables.public_map import TableQuestion

        question = TableQuestion(schema, target, always, never, unit_rule=unit_rule)
        choice = BlockR2Choice(
            block_rows=block_rows,
            partitions=partitions,
            partition_seed=partition_seed,
            epsilon=epsilon,
            most_seconds=most_seconds,
        )
        return block_scores_of_table(source, question, support_size, choice)

    def _hold(self, problem: Problem, columns: ColumnsOfFeatures, rows: FloatArray) -> None:
        assert problem.blocks is not None
        features = ListedFeatures(
            columns, problem.n_features, problem.support_size, problem.blocks.rows
        )
        settings, n = BlockR2(problem.blocks), len(rows)
        set_fields(self, problem=problem, settings=settings, n=n, _features=features, _rows=rows)

    _features: ListedFeatures
    _rows: FloatArray

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"BlockScores are immutable; make new ones to change {name}")

    def __repr__(self) -> str:
        return (
            f"BlockScores(n={self.n}, n_features={self.n_features}, "
            f"support_size={self.support_size}, block_rows={self.settings.blocks.rows}, "
            f"partitions={self.settings.blocks.partitions})"
        )

    @property
    def sensitivity(self) -> float:
        """1: the most that F(S) moves, for any S, when one row is replaced."""
        return 1.0

    @property
    def oscillation(self) -> float:
        """1: half of the length of [-1, 1], which holds F'(S) - F(S) for all S."""
        return 1.0

    def value_error_of(self, n: int) -> float:
        """Return 0: sums are exact."""
        return 0.0

    @property
    def ridge(self) -> float:
        """ℓ of ridge regression within a block."""
        return self.settings.penalty

    @cached_property
    def counts(self) -> IntArray:
        """2²⁰ T F(S) of every support in lexicographic order, int64 of shape (N,). Sensitive."""
        return self._counted(unwatched)

    def score(self, tick: Tick) -> None:
        """Compute `counts`, unless they are known.

        Parameters
        ----------
        tick : callable
            See `r_squared_counts`; what it raises ends the work, and nothing is kept of it.
        """
        if "counts" not in vars(self):
            vars(self)["counts"] = self._counted(tick)

    def _counted(self, tick: Tick) -> IntArray:
        counts = r_squared_counts(self._rows, self._features, self.settings, cores(), tick)
        counts.flags.writeable = False
        return counts

    @cached_property
    def all_scores(self) -> FloatArray:
        """F(S) of every support in lexicographic order, shape (N,). Sensitive."""
        scores: FloatArray = self.counts / float(UNITS * self.settings.blocks.partitions)
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
        return -self.all_scores[_lexicographic_ranks(supports, self.n_features)]

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

    def public(self) -> dict[str, Any]:
        """Return all that is public about them, by the keys of reports and ledgers."""
        return self.problem.public()


def _side_by_side(problem: Problem, rows: Rows) -> FloatArray:
    """Put the columns of a problem and the target side by side, shape (n, p + 1)."""
    return np.column_stack([rows.columns(problem), numeric_target(rows.y, rows.n)])


def _lexicographic_ranks(supports: IntArray, n_features: int) -> IntArray:
    """Compute `ranks.rank` of many sorted supports, shape (m,)."""
    s = supports.shape[1]
    later = np.zeros(len(supports), dtype=np.int64)
    for i in range(s):
        table = np.array([math.comb(n_features - 1 - j, s - i) for j in range(n_features)])
        later += table[supports[:, i]]
    return math.comb(n_features, s) - 1 - later
