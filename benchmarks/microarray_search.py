"""Which support sizes are certified on microarrays: few rows, thousands of correlated columns.

    OMP_NUM_THREADS=1 python -m benchmarks.microarray_search [FOLDER] [--time-limit 60]

The instances are those of `exact_draws_small_n.py`, with λ as a share of n. For each λ and each
search the size grows from s = 2, or --least, until one is not certified in the time limit, in CPU
seconds; told are the largest size that was, and its time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.exact_draws_small_n import DATA, TABLES, instance_of
from benchmarks.stored import Record, add_json_option, print_records
from mipselect import Instance, NotCertified
from mipselect.search.least_squares.closed_form import ClosedForm
from mipselect.search.least_squares.method import LeastSquaresMethod
from mipselect.search.levels import find_levels
from mipselect.search.options import DEFAULT_TOLERANCE
from mipselect.search.progress import Deadline, Run
from mipselect.search.setup import Search
from mipselect.search.supports import find_supports, number_of_listed

SHARES = (0.003, 0.024, 0.2)
"""λ / n."""

SEARCHES: dict[str, Callable[[Search], object]] = {
    "optimum": lambda search: find_supports(search, 1),
    "pool": lambda search: find_supports(search, number_of_listed(search.instance, "one-swap")),
    "levels": find_levels,
}


def cpu_clock(every: float = 0.05) -> Callable[[], float]:
    """CPU seconds of this process; the system is asked once in `every` seconds.

    Not once in so many calls: between two of them a search may work for seconds.
    """
    last, asked = time.process_time(), time.monotonic()

    def now() -> float:
        nonlocal last, asked
        if time.monotonic() - asked >= every:
            last, asked = time.process_time(), time.monotonic()
        return last

    return now


def with_setting(instance: Instance, support_size: int, ridge: float) -> Instance:
    return Instance(
        instance.X,
        instance.y,
        support_size=support_size,
        x_bound=instance.x_bound,
        y_bound=instance.y_bound,
        coef_bound=instance.coef_bound,
        ridge=ridge,
    )


def search_of(instance: Instance, limit: float, tolerance: float = DEFAULT_TOLERANCE) -> Search:
    """A native search with a limit in CPU seconds."""
    method = LeastSquaresMethod(instance.prepared, ClosedForm())
    run = Run(Deadline(limit, cpu_clock()))
    return Search(instance, method, tolerance, run)


def seconds(find: Callable[[Search], object], search: Search) -> float | None:
    """CPU seconds to the certificate; None if there is none in time."""
    started = time.process_time()
    try:
        find(search)
    except NotCertified:
        return None
    return time.process_time() - started


def largest(
    find: Callable[[Search], object], instance: Instance, ridge: float, options: argparse.Namespace
) -> Record:
    """The largest size that is certified, and its time."""
    found: Record = {"size": "–", "seconds": f"> {options.time_limit:g}"}
    for size in range(options.least, options.most + 1):
        search = search_of(
            with_setting(instance, size, ridge), options.time_limit, options.tolerance
        )
        if (taken := seconds(find, search)) is None:
            break
        found = {"size": size, "seconds": taken}
    return found


def measured(options: argparse.Namespace) -> Iterator[Record]:
    for name in options.table or TABLES:
        instance = instance_of(options.folder / f"{name}.npz", "squared", options.least)
        for share in options.share or SHARES:
            for search, find in SEARCHES.items():
                yield {
                    "table": name,
                    "n": instance.n,
                    "p": instance.p,
                    "ridge_by_n": share,
                    "search": search,
                    **largest(find, instance, share * instance.n, options),
                }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each search")
    parser.add_argument("--tolerance", type=float, default=DEFAULT_TOLERANCE, help="τ")
    parser.add_argument("--table", action="append", choices=TABLES)
    parser.add_argument("--share", action="append", type=float, help="λ / n")
    parser.add_argument("--least", type=int, default=2, help="the first size that is tried")
    parser.add_argument("--most", type=int, default=8, help="the largest size that is tried")
    add_json_option(parser)
    options = parser.parse_args()
    print_records(measured(options), as_json=options.json)


if __name__ == "__main__":
    main()
