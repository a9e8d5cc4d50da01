"""Problems, instances and scores of tables with a schema, of moments and of blocks."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute
from scipy.linalg import get_blas_funcs

from mipselect.arrays import FloatArray, IntArray
from mipselect.blocks.grid import MOST_ROWS
from mipselect.blocks.normalised import factors_of_blocks, normalised, signs_of_pairs
from mipselect.blocks.r_squared import cores
from mipselect.blocks.scores import R2, BlockOptions
from mipselect.errors import InvalidInput
from mipselect.losses import Loss, SquaredLoss, checked_loss
from mipselect.losses.base import leave_out, wants_classes
from mipselect.problem.block_scores import BlockScores, listed_features, scored
from mipselect.problem.data import ClippedRows, ExactSums
from mipselect.problem.instance import Instance
from mipselect.problem.layout import Always, Groups, Layout, laid_out
from mipselect.problem.problem import Problem
from mipselect.restricted.device import PairsOnDevice
from mipselect.tables.mapping import known_rows, open_table, read_rows
from mipselect.tables.moments import (
    MOST_THREADS,
    ONE,
    ArrayColumns,
    BlockColumns,
    IntMatrix,
    Moments,
    TableColumns,
    in_threads,
    zero_sums,
)
from mipselect.tables.numbers import header, number_table
from mipselect.tables.parts import TableFile
from mipselect.tables.public_map import PublicMap, TableQuestion
from mipselect.tables.schema import TableSchema
from mipselect.validation import checked_choice, checked_integer, shown

DEFAULT_RIDGE = 1.0
"""λ: as much as one row. More would buy no privacy, for Δ does not depend on it, and would hide
features that vary little. Neither it nor r depends on n: what is said of a release when a row is
added or removed needs an objective without it."""

REACH = 1.25
"""U with an intercept: how far predictions may reach, in halves of the range of the target."""


def default_coef_bound(support_size: int, always: int, intercept: bool) -> float:
    """Compute r = 1/√(s + a), or 1.25/√(s + a + 1) with an intercept, so that U = 1 or 1.25.

    U = 1 lets predictions reach both ends of the range of the target. An intercept needs a little
    room of its own, for a mean that is far from the middle of the range: else features that hardly
    vary would stand in for it. More room costs ε, for Δ grows with (1 + U)²; it does not grow with
    the size. docs/plan.md has the measurements.

    Parameters
    ----------
    support_size : int
        s, the largest number of features that may be chosen.
    always : int
        a, the fields that are always in.
    intercept : bool
    """
    reach = REACH if intercept else 1.0
    return reach / math.sqrt(support_size + always + intercept)


def layout_of_table(public: PublicMap, *, intercept: bool, bound: float | None) -> Layout:
    """Lay out a table with a schema: every field is a feature or always in, with the same bound."""
    names = [encoder.field.name for encoder in public.features]
    return laid_out(
        len(public.columns),
        [column.name for column in public.columns],
        groups=dict(zip(names, public.blocks[: len(names)], strict=True)),
        always=public.blocks[len(names) :],
        intercept=intercept,
        x_bound=bound,
    )


def problem_of_table(
    public: PublicMap,
    *,
    support_size: int,
    intercept: bool = True,
    coef_bound: float | None = None,
    ridge: float | None = None,
    loss: str | Loss = "squared",
) -> Problem:
    """Make the problem of a table with a schema: every field is a feature, all in [-1, 1].

    The arguments are those of `Instance.from_table`.
    """
    law, classes = checked_loss(loss), public.target.classes
    if wants_classes(law) and classes is None:
        raise InvalidInput(
            f"the {law.name} loss needs a target of two classes; {public.target_name!r} is a number"
        )
    layout = layout_of_table(public, intercept=intercept, bound=1.0)
    checked_integer(support_size, "support_size", 1, len(public.features))
    if coef_bound is None:
        coef_bound = default_coef_bound(support_size, len(public.always), intercept)
    return Problem(
        layout=layout,
        support_size=support_size,
        loss=law,
        y_bound=1.0,
        coef_bound=coef_bound,
        ridge=DEFAULT_RIDGE if ridge is None else ridge,
        classes=classes,
        units=public,
        weight_bound=None if public.weight is None else public.weight.maximum,
    )


def problem_without_ranges(question: TableQuestion, support_size: int) -> Problem:
    """Return the problem of a table before a score from blocks is chosen: no range is used."""
    public = question.without_ranges
    return Problem(
        layout=layout_of_table(public, intercept=False, bound=None),
        support_size=support_size,
        units=public,
        weight_bound=None if public.weight is None else public.weight.maximum,
    )


def problem_of_moments(
    moments: Moments,
    *,
    always: Always = None,
    never: Sequence[str] = (),
    groups: Groups = None,
    intercept: bool | None = None,
    **settings: Any,
) -> Problem:
    """Return the problem of moments; the arguments are those of `Instance.from_moments`."""
    columns = moments.columns
    if isinstance(columns, TableColumns):
        if groups is not None:
            raise InvalidInput("the fields of a table are its features: leave out groups")
        fixed = [always] if isinstance(always, str) else cast(Any, always or ())
        question = columns.question.of_moments(fixed, never)
        return problem_of_table(question.public, intercept=intercept is not False, **settings)
    if not isinstance(columns, ArrayColumns):
        raise InvalidInput("sums over blocks of rows are of one instance: Instance.from_blocks")
    if settings.get("coef_bound") is None or settings.get("ridge") is None or never:
        raise InvalidInput(
            "moments of arrays need coef_bound and ridge, both public, and have no fields to leave "
            "out"
        )
    layout = laid_out(
        len(columns.names),
        columns.names,
        groups=groups,
        always=always,
        intercept=intercept is True,
        x_bound=1.0,
    )

    def bound(part: Sequence[int]) -> float:
        each = [columns.x_bounds[j] for j in part]
        return each[0] if len(each) == 1 else math.nextafter(math.hypot(*each), math.inf)

    # A feature is bounded by the bounds of all its columns together.
    layout = replace(
        layout,
        limits=np.array([bound(group) for group in layout.groups]),
        always_limit=max(map(bound, layout.always), default=max(columns.x_bounds)),
    )
    return Problem(layout=layout, loss=SquaredLoss(), y_bound=columns.y_bound, **settings)


def instance_of_table(source: Any, question: TableQuestion, **settings: Any) -> Instance:
    """Make an instance of a real table; see `Instance.from_table`.

    Parameters
    ----------
    source : path or table
    question : TableQuestion
    **settings
        Keyword arguments of `problem_of_table`.
    """
    public = question.public
    problem = problem_of_table(public, **settings)
    mapped = len(public.columns)
    spare = problem.layout.features.size - mapped
    X, y, weights = read_rows(open_table(source, public), public, spare)
    X[:, mapped:] = 0.0
    if problem.layout.intercept:
        X[:, mapped] = 1.0
    targeted = public.target.given(y)
    y[~targeted] = 0.0
    if problem.of_classes:
        leave_out(X, y)
    return Instance.of(problem, ClippedRows.of(problem, X, y, weights, targeted))


def instance_of_moments(moments: Moments, **settings: Any) -> Instance:
    """Make an instance of sums over rows; see `Instance.from_moments` for the settings."""
    if not isinstance(moments, Moments):
        raise InvalidInput(f"moments must be Moments, got {shown(moments)}")
    problem = problem_of_moments(moments, **settings)
    data = ExactSums(moments, problem.layout)
    # Too many columns are refused here and not later.
    _ = data.gram
    return Instance.of(problem, data)


def sums_of_blocks(problem: Problem, rows: FloatArray, device: str | None = None) -> ExactSums:
    """Add up the blocks of rows whose columns stand as in the layout, the target behind them.

    Where rows are weighted, how much each counts is the last column. A device, of PyTorch, is for
    signs of pairs.
    """
    assert problem.blocks is not None
    layout = problem.layout
    columns = BlockColumns(
        tuple(layout.column_names[j] for j in layout.order.tolist()),
        listed_features(problem, problem.blocks.rows).columns,
        problem.blocks,
        problem.weight_bound is not None,
    )
    return ExactSums(block_sums(columns, rows, device), layout)


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
        options, question, size = self.blocks, self.question, self.support_size
        if options is None:
            public = question.public
            problem = problem_of_table(public, support_size=size, **self.of_loss)
            return problem, known_rows(self.source, public)
        public = question.without_ranges
        n = known_rows(self.source, public)
        return scored(options, problem_without_ranges(question, size), n), n

    def made(self) -> Instance | BlockScores:
        """Read the table; what is raised does not depend on the rows."""
        options, question, size = self.blocks, self.question, self.support_size
        if options is None:
            return instance_of_table(self.source, question, support_size=size, **self.of_loss)
        public, bare = question.without_ranges, problem_without_ranges(question, size)
        rows = rows_of_table(self.source, public, options.order_seed)
        problem = scored(options, bare, len(rows))
        if problem.score == R2:
            return BlockScores.of(problem, rows)
        return Instance.of(problem, sums_of_blocks(problem, rows))


def table_within_its_rows(
    file: TableFile, target: str, never: Collection[str]
) -> tuple[TableSchema, pa.Table]:
    """Read a table of numbers; its ranges, smallest to largest value, are sensitive as the rows.

    Columns that are never features are left out, and may hold anything.
    """
    known = header(file, target, None)
    for name in never:
        checked_choice(name, "never", known)
    table = number_table(file, target, [name for name in known if name not in never])
    ends = dict[str, tuple[float, float]]()
    for name in table.column_names:
        low, high = compute.min_max(table[name]).as_py().values()
        wide = 0.0 if low < high else max(1.0, abs(low))
        ends[name] = low - wide, high + wide
    return TableSchema.of_numbers(ends), table


# Sums over the rows of normalised blocks, window after window.

WINDOW_ENTRIES = 1 << 26
"""A window, which is a copy of its rows, has no more entries; public."""

CHUNK_ENTRIES = 1 << 20
"""Entries of blocks that are multiplied at once."""

CHUNK_BLOCKS = 1 << 13
"""Least number of blocks that are multiplied at once: of fewer a product takes long to be added."""

CACHED_ENTRIES = 1 << 16
"""Entries of blocks that are normalised at once."""

PRODUCT_BYTES = 1 << 30
"""The products of all threads take no more, unless that of one does."""


@dataclass(frozen=True)
class Entries:
    """Integers that stand for the entries of blocks.

    Attributes
    ----------
    type : type
        Floating point numbers that hold them.
    unit : int
        A product of two of them in units of the grid, squared.
    most_blocks : int
        Products of the rows of so many blocks add up without rounding.
    """

    type: type[np.float32] | type[np.float64]
    unit: int
    most_blocks: int


SIGNS = Entries(np.float32, ONE, 1 << 24)
ON_GRID = Entries(np.float64, 1, 1 << 21)


def add_products(rows: NDArray[np.floating], totals: IntMatrix, turn: Lock) -> None:
    """Add ZᵀZ of the rows Z, shape (m, size), to the lower half of integers, in turn.

    No column of Z is longer than 1 in a block. So all partial sums of the products in a block are
    integers of at most 1, or 2^32 units of the grid, in any order, and no addition of as many
    blocks as `Entries` allows is rounded (docs/mathematics/blocks.md, (5)).
    """
    product = get_blas_funcs("syrk", (rows,))(1.0, rows.T)
    with turn:
        np.add(totals, product.T, out=totals, dtype=np.int64, casting="unsafe")


def block_sums(columns: BlockColumns, rows: FloatArray, device: str | None = None) -> Moments:
    """Add up the rows of the blocks of all partitions; the first entry counts rows of the table.

    Rows are divided among windows at random, and those of a window among blocks.

    Parameters
    ----------
    columns : BlockColumns
    rows : ndarray of shape (n, p + 1)
        x and y; where rows are weighted, how much each counts is one more column, the last.
    device : str, optional
        Of PyTorch, which multiplies signs of pairs there.

    Raises
    ------
    InvalidInput
        For fewer rows than a block has, for more blocks than fit into 64 bits, and for a device
        where entries are no signs.

    References
    ----------
    docs/mathematics/blocks.md, (5).
    """
    size, blocks, n = len(columns.names) + 1, columns.blocks, len(rows)
    blocks.count(n)
    # Each block adds up to 2^32 units.
    if blocks.terms(n) > MOST_ROWS:
        raise InvalidInput(
            f"sums of more than {MOST_ROWS:,} blocks do not fit into 64 bits; take fewer "
            f"partitions than {blocks.partitions}"
        )
    totals = zero_sums(1, size + 1)
    of_rows = totals[0, 1:, 1:]
    entries, turn = _entries_of(columns), Lock()
    of_one = size**2 * np.dtype(entries.type).itemsize
    threads = min(MOST_THREADS, cores(), max(1, PRODUCT_BYTES // of_one))
    pairs = None
    if device is not None:
        if entries is not SIGNS:
            raise InvalidInput(
                "a device adds up signs of pairs: blocks of two rows, features of one column, and "
                "no weights"
            )
        pairs, threads = PairsOnDevice(device, size), 1

    def add(window: FloatArray, chunk: IntArray) -> None:
        if pairs is None:
            add_products(_rows_of_blocks(window, chunk, columns), of_rows, turn)
        else:
            pairs.add(window, chunk)

    most = min(max(CHUNK_ENTRIES // (blocks.rows * size), CHUNK_BLOCKS), entries.most_blocks)
    chunks = (
        (window, part[start : start + most])
        for number, window in enumerate(_windows(columns, rows))
        for part in blocks.of_window(number, len(window))
        for start in range(0, len(part), most)
    )
    in_threads(add, chunks, threads)
    if pairs is not None:
        of_rows += np.tril(pairs.total())
    of_rows *= entries.unit
    of_rows += np.tril(of_rows, -1).T
    totals[0, 0, 0] = n * ONE
    return Moments(columns, totals)


def _entries_of(columns: BlockColumns) -> Entries:
    """Choose signs where blocks have two rows and features one column, and all count the same."""
    several = bool(columns.parts.several) or columns.weighted
    return SIGNS if columns.blocks.rows == 2 and not several else ON_GRID


def _rows_of_blocks(
    window: FloatArray, blocks: IntArray, columns: BlockColumns
) -> NDArray[np.floating]:
    """Make the rows of normalised blocks, in pieces that a cache holds."""
    entries, (m, b), size = _entries_of(columns), blocks.shape, len(columns.names) + 1
    shares = window[:, -1] if columns.weighted else None
    window = window[:, :size]
    height = 1 if b == 2 else b
    rows = np.empty((m * height, size), dtype=entries.type)
    step = max(1, CACHED_ENTRIES // (b * size))
    for start in range(0, m, step):
        piece = blocks[start : start + step]
        place = slice(height * start, height * (start + len(piece)))
        if entries is SIGNS:
            rows[place] = signs_of_pairs(window, piece)
        else:
            factors = None if shares is None else factors_of_blocks(shares, piece)
            rows[place] = normalised(window, piece, columns.parts, factors)
    return rows


def _windows(columns: BlockColumns, rows: FloatArray) -> Iterator[FloatArray]:
    """Yield the rows of windows, shape (window, p + 1); the last one may have fewer."""
    size, blocks, b = len(columns.names) + 1, columns.blocks, columns.blocks.rows
    window = min(blocks.window, max(b, WINDOW_ENTRIES // size // b * b))
    if len(rows) <= window:
        yield rows
        return
    order = blocks.order(len(rows))
    for start in range(0, len(rows), window):
        yield rows[order[start : start + window]]
