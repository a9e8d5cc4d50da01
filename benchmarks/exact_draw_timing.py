"""Exact draws from one instance in a process of its own, beside the other ways to select.

Every first draw and every search gets an instance that nothing was computed for yet. The unit,
one X.T @ X, is timed in the same process, on the same data. Memory is the peak of the process,
data included (Linux), when the draws at the first ε are made; proving a narrow interval for a
probability may take more.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.first_draw import OutOfTime, cpu_limit, first_draw
from benchmarks.timing import Setting, instance_of
from mipselect import (
    ExponentialMechanism,
    Instance,
    Mistakes,
    NotCertified,
    TopR,
    mistake_levels,
    top_supports,
)
from mipselect.mechanisms.supports.base import Interval
from mipselect.mechanisms.supports.metropolis import MetropolisHastings
from mipselect.selectors import MCMCSelector

WIDE_POOL = 100_000
CHAINS = 20

Search = Callable[[Instance], Any]


@dataclass(frozen=True)
class Plan:
    """What to do.

    Attributes
    ----------
    setting : Setting
    epsilons : list of float
    limit : float
        CPU seconds for a first draw.
    rivals : bool
        Whether the other ways to select are run too.
    repeats : int
        First draws and searches that are timed; the median counts.
    """

    setting: Setting
    epsilons: list[float]
    limit: float = 60.0
    rivals: bool = False
    repeats: int = 3


@dataclass(frozen=True)
class Draws:
    """Exact draws at one ε: CPU seconds, peak MiB so far, P(optimum) by method."""

    epsilon: float
    cpu: float
    wall: float
    drawn: bool
    acceptance: float
    further: float
    memory: float
    low: float
    high: float
    rivals: dict[str, float]


@dataclass(frozen=True)
class Measured:
    """CPU seconds of the unit, the pool and the levels (NaN: not certified); draws."""

    unit: float
    pool: float
    levels: float
    draws: list[Draws]


def exact(plan: Plan, epsilon: float, optimum: list[int]) -> Draws:
    runs = []
    for seed in range(plan.repeats):
        fresh = instance_of(plan.setting)
        runs.append(first_draw(fresh, epsilon, limit=plan.limit, seed=seed))
    run = sorted(runs, key=lambda run: run.cpu)[len(runs) // 2]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    low, high = math.nan, math.nan
    if run.drawn:
        interval = interval_of(run.mechanism, optimum)
        low, high = math.exp(interval.low), math.exp(interval.high)
    return Draws(
        epsilon, run.cpu, run.wall, run.drawn, run.acceptance, run.further, memory, low, high, {}
    )  # fmt: skip


def interval_of(mechanism: ExponentialMechanism, optimum: list[int]) -> Interval:
    """Of the log probability: narrow where that takes seconds."""
    try:
        with cpu_limit(10.0):
            return mechanism.estimate(optimum, width=0.01)
    except (OutOfTime, NotCertified):
        return mechanism.estimate(optimum)


def certified(plan: Plan, search: Search) -> tuple[float, Any]:
    """CPU seconds and what was found; NaN and None where it was not certified in time."""
    times, found = [], None
    for _ in range(plan.repeats):
        fresh = instance_of(plan.setting)
        started = time.process_time()
        try:
            with cpu_limit(plan.limit):
                found = search(fresh)
        except (OutOfTime, NotCertified):
            return math.nan, None
        times.append(time.process_time() - started)
    return statistics.median(times), found


def chain(instance: Instance, epsilon: float) -> MetropolisHastings:
    return MCMCSelector(
        instance.support_size,
        epsilon=epsilon,
        x_bound=instance.x_bound,
        y_bound=instance.y_bound,
        coef_bound=instance.coef_bound * math.sqrt(instance.support_size),
    ).mechanism(instance.X, instance.y)


def measure(plan: Plan) -> Measured:
    # The signal is in columns 1, 3, 5, ...
    optimum = [2 * k + 1 for k in range(plan.setting.support_size)]
    draws = [exact(plan, epsilon, optimum) for epsilon in plan.epsilons]
    pool_seconds, pool = certified(plan, top_supports)
    levels_seconds, levels = certified(plan, mistake_levels)
    instance = instance_of(plan.setting)
    if plan.rivals:
        wide = top_supports(instance, WIDE_POOL)
        for draw in draws:
            walk = chain(instance, draw.epsilon)
            others = {
                "top-r": TopR(pool, draw.epsilon),
                "top-r-wide": TopR(wide, draw.epsilon),
                "mistakes": Mistakes(levels, draw.epsilon),
            }
            for name, mechanism in others.items():
                draw.rivals[name] = math.exp(mechanism.log_probability(optimum))
            hits = sum(list(walk.sample(seed)) == optimum for seed in range(CHAINS))
            draw.rivals["mcmc"] = hits / CHAINS
    units = []
    for _ in range(plan.repeats):
        started = time.process_time()
        instance.X.T @ instance.X
        units.append(time.process_time() - started)
    return Measured(statistics.median(units), pool_seconds, levels_seconds, draws)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("plan", help="a Plan as JSON")
    given = json.loads(parser.parse_args().plan)
    plan = Plan(**{**given, "setting": Setting(**given["setting"])})
    print(json.dumps(asdict(measure(plan))))


if __name__ == "__main__":
    main()
