"""Nodes: some features fixed in, some still free, and how many of these are added."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from mipselect.arrays import IntArray


@dataclass(frozen=True, eq=False)
class Node:
    """All supports B ∪ T with T of `size` of the features `live`.

    Attributes
    ----------
    base : ndarray of int, shape (k,)
        B, which is in every support.
    size : int
        m ≥ 0, how many features are still added.
    live : ndarray of int, shape (L,)
        Features that may be added; all others are out.
    """

    base: IntArray
    size: int
    live: IntArray

    @property
    def number(self) -> int:
        """Number of supports."""
        return math.comb(len(self.live), self.size)

    def extent(self, cutoff: float) -> float:
        """Measure what a division of it takes, in units of its kind of nodes: here one."""
        return 1.0

    def sets(self, count: int) -> Iterator[IntArray]:
        """Yield the positions among `live` of every T, `count` of them at once: (k, m)."""
        every = itertools.combinations(range(len(self.live)), self.size)
        while some := list(itertools.islice(every, count)):
            yield np.asarray(some, dtype=np.intp)

    def supports(self, positions: IntArray) -> IntArray:
        """Return B ∪ live[positions] for positions of shape (k, m): sorted rows, shape (k, s)."""
        added = self.live[positions]
        base = np.broadcast_to(self.base, (len(added), len(self.base)))
        return np.sort(np.hstack([base, added]), axis=1)

    def restricted(self, keep: IntArray) -> Self:
        """Return the same node with only the positions `keep` of `live`."""
        return replace(self, live=self.live[keep])

    def with_feature(self, position: int, keep: IntArray) -> Self:
        """Return the child with live[position] in the base; only the positions `keep` stay live."""
        base = np.append(self.base, self.live[position])
        return replace(self, base=base, size=self.size - 1, live=self.live[keep])
