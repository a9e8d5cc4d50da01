"""Supports by number: the lexicographic rank among the C(p, s) supports, and back."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import comb


def rank(support: Sequence[int], n_features: int) -> int:
    """Return how many supports come before `support`, sorted, in lexicographic order.

    A later one shares the first i members and has a larger one in place i, so its other s - i
    members are among the p - 1 - S_i features after S_i: C(p, s) - 1 - rank = Σ_i C(p-1-S_i, s-i).
    """
    s = len(support)
    later = sum(comb(n_features - 1 - j, s - i) for i, j in enumerate(support))
    return comb(n_features, s) - 1 - later


def unrank(number: int, n_features: int, size: int) -> tuple[int, ...]:
    """Return the support, sorted, whose `rank` is `number`, 0 ≤ number < C(p, s)."""
    later = comb(n_features, size) - 1 - number
    support: list[int] = []
    room = n_features
    for left in range(size, 0, -1):
        room = _largest_with(left, later, room)
        later -= comb(room, left)
        support.append(n_features - 1 - room)
    return tuple(support)


def _largest_with(k: int, count: int, end: int) -> int:
    """Return the largest m < end with C(m, k) ≤ count."""
    return bisect_right(range(end), count, key=lambda m: comb(m, k)) - 1
