"""One measured search in a process of its own: its time in units of one X.T @ X, and its memory.

The unit is timed in the same process, on the same data, after the search; the median counts.
Memory is the peak of the process less what it held once the instance stood (Linux).
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mipselect import Instance, MipselectError, NotCertified, mistake_levels, top_supports
from mipselect.datasets import correlated_gaussian, logistic_gaussian

MEBIBYTE = 2**20


@dataclass(frozen=True)
class Setting:
    """A synthetic instance and what to search in it."""

    n: int
    p: int
    support_size: int = 5
    snr: float = 5.0
    rho: float = 0.1
    ridge: float = 120.0
    seed: int = 1
    solver: str = "native"
    time_limit: float = 120.0
    pool: bool = True
    loss: str = "squared"


WIDTH = 2048
"""Columns of one block of XᵀX."""


@dataclass(frozen=True)
class Timing:
    """Seconds of the unit, the pool and the levels; what was certified; memory in MiB."""

    unit: float
    pool_seconds: float
    pool_certified: bool
    levels_seconds: float
    levels_certified: bool
    memory: float
    remark: str

    @property
    def ratio(self) -> float:
        return (self.pool_seconds + self.levels_seconds) / self.unit


def instance_of(setting: Setting) -> Instance:
    draw = logistic_gaussian if setting.loss == "hinge" else correlated_gaussian
    X, y = draw(
        setting.n,
        setting.p,
        rho=setting.rho,
        snr=setting.snr,
        support_size=setting.support_size,
        seed=setting.seed,
    )
    return Instance(
        X,
        y,
        support_size=setting.support_size,
        x_bound=0.5,
        y_bound=0.5,
        coef_bound=1.1,
        ridge=setting.ridge,
        loss=setting.loss,
    )


def form_gram(X: NDArray[np.floating]) -> None:
    """XᵀX, the half above its diagonal, in blocks: at p = 20,000 not all of it fits some BLAS."""
    for start in range(0, X.shape[1], WIDTH):
        X[:, start : start + WIDTH].T @ X[:, start:]


def measure(setting: Setting) -> Timing:
    instance = instance_of(setting)
    before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    remarks = []

    def timed(search, *arguments: object) -> tuple[float, bool]:
        started = time.perf_counter()
        try:
            search(instance, *arguments, solver=setting.solver, time_limit=setting.time_limit)
            certified = True
        except NotCertified as error:
            certified = False
            remarks.append(f"bound {error.bound:.4g} of {error.incumbent:.4g}")
        except MipselectError as error:
            certified = False
            remarks.append(str(error))
        return time.perf_counter() - started, certified

    pool = timed(top_supports, "one-swap" if setting.pool else 1)
    levels = timed(mistake_levels)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    units = []
    for _ in range(3 if setting.p <= 2000 else 1):
        started = time.perf_counter()
        form_gram(instance.X)
        units.append(time.perf_counter() - started)
    return Timing(statistics.median(units), *pool, *levels, memory / MEBIBYTE, "; ".join(remarks))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("setting", help="a Setting as JSON")
    setting = Setting(**json.loads(parser.parse_args().setting))
    print(json.dumps(asdict(measure(setting))))


if __name__ == "__main__":
    main()
