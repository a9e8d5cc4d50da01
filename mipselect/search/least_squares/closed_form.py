"""The native engine: pairs and triples of additions in closed form, all at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.additions import Additions
from mipselect.search.least_squares.branch_and_bound import offer_additions
from mipselect.search.least_squares.dominance import dominated_diagonal, largest_sums
from mipselect.search.progress import Run


class ClosedForm:
    """Settles a subproblem of two or three additions by the gains of all pairs or triples.

    Parameters
    ----------
    of_pairs, of_triples : int
        Most live features whose pairs, or triples, are formed; more are divided, which bounds
        them better.
    entries : int
        Of arrays that are formed at once, for triples.
    """

    name = "native"

    def __init__(self, *, of_pairs: int = 256, of_triples: int = 96, entries: int = 2**19) -> None:
        self._columns = {2: of_pairs, 3: of_triples}
        self._entries = entries

    def takes(self, sub: Additions) -> bool:
        """Two or three additions among a bounded number of features of one column each."""
        return sub.problem.features.singles and len(sub.live) <= self._columns.get(sub.size, 0)

    def settle(self, sub: Additions, collector: Collector, run: Run) -> bool:
        """Evaluate those whose gain could bring the value below the threshold."""
        if sub.size == 2:
            self._settle_pairs(sub, collector)
        else:
            self._settle_triples(sub, collector, run)
        collector.settle(collector.threshold)
        return True

    def _settle_pairs(self, sub: Additions, collector: Collector) -> None:
        needed = np.array(sub.needed_gain(collector.threshold))
        better = better_pairs(sub.g, sub.h, sub.dense(), needed, sub.ridge)
        if len(pairs := np.argwhere(np.triu(better, k=1))):
            offer_additions(sub, pairs, collector)

    def _settle_triples(self, sub: Additions, collector: Collector, run: Run) -> None:
        """The first feature by its share is added, then pairs of those after it are looked at.

        The three largest shares after a feature bound the triples that begin with it.
        """
        H = sub.dense()
        off = np.abs(H)
        np.fill_diagonal(off, 0.0)
        shares = sub.g**2 / dominated_diagonal(sub.h, largest_sums(off, 2), sub.ridge)
        order = np.argsort(-shares, kind="stable")
        g, h, H, shares = sub.g[order], sub.h[order], H[np.ix_(order, order)], shares[order]
        gains = shares[:-2] + shares[1:-1] + shares[2:]
        start = 0
        while True:
            run.tick()
            needed = sub.needed_gain(collector.threshold)
            open_ = int(np.sum(gains > needed))
            stop = min(open_, start + max(1, self._entries // (len(order) - start) ** 2))
            if start >= stop:
                return
            run.statistics.subproblems += stop - start
            first, later = slice(start, stop), slice(start + 1, None)
            step, row = g[first] / h[first], H[first, later]
            scaled = row / h[first, None]
            better = better_pairs(
                g[later] - row * step[:, None],
                np.maximum(h[later] - row * scaled, sub.ridge),
                H[later, later] - row[:, :, None] * scaled[:, None, :],
                needed - g[first] * step,
                sub.ridge,
            )
            i, j, k = np.nonzero(better)
            each_once = (i <= j) & (j < k)
            triples = np.stack([start + i, start + 1 + j, start + 1 + k], axis=1)[each_once]
            if len(triples):
                offer_additions(sub, order[triples], collector)
            start = stop


def better_pairs(
    g: FloatArray, h: FloatArray, H: FloatArray, needed: FloatArray, ridge: float
) -> NDArray[np.bool_]:
    """Whether

        g_Tᵀ H_TT⁻¹ g_T = (h_k g_j² + h_j g_k² - 2 H_jk g_j g_k) / (h_j h_k - H_jk²) > needed

    for every pair T = {j, k}, shape (..., L, L); the diagonal means nothing.

    Parameters
    ----------
    g, h : ndarray of shape (..., L)
    H : ndarray of shape (..., L, L)
        With h on its diagonal, though it is not looked at.
    needed : ndarray of shape (...)
    ridge : float
        H_TT ⪰ ridge·I, so its determinant is at least ridge².
    """
    weighted = (g**2)[..., :, None] * h[..., None, :]
    numerator = weighted + weighted.swapaxes(-1, -2)
    numerator -= 2.0 * H * (g[..., :, None] * g[..., None, :])
    determinant = np.maximum(h[..., :, None] * h[..., None, :] - H**2, ridge**2)
    return np.asarray(numerator > needed[..., None, None] * determinant)
