"""Kendall's correlation of all columns with one target, beside a loop over SciPy's.

python -m benchmarks.kendall
"""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from scipy.stats import kendalltau

from mipselect.selectors.kendall import KendallSelector
from mipselect.selectors.scores.kendall_tau import Rankings

SIZES = ((100_000, 200), (5_000, 10_000))
CHOSEN = 5
LOOP_ENTRIES = 4_000_000
"""The loop is timed on so many entries of the table, and scaled to all of it."""


def timed(work: Callable[[], object], repeats: int = 3) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def main() -> None:
    print("n/2 · τ of d columns with one target, one thread; seconds, median of 3\n")
    for n, d in SIZES:
        rng = np.random.default_rng(0)
        y = rng.normal(size=n)
        X = rng.normal(size=(n, d)) + np.linspace(0.0, 1.0, d) * y[:, None]
        target = Rankings.of(y[:, None], 0).ranks[0]
        columns = Rankings.of(X, 0)
        ranking = timed(lambda: Rankings.of(X, 0))  # noqa: B023
        counting = timed(lambda: columns.correlations(target))  # noqa: B023
        some = np.linspace(0, d - 1, LOOP_ENTRIES // n).astype(int)
        scipys = [kendalltau(X[:, j], y).statistic for j in some]
        np.testing.assert_allclose(
            columns.correlations(target)[some], n / 2 * np.array(scipys), rtol=1e-9, atol=1e-6
        )
        loop = timed(lambda: [kendalltau(X[:, j], y) for j in some]) * d / some.size  # noqa: B023
        print(f"n = {n:,}, d = {d:,}")
        print(f"  ranks of all columns, once       {ranking:8.3f}")
        print(f"  correlations with one target     {counting:8.3f}")
        print(
            f"  loop over scipy.stats.kendalltau {loop:8.3f}, from {some.size} columns: "
            f"{loop / counting:.1f} times as long as one pass, "
            f"{loop / (ranking + counting):.1f} times with the ranks"
        )
        selector = KendallSelector(CHOSEN)
        fit = timed(lambda: selector.fit(X, y), 1)  # noqa: B023
        print(
            f"  KendallSelector({CHOSEN}).fit           {fit:8.3f}: {CHOSEN} targets, "
            f"{CHOSEN * loop / fit:.1f} times as fast as {CHOSEN} such loops"
        )
        tracemalloc.start()
        selector.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1] / X.nbytes
        tracemalloc.stop()
        print(f"  peak memory of the fit           {peak:8.2f} tables X\n")


if __name__ == "__main__":
    main()
