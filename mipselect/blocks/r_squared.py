"""Block R²: every support by the adjusted R² of ridge regression within each block of rows.

F(S) = (1/T) Σ u(S) over the blocks of T partitions, u(S) ∈ [0, 1]. A row is in one block of each
partition at most, so that F moves by at most 1 for every S, whatever stands in the row
(docs/mathematics/block-r2.md, (3)).

A rank-one step of ridge regression leads from a support to one with a further column. With
K = Σ zzᵀ + ℓI over the columns z of a support, M = ℓK⁻¹ on the centred vectors is all that its
adjusted R² needs. No b × b matrix is kept: a step changes the products of the columns that may
still come, zᵀMz', zᵀM²z' and zᵀM³z'. A step divides by ℓ + zᵀMz ≥ ℓ. Every step is a sum, product
or quotient of numbers of one block, in an order that no other block has a part in.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations, takewhile, tee
from threading import Event

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.blocks.normalised import ColumnsOfFeatures, centred
from mipselect.blocks.partitions import Blocks, default_partitions
from mipselect.errors import InvalidInput
from mipselect.validation import checked_integer

PENALTY = 1.0
"""ℓ of ridge regression within a block, where the kernel of a feature has trace b."""

DEPTH = 0.3
"""c: adjusted R² below -c times the best of its block counts as -c."""


@dataclass(frozen=True, eq=False)
class Products:
    """Products of c columns that may still come and of the target, for each of B blocks.

    Attributes
    ----------
    once, twice : ndarray of shape (c + 1, c + 1, B)
        zᵀMz' and zᵀM²z'; the target is last.
    thrice : ndarray of shape (c, c, B)
        zᵀM³z'.
    trace, square : ndarray of shape (B,)
        tr M = b - 1 - degrees of freedom, and tr M², over the centred vectors.
    """

    once: FloatArray
    twice: FloatArray
    thrice: FloatArray
    trace: FloatArray
    square: FloatArray

    @classmethod
    def of_columns(cls, columns: FloatArray) -> Products:
        """Add up products for the empty support, of centred columns with the target as the last.

        Parameters
        ----------
        columns : ndarray of shape (c + 1, b, B)
        """
        c, b, blocks = columns.shape
        gram = np.zeros((c, c, blocks))
        for k in range(b):
            gram += columns[:, None, k] * columns[None, :, k]
        dimensions = np.full(blocks, b - 1.0)
        return cls(gram, gram, gram[:-1, :-1], dimensions, dimensions)

    def without(self, count: int) -> Products:
        """Leave the first columns out; nothing is copied."""
        left = slice(count, None)
        return self._of(self.once[left, left], self.twice[left, left], self.thrice[left, left])

    def alone(self, first: int, count: int) -> Products:
        """Keep a few adjacent columns, and the target."""
        columns = [*range(first, first + count)]
        kept = [*columns, len(self.once) - 1]
        both = np.ix_(kept, kept)
        return self._of(self.once[both], self.twice[both], self.thrice[np.ix_(columns, columns)])

    def _of(self, once: FloatArray, twice: FloatArray, thrice: FloatArray) -> Products:
        return Products(once, twice, thrice, self.trace, self.square)

    def with_first(self) -> Products:
        """Take the first column into the support."""
        row, row_twice, row_thrice = self.once[0, 1:], self.twice[0, 1:], self.thrice[0, 1:]
        norm, norm_thrice = self.twice[0, 0], self.thrice[0, 0]
        weight = 1.0 / (PENALTY + self.once[0, 0])
        share = row * weight
        # M' = M - Mz zᵀM/(ℓ + zᵀMz), its square and its cube.
        once = self.once[1:, 1:] - share[:, None] * row[None]
        half = share[:, None] * (row_twice - (0.5 * norm) * share)[None]
        twice = self.twice[1:, 1:] - half - half.swapaxes(0, 1)
        left, share = (row_twice - norm * share)[:-1], share[:-1]
        half = share[:, None] * (row_thrice - (0.5 * norm_thrice) * share)[None]
        thrice = self.thrice[1:, 1:] - half - half.swapaxes(0, 1)
        thrice -= left[:, None] * (weight * left)[None]
        traces = _traces_after(self.trace, self.square, norm * weight, norm_thrice * weight)
        return Products(once, twice, thrice, *traces)

    def diagonal(self) -> Single:
        """Take from the products what a last step with a single column needs."""
        c = len(self.once) - 1
        places = np.arange(c)
        return Single(
            self.once[places, places],
            self.once[:c, c],
            self.twice[places, places],
            self.twice[:c, c],
            self.twice[c, c],
            self.thrice[places, places],
            self.trace,
            self.square,
        )

    def diagonal_with_first(self) -> Single:
        """Compute `with_first().diagonal()` without the products of two columns."""
        c = len(self.once) - 1
        places = np.arange(1, c)
        row, row_twice, row_thrice = self.once[0, 1:], self.twice[0, 1:], self.thrice[0, 1:]
        norm, norm_thrice = self.twice[0, 0], self.thrice[0, 0]
        weight = 1.0 / (PENALTY + self.once[0, 0])
        share = row * weight
        last = share[-1]
        share, row, column_twice = share[:-1], row[:-1], row_twice[:-1]
        half = column_twice - (0.5 * norm) * share
        half_thrice = row_thrice - (0.5 * norm_thrice) * share
        left = column_twice - norm * share
        half_last = row_twice[-1] - (0.5 * norm) * last
        return Single(
            self.once[places, places] - share * row,
            self.once[1:c, c] - last * row,
            self.twice[places, places] - 2.0 * (share * half),
            self.twice[1:c, c] - share * half_last - last * half,
            self.twice[c, c] - 2.0 * (last * half_last),
            self.thrice[places, places] - 2.0 * (share * half_thrice) - weight * (left * left),
            *_traces_after(self.trace, self.square, norm * weight, norm_thrice * weight),
        )


@dataclass(frozen=True, eq=False)
class Single:
    """Products of c columns of which one more is taken, each with itself and with the target.

    Attributes
    ----------
    once, once_target, twice, twice_target : ndarray of shape (c, B)
        zᵀMz, zᵀMy, zᵀM²z, zᵀM²y.
    target : ndarray of shape (B,)
        yᵀM²y = ‖ℓK⁻¹y‖².
    thrice : ndarray of shape (c, B)
        zᵀM³z.
    trace, square : ndarray of shape (B,)
        tr M and tr M².
    """

    once: FloatArray
    once_target: FloatArray
    twice: FloatArray
    twice_target: FloatArray
    target: FloatArray
    thrice: FloatArray
    trace: FloatArray
    square: FloatArray

    def adjusted(self, rows: int) -> FloatArray:
        """Compute the adjusted R² with each of the columns, shape (c, B); b = `rows`."""
        weight = 1.0 / (PENALTY + self.once)
        share = self.once_target * weight
        residual = self.target - share * (2.0 * self.twice_target - share * self.twice)
        traces = self.trace, self.square, self.twice * weight, self.thrice * weight
        return adjusted_r_squared(residual, *_traces_after(*traces), rows)


def _traces_after(
    trace: FloatArray, square: FloatArray, twice: FloatArray, thrice: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Compute tr M' and tr M'² from zᵀM²z and zᵀM³z, both over ℓ + zᵀMz."""
    return trace - twice, square - 2.0 * thrice + twice * twice


def adjusted_r_squared(
    residual: FloatArray, trace: FloatArray, square: FloatArray, rows: int
) -> FloatArray:
    """Compute g = 1 - (b - 1)^(3/2) ‖My‖² / (tr M √tr M²) for targets of length 1.

    That is the geometric mean of an unbiased share of noise and of generalised cross-validation.

    Parameters
    ----------
    residual, trace, square : ndarray
        ‖My‖², tr M and tr M², with M = ℓK⁻¹ on the centred vectors.
    rows : int
        b.

    References
    ----------
    docs/mathematics/block-r2.md, (1).
    """
    g: FloatArray = 1.0 - residual * ((rows - 1.0) ** 1.5 / (trace * np.sqrt(square)))
    return g


UNITS = 1 << 20
"""u is rounded to multiples of 1/`UNITS`, so that sums are exact."""

LEAST_BEST = 0.25
"""Least divisor of g: the best support of a block may explain less."""

CACHED_ENTRIES = 1 << 18
"""Products of a batch of blocks have about so many entries, which stay in a cache."""

BATCH = (128, 1024)
"""Fewest and most blocks of a batch."""

KEPT_ENTRIES = 1 << 24
"""At most so many g of a batch are kept, an eighth of a gigabyte."""

SECONDS_OF_A_TICK = 0.1

Tick = Callable[[int, int], None]


def require_rows(blocks: Blocks, support_size: int) -> None:
    """Raise `InvalidInput` unless b > s + 2."""
    checked_integer(blocks.rows, "block_rows", support_size + 3)


@dataclass(frozen=True, eq=False)
class ListedFeatures:
    """Features to choose s from, in the order in which supports are gone through.

    Attributes
    ----------
    columns : ColumnsOfFeatures
        The features, the parts that are always in, and the target as the last part.
    count : int
        Features to choose from.
    support_size : int
        s.
    block_rows : int
        b.
    """

    columns: ColumnsOfFeatures
    count: int
    support_size: int
    block_rows: int

    @property
    def order(self) -> list[int]:
        """The features, wide ones first, so that the last steps are those of single columns."""
        return sorted(range(self.count), key=lambda j: -self.width(j))

    def width(self, part: int) -> int:
        """Count the columns of a part in a block: a category has no more values there than rows."""
        inside = self.columns.parts[part]
        if self.columns.indicators[list(inside)].all():
            return min(len(inside), self.block_rows)
        return len(inside)

    @property
    def always(self) -> range:
        """The parts that are always in."""
        return range(self.count, len(self.columns.parts) - 1)

    @property
    def widths(self) -> tuple[int, ...]:
        """Columns of the features, in `order`."""
        return tuple(self.width(j) for j in self.order)

    def lexicographic(self) -> IntArray:
        """Return the places in `order` of the supports in lexicographic order, shape (N,)."""
        total = math.comb(self.count, self.support_size)
        listed = np.fromiter(
            (j for chosen in combinations(self.order, self.support_size) for j in sorted(chosen)),
            dtype=np.intp,
            count=total * self.support_size,
        ).reshape(total, self.support_size)
        return np.lexsort(listed.T[::-1])


def unwatched(done: int, total: int) -> None:
    """Let everything be done."""


def r_squared_counts(
    rows: FloatArray,
    features: ListedFeatures,
    blocks: Blocks,
    threads: int = 1,
    tick: Tick = unwatched,
) -> IntArray:
    """Add up u(S) over all blocks, in units of 2⁻²⁰, for every support.

    Parameters
    ----------
    rows : ndarray of shape (n, C)
        NaN where a value is missing.
    features : ListedFeatures
    blocks : Blocks
    threads : int
        Batches of blocks that are worked on at once; the result does not depend on it.
    tick : callable
        Is called several times a second with the number of blocks that are done, and of all. An
        exception that it raises ends the work within a few steps.

    Returns
    -------
    ndarray of int64, shape (N,)
        2²⁰ T F(S), supports in lexicographic order.

    Raises
    ------
    InvalidInput
        If there is no block.
    """
    counts = np.zeros(math.comb(features.count, features.support_size), dtype=np.int64)
    stop, done, total = Event(), 0, blocks.terms(len(rows))
    with ThreadPoolExecutor(threads) as pool:
        waiting = deque[tuple[Future[IntArray], int]]()

        def add_first() -> int:
            future, count = waiting.popleft()
            while True:
                tick(done, total)
                with suppress(TimeoutError):
                    counts[:] += future.result(timeout=SECONDS_OF_A_TICK)
                    return count

        try:
            for batch in _batches(len(rows), features, blocks):
                if len(waiting) > 2 * threads:
                    done += add_first()
                task = pool.submit(_counts_of_batch, rows[batch], features, stop)
                waiting.append((task, len(batch)))
            while waiting:
                done += add_first()
        finally:
            stop.set()
    return counts[features.lexicographic()]


def lexicographic_ranks(supports: IntArray, n_features: int) -> IntArray:
    """Compute lexicographic ranks of sorted supports, shape (m,)."""
    s = supports.shape[1]
    later = np.zeros(len(supports), dtype=np.int64)
    for i in range(s):
        table = np.array([math.comb(n_features - 1 - j, s - i) for j in range(n_features)])
        later += table[supports[:, i]]
    return math.comb(n_features, s) - 1 - later


def _batches(n: int, features: ListedFeatures, blocks: Blocks) -> Iterator[IntArray]:
    """Yield the row numbers of some blocks at a time, of all partitions together, shape (B, b)."""
    blocks.count(n)
    size = batch_size(sum(features.widths))
    waiting = np.empty((0, blocks.rows), dtype=np.intp)
    for partition in blocks.of_window(0, n):
        waiting = np.concatenate([waiting, partition])
        for start in range(0, len(waiting) - size + 1, size):
            yield waiting[start : start + size]
        waiting = waiting[len(waiting) // size * size :]
    if len(waiting):
        yield waiting


def batch_size(columns: int) -> int:
    """Choose how many blocks a batch has, from the number of columns of all features."""
    low, high = BATCH
    return min(max(CACHED_ENTRIES // (columns + 1) ** 2, low), high)


# A warning would tell about the data, and every thread has a state of its own.
@np.errstate(all="ignore")
def _counts_of_batch(rows: FloatArray, features: ListedFeatures, stop: Event) -> IntArray:
    """Add up counts over some blocks; rows have shape (B, b, C), supports the order of `features`.

    The counts are incomplete once `stop` is set, which ends the work. More values g than are kept
    are computed a second time, once the largest of each block is known.
    """
    products, there = _products(rows, features)
    widths, s, b = features.widths, features.support_size, rows.shape[1]
    best = np.full(len(rows), LEAST_BEST)
    counts = np.zeros(math.comb(features.count, s), dtype=np.int64)

    def found() -> Iterator[FloatArray]:
        return takewhile(lambda _: not stop.is_set(), adjusted_of_supports(products, widths, s, b))

    is_kept = len(counts) * len(rows) <= KEPT_ENTRIES
    first, second = tee(found()) if is_kept else (found(), found())
    for g in first:
        np.fmax(best, np.fmax.reduce(g, axis=0), out=best)
    start = 0
    for g in second:
        u = rounded_share(g, best) * there
        counts[start : start + len(g)] = u.sum(axis=1)
        start += len(g)
    return counts


def rounded_share(g: FloatArray, best: FloatArray) -> FloatArray:
    """Compute 2²⁰ u = 2²⁰ (clip(g/max(¼, max_S g), -c, 1) + c)/(1 + c), whole, shape (..., B).

    A g that rounding made no number is as bad as any.
    """
    share = np.fmax(np.minimum(g / best, 1.0), -DEPTH)
    return np.rint((share + DEPTH) * (UNITS / (1.0 + DEPTH)))


def adjusted_of_supports(
    products: Products, widths: Sequence[int], left: int, rows: int
) -> Iterator[FloatArray]:
    """Yield the adjusted R² of all supports with `left` more features, some at a time.

    Parameters
    ----------
    products : Products
        Products of the columns of the features that may still come.
    widths : sequence of int
        Columns of each of these, falling.
    left : int
    rows : int
        b.

    Yields
    ------
    ndarray of shape (supports, B)
    """
    if left == 1:
        yield from _adjusted_of_last(products, widths, rows)
        return
    place = 0
    for k, width in enumerate(widths[: len(widths) - left + 1]):
        here = products.without(place)
        place += width
        if left == 2 and width == 1:
            yield here.diagonal_with_first().adjusted(rows)
            continue
        for _ in range(width):
            here = here.with_first()
        yield from adjusted_of_supports(here, widths[k + 1 :], left - 1, rows)


def _adjusted_of_last(products: Products, widths: Sequence[int], rows: int) -> Iterator[FloatArray]:
    """Yield the adjusted R² with one more feature; those of one column come at once."""
    place = 0
    for width in widths:
        if width == 1:
            break
        here = products.alone(place, width)
        place += width
        for _ in range(width):
            here = here.with_first()
        yield adjusted_r_squared(here.twice[0, 0], here.trace, here.square, rows)[None]
    if place < len(products.once) - 1:
        yield products.without(place).diagonal().adjusted(rows)


def _products(rows: FloatArray, features: ListedFeatures) -> tuple[Products, FloatArray]:
    """Compute products before the first choice, and 1 for blocks whose target is not constant."""
    parts = features.columns.parts
    kernels = [_factor(rows, features, part) for part in (*features.always, *features.order)]
    target = _centred_part(rows, features.columns, len(parts) - 1)
    products = Products.of_columns(np.concatenate([*kernels, target]))
    for part in features.always:
        for _ in range(features.width(part)):
            products = products.with_first()
    return products, (target != 0.0).any(axis=(0, 1)).astype(np.float64)


def _factor(rows: FloatArray, features: ListedFeatures, part: int) -> FloatArray:
    """Find Z with b ZZᵀ/tr ZZᵀ = Σ zzᵀ over the columns of a part, shape (width, b, B)."""
    columns = _centred_part(rows, features.columns, part)
    if (width := features.width(part)) < len(columns):
        seen = (columns != 0.0).any(axis=1)
        first = np.argsort(~seen, axis=0, kind="stable")[:width]
        columns = np.take_along_axis(columns, first[:, None], axis=0)
    square = np.zeros(columns.shape[2])
    for column in columns:
        for entries in column:
            square += entries * entries
    scale = np.sqrt(features.block_rows / np.where(square > 0.0, square, np.inf))
    scaled: FloatArray = columns * scale
    return scaled


def _centred_part(rows: FloatArray, columns: ColumnsOfFeatures, part: int) -> FloatArray:
    """Centre the columns of one part, shape (K, b, B)."""
    return np.array(
        [centred(rows[:, :, j], indicator=bool(columns.indicators[j])) for j in columns.parts[part]]
    )


def cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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


MOST_SUPPORTS = 1_000_000
"""More supports are not listed; their scores and weights would fill the memory."""


def require_listable(count: int, support_size: int) -> None:
    """Raise `InvalidInput` for more than `MOST_SUPPORTS` supports of `count` features."""
    total = math.comb(count, support_size)
    if total > MOST_SUPPORTS:
        raise InvalidInput(
            f"block R² looks at every support, and there are {total:,}, more than "
            f"{MOST_SUPPORTS:,}: choose fewer features, leave some out, or take least squares "
            "on blocks, Instance.from_blocks"
        )


def settled_blocks(
    n: int,
    features: ListedFeatures,
    partitions: int | None,
    partition_seed: int | None,
) -> Blocks:
    """Return the blocks of block R² for n rows, with T by default where it is None.

    Raises
    ------
    InvalidInput
        For b ≤ s + 2, or for n < b.
    """
    one = Blocks.of(features.block_rows, 1, partition_seed)
    require_rows(one, features.support_size)
    one.count(n)
    if partitions is None:
        partitions = default_partitions(r_squared_seconds(n, 1, features))
    return Blocks.of(one.rows, partitions, partition_seed)
