"""Kendall's rank correlation of many columns with one target, without ties."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray

IntArray = np.ndarray[Any, np.dtype[Any]]

CHUNK = 2**16
"""About so many entries are worked on at a time, so that they stay in the cache."""

CACHE_LINE = 16
"""So many columns of a table are copied together, since they share cache lines."""

SEED_BYTES, NUMBER_BYTES, PRIORITY_BYTES = 32, 8, 8

GRID = 2.0**-22
"""τ̂ is cut to multiples of this: sums, differences and maxima of such numbers are exact."""

SMALL = 128
"""Groups of at most so many values are compared directly. Counts up to here fit in a byte."""


@dataclass(frozen=True, eq=False)
class Rankings:
    """The ranks of the rows in every column, ties broken at random.

    Attributes
    ----------
    ranks : int array, shape (p, n)
        Row j is a permutation of 0..n-1: the place of each row of the table in column j. Half
        the memory of a table of doubles. As sensitive as the table.
    """

    ranks: IntArray = field(repr=False)

    @classmethod
    def of(cls, table: FloatArray, seed: int) -> Rankings:
        """Rank the rows in every column.

        Parameters
        ----------
        table : float array, shape (n, p)
            Without NaN.
        seed : int
            Between 0 and 2^256 - 1. Columns with ties take from it a priority for each row, as if
            a tiny continuous noise were added to them. Priorities belong to the rows and do not
            depend on the data, nor on how many rows there are, so a sensitivity for data without
            ties holds for every way in which they may come out.
        """
        n, p = table.shape
        ranks = np.empty((p, n), dtype=np.int32)

        places = np.arange(n, dtype=np.int32)
        for columns in _chunks(p, n, at_least=CACHE_LINE):
            block = np.ascontiguousarray(table[:, columns].T)
            for j, column in enumerate(block, columns.start):
                ranks[j, _order(column, seed, j)] = places
        return cls(ranks)

    def correlations(self, target: IntArray) -> FloatArray:
        """Compute τ̂ of every column with a target, by the number of discordant pairs; see `tau`.

        Parameters
        ----------
        target : int array, shape (n,)
            The ranks of the rows in the target: a permutation of 0..n-1.

        Returns
        -------
        float array, shape (p,)
            Between -n/2 and n/2; zero if n < 2, as there are no pairs.
        """
        p, n = self.ranks.shape
        if n < 2:
            return np.zeros(p)
        order = np.argsort(target)
        discordant = np.empty(p, dtype=np.int64)
        for columns in _chunks(p, n):
            discordant[columns] = inversions(self.ranks[columns].take(order, axis=1))
        return tau(discordant, n)


def tau(discordant: IntArray, n: int) -> FloatArray:
    """Compute τ̂ = n/2 - 2d/(n-1) of d discordant pairs of n rows, cut towards zero to the grid.

    Parameters
    ----------
    discordant : int64 array
    n : int
        2 ≤ n < 2^31.

    Notes
    -----
    In integers, and the cut adds nothing to a sensitivity that is a multiple of the grid, as 3/2
    and 2 are: see docs/mathematics/score-mechanisms.md, (12).

    References
    ----------
    "Better Private Linear Regression Through Better Private Feature Selection", definition 3.1.
    """
    whole, unit = n * (n - 1) - 4 * discordant, 2 * (n - 1)
    times, rest = np.divmod(np.abs(whole), unit)
    size = times + np.floor_divide(rest * int(1.0 / GRID), unit) * GRID
    cut: FloatArray = np.copysign(size, whole)
    return cut


@dataclass(frozen=True, eq=False)
class BlockRankings:
    """Rank correlations within blocks of rows, added up over the blocks.

    A sum of τ̂ over blocks has about the size of τ̂ of all rows, and one row is in one block: the
    sensitivity is that of one τ̂.

    Parameters
    ----------
    blocks : callable
        Returns the blocks, a table of shape (m, p) and a target of shape (m,) each; the same ones
        whenever it is called.
    size : int
        p.
    seed : int
        See `Rankings.of`; blocks have seeds of their own, made of it.
    """

    blocks: Callable[[], Iterator[tuple[FloatArray, FloatArray]]] = field(repr=False)
    size: int
    seed: int = field(repr=False)

    def with_target(self) -> FloatArray:
        """Add up τ̂ of every column with the target, shape (p,); one pass over the blocks."""
        total = np.zeros(self.size)
        for number, (table, y) in enumerate(self.blocks()):
            target = Rankings.of(y[:, None], self._seed(2 * number + 1)).ranks[0]
            total += Rankings.of(table, self._seed(2 * number)).correlations(target)
        return total

    def with_column(self, c: int) -> FloatArray:
        """Add up τ̂ of every column with column c, shape (p,); one pass over the blocks."""
        total = np.zeros(self.size)
        for number, (table, _) in enumerate(self.blocks()):
            columns = Rankings.of(table, self._seed(2 * number))
            total += columns.correlations(columns.ranks[c])
        return total

    def _seed(self, number: int) -> int:
        return int((self.seed + number) % 2 ** (8 * SEED_BYTES))


def inversions(sequences: IntArray) -> IntArray:
    """Count the pairs of each sequence that are in the wrong order.

    Parameters
    ----------
    sequences : int array, shape (c, n)
        Permutations of 0..n-1, n ≥ 1.

    Returns
    -------
    int array, shape (c,)

    Notes
    -----
    The entries of a sequence are split into the lower and the upper half of its values, each half
    in its old order. An inversion is within a half or has its upper entry first, and of these
    there are Σ (place of a lower entry) less what that sum is when all of them come first. Halves
    are split in the same way until they are small: O(n log n).
    """
    count, n = sequences.shape
    splits = max(0, (n - 1).bit_length() - SMALL.bit_length() + 1)
    small = -(-n // 2**splits)
    length = small * 2**splits
    # Padded at the end by larger values in order, which adds no inversion.
    values = np.empty((count, length), dtype=np.int32)
    values[:, :n] = sequences
    values[:, n:] = np.arange(n, length)
    values = values.ravel()
    found = np.zeros(count, dtype=np.int64)
    half = length // 2
    for _ in range(splits):
        # Group after group of 2 · half entries: all lower halves go first, then all upper ones,
        # so that a group belongs to the sequence of its number modulo `count`.
        upper = values >= half
        places, others = np.flatnonzero(~upper), np.flatnonzero(upper)
        in_order = half * np.arange(0, values.size, 2 * half) + half * (half - 1) // 2
        found += places.reshape(-1, count, half).sum(axis=(0, 2))
        found -= in_order.reshape(-1, count).sum(axis=0)
        halves = np.empty((2, places.size), dtype=np.int32)
        # All places are valid; with "clip" NumPy fills `out` without a copy.
        values.take(places, out=halves[0], mode="clip")
        values.take(others, out=halves[1], mode="clip")
        halves[1] -= half
        values = halves.ravel()
        half //= 2
    found += _direct_inversions(values.reshape(-1, small)).reshape(-1, count).sum(axis=0)
    return found


def _direct_inversions(groups: IntArray) -> IntArray:
    """Count inversions of each row of values below `SMALL`, by comparing all pairs."""
    count, size = groups.shape
    entries = np.ascontiguousarray(groups.astype(np.uint8).T)
    larger_before = np.zeros((size, count), dtype=np.uint8)
    inverted = np.empty((size, count), dtype=np.bool_)
    for lag in range(1, size):
        np.greater(entries[:-lag], entries[lag:], out=inverted[lag:])
        larger_before[lag:] += inverted[lag:].view(np.uint8)
    total: IntArray = larger_before.sum(axis=0, dtype=np.int64)
    return total


def _order(column: FloatArray, seed: int, number: int) -> IntArray:
    """Order the rows of a column from the smallest value to the largest, equal ones by priority."""
    order = np.argsort(column)
    ordered = column[order]
    rises = ordered[1:] != ordered[:-1]
    if rises.all():
        return order
    return np.lexsort((_priorities(column.size, seed, number), column))


def _priorities(n: int, seed: int, number: int) -> IntArray:
    """Draw a priority for each row, which stays the same when rows are added after it.

    From a cryptographic generator that uses the whole seed, as the ties are part of the law.
    """
    key = seed.to_bytes(SEED_BYTES) + number.to_bytes(NUMBER_BYTES)
    stream = hashlib.shake_256(key).digest(PRIORITY_BYTES * n)
    return np.frombuffer(stream, dtype="<u8")


def _chunks(p: int, n: int, *, at_least: int = 1) -> list[slice]:
    width = max(at_least, CHUNK // n)
    return [slice(start, start + width) for start in range(0, p, width)]
