"""Accounts of strategies: how often each was tried, how often it helped, and its seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mipselect.search.certificate import StrategyEffort


@dataclass
class StrategyAccount:
    """The counts of a `StrategyEffort`, while the search goes on."""

    calls: int = 0
    successes: int = 0
    seconds: float = 0.0


class Accounts:
    """Accounts by name. Every second is booked once, on the strategy that was begun last.

    Parameters
    ----------
    clock : callable
        The time in seconds, since whenever. It decides nothing.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock, self._since = clock, 0.0
        self._accounts: dict[str, StrategyAccount] = {}
        self._begun: list[StrategyAccount] = []

    @contextmanager
    def trying(self, name: str) -> Iterator[StrategyAccount]:
        """Count a call, and book the time until its end."""
        account = self._accounts.setdefault(name, StrategyAccount())
        account.calls += 1
        self._book()
        self._begun.append(account)
        try:
            yield account
        finally:
            self._book()
            self._begun.pop()

    def _book(self) -> None:
        now = self._clock()
        if self._begun:
            self._begun[-1].seconds += now - self._since
        self._since = now

    def efforts(self) -> tuple[StrategyEffort, ...]:
        """Return all accounts so far, the longest first."""
        found = (StrategyEffort(str(name), **vars(own)) for name, own in self._accounts.items())
        return tuple(sorted(found, key=lambda effort: -effort.seconds))
