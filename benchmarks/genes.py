"""Gene-expression tables: few rows, thousands of correlated columns.

DATA has microarray/*.npz. Columns are centred and scaled to [-0.5, 0.5], ‖β‖ ≤ 1.1, and the target
is the class code, moved to [-0.5, 0.5]. That looks at the data, and draws are seeded: nothing here
is private.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.declared import Record, benchmark
from mipselect import ExponentialMechanism, Instance, NotCertified, top_supports
from mipselect.search.least_squares.closed_form import ClosedForm
from mipselect.search.least_squares.method import LeastSquaresMethod
from mipselect.search.progress import Deadline, Run
from mipselect.search.setup import Search
from mipselect.search.supports import find_levels, find_supports, number_of_listed

TABLES = ("alon", "christensen", "golub", "gravier", "khan", "shipp", "sorlie", "west")
SEARCHES: dict[str, Callable[[Search], object]] = {
    "optimum": lambda search: find_supports(search, 1),
    "pool": lambda search: find_supports(search, number_of_listed(search.instance, "one-swap")),
    "levels": find_levels,
}


def instance_of(data: str, table: str, support_size: int, ridge: float = 0.024) -> Instance:
    """The instance of a table; `ridge` is λ / n."""
    with np.load(Path(data) / "microarray" / f"{table}.npz") as arrays:
        X, codes = arrays["X"].astype(float), arrays["y"].astype(float)
        classes = len(arrays["classes"])
    X -= X.mean(axis=0)
    X /= 2.0 * np.abs(X).max(axis=0)
    return Instance(
        X,
        codes / (classes - 1.0) - 0.5,
        support_size=support_size,
        x_bound=0.5,
        y_bound=0.5,
        coef_bound=1.1,
        ridge=ridge * len(codes),
    )


@benchmark(
    {"table": TABLES, "share": (0.024, 0.2), "search": tuple(SEARCHES)},
    quick={"table": ("sorlie",), "share": (0.2,), "least": 3, "most": 3},
    seeds="none",
)
def microarray_search(
    table: str,
    share: float,
    search: str,
    data: str | None = None,
    least: int = 8,
    most: int = 8,
    time_limit: float = 60.0,
    tolerance: float = 0.05,
) -> Iterator[Record]:
    """The largest size from `least` to `most` that is certified in CPU seconds, and its time."""
    found: Record = {"size": "–", "seconds": f"> {time_limit:g}"}
    for size in range(least, most + 1):
        instance = instance_of(str(data), table, size, share)
        method = LeastSquaresMethod(instance.prepared, ClosedForm())
        run = Run(Deadline(time_limit, time.process_time))
        started = time.process_time()
        try:
            SEARCHES[search](Search(instance, method, tolerance, run))
        except NotCertified:
            break
        found = {"size": size, "seconds": time.process_time() - started}
    named = {"table": table, "n": instance.n, "p": instance.p, "ridge_by_n": share}
    yield {**named, "search": search, **found}


@benchmark(
    {"table": ("alon", "khan", "christensen")},
    quick={"table": ("christensen",), "draws": 5},
    seeds="0 of draws",
)
def gain_kept(table: str, data: str | None = None, draws: int = 60) -> Iterator[Record]:
    """What a draw of three genes keeps of the gain R(∅) - R(S) of the best three, by ε."""
    instance = instance_of(str(data), table, 3)
    nothing = float(instance.y @ instance.y) / (2.0 * instance.n)
    largest = nothing - float(top_supports(instance, 1).values[0])
    rng = np.random.default_rng(0)
    supports = [sorted(rng.choice(instance.p, 3, replace=False)) for _ in range(draws)]
    laws = {"uniform": supports}
    for epsilon in (1.0, 2.0, 5.0, 10.0):
        mechanism = ExponentialMechanism(instance, epsilon)
        laws[f"ε = {epsilon:g}"] = [list(mechanism.sample(rng)) for _ in range(draws)]
    for law, drawn in laws.items():
        kept = float(np.mean(nothing - instance.objectives(np.array(drawn)))) / largest
        yield {"table": table, "n": instance.n, "law": law, "kept": kept}
