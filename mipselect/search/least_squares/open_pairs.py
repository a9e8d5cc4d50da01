"""Pairs of additions that may matter whatever their product is, found without it.

E = H - ρI is positive semidefinite, so |H_jl| ≤ √(e_j e_l), and the gain of {j, l} is convex in
H_jl: it is largest at an end. Only products of the pairs that are left open are formed
(docs/mathematics/cuts.md, (7)).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.least_squares.branch_and_bound import offer_additions
from mipselect.search.least_squares.children import itself
from mipselect.search.least_squares.closed_form import better_pairs
from mipselect.search.least_squares.node import SquaredNode
from mipselect.search.least_squares.tree import SquaredTree, is_crowded
from mipselect.search.strategies import Strategy


@dataclass(frozen=True, eq=False)
class OpenPairs:
    """Pairs of live features whose gain may exceed what is needed.

    Attributes
    ----------
    order : ndarray of int, shape (L,)
        Live positions by falling |g|.
    open : ndarray of bool, shape (K, L)
        Which places of the order come after the k-th and are open with it; none does with
        places from K on.
    """

    order: IntArray
    open: NDArray[np.bool_]

    @property
    def number(self) -> int:
        """Number of open pairs."""
        return int(np.count_nonzero(self.open))

    def groups(self, entries: int) -> Iterator[tuple[int, int, IntArray]]:
        """Yield rows start:stop with the places, rising, that are open with one of them.

        Rows of a group have at least half as many places as its first one, so that no more than
        about twice the open pairs are looked at.
        """
        counts, start = self.open.sum(axis=1), 0
        while start < len(counts):
            height = max(1, entries // max(int(counts[start]), 1))
            few = np.flatnonzero(2 * counts[start : start + height] < counts[start])
            stop = start + (int(few[0]) if len(few) else min(height, len(counts) - start))
            places = np.flatnonzero(self.open[start:stop].any(axis=0))
            if len(places):
                yield start, stop, places
            start = stop


def largest_pair_gains(node: SquaredNode, first: IntArray, second: IntArray) -> FloatArray:
    """Bound the gains of {j, l} for live positions j, l by |H_jl| ≤ √(e_j e_l), shape (K, L).

    At an end H = ρI + vvᵀ on the pair, with v = (√e_j, ±√e_l).
    """
    size, root = np.abs(node.g), np.sqrt(node.h - node.ridge)
    weighted = root * size
    apart = np.subtract.outer(weighted[first], weighted[second])
    apart *= apart
    apart /= node.ridge + np.add.outer(root[first] ** 2, root[second] ** 2)
    gains = np.add.outer(size[first] ** 2, size[second] ** 2)
    gains -= apart
    gains /= node.ridge
    return np.asarray(gains)


def open_pairs(node: SquaredNode, needed: float) -> OpenPairs | None:
    """Return the pairs that may gain more than is needed; None where there are too many.

    The larger g²/ρ of such a pair is above half of what is needed.
    """
    size, L = np.abs(node.g), len(node.live)
    order = np.argsort(-size, kind="stable")
    rows = int(np.count_nonzero(~(size**2 <= 0.5 * needed * node.ridge)))
    share = node.tuning.closed_form.open_share
    if rows > 2.0 * share * L or not np.isfinite(size).all():
        return None
    matter = np.zeros((rows, L), dtype=bool)
    height = max(1, node.tuning.together.pair_entries // L)
    for start in range(0, rows, height):
        some = slice(start, min(start + height, rows))
        matter[some] = ~(largest_pair_gains(node, order[some], order) <= needed)
        matter[some] &= np.arange(L) > np.arange(some.start, some.stop)[:, None]
    found = OpenPairs(order, matter)
    return found if found.number <= 0.5 * share * L**2 else None


def settled_by_open_pairs(node: SquaredNode, tree: SquaredTree) -> bool:
    """Settle a crowded node of two additions by its open pairs; False where they are too many.

    Only for a collector of all levels: where each has a cutoff of its own, the others need row
    sums of G, which settle pairs as well.
    """
    if node.size != 2 or not is_crowded(node) or not tree.collector.of_all_levels:
        return False
    if not tree.tuning.uses(Strategy.PAIRS):
        return False
    tree.visit()
    needed = node.needed_gain(tree.cutoff)
    pairs = open_pairs(node, needed)
    if pairs is None:
        return False
    with tree.run.accounts.trying(Strategy.PAIRS) as account:
        for start, stop, places in pairs.groups(tree.tuning.together.pair_entries):
            tree.run.tick()
            needed = node.needed_gain(tree.cutoff)
            used = np.concatenate([np.arange(start, stop), places[places >= stop]])
            among = itself(node).among(pairs.order[used])
            rows = np.arange(stop - start)
            better = better_pairs(among, np.zeros_like(rows), rows, np.array([needed]))
            at, other = np.nonzero(better & pairs.open[start:stop][:, used])
            if len(at):
                chosen = pairs.order[used[np.stack([at, other], axis=1)]]
                offer_additions(node, chosen, tree.collector)
        account.successes += 1
    # No cutoff on the way was below this one.
    tree.collector.settle(tree.cutoff)
    return True
