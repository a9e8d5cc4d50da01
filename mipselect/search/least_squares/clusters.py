"""Bounds on additions by clusters of near columns: what these gain together is looked at together.

In every set of additions those that are near to one another form clusters. What clusters have in
common is small, so that little has to be taken from each for the others
(docs/mathematics/cuts.md, (17)).
"""

from __future__ import annotations

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.squared import EPS
from mipselect.search.least_squares.near_columns import LiveSets
from mipselect.search.least_squares.node import Division, SquaredNode

LEAST_PIVOT = 0.05
"""Relative to the diagonal; a cluster with a smaller one is not bounded."""


def by_clusters(
    node: SquaredNode, near: LiveSets, needed: float
) -> tuple[Division, LiveSets, IntArray]:
    """Divide by shares of single features and gains of clusters, the largest share first.

    Parameters
    ----------
    node : SquaredNode
        At least two additions, of features of one column each.
    near : LiveSets
        Sets of all live features, or more, up to `node.size`.
    needed : float
        Features that cannot be in a set with a larger gain are dropped.

    Returns
    -------
    Division
    LiveSets
        Sets of the live features only.
    ndarray of int
        Positions of the features that a set of additions has whose gain may exceed `needed`.
    """
    m, L = node.size, len(node.live)
    place = np.full(len(near.columns.scale), -1, dtype=np.intp)
    place[node.live] = np.arange(L)
    near, places = near.among(place)
    alone = node.gains_alone()
    omega = np.einsum("kj,kj->j", node.whitened, node.whitened) / node.h
    far = far_sums(node, near, place, alone, omega)
    left = 1.0 - far[m - 1]
    shares = alone / np.maximum(left, LEAST_PIVOT)
    shares[~(left > LEAST_PIVOT) | np.isnan(shares)] = np.inf
    order = np.argsort(-shares, kind="stable")
    found: list[tuple[IntArray, FloatArray]] = [(order[None], shares[order])]
    for q, (at, which) in enumerate(zip(places, near.which, strict=True), start=2):
        sets = near.columns.sets(q)
        assert sets is not None
        found.append((at, cluster_gains(node, sets.entries[:, which], at, far[m - q])))
    rank = np.empty(L, dtype=np.intp)
    rank[order] = np.arange(L)
    with_first: list[FloatArray] = []
    keep = np.zeros(L, dtype=bool)
    for (at, gains), others in zip(found, reversed(largest_sums_of(found)), strict=True):
        # No set with another cluster gains more than is needed.
        open_ = np.flatnonzero(~(gains + others <= needed))
        at, most = at[:, open_], np.zeros(L)
        np.maximum.at(most, rank[at].min(axis=0, initial=L - 1), gains[open_])
        keep[at] = True
        with_first.append(most)
    with_first[0] = shares[order]
    return Division(order, largest_by_first(with_first)), near, np.flatnonzero(keep)


def largest_sums_of(clusters: list[tuple[IntArray, FloatArray]]) -> list[float]:
    """Find the largest sums of clusters with r = 0, …, m-1 features in all.

    Parameters
    ----------
    clusters : list of m tuples
        Those with q = 1, …, m features: positions, shape (q, N), and the most that each gains,
        shape (N,). Single features come in the order of falling gains.
    """
    most = [float(gains.max(initial=0.0)) for _, gains in clusters]
    best = [0.0]
    for r in range(1, len(clusters)):
        singles = float(clusters[0][1][:r].sum())
        sums = [singles, *(most[q - 1] + best[r - q] for q in range(2, r + 1))]
        best.append(float(np.max(sums)))
    return best


def largest_by_first(with_first: list[FloatArray]) -> FloatArray:
    """Find the largest sums of clusters with m features in all of which k is the first; shape (L,).

    Parameters
    ----------
    with_first : list of m ndarrays of shape (L,)
        The most that one of 1, 2, … features has whose first is k, 0 where there is none. For one
        feature it is falling.
    """
    m, L = len(with_first), len(with_first[0])
    after = np.append(with_first[0], np.zeros(m))
    later = [np.append(np.maximum.accumulate(most[::-1])[::-1][1:], 0.0) for most in with_first]
    # best[r]: the largest sum of clusters with r features in all, which come after k.
    best, singles = [np.zeros(L)], np.zeros(L)
    for r in range(1, m):
        singles = singles + after[r : r + L]
        sums = [later[q - 1] + best[r - q] for q in range(2, r + 1)]
        best.append(np.max([singles, *sums], axis=0))
    return np.asarray(np.max([with_first[q - 1] + best[m - q] for q in range(1, m + 1)], axis=0))


def far_sums(
    node: SquaredNode, near: LiveSets, place: IntArray, alone: FloatArray, omega: FloatArray
) -> FloatArray:
    """Bound sums of the c largest |H_jl|/√(h_jh_l) over l not near to j from above; (m, L).

    With an allowance for rounding of H, in row c = 0 too. All entries of some rows are looked at;
    those of other rows are |G_jl| and what the base takes of it at most.

    Parameters
    ----------
    node : SquaredNode
    near : LiveSets
    place : ndarray of int, shape (p,)
        Place of every feature among the live ones.
    alone, omega : ndarray of shape (L,)
        g_j²/h_j, and ‖W_j‖²/h_j.
    """
    count, L = node.size - 1, len(node.live)
    rows, some = np.arange(L), node.tuning.near.looked_at
    if 2 * some < L:
        rows = np.union1d(
            np.argpartition(-omega, some)[:some], np.argpartition(-alone, some)[:some]
        )
    C = _far_entries(node, near, place, rows)
    entries = _largest(C, count)
    others = np.delete(np.arange(L), rows)
    if len(others):
        kappa, root = near.columns.scale[node.live] / np.sqrt(node.h), np.sqrt(omega)
        shrunk = np.zeros((count, 1))
        shrunk[: len(others), 0] = np.sort(root[others])[::-1][:count]
        unseen = near.columns.far_entries[:count, node.live] * (kappa * kappa[others].max())
        unseen += root * shrunk
        entries = _largest(np.concatenate([entries, unseen]), count)
        C.partition(L - count, axis=1)
        entries[:, rows] = np.sort(C[:, L - count :], axis=1)[:, ::-1].T
    growth = 1.0 + node.problem.largest_trace / node.ridge
    allowance = 16.0 * EPS * (len(node.whitened) + node.size + 1) * growth
    return np.asarray(np.cumsum(np.append(np.full((1, L), allowance), entries, axis=0), axis=0))


def _far_entries(node: SquaredNode, near: LiveSets, place: IntArray, rows: IntArray) -> FloatArray:
    """Compute |H_jl|/√(h_jh_l) of rows j, zero where l is j or near to it; shape (len(rows), L)."""
    root = np.sqrt(node.h)
    C = np.abs(node.rectangle(rows, np.arange(len(node.live))))
    C /= root[rows][:, None]
    C /= root
    C[np.arange(len(rows)), rows] = 0.0
    row = np.full(len(place), -1, dtype=np.intp)
    row[node.live[rows]] = np.arange(len(rows))
    pairs = near.members[0]
    for first, second in (pairs, pairs[::-1]):
        some = np.flatnonzero(row[first] >= 0)
        C[row[first[some]], place[second[some]]] = 0.0
    return C


def _largest(C: FloatArray, count: int) -> FloatArray:
    """Return the largest entries of every column, falling; shape (count, L)."""
    known = min(count, len(C))
    largest = np.zeros((count, C.shape[1]))
    largest[:known] = np.sort(C, axis=0)[::-1][:known]
    return largest


def cluster_gains(
    node: SquaredNode, entries: FloatArray, at: IntArray, far: FloatArray
) -> FloatArray:
    """Compute g_Kᵀ (H_KK - diag(f_jh_j))⁻¹ g_K of every cluster K, inf for small pivots; (N,).

    Parameters
    ----------
    node : SquaredNode
    entries : ndarray of shape (q(q-1)/2, N)
        G between the members, in the order of `itertools.combinations`.
    at : ndarray of int, shape (q, N)
        Positions of the members among the live features.
    far : ndarray of shape (L,)
        f.
    """
    q, N = at.shape
    h, g, W = node.h[at], node.g[at], [node.whitened[:, members] for members in at]
    upper = np.empty((q, q, N))
    upper[np.triu_indices(q, 1)] = entries
    for a in range(q):
        upper[a, a] = h[a] * (1.0 - far[at[a]])
        for b in range(a + 1, q):
            upper[a, b] -= np.einsum("kn,kn->n", W[a], W[b])
    gains, definite = np.zeros(N), np.ones(N, dtype=bool)
    for a in range(q):
        definite &= upper[a, a] > LEAST_PIVOT * h[a]
        pivot = np.where(definite, upper[a, a], 1.0)
        gains += g[a] ** 2 / pivot
        for b in range(a + 1, q):
            factor = upper[a, b] / pivot
            g[b] -= factor * g[a]
            upper[b, b:] -= factor * upper[a, b:]
    return np.where(definite, gains, np.inf)
