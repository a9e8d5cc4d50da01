"""Exact draws over all supports: CPU seconds, acceptance, and how likely the optimum is.

Draws are seeded: not private. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import math
import signal
import statistics
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.declared import Record, benchmark
from benchmarks.searches import Search, Setting, loaded, peak_mib, unit_seconds
from mipselect import (
    ExponentialMechanism,
    Instance,
    NotCertified,
    mistake_levels,
    top_supports,
)

FURTHER = 200
"""Further draws, from whose tries the acceptance is seen."""

TRUE = (1, 3, 5, 7, 9)


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
    cpu : float
        Seconds of the preparation and the first draw together.
    acceptance : float
        Share of the tries that were accepted after the first draw; NaN where nothing was drawn.
    further : float
        CPU seconds of a further draw.
    """

    mechanism: ExponentialMechanism
    drawn: bool
    cpu: float
    acceptance: float = math.nan
    further: float = math.nan


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
    cpu = time.process_time()
    try:
        with cpu_limit(limit):
            mechanism.sample(rng)
    except OutOfTime:
        return FirstDraw(mechanism, False, time.process_time() - cpu)
    cpu = time.process_time() - cpu
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
    return FirstDraw(mechanism, True, cpu, done / (tries - first), again)


def certified(setting: Setting, find: Search, limit: float, repeats: int) -> float:
    """CPU seconds; NaN where it was not certified in time."""
    times = []
    for _ in range(repeats):
        fresh = setting.instance()
        started = time.process_time()
        try:
            with cpu_limit(limit):
                find(fresh)
        except (OutOfTime, NotCertified):
            return math.nan
        times.append(time.process_time() - started)
    return statistics.median(times)


def probability(mechanism: ExponentialMechanism, optimum: list[int]) -> str:
    """A proven interval of the probability."""
    interval = mechanism.estimate(optimum)
    low, high = f"{math.exp(interval.low):.3f}", f"{math.exp(interval.high):.3f}"
    return low if low == high else f"{low} to {high}"


@dataclass(frozen=True)
class Plan:
    """A setting, with the ε of its draws, and how often the first of them is timed."""

    setting: Setting
    epsilons: tuple[float, ...]
    repeats: int = 3
    limit: float = 60.0


PLANS = (
    *(
        Plan(Setting(n, p), (0.5, 0.75, 1.0, 2.0))
        for n, p in ((3_000, 100), (4_000, 100), (5_000, 1_000))
    ),
    Plan(Setting(6_000, 10_000), (0.5, 1.0, 0.75, 2.0), repeats=1, limit=600.0),
    Plan(Setting(8_000, 100, rho=0.7), (0.25, 0.5, 1.0, 2.0, 5.0, 10.0)),
    Plan(Setting(5_000, 1_000, rho=0.9), (1.0, 2.0), repeats=1),
    Plan(Setting(3_000, 300, 10, rho=0.5, ridge=72.0), (1.0, 2.0, 5.0), repeats=1),
)


@benchmark(
    {"plan": PLANS},
    quick={"plan": (Plan(Setting(3_000, 100), (1.0,), repeats=1),)},
    seeds="1 of data",
)
def exact_draws(plan: Plan) -> Iterator[Record]:
    """The first draw beside pool and levels and one X.T @ X, and P(optimum)."""
    setting = loaded(plan.setting)
    # The signal is in columns 1, 3, 5, ...
    optimum = [2 * k + 1 for k in range(setting.support_size)]
    draws, peaks = {}, []
    for epsilon in plan.epsilons:
        runs = [
            first_draw(setting.instance(), epsilon, limit=plan.limit, seed=seed)
            for seed in range(plan.repeats)
        ]
        draws[epsilon] = sorted(runs, key=lambda run: run.cpu)[len(runs) // 2]
        peaks.append(peak_mib())
    pool_seconds = certified(setting, top_supports, plan.limit, plan.repeats)
    levels_seconds = certified(setting, mistake_levels, plan.limit, plan.repeats)
    unit = unit_seconds(setting.instance(), time.process_time, plan.repeats)
    for epsilon, draw in draws.items():
        numbers = {"unit_seconds": unit, "pool_seconds": pool_seconds,
                   "levels_seconds": levels_seconds, "mib": peaks[0]}  # fmt: skip
        if draw.drawn:
            numbers |= {
                "first_draw_seconds": draw.cpu,
                "of_pool_and_levels": draw.cpu / (pool_seconds + levels_seconds),
                "of_product": draw.cpu / unit,
                "acceptance": draw.acceptance,
                "next_draw_ms": 1e3 * draw.further,
            }
        yield {
            "n": setting.n,
            "p": setting.p,
            "s": setting.support_size,
            "rho": setting.rho,
            "epsilon": epsilon,
            **{name: value for name, value in numbers.items() if not math.isnan(value)},
            **({"probability": probability(draw.mechanism, optimum)} if draw.drawn else {}),
        }


@benchmark(
    {
        "loss": ("hinge", "huber(0.3)", "quantile(0.3)", "quantile(0.5)"),
        "epsilon": (0.5, 1.0, 2.0, 5.0),
    },
    quick={"loss": ("huber(0.3)",), "epsilon": (5.0,)},
    seeds="1 of data and draws, 0 of the first draw",
)
def exact_draws_losses(loss: str, epsilon: float) -> Iterator[Record]:
    """Draws with other losses: n = 3,000, p = 100, λ = 200 for the hinge loss, 72 for others."""
    setting = Setting(3_000, 100, ridge=200.0 if loss == "hinge" else 72.0, loss=loss)
    found = first_draw(setting.instance(), epsilon)
    record: Record = {"loss": loss, "epsilon": epsilon}
    if not found.drawn:
        yield {**record, "seconds": "–", "acceptance": "–", "share": "–"}
        return
    rng = np.random.default_rng(1)
    hits = sum(found.mechanism.sample(rng) == TRUE for _ in range(FURTHER))
    error = f" ± {math.sqrt(0.25 / FURTHER):.2f}" * (0 < hits < FURTHER)
    share = f"{hits / FURTHER:.2f}{error}"
    yield {**record, "seconds": found.cpu, "acceptance": found.acceptance, "share": share}


@benchmark(
    {"epsilon": (1.0, 2.0), "n": (3_000, 4_000, 5_000, 6_000, 7_000, 8_000)},
    quick={"epsilon": (2.0,), "n": (3_000,), "data_sets": 1},
    seeds="1 to 10, of data and draws",
)
def exact_draws_sizes(
    epsilon: float, n: int, data_sets: int = 10, draws: int = 50
) -> Iterator[Record]:
    """What it costs not to know the size: sizes 1..10 drawn at once, beside s = 5 known."""
    known: list[Any] = []
    unknown: list[Any] = []
    for seed in range(1, data_sets + 1):
        instance = Setting(n, 100, ridge=0.024 * n, seed=seed).instance()
        rng = np.random.default_rng(seed)
        for sizes, found in ((None, known), (range(1, 11), unknown)):
            mechanism = ExponentialMechanism(instance, epsilon, sizes=sizes)
            found += [mechanism.sample(rng) for _ in range(draws)]
    lengths = np.array([len(support) for support in unknown])
    yield {
        "epsilon": epsilon,
        "n": n,
        "known": float(np.mean([support == TRUE for support in known])),
        "right_size": float(np.mean(lengths == len(TRUE))),
        "sizes": float(np.mean([support == TRUE for support in unknown])),
        "mean_size": float(lengths.mean()),
    }
