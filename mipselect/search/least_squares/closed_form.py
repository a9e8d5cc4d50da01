"""The native engine: pairs and triples of additions in closed form, many at once."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.branch_and_bound import offer_additions
from mipselect.search.least_squares.node import Children, SquaredNode, children_of, itself
from mipselect.search.least_squares.shares import safe_share
from mipselect.search.progress import Run
from mipselect.search.tree import Engine
from mipselect.search.tuning import Strategy


class ClosedForm(Engine[SquaredNode]):
    """Settles a node of two or three additions by the gains of its pairs or triples."""

    def takes(self, node: SquaredNode) -> bool:
        """Return True for features of one column; triples must have a bound, pairs need none."""
        if (node.bound is None and node.size != 2) or not node.problem.features.singles:
            return False
        strategy = {2: Strategy.PAIRS, 3: Strategy.TRIPLES}.get(node.size)
        if strategy is None or not node.tuning.uses(strategy):
            return False
        return node.row_tops is not None or len(node.live) <= node.tuning.screening.unknown

    def settle(self, node: SquaredNode, collector: Collector, run: Run) -> bool:
        """Evaluate those whose gain could bring the value below the cutoff."""
        name = Strategy.PAIRS if node.size == 2 else Strategy.TRIPLES
        with run.accounts.trying(name, node.size) as account:
            if node.size == 2:
                run.subproblems += 1
                self._settle_pairs(itself(node), collector, run)
            elif not self._settle_three(node, collector, run):
                return False
            account.successes += 1
            account.settled += 1.0
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
            run.subproblems += stop - start
            children = children_of(node, division.order[:last], start, stop)
            if not self._settle_pairs(children, collector, run, node.tuning.together.pairs):
                return False
            start = stop

    def _settle_pairs(
        self, children: Children, collector: Collector, run: Run, most: float = math.inf
    ) -> bool:
        """Look at every pair of later features {j, l} whose larger share is that of j.

        Pairs whose shares say that they matter are decided by their gains, in the order of j's.
        What is offered lowers the cutoff and closes rows, so that no more are looked at than where
        the node is divided. Returns False, and looks at none, where pairs are more than `most` for
        every child.
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
        partners = partners[np.argsort(-shares[:, partners].max(axis=0), kind="stable")]
        children, shares = children.among(partners), shares[:, partners]
        larger = _larger(shares, np.arange(len(partners)), needed)
        if np.count_nonzero(larger) * len(partners) > most * len(needed):
            return False
        rows = np.flatnonzero(larger.any(axis=0))
        height = max(1, tuning.together.entries // len(partners))
        while len(rows):
            run.tick()
            some, rows = rows[:height], rows[height:]
            for k, pairs in _larger_first(children, shares, some, needed, run):
                first = np.repeat(children.first[[k]], len(pairs), axis=0)
                additions = np.hstack([first, pairs])
                for at in range(0, len(additions), tuning.together.supports):
                    if at > 0:
                        run.tick()
                    these = additions[at : at + tuning.together.supports]
                    offer_additions(children.parent, these, collector)
            # What was offered may have closed many rows.
            needed = children.needed_gains(run.limit(collector, tuning))
            rows = rows[_larger(shares, rows, needed).any(axis=0)]
        return True


def _larger(shares: FloatArray, rows: IntArray, needed: FloatArray) -> NDArray[np.bool_]:
    """Tell which children have open pairs whose larger share is that of each row, shape (F, k)."""
    least = np.maximum(0.5 * needed, needed - shares.max(axis=1))
    return np.asarray(shares[:, rows] > least[:, None])


def _larger_first(
    children: Children, shares: FloatArray, rows: IntArray, needed: FloatArray, run: Run
) -> Iterator[tuple[int, IntArray]]:
    """Yield the pairs {j, l} of every child that gain more than is needed, shape (m, 2).

    The larger share is that of j, which is one of `rows`.
    """
    own = shares[:, rows]
    may = _larger(shares, rows, needed)
    least = needed - np.where(may, own, -np.inf).max(axis=1)
    ends = shares.shape[1] - np.argmax((shares > least[:, None])[:, ::-1], axis=1)
    H = children.parent.rectangle(children.later[rows], children.later)
    taken, w = pair_products(children, needed)
    for k in np.flatnonzero(may.any(axis=1)).tolist():
        here = np.flatnonzero(may[k])
        j, end = rows[here], ends[k]
        run.accounts.work += 12.0 * len(here) * float(end)
        first, other = better_pairs(H[:, :end][here], j, taken[k, :, :end], w[k, :end])
        if len(first):
            j = j[first]
            own, its = shares[k, j], shares[k, other]
            once = children.after[k, other] & ((own > its) | ((own == its) & (j < other)))
            if once.any():
                yield k, np.stack([children.later[j], children.later[other]], axis=1)[once]


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


@np.errstate(all="ignore")
def pair_products(children: Children, needed: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute the vectors (u, v), shape (F, 2, L), and w, shape (F, L), that decide about pairs.

    T = {j, l} of a child gains more than needed, g_Tᵀ H_TT⁻¹ g_T > c, if w_j or w_l is no number,
    or |H_jl - u_j u_l - v_j v_l| > w_j w_l with H of the parent, u what the child takes from it,
    v = g/√c and w² = h - v² (docs/mathematics/cuts.md, (7)).
    """
    v = children.g / np.sqrt(needed)[:, None]
    return np.stack([children.row, v], axis=1), np.sqrt(children.h - v**2)


@np.errstate(invalid="ignore")
def better_pairs(
    H: FloatArray, j: IntArray, taken: FloatArray, w: FloatArray
) -> tuple[IntArray, IntArray]:
    """Find where |H_jl - taken_jᵀ taken_l| > w_j w_l, or these are no numbers: rows and columns.

    Parameters
    ----------
    H : ndarray of shape (E, L)
        Overwritten.
    j : ndarray of int, shape (E,)
        The places of its rows among its columns.
    taken : ndarray of shape (2, L)
    w : ndarray of shape (L,)
    """
    H -= taken[:, j].T @ taken
    np.abs(H, out=H)
    better = np.flatnonzero(~(np.multiply.outer(w[j], w) >= H))
    return np.divmod(better, len(w))
