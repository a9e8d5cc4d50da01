"""The state of a running search: its deadline, its counts, its reports and its refusal."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from mipselect.errors import NotCertified, SolverFailure
from mipselect.search.accounts import Accounts
from mipselect.search.pool import Certificate, Effort


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


@dataclass(eq=False)
class Run:
    """The state of one search: what it did, and where it stands.

    Attributes
    ----------
    deadline : Deadline
    progress : callable or None
        Receives a `Progress` when a report is due.
    every : float
        Seconds between two reports.
    accounts : Accounts
        Accounts of what was tried.
    stage, bound, incumbent, done, total
        See `Progress`.
    subproblems, masters, iterations, cuts, solver_nodes : int
        See `Effort`.
    """

    deadline: Deadline
    progress: ProgressCallback | None = None
    every: float = 0.5
    accounts: Accounts = field(default_factory=Accounts)
    stage: str = "start"
    bound: float = -math.inf
    incumbent: float = math.inf
    done: int = 0
    total: int = 0
    subproblems: int = 0
    masters: int = 0
    iterations: int = 0
    cuts: int = 0
    solver_nodes: int = 0
    _due: float = field(default=0.0, init=False)

    @classmethod
    def start(
        cls, time_limit: float | None = None, progress: ProgressCallback | None = None
    ) -> Run:
        """Begin now."""
        return cls(Deadline(time_limit), progress)

    def tick(self) -> None:
        """Raise `TimeUp` past the deadline; report if it is time to."""
        if self.deadline.remaining <= 0.0:
            raise TimeUp
        if self.progress is not None and (seconds := self.deadline.seconds) >= self._due:
            self._due = seconds + self.every
            found = self.bound, self.incumbent, self.done, self.total, self.subproblems
            self.progress(Progress(self.stage, seconds, *found))

    def effort(self, solver: str) -> Effort:
        """Return the counts so far, with the solver and the seconds since the search began."""
        return Effort(
            solver,
            self.deadline.seconds,
            self.subproblems,
            self.masters,
            self.iterations,
            self.cuts,
            self.solver_nodes,
            self.accounts.efforts(),
        )

    def refusal(
        self,
        stop: BaseException,
        bound: float,
        needed: float,
        partial: Certificate | None = None,
        settled: str = "",
    ) -> NotCertified:
        """Return the error for a search that was stopped.

        Parameters
        ----------
        stop : TimeUp or SolverFailure
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
        why = f"{stop}" if failed else f"time limit of {self.deadline.limit:g} s reached"
        incumbent = math.inf if partial is None else float(partial.values[0])
        reached, verb = (needed, "needed") if needed < math.inf else (incumbent, "found")
        proven = f"proven to be at {bound:.6g} or above"
        if reached < math.inf:
            gap = max(reached - bound, 0.0)
            share = f", {gap / reached:.0%} of it" if reached > 0.0 else ""
            proven += f", and {reached:.6g} was {verb}: a gap of {gap:.3g}{share}"
        if bound == -math.inf:
            proven = "not bounded: nothing was proven yet"
        kind: type[NotCertified] = SolverFailure if failed else NotCertified
        return kind(
            f"{why}; stopped in stage {self.stage!r}: what is left open is {proven}{settled}",
            bound=bound,
            incumbent=incumbent,
            partial=partial,
        )


Stopped = (TimeUp, SolverFailure)
"""Errors that end a search early."""
