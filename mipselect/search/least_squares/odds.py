"""Whether what is tried for subproblems of some size pays often enough to be tried again."""

from __future__ import annotations

from collections import Counter

TRIALS = 4
"""So many tries are made before their number counts."""

SHARE = 0.25
"""Of tries that must have paid."""

AGAIN = 50
"""What does not pay is tried once in so many times."""


class Odds:
    """How often something was asked for, tried and worth it, by the size of subproblems."""

    def __init__(self) -> None:
        self._asked: Counter[int] = Counter()
        self._tried: Counter[int] = Counter()
        self._paid: Counter[int] = Counter()

    def are_good(self, size: int) -> bool:
        """Whether it should be tried now."""
        self._asked[size] += 1
        if self._tried[size] < TRIALS or self._asked[size] % AGAIN == 0:
            return True
        return self._paid[size] >= SHARE * self._tried[size]

    def note(self, size: int, paid: bool) -> None:
        """How a try ended."""
        self._tried[size] += 1
        self._paid[size] += paid
