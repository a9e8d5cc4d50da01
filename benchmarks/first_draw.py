"""One exact draw from nothing, further draws from the same object, and what they took."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from mipselect import ExponentialMechanism, Instance

FURTHER = 200
"""Further draws, from whose tries the acceptance is seen."""


class OutOfTime(Exception):
    """The CPU time is used up."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """End what is inside by `OutOfTime` after so much CPU time, whoever else uses the machine."""

    def end(signum: int, frame: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


@dataclass(frozen=True, eq=False)
class FirstDraw:
    """What an exact draw took.

    Attributes
    ----------
    mechanism : ExponentialMechanism
        As it is after the draws.
    drawn : bool
        Whether the time was enough.
    wall, cpu : float
        Seconds of the preparation and the first draw together.
    acceptance : float
        Share of the tries that were accepted after the first draw; NaN where nothing was drawn.
    further : float
        CPU seconds of a further draw.
    """

    mechanism: ExponentialMechanism
    drawn: bool
    wall: float
    cpu: float
    acceptance: float
    further: float

    @property
    def entry(self) -> str:
        """For a table: CPU seconds and acceptance."""
        return f"{self.cpu:.2g} s, {self.acceptance:.2g}" if self.drawn else "–"


def first_draw(
    instance: Instance,
    epsilon: float,
    *,
    sizes: Iterable[int] | None = None,
    limit: float = 60.0,
    seed: int = 0,
    further: int = FURTHER,
) -> FirstDraw:
    """Seeded draws, not private: the first in `limit` CPU seconds, all others in a sixth."""
    mechanism = ExponentialMechanism(instance, epsilon, sizes=sizes)
    rng = np.random.default_rng(seed)
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        with cpu_limit(limit):
            mechanism.sample(rng)
    except OutOfTime:
        cpu = time.process_time() - cpu
        return FirstDraw(mechanism, False, time.perf_counter() - wall, cpu, math.nan, math.nan)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    first = 1.0 / mechanism.acceptance
    done, started = 0, time.process_time()
    try:
        with cpu_limit(limit / 6.0):
            for _ in range(further):
                mechanism.sample(rng)
                done += 1
    except OutOfTime:
        pass
    again = (time.process_time() - started) / max(done, 1)
    tries = (done + 1) / mechanism.acceptance
    return FirstDraw(mechanism, True, wall, cpu, done / (tries - first), again)
