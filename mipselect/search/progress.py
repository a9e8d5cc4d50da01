"""Time limits, progress reports and counts of a running search."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from mipselect.search.pool import Effort

REPORT_EVERY = 0.5
"""Seconds between two progress reports."""


@dataclass(frozen=True)
class Progress:
    """One report from a running search; sensitive.

    Attributes
    ----------
    stage : str
        What is being proven, such as "pool" or "level 2".
    seconds : float
        Since the search began.
    bound, incumbent : float
        Proven lower bound of what is still open, and the value that it has to reach.
    done, total : int
        Removed sets that are settled, and all of them.
    nodes : int
        Subproblems visited.
    """

    stage: str
    seconds: float
    bound: float
    incumbent: float
    done: int
    total: int
    nodes: int


ProgressCallback = Callable[[Progress], None]


class TimeUp(Exception):
    """The time limit has passed; the driver turns this into `NotCertified`."""


class Clock:
    """Watches the time limit, counts the work and reports progress now and then.

    Parameters
    ----------
    time_limit : float or None
        Seconds from now; None for no limit.
    callback : callable or None
        Receives a `Progress` at most every `REPORT_EVERY` seconds.
    """

    def __init__(self, time_limit: float | None, callback: ProgressCallback | None) -> None:
        self._start = time.monotonic()
        self.limit = math.inf if time_limit is None else time_limit
        self._callback = callback
        self._next_report = 0.0
        self.nodes = self.masters = self.iterations = self.cuts = self.solver_nodes = 0
        self.stage, self.bound, self.incumbent = "start", float("-inf"), float("inf")
        self.done = self.total = 0

    @property
    def seconds(self) -> float:
        """Since the search began."""
        return time.monotonic() - self._start

    @property
    def remaining(self) -> float:
        """Seconds left; ``inf`` without a limit."""
        return self.limit - self.seconds

    def tick(self) -> None:
        """Raise `TimeUp` past the limit; report if it is time to."""
        if self.remaining <= 0.0:
            raise TimeUp
        if self._callback is not None and self.seconds >= self._next_report:
            self._next_report = self.seconds + REPORT_EVERY
            self._callback(
                Progress(
                    self.stage,
                    self.seconds,
                    self.bound,
                    self.incumbent,
                    self.done,
                    self.total,
                    self.nodes,
                )
            )

    def effort(self, solver: str) -> Effort:
        """What has been done so far."""
        return Effort(
            solver=solver,
            seconds=self.seconds,
            subproblems=self.nodes,
            masters=self.masters,
            iterations=self.iterations,
            cuts=self.cuts,
            solver_nodes=self.solver_nodes,
        )
