"""The native engine: pairs and triples of additions in closed form, many at once."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.branch_and_bound import offer_additions
from mipselect.search.least_squares.children import Children, children_of, itself
from mipselect.search.least_squares.dominance import safe_share
from mipselect.search.least_squares.node import SquaredNode
from mipselect.search.progress import Run
from mipselect.search.strategies import Strategy


class ClosedForm:
    """Settles a node of two or three additions by the gains of its pairs or triples."""

    name = "native"

    def takes(self, node: SquaredNode) -> bool:
        """Return True for features of one column; triples must have a bound, pairs need none."""
        if (node.bound is None and node.size != 2) or not node.problem.features.singles:
            return False
        return len(node.live) <= _most(node)

    def settle(self, node: SquaredNode, collector: Collector, run: Run) -> bool:
        """Evaluate those whose gain could bring the value below the cutoff."""
        name = Strategy.PAIRS if node.size == 2 else Strategy.TRIPLES
        with run.accounts.trying(name) as account:
            if node.size == 2:
                run.statistics.subproblems += 1
                self._settle_pairs(itself(node), collector, run)
            elif not self._settle_three(node, collector, run):
                return False
            account.successes += 1
        # No cutoff on the way was below this one.
        collector.settle(run.limit(collector, node.tuning))
        return True

    def _settle_three(self, node: SquaredNode, collector: Collector, run: Run) -> bool:
        """Take first features in the order of shares, and look at pairs of those after each.

        Given up, before the pairs of any batch are looked at, where its shares leave too many open.
        """
        division, start = node.division, 0
        while True:
            needed = node.needed_gain(run.limit(collector, node.tuning))
            stop = len(division.open(needed))
            if start >= stop:
                return True
            last = division.last(start, needed)
            stop = min(stop, start + max(1, node.tuning.together.entries // (last - start)))
            run.statistics.subproblems += stop - start
            children = children_of(node, division.order[:last], start, stop)
            if not self._settle_pairs(children, collector, run, node.tuning.closed_form.worth):
                return False
            start = stop

    def _settle_pairs(
        self, children: Children, collector: Collector, run: Run, most: float = math.inf
    ) -> bool:
        """Look at every pair of later features {j, l} whose larger share is that of j.

        Pairs whose shares say that they matter are decided by their gains, in the order of j's.
        Returns False, and looks at none, where these are more than `most` for every child.
        """
        tuning = children.parent.tuning
        if len(children.later) < 2:
            return True
        needed = children.needed_gains(run.limit(collector, tuning))
        shares = pair_shares(children)
        largest = shares.max(axis=1)
        partners = np.flatnonzero((shares > (needed - largest)[:, None]).any(axis=0))
        if len(partners) == 0:
            return True
        children, shares = children.among(partners), shares[:, partners]
        child, place = np.nonzero(shares > np.maximum(0.5 * needed, needed - largest)[:, None])
        if len(child) * len(partners) > most * len(needed):
            return False
        by_share = np.argsort(needed[child] - shares[child, place], kind="stable")
        child, place = child[by_share], place[by_share]
        height = max(1, tuning.together.entries // len(partners))
        for start in range(0, len(child), height):
            run.tick()
            needed = children.needed_gains(run.limit(collector, tuning))
            k, j = child[start : start + height], place[start : start + height]
            still = shares[k, j] > np.maximum(0.5 * needed, needed - largest)[k]
            k, j = k[still], j[still]
            better = np.flatnonzero(better_pairs(children, k, j, needed))
            at, other = np.divmod(better, len(partners))
            k, j = k[at], j[at]
            # The row of the larger share stays open for as long as the pair matters.
            own, its = shares[k, j], shares[k, other]
            once = children.after[k, other] & ((own > its) | ((own == its) & (j < other)))
            if once.any():
                pairs = np.stack([children.later[j], children.later[other]], axis=1)
                added = np.hstack([children.first[k], pairs])[once]
                offer_additions(children.parent, added, collector)
        return True


def _most(node: SquaredNode) -> int:
    """Return how many live features may be settled: fewer where no row sums of G are known."""
    limits = node.tuning.closed_form
    if node.size == 2 and node.tuning.uses(Strategy.PAIRS):
        most = limits.pairs
    elif node.size == 3 and node.tuning.uses(Strategy.TRIPLES):
        most = limits.triples
    else:
        return 0
    return most if node.row_tops is not None else min(most, limits.unknown)


def pair_shares(children: Children) -> FloatArray:
    """Compute u with gain({j, l}) ≤ u_j + u_l for pairs of every child, (F, L); -inf elsewhere.

    By dominance as in `gain_shares`, where |H_jl| is bounded by √(h_j - ρ)√(h_l - ρ) and by
    |G_jl| and what the base takes from it (docs/mathematics/cuts.md, (7)).
    """
    node, later, ridge, h = children.parent, children.later, children.parent.ridge, children.h
    D = h - ridge
    off_sums = np.sqrt(D)
    off_sums *= off_sums.max(axis=1, keepdims=True)
    if node.row_tops is not None and node.tuning.uses(Strategy.ROW_TOPS):
        W = node.whitened[:, later]
        taken = children.row**2
        taken += np.einsum("kj,kj->j", W, W)
        np.sqrt(taken, out=taken)
        taken *= taken.max(axis=1, keepdims=True)
        taken += node.row_tops[node.live[later], 0]
        np.minimum(off_sums, taken, out=off_sums)
    D -= off_sums
    D *= safe_share(D, ridge)
    D += ridge
    shares = np.divide(children.g**2, D, out=D)
    if np.isnan(shares.max()):
        shares[np.isnan(shares)] = np.inf
    # Only among the first ones are features that a later child may not add.
    first = shares[:, : len(shares)]
    first[~children.after[:, : len(shares)]] = -np.inf
    return np.asarray(shares)


def better_pairs(
    children: Children, k: IntArray, j: IntArray, needed: FloatArray
) -> NDArray[np.bool_]:
    """Tell whether g_Tᵀ H_TT⁻¹ g_T > needed_k for T = {j, l} of child k and every l, shape (E, L).

    When j is added as well, g_l²/h_l is what l still gains. l = j means nothing.

    Parameters
    ----------
    children : Children
    k, j : ndarray of int, shape (E,)
        Children and places.
    needed : ndarray of shape (F,)
    """
    used, at = np.unique(j, return_inverse=True)
    H = children.parent.rectangle(children.later[used], children.later)[at]
    taken = children.row[k]
    taken *= children.row[k, j][:, None]
    H -= taken
    g, inverse = children.g[k, j], 1.0 / children.h[k, j]
    left = children.g[k]
    left -= np.multiply(H, (g * inverse)[:, None], out=taken)
    left *= left
    H *= H
    H *= inverse[:, None]
    least = np.subtract(children.h[k], H, out=H)
    np.maximum(least, children.parent.ridge, out=least)
    least *= (needed[k] - g**2 * inverse)[:, None]
    return np.asarray(~(left <= least))
