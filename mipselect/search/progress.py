"""The state of a running search: its deadline, its counts and its reports; and its refusal."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mipselect.errors import NotCertified, SolverFailure
from mipselect.search.accounts import Accounts
from mipselect.search.certificate import Certificate, Effort
from mipselect.search.collectors import Collector
from mipselect.search.strategies import Strategy
from mipselect.search.tuning import Tuning


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

    Examples
    --------
    >>> from mipselect import load_instance, mistake_levels
    >>> stages = []
    >>> levels = mistake_levels(
    ...     load_instance("paper-p100"), progress=lambda report: stages.append(report.stage)
    ... )
    >>> all(isinstance(stage, str) for stage in stages)
    True
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


class Deadline:
    """Time by which a search has to end.

    Parameters
    ----------
    limit : float or None
        Seconds from now; None for no limit.
    clock : callable
        The time in seconds, since whenever.
    """

    def __init__(
        self, limit: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limit = math.inf if limit is None else limit
        self._clock = clock
        self._start = clock()

    @property
    def seconds(self) -> float:
        """Since the search began."""
        return self._clock() - self._start

    @property
    def remaining(self) -> float:
        """Seconds left; ``inf`` without a limit."""
        return self.limit - self.seconds


@dataclass
class Statistics:
    """Counts that a search keeps while it runs; see `Effort`, which they become."""

    subproblems: int = 0
    masters: int = 0
    iterations: int = 0
    cuts: int = 0
    solver_nodes: int = 0


class Reporter:
    """State of a running search, reported to a callback now and then.

    Parameters
    ----------
    callback : callable or None
        Receives a `Progress` when a report is due.
    every : float
        Seconds between two reports.

    Attributes
    ----------
    stage, bound, incumbent, done, total
        See `Progress`.
    """

    def __init__(self, callback: ProgressCallback | None = None, every: float = 0.5) -> None:
        self._callback, self._every, self._due = callback, every, 0.0
        self.stage, self.bound, self.incumbent = "start", float("-inf"), float("inf")
        self.done = self.total = 0

    def report(self, deadline: Deadline, statistics: Statistics) -> None:
        """Tell the callback where the search stands, if a report is due."""
        if self._callback is None or (seconds := deadline.seconds) < self._due:
            return
        self._due = seconds + self._every
        self._callback(
            Progress(
                stage=self.stage,
                seconds=seconds,
                bound=self.bound,
                incumbent=self.incumbent,
                done=self.done,
                total=self.total,
                nodes=statistics.subproblems,
            )
        )


@dataclass(frozen=True, eq=False)
class Run:
    """The state of one search.

    Attributes
    ----------
    deadline : Deadline
    statistics : Statistics
    reporter : Reporter
    accounts : Accounts
        Accounts of what was tried.
    """

    deadline: Deadline
    statistics: Statistics
    reporter: Reporter
    accounts: Accounts = field(default_factory=Accounts)

    @classmethod
    def start(
        cls, time_limit: float | None = None, progress: ProgressCallback | None = None
    ) -> Run:
        """Begin now."""
        return cls(Deadline(time_limit), Statistics(), Reporter(progress))

    def tick(self) -> None:
        """Raise `TimeUp` past the deadline; report if it is time to."""
        if self.deadline.remaining <= 0.0:
            raise TimeUp
        self.reporter.report(self.deadline, self.statistics)

    def limit(self, collector: Collector, tuning: Tuning) -> float:
        """Return what a bound must reach: the threshold, or the target once the search is long.

        Then what certifies is enough, and no exact value is looked for.
        """
        long = self.statistics.subproblems > tuning.patience.long
        if long and tuning.uses(Strategy.TARGETS):
            return collector.target
        return collector.threshold

    def effort(self, solver: str) -> Effort:
        """Return the counts so far, with the solver and the seconds since the search began."""
        return Effort(
            solver=solver,
            seconds=self.deadline.seconds,
            strategies=self.accounts.efforts(),
            **vars(self.statistics),
        )


Stopped = (TimeUp, SolverFailure)
"""Errors that end a search early."""


def refusal(
    stop: BaseException,
    run: Run,
    bound: float,
    needed: float,
    partial: Certificate | None,
    settled: str,
) -> NotCertified:
    """Return the error for a search that was stopped.

    Parameters
    ----------
    stop : TimeUp or SolverFailure
    run : Run
        Run of the search.
    bound : float
        What is proven for everything that is not settled.
    needed : float
        What a certificate would have needed there; ``inf`` where nothing was found.
    partial : Certificate, optional
        What was found, the best first; not certified.
    settled : str
        What is certified of it, to be told at the end.
    """
    failed = isinstance(stop, SolverFailure)
    why = f"{stop}" if failed else f"time limit of {run.deadline.limit:g} s reached"
    kind: type[Any] = SolverFailure if failed else NotCertified
    proven = f"proven to be at {bound:.6g} or above"
    if needed < math.inf:
        proven += f", and {needed:.6g} was needed"
    if bound == -math.inf:
        proven = "not bounded: nothing was proven yet"
    error: NotCertified = kind(
        f"{why}; stopped in stage {run.reporter.stage!r}: what is left open is {proven}{settled}",
        bound=bound,
        incumbent=math.inf if partial is None else float(partial.values[0]),
        partial=partial,
    )
    return error
