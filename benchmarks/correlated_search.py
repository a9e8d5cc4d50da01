"""Certified search where columns are correlated: by cheap bounds, and around expansion points.

Prints CPU seconds of this process, and what was not certified in time. Set OMP_NUM_THREADS=1 and
OPENBLAS_NUM_THREADS=1 to compare with solvers of one thread.

python -m benchmarks.correlated_search                      # every problem, 20 s each
python -m benchmarks.correlated_search --time-limit 60
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mipselect import Instance, NotCertified
from mipselect.search.least_squares.closed_form import ClosedForm
from mipselect.search.least_squares.method import LeastSquaresMethod
from mipselect.search.levels import find_levels
from mipselect.search.options import SearchOptions
from mipselect.search.progress import Run
from mipselect.search.setup import Search
from mipselect.search.supports import find_supports, number_of_listed
from mipselect.search.tuning import TUNING, Patience, Tuning

PROBLEMS = (
    (1000, 100, 8, 0.9, 5.0, 10.0),
    (5000, 300, 5, 0.9, 0.5, 15.0),
    (5000, 300, 10, 0.5, 5.0, 50.0),
    (5000, 1000, 8, 0.9, 5.0, 50.0),
    (5000, 1000, 10, 0.9, 5.0, 50.0),
    (10000, 1000, 10, 0.9, 5.0, 0.1),
    (20000, 500, 10, 0.9, 5.0, 0.1),
)
"""n, p, s, ρ, signal-to-noise ratio, λ."""

ANY = 10**9
CHEAP = replace(TUNING, patience=Patience(cheap=ANY, near=ANY, long=ANY))
"""Bounds by shares alone, however long it takes."""


def problem(n: int, p: int, s: int, rho: float, snr: float, ridge: float) -> Instance:
    """Columns of an autoregressive process, and s equal coefficients, equally spaced."""
    rng = np.random.default_rng(0)
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


def seconds(
    instance: Instance, find: Callable[[Search], object], tuning: Tuning, limit: float
) -> str:
    method = LeastSquaresMethod(instance.prepared, ClosedForm(), tuning)
    options = SearchOptions("native", None, limit)
    started = time.process_time()
    try:
        find(Search(instance, method, options.tolerance_for(instance), Run.start(limit)))
    except NotCertified:
        return f"> {time.process_time() - started:.1f}"
    return f"{time.process_time() - started:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds for each search")
    limit = parser.parse_args().time_limit
    print("| n, p, s, ρ, SNR, λ | search | cheap bounds alone | with expansion points |")
    print("| --- | --- | --- | --- |")
    for shape in PROBLEMS:
        instance = problem(*shape)
        instance.prepared.gram.full()
        pool = number_of_listed(instance, "one-swap")
        searches: dict[str, Callable[[Search], object]] = {
            "optimum": lambda search: find_supports(search, 1),
            "pool": lambda search, pool=pool: find_supports(search, pool),
            "levels": find_levels,
        }
        for name, find in searches.items():
            found = [seconds(instance, find, tuning, limit) for tuning in (CHEAP, TUNING)]
            print(
                f"| {', '.join(f'{x:g}' for x in shape)} | {name} | {' | '.join(found)} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
