"""Kendall's correlation of all columns with one target, beside a loop over SciPy's.

python -m benchmarks.kendall [--json]

n/2 · τ of d columns with one target, one thread: CPU seconds, medians of 3, of the ranks of all
columns, which are computed once, of one pass with them, and of a loop over scipy.stats.kendalltau,
from some columns. "loops_by_fit" is the time of five such loops by that of the fit of a selector,
which has five targets. The peak memory of the fit is in tables X.
"""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator

import numpy as np
from scipy.stats import kendalltau

from benchmarks.stored import Record, add_json_option, print_records
from mipselect.selectors.kendall import KendallSelector, Rankings

SIZES = ((100_000, 200), (5_000, 10_000))
CHOSEN = 5
LOOP_ENTRIES = 4_000_000
"""The loop is timed on so many entries of the table, and scaled to all of it."""


def timed(work: Callable[[], object], repeats: int = 3) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds)


def measured() -> Iterator[Record]:
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
        selector = KendallSelector(CHOSEN)
        fit = timed(lambda: selector.fit(X, y), 1)  # noqa: B023
        tracemalloc.start()
        selector.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1] / X.nbytes
        tracemalloc.stop()
        yield {
            "n": n,
            "d": d,
            "ranks_seconds": ranking,
            "pass_seconds": counting,
            "loop_seconds": loop,
            "loop_by_pass": loop / counting,
            "fit_seconds": fit,
            "loops_by_fit": CHOSEN * loop / fit,
            "peak_tables": peak,
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_json_option(parser)
    print_records(measured(), as_json=parser.parse_args().json)


if __name__ == "__main__":
    main()
