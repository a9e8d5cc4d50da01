"""Record of whether tries for subproblems of some size pay often enough to be made again."""

from __future__ import annotations

from collections import Counter

TRIALS = 4
"""So many tries are made before their number counts."""

SHARE = 0.25
"""Of tries that must have paid."""

AGAIN = 50
"""What does not pay is tried once in so many times."""


class Odds:
    """Counts of times something was asked for, tried and worth it, by the size of subproblems."""

    def __init__(self) -> None:
        self._asked: Counter[int] = Counter()
        self._tried: Counter[int] = Counter()
        self._paid: Counter[int] = Counter()

    def are_good(self, size: int) -> bool:
        """Tell whether to try it now for a subproblem of this size; the question is counted."""
        self._asked[size] += 1
        if self._tried[size] < TRIALS or self._asked[size] % AGAIN == 0:
            return True
        return self._paid[size] >= SHARE * self._tried[size]

    def note(self, size: int, paid: bool) -> None:
        """Record whether a try for a subproblem of this size paid."""
        self._tried[size] += 1
        self._paid[size] += paid
