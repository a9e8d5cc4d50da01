"""Certificates and draws with columns on a device of PyTorch, and whether they are those of NumPy.

On a GPU, within ten minutes: python -m benchmarks devices device=cuda shape=1,2,3; else shape=0.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.declared import Record, benchmark
from mipselect import ExponentialMechanism, Instance, mistake_levels, top_supports

SHAPES = ((1_500, 20_000), (6_000, 10_000), (1_000, 200_000), (1_000, 1_000_000))
"""n and p; the first is for a processor."""

COMPARED, DRAWN, PAIRED = 20_000, 200_000, 10_000
"""Most columns for which NumPy is asked too, with a draw, and with sums of pairs."""


def independent(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Independent columns in single precision, five of which count, SNR 5."""
    rng = np.random.default_rng(1)
    X = np.empty((n, p), np.float32)
    for start in range(0, p, 10_000):
        part = X[:, start : start + 10_000]
        part[:] = 0.15 * rng.standard_normal(part.shape, dtype=np.float32)
    signal = X[:, 1:11:2].sum(axis=1, dtype=np.float64)
    return X, signal + np.sqrt(signal.var() / 5.0) * rng.standard_normal(n)


def answers(instance: Instance, first: float) -> tuple[dict[str, float], dict[str, Any]]:
    """Seconds of each answer, the first with X on its way, and the answers."""
    pool: list[Any] = []
    calls: dict[str, Callable[[], Any]] = {
        "prepared": lambda: instance.prepared.gram.diagonal.sum(),
        "optimum": lambda: top_supports(instance, 1, solver="native").supports,
        "pool": lambda: pool.append(top_supports(instance, solver="native")) or pool[0].supports,
        "levels": lambda: mistake_levels(instance, solver="native").supports,
    }
    if instance.p <= DRAWN:
        calls["draw"] = lambda: ExponentialMechanism(instance, 1.0).sample(1)
    seconds, found = {"instance": first}, dict[str, Any]()
    for name, call in calls.items():
        started = time.perf_counter()
        found[name] = call()
        seconds[name] = time.perf_counter() - started
    del found["prepared"]
    return seconds, found


@benchmark({"shape": SHAPES}, quick={"shape": ((300, 400),)}, seeds="1 of data")
def devices(shape: tuple[int, int], device: str = "cpu") -> Iterator[Record]:
    """Wall seconds of optimum, pool, levels and a draw, and of sums of pairs, on a device."""
    X, y = independent(*shape)
    public = {"support_size": 5, "x_bound": 0.75, "y_bound": 1.0, "coef_bound": 2.0,
              "ridge": shape[0] / 50}  # fmt: skip
    asked, known = [device] if shape[1] > COMPARED else [device, None], list[dict[str, Any]]()
    for where in asked:
        started = time.perf_counter()
        instance = Instance(X, y, device=where, **public)
        seconds, found = answers(instance, time.perf_counter() - started)
        known.append(found)
        if shape[1] <= PAIRED:
            started = time.perf_counter()
            sums = Instance.from_blocks(X, y, support_size=5, partition_seed=1, device=where)
            seconds["pairs"] = time.perf_counter() - started
            found["pairs"] = sums.data.moments.matrix
        same = [np.array_equal(known[0][name], found[name]) for name in found]
        yield {
            "n": shape[0],
            "p": shape[1],
            "where": where or "NumPy",
            **seconds,
            "same": "yes" if all(same) else "NO",
        }
