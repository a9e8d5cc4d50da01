"""Sample and aggregate: blocks of rows vote for items, and a private top-k takes the votes."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.mechanisms.base import Support
from mipselect.mechanisms.noise.noise import plus_laplace
from mipselect.mechanisms.scores.base import ScoreMechanism, checked_count, checked_items
from mipselect.mechanisms.scores.top_k import Peeling, TopK
from mipselect.privacy.decimals import exact, round_down
from mipselect.privacy.guarantee import checked_relation
from mipselect.privacy.randomness import Rng, generator
from mipselect.validation import checked_choice, checked_epsilon, checked_integer, set_fields

Ballot = Callable[[FloatArray, FloatArray], Sequence[int]]
"""Function from the rows of a block, shapes (m, p) and (m,), to the items it votes for."""

COUNT_SHARE = 0.05
"""Cost of a noisy number of rows, as a share of ε."""

MOST_ROWS = 2.0**48
"""A noisy number of rows above it counts as this."""

PARTITIONS = 64
"""Number of partitions that a probability is averaged over."""


@dataclass(frozen=True, eq=False)
class SampleAggregate(ScoreMechanism[Support]):
    """Split the rows at random, let every block vote for items, and select k by their votes.

    Parameters
    ----------
    X : array_like of float, shape (n, p)
        One row per person. Sensitive.
    y : array_like of float, shape (n,)
        Sensitive.
    k : int
        1 ≤ k ≤ the number of items.
    epsilon : float
        ε > 0, finite.
    ballot : callable
        ``ballot(X_block, y_block)`` returns indices of items; each counts once. Blocks are of
        float64. It may be anything that looks at its block alone, and must not raise, whatever is
        in the block: an error would tell about the rows. Sensitive.
    n_blocks : int, "n/k" or None
        How many blocks, at least 1. An int is public. None is ⌊√n⌋ and "n/k" is ⌊n/k⌋ under
        replace-one, where n is public. Under add-remove n is ñ = n + Laplace noise in both, which
        costs 5% of ε.
    top_k : callable
        From votes, k, ε, their sensitivity and the relation to a mechanism.
    relation : {"add-remove", "replace-one"}
    n_items : int, optional
        How many items there are to vote for; default p.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    Under replace-one a random permutation of the rows is cut into blocks of nearly equal size.
    Under add-remove rows are sent to the places of m blocks by a random injection
    (`random_blocks`), k places for "n/k" and ⌈ñ/m⌉ for None; with a public m, where no noisy n is
    paid for, every row goes to a block of its own choice, independently. So each vote count moves
    by at most 1, under both relations. The counts are **not** monotone: half the sensitivity, which
    counts otherwise allow, would not be private (docs/mathematics/score-mechanisms.md, (13)).

    The law is a mixture over partitions. `log_probability` averages the law of `top_k` over 64 of
    them, drawn with a fixed seed: an estimate, with the error of a mean of 64. The probabilities of
    all outcomes are estimated on the same partitions and add up to 1.

    With a draw from the operating system ñ is OpenDP's `make_laplace`; a seeded one uses noise in
    double precision.

    References
    ----------
    Kifer, Smith and Thakurta, "Private convex empirical risk minimization and high-dimensional
    regression", 2012, section on the two-stage procedure; "Better Private Linear Regression
    Through Better Private Feature Selection", algorithm 2 (SubLasso), where there are ⌊ñ/k⌋
    blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.mechanisms import SampleAggregate
    >>> X = np.random.default_rng(0).normal(size=(400, 4))
    >>> def ballot(rows, target):
    ...     return [int(np.argmax(np.abs(rows.T @ target)))]
    ...
    >>> mechanism = SampleAggregate(X, X[:, 2], 1, 20.0, ballot=ballot, n_blocks=20)
    >>> mechanism.sample(rng=0)
    (2,)
    """

    X: ArrayLike = field(repr=False)
    y: ArrayLike = field(repr=False)
    k: int
    epsilon: float
    ballot: Ballot = field(repr=False, kw_only=True)
    n_blocks: int | str | None = field(default=None, kw_only=True)
    top_k: TopK = field(default=Peeling, kw_only=True)
    relation: str = field(default="add-remove", kw_only=True)
    n_items: int | None = field(default=None, kw_only=True)
    name = "sample-aggregate"

    def __post_init__(self) -> None:
        table, target = np.asarray(self.X), np.asarray(self.y)
        if table.ndim != 2 or target.shape != table.shape[:1]:
            raise InvalidInput(
                f"X must have shape (n, p) and y (n,), got {table.shape} and {target.shape}"
            )
        given = table.shape[1] if self.n_items is None else self.n_items
        items = checked_integer(given, "n_items", 1)
        set_fields(self, X=table, y=target, n_items=items, k=checked_count(self.k, items))
        set_fields(
            self, epsilon=checked_epsilon(self.epsilon), n_blocks=checked_blocks(self.n_blocks)
        )
        checked_relation(self.relation)
        self.selection(np.zeros(items))  # What is left of ε must do for it.

    def sample(self, rng: Rng = None) -> Support:
        """Draw k indices. See `Mechanism.sample`."""
        source, private = generator(rng)
        chosen: Support = self.selection(self._draw_votes(source, private)).sample(source)
        return chosen

    def log_probability(self, outcome: ArrayLike) -> float:
        """Estimate the log probability of k indices. See `Distribution.log_probability`."""
        checked_items(outcome, self.k, self.n_items or 0)
        laws = [(mechanism.log_probability(outcome), count) for mechanism, count in self._laws]
        logs = [log + math.log(count / PARTITIONS) for log, count in laws]
        return float(np.logaddexp.reduce(logs))

    def votes(self, blocks: Sequence[Sequence[int]]) -> FloatArray:
        """Count the blocks, each a list of rows, that vote for each item. Sensitive.

        Returns
        -------
        float array, shape (n_items,)
        """
        table, target = np.asarray(self.X), np.asarray(self.y)
        found = np.zeros(self.n_items or 0)
        for rows in blocks:
            # Of one type and order, which other rows must not decide: sums depend on both.
            block = table[rows].astype(np.float64, order="C")
            chosen = np.asarray(self.ballot(block, target[rows].astype(np.float64)), dtype=np.intp)
            found[np.unique(chosen)] += 1.0
        return found

    def selection(self, votes: FloatArray) -> ScoreMechanism[Any]:
        """Return the private top-k of these votes, at what is left of ε."""
        left = vote_epsilon(self.epsilon, self.n_blocks, self.relation)
        return self.top_k(votes, self.k, left, sensitivity=1.0, relation=self.relation)

    def _draw_votes(self, source: random.Random, private: bool) -> FloatArray:
        rows = np.asarray(self.X).shape[0]
        if self.relation == "replace-one":
            order = source.sample(range(rows), rows)
            count = self._number_of_blocks(rows)
            return self.votes([order[start::count] for start in range(min(count, rows))])
        if not isinstance(self.n_blocks, int):
            known = self._noisy_rows(rows, source, private)
            count = self._number_of_blocks(known)
            height = self.k if self.n_blocks == "n/k" else -(-known // count)
            return self.votes(random_blocks(rows, count, height, source))
        blocks: dict[int, list[int]] = {}
        for row in range(rows):
            blocks.setdefault(source.randrange(self.n_blocks), []).append(row)
        return self.votes(list(blocks.values()))

    def _number_of_blocks(self, rows: int) -> int:
        """Choose m, from n or ñ."""
        if isinstance(self.n_blocks, int):
            return self.n_blocks
        return max(1, math.isqrt(rows) if self.n_blocks is None else rows // self.k)

    def _noisy_rows(self, rows: int, source: random.Random, private: bool) -> int:
        """Draw ñ, at least 1."""
        noisy = plus_laplace(float(rows), COUNT_SHARE * self.epsilon, 1.0, source, private=private)
        return int(min(max(noisy, 1.0), MOST_ROWS))

    @cached_property
    def _laws(self) -> list[tuple[ScoreMechanism[Any], int]]:
        """The mechanisms of `PARTITIONS` random partitions, and how often each came up."""
        source = random.Random(0)
        drawn = Counter(tuple(self._draw_votes(source, False)) for _ in range(PARTITIONS))
        return [(self.selection(np.array(votes)), count) for votes, count in drawn.items()]


def random_blocks(rows: int, count: int, height: int, source: random.Random) -> list[list[int]]:
    """Send rows to `count` blocks of `height` places by a random injection.

    Returns
    -------
    list of lists of int
        The rows of every block that has any, in the order of the blocks and of the places. With
        fewer places than rows, a random injection of the places into the rows.

    Notes
    -----
    Data sets that differ by one row, and the same random numbers but for it, have blocks that
    differ in one place (docs/mathematics/score-mechanisms.md, (13)).
    """
    total = count * height
    taken = source.sample(range(total), rows) if rows <= total else range(total)
    chosen = range(rows) if rows <= total else source.sample(range(rows), total)
    blocks: dict[int, list[int]] = {}
    for place, row in sorted(zip(taken, chosen, strict=True)):
        blocks.setdefault(place // height, []).append(row)
    return list(blocks.values())


def vote_epsilon(epsilon: float, n_blocks: int | str | None, relation: str) -> float:
    """Return what a noisy number of rows, where it is needed, leaves of ε; rounded down."""
    if isinstance(n_blocks, Integral) or relation == "replace-one":
        return epsilon
    return round_down(exact(epsilon) - exact(COUNT_SHARE * epsilon))


def checked_blocks(n_blocks: int | str | None, name: str = "n_blocks") -> int | str | None:
    """Return a positive number, "n/k" or None; raise `InvalidInput` for anything else."""
    if isinstance(n_blocks, str):
        return checked_choice(n_blocks, name, ("n/k",))
    return None if n_blocks is None else checked_integer(n_blocks, name, 1)
