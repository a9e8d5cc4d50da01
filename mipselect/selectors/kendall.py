"""DPKendall: peeling by rank correlations without ties, relevance less redundancy."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.mechanisms.base import Mechanism, Support
from mipselect.mechanisms.scores.adaptive_peeling import AdaptivePeeling
from mipselect.parameters import estimator, parameter
from mipselect.privacy.guarantee import Guarantee
from mipselect.problem.data import Rows
from mipselect.problem.layout import Layout
from mipselect.problem.problem import Problem
from mipselect.selectors.base import ScoreSelector
from mipselect.validation import checked_choice

CHUNK = 2**16
"""About so many entries are worked on at a time, so that they stay in the cache."""

CACHE_LINE = 16
"""So many columns of a table are copied together, since they share cache lines."""

SEED_BYTES, NUMBER_BYTES, PRIORITY_BYTES = 32, 8, 8
SEED_BITS = 8 * SEED_BYTES

GRID = 2.0**-22
"""τ̂ is cut to multiples of this: sums, differences and maxima of such numbers are exact."""

SMALL = 128
"""Groups of at most so many values are compared directly. Counts up to here fit in a byte."""


def ranks_of(table: FloatArray, seed: int) -> IntArray:
    """Rank the rows in every column, ties broken at random.

    Parameters
    ----------
    table : float array, shape (n, p)
        Without NaN.
    seed : int
        Between 0 and 2^256 - 1. Columns with ties take from it a priority for each row, as if
        a tiny continuous noise were added to them. Priorities belong to the rows and do not
        depend on the data, nor on how many rows there are, so a sensitivity for data without
        ties holds for every way in which they may come out.

    Returns
    -------
    int array, shape (p, n)
        Row j is a permutation of 0..n-1: the place of each row of the table in column j. Half
        the memory of a table of doubles. As sensitive as the table.
    """
    n, p = table.shape
    ranks = np.empty((p, n), dtype=np.int32)

    places = np.arange(n, dtype=np.int32)
    for columns in _chunks(p, n, at_least=CACHE_LINE):
        block = np.ascontiguousarray(table[:, columns].T)
        for j, column in enumerate(block, columns.start):
            ranks[j, _order(column, seed, j)] = places
    return ranks


def correlations(ranks: IntArray, target: IntArray) -> FloatArray:
    """Compute τ̂ of every column with a target, by the number of discordant pairs; see `tau`.

    Parameters
    ----------
    ranks : int array, shape (p, n)
        Of `ranks_of`.
    target : int array, shape (n,)
        The ranks of the rows in the target: a permutation of 0..n-1.

    Returns
    -------
    float array, shape (p,)
        Between -n/2 and n/2; zero if n < 2, as there are no pairs.
    """
    p, n = ranks.shape
    if n < 2:
        return np.zeros(p)
    order = np.argsort(target)
    discordant = np.empty(p, dtype=np.int64)
    for columns in _chunks(p, n):
        discordant[columns] = inversions(ranks[columns].take(order, axis=1))
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
    """Order the rows of a column from the smallest value to the largest, equal ones by priority.

    The priority of a row stays the same when rows are added after it. It is from a cryptographic
    generator that uses the whole seed, as the ties are part of the law.
    """
    order = np.argsort(column)
    ordered = column[order]
    rises = ordered[1:] != ordered[:-1]
    if rises.all():
        return order
    key = seed.to_bytes(SEED_BYTES) + number.to_bytes(NUMBER_BYTES)
    stream = hashlib.shake_256(key).digest(PRIORITY_BYTES * column.size)
    return np.lexsort((np.frombuffer(stream, dtype="<u8"), column))


def _chunks(p: int, n: int, *, at_least: int = 1) -> list[slice]:
    width = max(at_least, CHUNK // n)
    return [slice(start, start + width) for start in range(0, p, width)]


def mean_on_grid(strengths: list[FloatArray], axis: int) -> FloatArray:
    """Average multiples of `GRID`, cut to such a multiple, in integers."""
    units = (np.array(strengths) / GRID).astype(np.int64)
    mean: FloatArray = np.floor_divide(units.sum(axis=axis), units.shape[axis]) * GRID
    return mean


REDUNDANCIES: dict[str, Callable[..., FloatArray]] = {"max": np.max, "mean": mean_on_grid}
"""Functions from the strengths of the chosen columns to what is subtracted."""


@dataclass(frozen=True, eq=False)
class RelevanceLessRedundancy:
    """Scores |τ̂(X_j, Y)| less the largest or the mean |τ̂(X_j, X_j')| over the chosen j'.

    Strengths are multiples of `GRID` and the mean is cut to one, so that scores are exact: see
    docs/mathematics/score-mechanisms.md, (12).

    The correlations with a chosen column are computed once and kept.

    Parameters
    ----------
    columns : int array, shape (C, n)
        The ranks of the rows in the columns of the features, one after another.
    target : int array, shape (n,)
        The ranks of the rows in Y.
    layout : Layout
    redundancy : {"max", "mean"}
    """

    columns: IntArray = field(repr=False)
    target: IntArray = field(repr=False)
    layout: Layout
    redundancy: str = "max"
    _kept: dict[int, FloatArray] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, chosen: Support) -> FloatArray:
        """Score the features after `chosen`, shape (p,)."""
        relevance = self._strengths(-1)
        if not chosen:
            return relevance
        starts = self._starts
        parts = [range(starts[j], starts[j + 1]) for j in chosen]
        each = [np.max([self._strengths(c) for c in part], axis=0) for part in parts]
        return relevance - REDUNDANCIES[self.redundancy](each, axis=0)

    def _strengths(self, c: int) -> FloatArray:
        """Return |τ̂| of every feature with column c, or with the target for -1."""
        if c not in self._kept:
            other = self.target if c < 0 else self.columns[c]
            found = np.abs(correlations(self.columns, other))
            self._kept[c] = np.maximum.reduceat(found, self._starts[:-1])
        return self._kept[c]

    @cached_property
    def _starts(self) -> list[int]:
        """The first column of every feature, and their end."""
        starts: list[int] = self.layout.features.starts.tolist()
        return starts


SENSITIVITIES = {"add-remove": 1.5, "replace-one": 2.0}
"""Sensitivity of τ̂ between neighbours, and so of the largest |τ̂| of several columns."""


@estimator
class KendallSelector(ScoreSelector):
    """Select columns that go with the target and not with each other, by rank correlation.

    Round 1 scores column j by |τ̂(X_j, Y)|; a later round by that less the largest of
    |τ̂(X_j, X_j')| over the columns j' that were chosen. Each of the k rounds draws a column with
    Gumbel noise and ε/k.

    No bounds on the data are needed: a rank correlation sees the order of the values and not
    their size, so one row counts for as much as any other, wherever it lies.

    Notes
    -----
    The sensitivity of τ̂ = n/2 - 2d/(n-1), and so of |τ̂|, is 3/2 under add-remove (lemma 3.2).
    Under replace-one it is 2: n stays, and a row is in n - 1 pairs, so that d moves by at most
    n - 1 and 2d/(n-1) by at most 2. A score of a later round is the difference of one such |τ̂|
    and a mean or a maximum of them, which move by no more than each does: twice as much.

    Theorem 3.8 of the paper, that exactly one of each group of copies is chosen, is false for the
    mean from the third round on.

    Ties are broken by random priorities of the rows, drawn at each fit (see `ranks_of`). What
    `mechanism` returns is the law given how they were broken; it is ε-differentially private
    for every way of it, and so is the mixture of them, which `fit` draws from.

    References
    ----------
    "Better Private Linear Regression Through Better Private Feature Selection", section 3 and
    algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.selectors import KendallSelector
    >>> X = np.random.default_rng(0).normal(size=(2000, 6))
    >>> selector = KendallSelector(1, epsilon=5.0).fit(X, X[:, 4])
    >>> selector.get_support(indices=True).tolist()
    [4]
    """

    name = "kendall"

    redundancy: str = parameter(
        '{"max", "mean"}',
        "What is subtracted of the |τ̂(X_j, X_j')| with what is chosen. 'mean' is as "
        "published; a copy of one of several chosen columns comes back with it, for its |τ̂| is "
        "divided by their number.",
        default="max",
        check=lambda value, name: checked_choice(value, name, REDUNDANCIES),
    )

    def _stated(self, p: int, k: int) -> Guarantee:
        return AdaptivePeeling(
            lambda _: np.zeros(p), k, self.epsilon, sensitivities=[1.0] * k, relation=self.relation
        ).guarantee

    def _of_rows(self, problem: Problem, rows: Rows, source: random.Random) -> Mechanism[Support]:
        target = ranks_of(rows.y[:, None], source.getrandbits(SEED_BITS))[0]
        layout, k, one = problem.layout, problem.support_size, SENSITIVITIES[self.relation]
        table = rows.columns(problem)[:, : layout.features.starts[-1]]
        columns = ranks_of(table, source.getrandbits(SEED_BITS))
        return AdaptivePeeling(
            RelevanceLessRedundancy(columns, target, layout, self.redundancy),
            k,
            self.epsilon,
            sensitivities=[one] + [2.0 * one] * (k - 1),
            relation=self.relation,
        )
