"""Certified search for Huber, quantile and hinge losses, by the native engine.

Prints CPU seconds of this process for the optimum, the one-swap pool and all levels. Set
OMP_NUM_THREADS=1 and OPENBLAS_NUM_THREADS=1.

python -m benchmarks.convex_search                            # every problem, 5 s each
python -m benchmarks.convex_search --loss "quantile(0.5)" --time-limit 20
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence

from benchmarks.stored import Record, add_json_option, print_records
from mipselect import Instance, NotCertified
from mipselect.datasets import correlated_gaussian, logistic_gaussian
from mipselect.search.levels import find_levels
from mipselect.search.options import SearchOptions
from mipselect.search.progress import Deadline, Run
from mipselect.search.setup import Search, set_up
from mipselect.search.supports import find_supports, number_of_listed

LOSSES = ("huber(0.3)", "quantile(0.5)", "hinge")

PROBLEMS = (
    (500, 50, 4, 0.0, 0.5, 1.1, 0.024),
    (500, 50, 4, 0.5, 0.5, 1.1, 0.024),
    (500, 50, 4, 0.9, 0.5, 1.1, 0.024),
    (500, 50, 4, 0.0, 3.0, 1.5, 0.003),
    (500, 50, 4, 0.9, 3.0, 1.5, 0.003),
    (1000, 100, 5, 0.0, 0.5, 1.1, 0.024),
    (1000, 100, 5, 0.5, 0.5, 1.1, 0.024),
    (1000, 100, 5, 0.9, 0.5, 1.1, 0.024),
    (1000, 100, 5, 0.0, 3.0, 1.5, 0.003),
    (1000, 100, 5, 0.5, 3.0, 1.5, 0.003),
    (1000, 100, 5, 0.9, 3.0, 1.5, 0.003),
    (2000, 300, 4, 0.0, 0.5, 1.1, 0.024),
    (2000, 300, 4, 0.9, 0.5, 1.1, 0.024),
)
"""n, p, s, ρ, b_x = b_y, r, λ/n."""


def problem(
    loss: str, n: int, p: int, s: int, rho: float, bound: float, radius: float, ridge: float
) -> Instance:
    draw = logistic_gaussian if loss == "hinge" else correlated_gaussian
    X, y = draw(n, p, rho=rho, snr=5.0, support_size=s, seed=1)
    return Instance(
        X, y, support_size=s, x_bound=bound, y_bound=bound, coef_bound=radius, ridge=ridge * n,
        loss=loss,
    )  # fmt: skip


def seconds(instance: Instance, find: Callable[[Search], object], limit: float) -> float | str:
    """CPU seconds; where they did not suffice, how far the proven bound is from the optimum."""
    search = set_up(instance, SearchOptions("native", None, limit))
    run = Run(Deadline(limit, time.process_time))
    started = time.process_time()
    try:
        find(Search(instance, search.method, search.tolerance, run))
    except NotCertified as error:
        return f"> {limit:g} (gap {100.0 * (1.0 - error.bound / error.incumbent):.0f} %)"
    return time.process_time() - started


def timed(losses: Sequence[str], limit: float) -> Iterator[Record]:
    for loss in losses:
        for shape in PROBLEMS:
            n, p, s, rho, bound, radius, ridge = shape
            instance = problem(loss, *shape)
            pool = number_of_listed(instance, "one-swap")
            searches: dict[str, Callable[[Search], object]] = {
                "optimum": lambda search: find_supports(search, 1),
                "pool": lambda search, pool=pool: find_supports(search, pool),
                "levels": find_levels,
            }
            found = {name: seconds(instance, find, limit) for name, find in searches.items()}
            named = {"n": n, "p": p, "s": s, "rho": rho, "bound": bound}
            yield {"loss": loss, **named, "radius": radius, "ridge_by_n": ridge, **found}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--time-limit", type=float, default=5.0, help="seconds for each search")
    parser.add_argument("--loss", action="append")
    add_json_option(parser)
    options = parser.parse_args()
    print_records(timed(options.loss or LOSSES, options.time_limit), as_json=options.json)


if __name__ == "__main__":
    main()
