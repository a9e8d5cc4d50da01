"""Exact draws by cells, proposals and rejection, where weights are μ(S) exp(-c R(S)).

Supports are proposed at rates b_S ≥ w_S. The exponential mechanism takes the first proposal that a
coin of probability w_S/b_S accepts; permute-and-flip takes the first whose coin shows heads in a
race.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Lock

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import BoundViolated, NotCertified
from mipselect.mechanisms.supports.base import Interval
from mipselect.mechanisms.supports.law import Prior, Rate
from mipselect.privacy.randomness import coin, rising_index
from mipselect.restricted.prepared import PreparedLoss
from mipselect.search.progress import Deadline, ProgressCallback, Run, TimeUp
from mipselect.search.soft import LogWeight, Partition, space_of


class Race:
    """One draw of the exponential mechanism: the first proposal that is accepted is taken."""

    def wait(self, log_rate: float, source: random.Random) -> None:
        """Let the time pass until the next proposal; they come at rate exp(log_rate)."""

    def takes(self, log_weight: Callable[[], float], source: random.Random) -> bool:
        """Return True if the support of this weight, which was accepted, is what is drawn."""
        return True


TIGHT = 0.05
"""Before the first draw cells are refined until the guessed log acceptance is above minus this."""

STEPS_BEFORE = 64
"""Cells are refined so many times at most before the first draw."""

LARGEST_ROUND = 32
"""Proposals that are evaluated at once."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """A support from a cell, and the log of the bound of its weight."""

    cell: int
    support: IntArray
    log_bound: float


class SoftDraws:
    """Draws of the exponential mechanism, from a partition that learns from rejections.

    Every try is accepted with probability weight / bound, whatever the partition is at the time,
    so that what is accepted has the exact law (docs/mathematics/exact-draws.md, (2)). For another
    law a subclass has the race that accepted tries take part in.

    Parameters
    ----------
    problem : PreparedLoss
    prior : Prior
    rate : Rate
    time_limit : float, optional
        Seconds for the preparation, and for every draw.
    progress : callable, optional
        Receives a `Progress` now and then.
    """

    def __init__(
        self,
        problem: PreparedLoss,
        prior: Prior,
        rate: Rate,
        time_limit: float | None,
        progress: ProgressCallback | None,
    ) -> None:
        self._problem, self._rate = problem, rate
        self._time_limit, self._progress = time_limit, progress
        self._lock = Lock()
        self.tries = self.accepted = 0
        run = self._begin("cells")
        try:
            space, reference = space_of(problem, prior.sizes[-1], run)
            self._target = LogWeight(rate.rate, reference, prior.log_sizes, prior.log_features)
            self._partition = Partition(space, self._target, prior.sizes, self._tick)
            self._refine_at_first(run)
        except TimeUp as stop:
            raise self._refusal() from stop

    @property
    def acceptance(self) -> float:
        """Share of the tries of all draws so far that were accepted; a guess before the first."""
        if self.accepted:
            return self.accepted / self.tries
        return self._guessed_acceptance

    def draw(self, source: random.Random) -> tuple[int, ...]:
        """Draw a support with exactly the law.

        Raises
        ------
        NotCertified
            If the time limit passes first; nothing was drawn.
        BoundViolated
            If a weight is above its bound, which no data can bring about.
        """
        with self._lock:
            run, race = self._begin("draw"), self._race()
            size = 1
            try:
                while True:
                    run.subproblems = len(self._partition)
                    run.tick()
                    log_rate = self._partition.log_upper + self._rate.allowance
                    proposals = [self._propose(source) for _ in range(size)]
                    rejected = set()
                    for proposal, log_acceptance in zip(
                        proposals, self._log_acceptances(proposals), strict=True
                    ):
                        self.tries += 1
                        race.wait(log_rate, source)
                        log_weight = partial(self._log_weight, proposal.support)
                        if coin(log_acceptance, source) and race.takes(log_weight, source):
                            self.accepted += 1
                            return tuple(proposal.support.tolist())
                        rejected.add(proposal.cell)
                    for number in sorted(rejected)[:4]:
                        self._partition.refine_cell(number)
                    self._partition.refine()
                    size = min(4 * size, LARGEST_ROUND)
            except TimeUp as stop:
                raise self._refusal() from stop

    def estimate(self, support: IntArray) -> Interval:
        """Prove an interval of the log probability of `support`.

        Raises
        ------
        NotCertified
            If the time limit passes first.
        """
        with self._lock:
            self._begin("estimate")
            try:
                log_weight, slack = self._log_weight(support), self._rate.allowance
                low, high = self._partition.log_total(slack)
            except TimeUp as stop:
                raise self._refusal() from stop
        return Interval(log_weight - slack - high, min(log_weight + slack - low, 0.0))

    def _race(self) -> Race:
        """Begin a draw."""
        return Race()

    def _begin(self, stage: str) -> Run:
        self._run = Run(Deadline(self._time_limit), self._progress)
        self._run.stage = stage
        return self._run

    def _tick(self) -> None:
        self._run.tick()

    def _refine_at_first(self, run: Run) -> None:
        for step in range(STEPS_BEFORE):
            run.subproblems = len(self._partition)
            run.done, run.total = step, STEPS_BEFORE
            if self._partition.log_upper - self._partition.log_guess < TIGHT:
                break
            if not self._partition.refine():
                break

    @property
    def _guessed_acceptance(self) -> float:
        return math.exp(min(0.0, self._partition.log_guess - self._partition.log_upper))

    def _propose(self, source: random.Random) -> Proposal:
        number, support, log_bound = self._partition.draw(
            lambda cumulative: rising_index(cumulative, source)
        )
        return Proposal(number, support, log_bound + self._rate.allowance)

    def _log_acceptances(self, proposals: list[Proposal]) -> list[float]:
        values: FloatArray = np.empty(len(proposals))
        sizes = np.array([len(proposal.support) for proposal in proposals])
        for size in np.unique(sizes):
            rows = np.flatnonzero(sizes == size)
            supports = np.array([proposals[k].support for k in rows])
            values[rows] = self._problem.values(supports)
        logs = []
        for proposal, value in zip(proposals, values.tolist(), strict=True):
            log = self._target.log_weight(proposal.support, value) - proposal.log_bound
            if log > self._rate.rounding:
                raise BoundViolated(
                    f"the weight of a support is above the bound of its cell {proposal.cell} by "
                    f"a factor exp({log:.3g}); nothing was drawn. This is an error of the "
                    "package: please report it"
                )
            logs.append(min(log, 0.0))
        return logs

    def _log_weight(self, support: IntArray) -> float:
        """Evaluate one support alone: what else is evaluated does not change a bit of it."""
        return self._target.log_weight(support, float(self._problem.values(support[None])[0]))

    def _refusal(self) -> NotCertified:
        tried = f"{self.accepted} of {self.tries} tries were accepted so far" if self.tries else ""
        return NotCertified(
            f"time limit of {self._time_limit:g} s reached: no draw was made, and nothing is "
            f"released. {tried or 'No try was made'}; more time, a smaller epsilon or a smaller "
            "support size help",
        )
