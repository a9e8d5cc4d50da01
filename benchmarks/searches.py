"""Certified searches: seconds of the clock and of CPU, in units of one X.T @ X, and memory.

"pool" is the one-swap pool, "levels" all mistake levels. Memory is the peak of the process less
what it held once the instance stood (Linux). Set OMP_NUM_THREADS=1 where CPU seconds count.
"""

from __future__ import annotations

import math
import re
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.declared import Record, benchmark
from mipselect import (
    Instance,
    MipselectError,
    NotCertified,
    available_solvers,
    mistake_levels,
    top_supports,
)
from mipselect.datasets import correlated_gaussian, logistic_gaussian

MEBIBYTE = 2**20
WIDTH = 2048
"""Columns of one block of XᵀX."""

Search = Callable[[Instance], Any]


@dataclass(frozen=True)
class Setting:
    """A synthetic instance: by default b = 0.5, r = 1.1, λ = 120, SNR 5 and ρ = 0.1."""

    n: int
    p: int
    support_size: int = 5
    snr: float = 5.0
    rho: float = 0.1
    ridge: float = 120.0
    loss: str = "squared"
    bound: float = 0.5
    radius: float = 1.1
    seed: int = 1

    def instance(self) -> Instance:
        logistic = self.loss == "hinge"
        draw = logistic_gaussian if logistic else correlated_gaussian
        X, y = draw(
            self.n,
            self.p,
            rho=self.rho,
            snr=self.snr,
            support_size=self.support_size,
            seed=self.seed,
        )
        return Instance(
            X,
            y,
            support_size=self.support_size,
            x_bound=self.bound,
            y_bound=1.0 if logistic else self.bound,
            coef_bound=self.radius,
            ridge=self.ridge,
            loss=self.loss,
        )


def form_gram(X: np.ndarray) -> None:
    """XᵀX, the half above its diagonal, in blocks: at p = 20,000 not all of it fits some BLAS."""
    for start in range(0, X.shape[1], WIDTH):
        X[:, start : start + WIDTH].T @ X[:, start:]


def unit_seconds(instance: Instance, clock: Callable[[], float], repeats: int) -> float:
    """The median time of one X.T @ X."""
    units = []
    for _ in range(repeats):
        started = clock()
        form_gram(instance.X)
        units.append(clock() - started)
    return statistics.median(units)


def peak_mib() -> float:
    """The largest memory of this process; `getrusage` would count that of its parent too."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+)", status)[1]) / 1024


def timed(
    search: Search, instance: Instance, clock: Callable[[], float] = time.process_time
) -> tuple[float, MipselectError | None]:
    """Seconds, and why there is no certificate if there is none."""
    started = clock()
    try:
        search(instance)
    except MipselectError as refusal:
        return clock() - started, refusal
    return clock() - started, None


def loaded(setting: Setting, solver: str = "native") -> Setting:
    """The setting, once a small search with its loss has loaded what a first one loads."""
    small = replace(setting, n=60, p=6, support_size=2).instance()
    top_supports(small, 1, solver=solver)
    mistake_levels(small, solver=solver)
    return setting


PAPER = (Setting(4_000, 100), Setting(5_000, 1_000), Setting(6_000, 10_000))
HINGE = tuple(Setting(n, p, loss="hinge", ridge=200.0) for n, p in ((3_000, 100), (5_000, 1_000)))
HARD = tuple(
    Setting(n, p, snr=snr, rho=rho)
    for n, p in ((4_000, 100), (5_000, 1_000))
    for snr, rho in ((0.5, 0.1), (5.0, 0.9))
)


@benchmark(
    {"setting": (*PAPER, *HINGE, *HARD), "solver": tuple(available_solvers())},
    quick={"setting": PAPER[:1]},
    seeds="1 of data",
)
def search(setting: Setting, solver: str, time_limit: float = 300.0) -> Iterator[Record]:
    """Every usable back end: the paper's settings, the hinge loss, weak and correlated signals."""
    instance = loaded(setting, solver).instance()
    before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    asked: dict[str, Any] = {"solver": solver, "time_limit": time_limit}
    pool, no_pool = timed(
        lambda one: top_supports(one, "one-swap", **asked), instance, time.perf_counter
    )
    levels, no_levels = timed(lambda one: mistake_levels(one, **asked), instance, time.perf_counter)
    memory = peak_mib() - before / MEBIBYTE
    unit = unit_seconds(instance, time.perf_counter, 3 if setting.p <= 2000 else 1)
    certified = {(None, None): "yes"}.get((no_pool, no_levels), "in part")
    yield {
        "loss": setting.loss,
        "n": setting.n,
        "p": setting.p,
        "supports": float(math.comb(setting.p, setting.support_size)),
        "snr": setting.snr,
        "rho": setting.rho,
        "solver": solver,
        "unit_seconds": unit,
        "pool_seconds": pool,
        "levels_seconds": levels,
        "ratio": (pool + levels) / unit,
        "certified": "no" if no_pool and no_levels else certified,
        "mib": memory,
        "remark": "; ".join(str(each) for each in (no_pool, no_levels) if each),
    }


@benchmark(
    {
        "shape": ((100, 1_000), (100, 4_000), (1_000, 1_000), (1_000, 5_000), (5_000, 1_000)),
        "size": (3, 5, 10),
        "signal": ((5.0, 0.1), (5.0, 0.5), (5.0, 0.9), (0.5, 0.1), (0.5, 0.9)),
    },
    quick={"shape": ((100, 1_000),), "size": (3,), "time_limit": 2.0},
    seeds="1 of data",
)
def envelope(
    shape: tuple[int, int],
    size: int,
    signal: tuple[float, float],
    time_limit: float = 60.0,
    solver: str = "native",
) -> Iterator[Record]:
    """What is certified within a time limit, over a grid of p, n, s, SNR and ρ; λ = 0.024 n."""
    (p, n), (snr, rho) = shape, signal
    instance = loaded(Setting(n, p, size, snr, rho, 0.024 * n), solver).instance()
    asked: dict[str, Any] = {"solver": solver, "time_limit": time_limit}
    searches: dict[str, Search] = {
        "pool": lambda one: top_supports(one, "one-swap", **asked),
        "levels": lambda one: mistake_levels(one, **asked),
    }
    found = {}
    for name, look in searches.items():
        seconds, refusal = timed(look, instance, time.perf_counter)
        found[name] = "–" if refusal else seconds
    yield {"p": p, "n": n, "s": size, "snr": snr, "rho": rho, **found}


@benchmark(
    {
        "shape": (
            (6_000, 20_000, 0.1),
            (2_000, 50_000, 0.1),
            *((1_500, p, rho) for rho in (0.1, 0.5) for p in (5_000, 10_000, 20_000, 50_000)),
        ),
        "part": ("optimum", "pool", "levels", "product"),
    },
    quick={"shape": ((500, 2_000, 0.1),)},
    seeds="1 of data",
    summary=lambda records: [
        {
            **{key: each for key, each in parts[0].items() if key in ("n", "p", "rho")},
            **{one["part"]: one["seconds"] for one in parts},
            "gib": max(one["gib"] for one in parts if one["part"] != "product"),
            "x_gib": parts[0]["x_gib"],
        }
        for parts in (records[k : k + 4] for k in range(0, len(records), 4))
    ],
)
def large_certificates(shape: tuple[int, int, float], part: str) -> Iterator[Record]:
    """Certificates of tables with 5,000 to 50,000 columns: s = 5, SNR 5, λ = n/50."""
    n, p, rho = shape
    searches: dict[str, Search] = {
        "optimum": lambda instance: top_supports(instance, 1, solver="native"),
        "pool": lambda instance: top_supports(instance, "one-swap", solver="native"),
        "levels": lambda instance: mistake_levels(instance, solver="native"),
        "product": lambda instance: form_gram(instance.X),
    }
    instance = loaded(Setting(n, p, rho=rho, ridge=n / 50)).instance()
    seconds, refusal = timed(searches[part], instance)
    if refusal is not None:
        raise refusal
    x_gib = instance.X.nbytes / 2**30
    yield {"n": n, "p": p, "rho": rho, "part": part, "seconds": seconds, "gib": peak_mib() / 1024,
           "x_gib": x_gib}  # fmt: skip


@benchmark(
    {
        "loss": ("huber(0.3)", "quantile(0.5)", "hinge"),
        "shape": tuple(
            (n, p, s, rho, *wide)
            for n, p, s, rhos in (
                (500, 50, 4, (0.0, 0.5, 0.9)),
                (1000, 100, 5, (0.0, 0.5, 0.9)),
                (2000, 300, 4, (0.0, 0.9)),
            )
            for rho in rhos
            for wide in ((0.5, 1.1, 0.024), (3.0, 1.5, 0.003))
            if wide[0] == 0.5 or n < 2000
        ),
    },
    quick={"loss": ("huber(0.3)",), "time_limit": 0.5},
    seeds="1 of data",
)
def convex_search(loss: str, shape: tuple[Any, ...], time_limit: float = 5.0) -> Iterator[Record]:
    """Optimum, pool and levels of the Huber, quantile and hinge losses, in CPU seconds."""
    n, p, s, rho, bound, radius, ridge = shape
    setting = Setting(n, p, s, 5.0, rho, ridge * n, loss, bound, radius)
    instance = loaded(setting).instance()
    searches: dict[str, Search] = {
        "optimum": lambda one: top_supports(one, 1, solver="native", time_limit=time_limit),
        "pool": lambda one: top_supports(one, "one-swap", solver="native", time_limit=time_limit),
        "levels": lambda one: mistake_levels(one, solver="native", time_limit=time_limit),
    }
    found: Record = {}
    for name, look in searches.items():
        seconds, refusal = timed(look, instance)
        found[name] = seconds
        if isinstance(refusal, NotCertified):
            gap = 100.0 * (1.0 - refusal.bound / refusal.incumbent)
            found[name] = f"> {time_limit:g} (gap {gap:.0f} %)"
    named = {"n": n, "p": p, "s": s, "rho": rho, "bound": bound}
    yield {"loss": loss, **named, "radius": radius, "ridge_by_n": ridge, **found}
