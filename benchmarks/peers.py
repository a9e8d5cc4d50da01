"""The best support, found and proven: mipselect beside OKRidge, l0bnb and abess.

Same data, same objective, CPU seconds: set OMP_NUM_THREADS=1. The others are in an environment of
their own (pip install okridge l0bnb abess requests). Gaps are those of R, of what was proven when
the time was up; abess proves nothing. l0bnb is given the penalty and the largest coefficient that
belong to the answer, which a user would not know.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.declared import Record, benchmark
from mipselect import Instance, NotCertified, top_supports
from mipselect.search.least_squares.method import best_by_swaps
from mipselect.search.progress import Run

PEERS = ("okridge", "l0bnb", "abess")

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")

PROBLEMS = (
    (1000, 100, 5, 0.5, 5.0, 10.0),
    (5000, 1000, 5, 0.1, 5.0, 100.0),
    (1000, 1000, 10, 0.1, 5.0, 1.0),
    (5000, 1000, 10, 0.9, 5.0, 50.0),
    (10000, 1000, 10, 0.9, 5.0, 0.1),
    (20000, 500, 10, 0.9, 5.0, 0.1),
    (6000, 10000, 5, 0.1, 5.0, 120.0),
)
"""n, p, s, ρ, signal-to-noise ratio, λ."""


@dataclass(frozen=True)
class Row:
    """What one solver reached: CPU seconds, R of its support, and what it proved of all others."""

    seconds: float
    value: float
    bound: float | None

    def answer(self, best: float) -> Record:
        """Seconds, how far R is from the best one, and the gap that is left open."""
        off = self.value / best - 1.0
        found = "optimum" if off < 1e-9 else f"+{off:.2%}"
        if self.bound is None:
            proven = "nothing proven"
        else:
            gap = max(0.0, 1.0 - self.bound / self.value)
            proven = "proven" if gap < 1e-5 else f"gap {gap:.1%}"
        text = f"{self.seconds:.2f}, {proven}" + f", {found}" * (found != "optimum")
        return {"answer": text, "seconds": self.seconds, "found": found, "proven": proven}


def by_mipselect(instance: Instance, limit: float) -> Row:
    started = time.process_time()
    try:
        pool = top_supports(instance, 1, solver="native", tolerance=0.0, time_limit=limit)
    except NotCertified as refused:
        return Row(time.process_time() - started, refused.incumbent, refused.bound)
    return Row(time.process_time() - started, float(pool.values[0]), float(pool.rest_bound))


def by_peer(python: str, name: str, path: Path, instance: Instance, limit: float) -> Row | str:
    """The answer of a peer, or why there is none."""
    # Without its folder on the path, where selectors.py hides that of the library.
    command = [python, "-P", Path(__file__).with_name("peer_solvers.py"), name, path, str(limit)]
    try:
        done = subprocess.run(
            [str(part) for part in command],
            env={**os.environ, **ONE_THREAD},
            capture_output=True,
            text=True,
            timeout=4 * limit + 60,
        )
    except subprocess.TimeoutExpired:
        return "did not end"
    if done.returncode:
        return done.stderr.strip().splitlines()[-1][:80]
    answer = json.loads(done.stdout)
    support = answer["support"]
    if len(support) > instance.support_size:
        return f"{len(support)} coefficients"
    # Fewer than s coefficients: any others only lower R.
    others = [j for j in range(instance.p) if j not in support]
    full = sorted(support + others[: instance.support_size - len(support)])
    return Row(answer["seconds"], instance.objective(full), answer["bound"])


def stored(instance: Instance, support: np.ndarray, path: Path) -> None:
    """Write what the peers are given; `support` is a good one."""
    s, problem = instance.support_size, instance.prepared
    values = [best_by_swaps(problem, size, Run())[1] for size in (s - 1, s + 1)]
    here = instance.objective(support)
    gains = [values[0] - here, here - values[1]]
    np.savez(
        path,
        X=instance.X,
        y=instance.y,
        size=s,
        ridge=instance.ridge,
        penalty=instance.n * float(np.sqrt(gains[0] * gains[1])),
        largest=1.2 * float(np.abs(instance.fit(support).coef).max()),
    )


def problem(
    n: int, p: int, s: int, rho: float, snr: float, ridge: float, seed: int = 0
) -> Instance:
    """Columns of an autoregressive process, and s equal coefficients, equally spaced."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1.0 - rho**2) * X[:, j]
    signal = X[:, np.arange(s) * (p // s)].sum(axis=1)
    y = signal + np.sqrt(signal.var() / snr) * rng.standard_normal(n)
    return Instance(
        X,
        y,
        support_size=s,
        x_bound=float(np.abs(X).max()),
        y_bound=float(np.abs(y).max()),
        coef_bound=float(2.0 * np.sqrt(s)),
        ridge=ridge,
    )


@benchmark(
    {"shape": PROBLEMS},
    quick={"shape": PROBLEMS[:1], "time_limit": 5.0},
    seeds="0 of data",
)
def peers(
    shape: tuple[float, ...],
    time_limit: float = 60.0,
    peer: str = "python",
) -> Iterator[Record]:
    """The best support beside OKRidge, l0bnb and abess, which the Python `peer` has."""
    instance = problem(*shape)  # type: ignore[arg-type]
    rows: dict[str, Row | str] = {"mipselect": by_mipselect(instance, time_limit)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.npz"
        good, _, _ = best_by_swaps(instance.prepared, instance.support_size, Run())
        stored(instance, good, path)
        for name in PEERS:
            rows[name] = by_peer(peer, name, path, instance, time_limit)
    best = min(row.value for row in rows.values() if isinstance(row, Row))
    n, p, s, rho, _, ridge = shape
    what = f"{n:,}, {p:,}, {s}, {rho:g}, {ridge:g}"
    for name, row in rows.items():
        answer = row.answer(best) if isinstance(row, Row) else {"answer": row}
        yield {"setting": what, "solver": name, **answer}


def of_seeds(records: list[Record]) -> list[Record]:
    """One record for each setting and solver, of all seeds: how many are proven, and how soon."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for one in records:
        groups.setdefault((one["setting"], one["solver"]), []).append(one)
    found = []
    for (setting, solver), rows in groups.items():
        seconds = [one["seconds"] for one in rows if one["proven"] == "proven"]
        open_ = [one["proven"] for one in rows if one["proven"] != "proven"]
        words = []
        if seconds:
            words = [f"{len(seconds)} of {len(rows)} in {statistics.median(seconds):.3g} s"]
        words += sorted(open_, key=lambda gap: (len(gap), gap))[-1:]
        worse = sum(one["found"] != "optimum" for one in rows)
        words += [f"{worse} not the best"] * bool(worse)
        found.append({"setting": setting, "solver": solver, "answer": "; ".join(words)})
    return found


@benchmark(
    {"shape": ((1_000, 1_000), (4_000, 4_000), (16_000, 16_000), (1_000, 4_000)),
     "rho": (0.1, 0.5, 0.9), "seed": (0, 1, 2)},
    quick={"shape": ((300, 200),), "rho": (0.5,), "seed": (0,), "time_limit": 5.0},
    seeds="0, 1 and 2 of data",
    summary=of_seeds,
)  # fmt: skip
def wide_bounds(
    shape: tuple[int, int], rho: float, seed: int, time_limit: float = 60.0, peer: str = "python"
) -> Iterator[Record]:
    """Beside OKRidge and abess where bounds are wide: s = 10, SNR 5, λ = 1, r = 2√s."""
    (n, p), s = shape, 10
    instance = problem(n, p, s, rho, 5.0, 1.0, seed)
    rows: dict[str, Row | str] = {"mipselect": by_mipselect(instance, time_limit)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.npz"
        unused = {"penalty": 0.0, "largest": 0.0}
        np.savez(path, X=instance.X, y=instance.y, size=s, ridge=instance.ridge, **unused)
        for name in ("okridge", "abess"):
            rows[name] = by_peer(peer, name, path, instance, time_limit)
    best = min(row.value for row in rows.values() if isinstance(row, Row))
    for name, row in rows.items():
        none = {"seconds": None, "found": "optimum", "proven": row}
        answer = row.answer(best) if isinstance(row, Row) else none
        yield {"setting": f"{n:,}, {p:,}, {rho:g}", "solver": name, **answer}
