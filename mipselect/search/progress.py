"""The state of a running search: its deadline, its counts, its reports and its refusal.

Accounts of strategies have tries and seconds, and what each cost and settled, which says what pays.
Costs are counted in multiplications, by formulas of the sizes of arrays, and what is settled in
nodes, valued at what others pay for one. There is no clock in it, and no chance: a search does the
same every time.
"""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from mipselect.errors import NotCertified, SolverFailure
from mipselect.search.collectors import Collector
from mipselect.search.pool import Certificate, Effort, StrategyEffort
from mipselect.search.tuning import TUNING, Allowance, Strategy, Tuning

TRY = 100_000
"""Multiplications that take as long as what every try takes besides."""

MANY = (Strategy.CHILDREN, Strategy.REMOVED_FAMILIES)
"""Strategies that settle many nodes at once: no measure of what a node costs."""

APART = (Strategy.SPECTRA,)
"""Comparisons of variants, of which later tries have more: no cost of the try that they are in."""


@dataclass
class StrategyAccount:
    """The counts of a strategy at nodes of one size, while the search goes on.

    Attributes
    ----------
    calls, successes, seconds
        See `StrategyEffort`.
    cost : float
        Multiplications, with those of other strategies that were tried meanwhile, but comparisons.
    settled : float
        Extents of nodes that need no dividing any more, or the share of their features that was
        dropped.
    priced : float
        So much of it has been valued.
    value : float
        That in multiplications, each at what others paid for a node then: later nodes are easier.
    asked : int
        Nodes of which it was asked whether a try may pay.
    extent : float
        That of all these nodes together.
    wins : Counter of int
        How often each variant of the strategy was the best.
    """

    calls: int = 0
    successes: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    settled: float = 0.0
    priced: float = 0.0
    value: float = 0.0
    asked: int = 0
    extent: float = 0.0
    wins: Counter[int] = field(default_factory=Counter)

    @property
    def winner(self) -> int | None:
        """The variant that has won most often, if one has."""
        return max(self.wins, key=lambda variant: self.wins[variant], default=None)

    @property
    def lead(self) -> int:
        """How many wins the winner is ahead of any other variant."""
        first, second = sorted([0, 0, *self.wins.values()])[-1:-3:-1]
        return first - second


class Accounts:
    """Accounts by size of nodes and name, and the judge of what may not pay.

    Every second is booked once, on the strategy that was begun last. A strategy is worth a try at
    nodes of a size as long as it cost no more there than others paid then for what it settled, and
    for an `Allowance` of nodes: a few, and a share of those that it was asked about. At a node that
    is smaller than most it must have cost less in proportion, for a try costs as much there. One
    that settled nothing yet is tried few times, too, for nodes near the root cost much; but as
    often as one likes if all of its tries cost no more than that share.

    So what it cost beyond what it settled is at most the cost of so many nodes by other means, and
    of one try, the one that passed this limit. One that settles nothing costs no more than that.

    Parameters
    ----------
    clock : callable
        The time in seconds, since whenever. It decides nothing.

    Attributes
    ----------
    work : float
        All multiplications so far.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock, self._since, self.work = clock, 0.0, 0.0
        self._of_size: defaultdict[int, defaultdict[str, StrategyAccount]] = defaultdict(
            lambda: defaultdict(StrategyAccount)
        )
        self._begun: list[StrategyAccount] = []

    def wins(self, name: str) -> Counter[int]:
        """Count how often each variant of a strategy was the best, at nodes of all sizes."""
        return sum((accounts[name].wins for accounts in self._of_size.values()), Counter[int]())

    def of(self, name: str, size: int) -> StrategyAccount:
        """Return the account of a strategy at nodes of this size."""
        return self._of_size[size][name]

    @contextmanager
    def trying(self, name: str, size: int = 0) -> Iterator[StrategyAccount]:
        """Count a call at a node of this size, and book the time and the work until its end."""
        account, before = self.of(name, size), self.work
        account.calls += 1
        self.work += TRY
        self._book()
        self._begun.append(account)
        try:
            yield account
        finally:
            self._book()
            self._begun.pop()
            spent = self.work - before
            account.cost += spent
            if name in APART:
                for around in self._begun:
                    around.cost -= spent

    def _book(self) -> None:
        now = self._clock()
        if self._begun:
            self._begun[-1].seconds += now - self._since
        self._since = now

    def worth(
        self,
        name: str,
        size: int,
        nodes: int = 1,
        extent: float = 1.0,
        allowance: Allowance = TUNING.allowance,
    ) -> bool:
        """Tell whether to try it now at so many nodes of this size and extent, all at once."""
        own = self.of(name, size)
        own.asked += nodes
        own.extent += nodes * extent
        allowed = allowance.first + allowance.share * own.asked
        price = self._price(name, size)
        few = own.calls < allowance.first + allowance.tries * own.asked or own.settled > 0.0
        if price is None or not (few or own.cost <= allowance.share * own.extent * price):
            return few
        own.value += (own.settled - own.priced) * price
        own.priced = own.settled
        mean = own.extent / own.asked
        return own.cost * mean <= (own.value + allowed * mean * price) * min(extent, mean)

    def _price(self, name: str, size: int) -> float | None:
        """Return what other strategies cost for each node of this size, if they settled any."""
        cost = settled = 0.0
        for other, account in self._of_size[size].items():
            if other != name and other not in MANY:
                cost += account.cost
                settled += account.settled
        return cost / settled if settled > 0.0 else None

    def efforts(self) -> tuple[StrategyEffort, ...]:
        """Return all accounts so far, those of all sizes together, the longest first."""
        found: defaultdict[str, StrategyAccount] = defaultdict(StrategyAccount)
        for accounts in self._of_size.values():
            for name, own in accounts.items():
                found[name].calls += own.calls
                found[name].successes += own.successes
                found[name].seconds += own.seconds
        efforts = [
            StrategyEffort(str(name), own.calls, own.successes, own.seconds)
            for name, own in found.items()
            if own.calls
        ]
        return tuple(sorted(efforts, key=lambda effort: -effort.seconds))


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
    heavy : bool
        True once the search met a subproblem that takes as much work as many others.
    subproblems, masters, iterations, cuts, solver_nodes : int
        See `Effort`.
    """

    deadline: Deadline = field(default_factory=Deadline)
    progress: ProgressCallback | None = None
    every: float = 0.5
    accounts: Accounts = field(default_factory=Accounts)
    stage: str = "start"
    bound: float = -math.inf
    incumbent: float = math.inf
    done: int = 0
    total: int = 0
    heavy: bool = False
    subproblems: int = 0
    masters: int = 0
    iterations: int = 0
    cuts: int = 0
    solver_nodes: int = 0
    _due: float = field(default=0.0, init=False)

    def tick(self) -> None:
        """Raise `TimeUp` past the deadline; report if it is time to."""
        if self.deadline.remaining <= 0.0:
            raise TimeUp
        if self.progress is not None and (seconds := self.deadline.seconds) >= self._due:
            self._due = seconds + self.every
            found = self.bound, self.incumbent, self.done, self.total, self.subproblems
            self.progress(Progress(self.stage, seconds, *found))

    def limit(self, collector: Collector, tuning: Tuning) -> float:
        """Return what a bound must reach: the threshold, or the target once the search is long.

        Then what certifies is enough, and no exact value is looked for.
        """
        if self.subproblems > 5 * tuning.patience and tuning.uses(Strategy.TARGETS):
            return collector.target
        return collector.threshold

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
