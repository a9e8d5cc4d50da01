"""Records of what strategies earned, by the size of nodes, and what they say to try next."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from mipselect.search.strategies import Strategy
from mipselect.search.tuning import TUNING, Trials, Tuning


@dataclass
class Record:
    """Counts of one strategy at nodes of one size.

    Attributes
    ----------
    asked, tried : int
        Questions whether to try it, and tries.
    spent, earned : int
        What all tries could have earned, and what they did.
    used : int
        Choices among the variants of the strategy, tried together or taken from the record.
    wins : Counter of int
        How often each variant was the best.
    """

    asked: int = 0
    tried: int = 0
    spent: int = 0
    earned: int = 0
    used: int = 0
    wins: Counter[int] = field(default_factory=Counter)


def trials_of(strategy: Strategy, size: int, tuning: Tuning) -> Trials:
    """Return the rule by which a strategy is tried at nodes of this size."""
    if strategy is Strategy.DUAL_POINTS:
        return tuning.dual_points.trials_of_pairs if size == 2 else tuning.dual_points.trials
    return {
        Strategy.EXPANSION: tuning.expanding.trials,
        Strategy.CHILDREN: tuning.expanding.children,
        Strategy.FEWER_FAMILIES: tuning.expanding.fewer,
        Strategy.CLUSTERS: tuning.near.trials,
    }[strategy]


class Scheduler:
    """Decisions about what is tried at a node, from what was tried before; no clock, no chance."""

    def __init__(self, tuning: Tuning = TUNING) -> None:
        self.tuning = tuning
        self._records: defaultdict[tuple[Strategy, int], Record] = defaultdict(Record)

    def worth(self, strategy: Strategy, size: int) -> bool:
        """Tell whether to try it now at a node of this size; the question is counted."""
        record, trials = self._records[strategy, size], trials_of(strategy, size, self.tuning)
        record.asked += 1
        if record.tried < trials.first or record.asked % trials.again == 0:
            return True
        return record.earned >= trials.share * record.spent

    def note(self, strategy: Strategy, size: int, earned: int, spent: int = 1) -> None:
        """Record what a try at a node of this size earned of what it could have."""
        record = self._records[strategy, size]
        record.tried += 1
        record.spent += spent
        record.earned += earned

    def variant(self, strategy: Strategy, size: int) -> int | None:
        """Return the variant to use at a node of this size; None if all should be tried."""
        record, trials = self._records[strategy, size], trials_of(strategy, size, self.tuning)
        if record.used < trials.first or record.used % trials.again == 0:
            return None
        record.used += 1
        return self.winner(strategy, size)

    def winner(self, strategy: Strategy, size: int) -> int | None:
        """Return the variant that has won most often, if one has."""
        most = self._records[strategy, size].wins.most_common(1)
        return most[0][0] if most else None

    def won(self, strategy: Strategy, size: int, variant: int) -> None:
        """Record which of all variants was the best."""
        record = self._records[strategy, size]
        record.used += 1
        record.wins[variant] += 1
