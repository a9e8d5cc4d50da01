"""Problems and data of blocks of rows: no range of any column, and none of the target."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.blocks.normalised import ColumnsOfFeatures
from mipselect.blocks.partitions import Blocks
from mipselect.blocks.r_squared_choice import BlockR2Choice
from mipselect.errors import InvalidInput
from mipselect.problem.data import Rows
from mipselect.problem.layout import laid_out, layout_of_table
from mipselect.problem.problem import Problem
from mipselect.tables.frames import numeric_target
from mipselect.tables.mapping import open_table, read_rows
from mipselect.tables.moments import Moments
from mipselect.tables.moments.block_sums import block_sums
from mipselect.tables.moments.columns import ArrayBlockColumns, TableBlockColumns
from mipselect.tables.moments.dask_collections import names_of_dask
from mipselect.tables.parts import Part
from mipselect.tables.public_map import PublicMap
from mipselect.tables.question import TableQuestion

UNWEIGHTED_R2 = (
    "score 'block-r2' counts every row the same, and the schema has a survey weight: score "
    "'blocks', which is the default then, and 'loss' take weights"
)


def problem_of_table_blocks(
    question: TableQuestion,
    blocks: Blocks,
    *,
    support_size: int,
    coef_bound: float | None = None,
    ridge: float | None = None,
) -> Problem:
    """Return the problem of blocks of rows of a table; features and target have bound 1.

    Parameters
    ----------
    question : TableQuestion
    blocks : Blocks
    support_size : int
    coef_bound, ridge : float, optional
        r and λ, in units of a normalised block; see `mipselect.blocks.defaults`.

    Raises
    ------
    InvalidInput
    """
    public = question.without_ranges
    problem = Problem(
        layout=layout_of_table(public, intercept=False, bound=None),
        support_size=support_size,
        units=public.units,
        weight_bound=None if public.weight is None else public.weight.maximum,
    )
    return problem.in_blocks(blocks, coef_bound, ridge)


def problem_of_array_blocks(
    columns: ArrayBlockColumns,
    *,
    support_size: int,
    coef_bound: float | None = None,
    ridge: float | None = None,
) -> Problem:
    """Return the same of arrays, whose columns say which features there are."""
    groups = dict(zip(columns.feature_names, columns.groups, strict=True))
    names = columns.names
    layout = laid_out(len(names), None, names, groups=groups, always=columns.always)
    problem = Problem(layout=layout, support_size=support_size)
    return problem.in_blocks(columns.blocks, coef_bound, ridge)


def problem_of_block_r2(
    problem: Problem, columns: ColumnsOfFeatures, choice: BlockR2Choice, n: int | None
) -> Problem:
    """Return the problem of block R², with its blocks where n is known, or refuse what is too much.

    Parameters
    ----------
    problem : Problem
        Its features, those always in and s count; bounds and loss do not.
    columns : ColumnsOfFeatures
        Those of the features come first, and the target is the last.
    choice : BlockR2Choice
    n : int or None

    Raises
    ------
    InvalidInput
    """
    if problem.weight_bound is not None:
        raise InvalidInput(UNWEIGHTED_R2)
    asked = (columns, problem.n_features, problem.support_size)
    choice.require_listed(*asked[1:])
    blocks = None if n is None else choice.settings(n, *asked).blocks
    return replace(problem.needing(()), score="block-r2", blocks=blocks)


def block_moments_of_rows(problem: Problem, rows: Rows) -> Moments:
    """Add up the blocks of rows that are in memory, whose columns stand as in the layout."""
    assert problem.blocks is not None
    columns = array_columns(problem, problem.blocks)
    return Moments.of_blocks((rows.columns(problem), numeric_target(rows.y, rows.n)), columns)


def array_columns(problem: Problem, blocks: Blocks) -> ArrayBlockColumns:
    """Return the columns of a problem in the order of its layout."""
    layout = problem.layout
    place = {int(j): k for k, j in enumerate(layout.order)}
    return ArrayBlockColumns(
        tuple(layout.column_names[j] for j in layout.order.tolist()),
        tuple(tuple(place[j] for j in group) for group in layout.groups),
        tuple(tuple(place[j] for j in part) for part in layout.always),
        layout.feature_names,
        blocks,
    )


def block_moments_of_dask(X: Any, y: Any, blocks: Blocks) -> Moments:
    """Add up the blocks of Dask arrays or frames, whose columns are the features."""
    names = names_of_dask(X)
    singles = tuple((j,) for j in range(len(names)))
    return Moments.of_blocks((X, y), ArrayBlockColumns(names, singles, (), names, blocks))


def block_moments_of_table(source: Any, question: TableQuestion, blocks: Blocks) -> Moments:
    """Add up the blocks of a table; where it has a privacy unit, of one row of each person."""
    columns = TableBlockColumns(question, blocks)
    public = columns.public
    if public.unit is None:
        return Moments.of_blocks(source, columns)
    return block_moments_in_memory(columns, public, rows_of_table(source, public))


def block_moments_in_memory(
    columns: TableBlockColumns, public: PublicMap, rows: FloatArray
) -> Moments:
    """Add up the blocks of rows that `rows_of_table` read by a map, one of each person."""
    # Sums have the columns that are always in where the schema has them.
    places = {column.name: k for k, column in enumerate(public.columns)}
    order = [*(places[name] for name in columns.names), *range(len(places), rows.shape[1])]
    rows = rows[:, order]
    part = Part("the rows", (), (), len(rows), lambda _: iter([rows]))
    return Moments(columns, block_sums(columns, [part]).totals)


def rows_of_table(source: Any, public: PublicMap, order_seed: int | None = None) -> FloatArray:
    """Read X and y side by side, shape (n, p + 1); NaN where a value is missing.

    Where the schema has a weight, how much each row counts is one more column, the last.

    People are brought into an order that the operating system draws, so that the place of a row
    in the table has no part in what is released (docs/mathematics/blocks.md, (4)). An order from a
    seed repeats, and is not private.
    """
    X, y, shares = read_rows(open_table(source, public), public)
    rows = np.column_stack([X, y] if shares is None else [X, y, shares])
    if public.unit is None:
        return rows
    order = list(range(len(y)))
    source_of_order = random.SystemRandom() if order_seed is None else random.Random(order_seed)
    source_of_order.shuffle(order)
    return rows[order]
