"""Columns of G that are near to one another, connected sets of them, and how far all others are.

Two are near if r_jl = |G_jl| / √((G_jj + λ)(G_ll + λ)) is among the largest. For features of one
column each (docs/mathematics/cuts.md, (17)).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.squared import PreparedSquared
from mipselect.search.tuning import TUNING, Near


@dataclass(frozen=True, eq=False)
class ConnectedSets:
    """Sets of q features that steps from near to near connect.

    Attributes
    ----------
    members : ndarray of int, shape (q, N)
    entries : ndarray of shape (q(q-1)/2, N)
        G between the members, in the order of `itertools.combinations`.
    """

    members: IntArray
    entries: FloatArray


class NearColumns:
    """Near columns of G: their connected sets, and bounds on the entries that are not near.

    Parameters
    ----------
    G : ndarray of shape (p, p)
    scale : ndarray of shape (p,)
        √(G_jj + λ).
    pairs : ndarray of int, shape (N, 2)
        What is near, the smaller index first.
    far_entries : ndarray of shape (`tops`, p)
        At least the largest r_jl over l that are not near to j, falling.
    limits : Near
    """

    def __init__(
        self,
        G: FloatArray,
        scale: FloatArray,
        pairs: IntArray,
        far_entries: FloatArray,
        limits: Near,
    ) -> None:
        self.scale, self.far_entries, self._G, self._limits = scale, far_entries, G, limits
        both = np.concatenate([pairs, pairs[:, ::-1]])
        both = both[np.argsort(both[:, 0], kind="stable")]
        self._second = both[:, 1]
        self._starts = np.searchsorted(both[:, 0], np.arange(len(G) + 1))
        self._complete = True
        self._sets = [self._with_entries(np.ascontiguousarray(pairs.T))]

    def sets(self, q: int) -> ConnectedSets | None:
        """Find all connected sets of q features; None if they are too many, or too large."""
        while self._complete and len(self._sets) < q - 1:
            larger = self._one_more(self._sets[-1].members)
            self._complete = larger is not None
            if larger is not None:
                self._sets.append(self._with_entries(larger))
        return self._sets[q - 2] if q - 1 <= len(self._sets) else None

    def _one_more(self, members: IntArray) -> IntArray | None:
        """Find all connected sets with one more member, each once and sorted; None if too many."""
        p, q = len(self._G), len(members) + 1
        most = self._limits.entries * p // (q * (q - 1) // 2)
        degrees = np.diff(self._starts)
        # What is found is held before it is sorted, and most sets are found several times.
        if p**q >= 2**63 or int(degrees[members].sum()) > 2 * q * most:
            return None
        larger = []
        for member in members:
            degree = degrees[member]
            of = np.repeat(np.arange(members.shape[1]), degree)
            step = np.arange(len(of)) - np.repeat(np.cumsum(degree) - degree, degree)
            new = self._second[self._starts[member][of] + step]
            fresh = np.logical_and.reduce([other[of] != new for other in members])
            larger.append(np.vstack([members[:, of[fresh]], new[fresh]]))
        sets = np.sort(np.concatenate(larger, axis=1), axis=0)
        # np.unique hashes, which takes twenty times as long as a sort.
        codes = np.sort(np.ravel_multi_index(tuple(sets), (p,) * q))
        codes = codes[np.diff(codes, prepend=-1) > 0]
        return None if len(codes) > most else np.stack(np.unravel_index(codes, (p,) * q))

    def _with_entries(self, members: IntArray) -> ConnectedSets:
        pairs = combinations(members, 2)
        return ConnectedSets(members, np.stack([self._G[one, other] for one, other in pairs]))


@dataclass(frozen=True, eq=False)
class LiveSets:
    """The connected sets of some features.

    Attributes
    ----------
    columns : NearColumns
    members : tuple of ndarray of int, shapes (q, N)
        For q = 2, 3, …
    which : tuple of ndarray of int, shapes (N,)
        Their places in `columns.sets(q)`.
    """

    columns: NearColumns
    members: tuple[IntArray, ...] = ()
    which: tuple[IntArray, ...] = ()

    def up_to(self, q: int) -> LiveSets | None:
        """Add the sets of at most q features; return None where they are not known."""
        if q > len(self.columns.far_entries):
            return None
        members, which = list(self.members[: q - 1]), list(self.which[: q - 1])
        while len(members) < q - 1:
            more = self.columns.sets(len(members) + 2)
            if more is None:
                return None
            members.append(more.members)
            which.append(np.arange(more.members.shape[1]))
        return LiveSets(self.columns, tuple(members), tuple(which))

    def among(self, place: IntArray) -> tuple[LiveSets, list[IntArray]]:
        """Return the sets whose members all have a place, which is not -1, and these places."""
        members, which, places = [], [], []
        for some, number in zip(self.members, self.which, strict=True):
            at = place.take(some)
            inside = at[0] >= 0
            for other in at[1:]:
                inside &= other >= 0
            keep = np.flatnonzero(inside)
            if len(keep) < len(number):
                some, number, at = some.take(keep, axis=1), number[keep], at.take(keep, axis=1)
            members.append(some)
            which.append(number)
            places.append(at)
        return LiveSets(self.columns, tuple(members), tuple(which)), places


def near_columns(problem: PreparedSquared, limits: Near = TUNING.near) -> NearColumns:
    """Find them, for a problem with two features or more, of one column each, whose G is held."""
    features = problem.features
    columns = features.columns(np.arange(features.count))
    G = problem.gram.full()
    if not features.plain:
        G = G[np.ix_(columns, columns)]
    p = len(G)
    scale = np.sqrt(np.diagonal(G) + problem.ridge)
    R = np.abs(G)
    R /= scale[:, None]
    R /= scale
    R[np.diag_indices(p)] = 0.0
    others = p * p - min(limits.degree * p, p * (p - 1))
    least = max(limits.least, float(np.partition(R, others, axis=None)[others]))
    pairs = np.argwhere(np.triu(least < R))
    R[pairs[:, 0], pairs[:, 1]] = R[pairs[:, 1], pairs[:, 0]] = 0.0
    count = min(limits.tops, p - 1)
    R.partition(p - count, axis=1)
    far = np.zeros((limits.tops, p))
    far[:count] = np.sort(R[:, p - count :], axis=1)[:, ::-1].T
    return NearColumns(G, scale, pairs, far, limits)
