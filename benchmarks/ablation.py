"""What each strategy of the search earns: the work of fixed searches without it.

The searches are those of `tests/support/counted_searches.py` and, where DATA has them, of real
tables (ailerons; wine quality and the CPU's load with all products of two columns) and of
gene-expression tables. ">" means that the time limit came first. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.declared import Record, benchmark
from mipselect import Instance
from mipselect.search.tuning import TUNING, Strategy
from tests.support.counted_searches import PROBLEMS, RECORDED, Unfinished, count_of

NODES, SECONDS = 1.1, 1.2
"""Multiples that are shown."""

SHOWN = 4
BRIEF = 0.05
"""Seconds; a multiple of less is noise."""

ALL = "none"
REAL = {"ailerons": (8, False), "winequality_white": (8, True), "cpu_act": (6, True)}
"""Size, and whether there are products of columns."""

GENES = {"sorlie": 6, "alon": 5, "golub": 4}
SEARCHES = (
    *(("synthetic", *pair) for pair in (*RECORDED, ("copies", "optimum"))),
    *(("real", name, kind) for name in REAL for kind in ("pool", "levels")),
    *(("genes", *pair) for pair in (("sorlie", "pool"), *((name, "levels") for name in GENES))),
)


def instance_of(X: np.ndarray, y: np.ndarray, size: int, ridge: float) -> Instance:
    """Columns centred and scaled to [-0.5, 0.5]; `ridge` is λ/n."""
    X = X[:, X.std(axis=0) > 0.0]
    X = (X - X.mean(axis=0)) / (2.0 * np.abs(X - X.mean(axis=0)).max(axis=0))
    y = (y - y.mean()) / (2.0 * np.abs(y - y.mean()).max())
    bounds = {"x_bound": 0.5, "y_bound": 0.5, "coef_bound": 1.1, "ridge": ridge * len(y)}
    return Instance(X, y, support_size=size, **bounds)


def of_data(group: str, problem: str, data: Path) -> Instance:
    """The numbers of a table whose last column is the target, or of a gene-expression table."""
    if group == "genes":
        with np.load(data / "microarray" / f"{problem}.npz") as arrays:
            X, y = arrays["X"].astype(float), arrays["y"].astype(float)
        return instance_of(X, y, GENES[problem], 0.024)
    size, products = REAL[problem]
    file = data / "regression" / f"{problem}.csv.gz"
    table = np.genfromtxt(file, delimiter=",", skip_header=1)
    X, y = table[:, :-1], table[:, -1]
    if products:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        j, k = np.triu_indices(X.shape[1])
        X = np.hstack([X, X[:, j] * X[:, k]])
    return instance_of(X, y, size, 0.001)


def earned(records: list[Record]) -> list[Record]:
    """The searches with all strategies, and for each strategy those that grow most without it."""
    bases = {each["search"]: each for each in records if each["without"] == ALL}
    found = [{key: each for key, each in one.items() if key != "without"} for one in bases.values()]
    groups = list(dict.fromkeys(each["group"] for each in records))
    for strategy in dict.fromkeys(each["without"] for each in records):
        if strategy == ALL:
            continue
        entries: dict[str, list[tuple[float, str]]] = {group: [] for group in groups}
        for one in records:
            base = bases[one["search"]]
            if one["without"] != strategy or base["ended"] == "no":
                continue
            multiples = [one["nodes"] / base["nodes"]]
            multiples += [one["seconds"] / base["seconds"]] if base["seconds"] > BRIEF else []
            if one["ended"] == "no" or any(map(operator.ge, multiples, (NODES, SECONDS))):
                sign = "" if one["ended"] == "yes" else "> "
                text = " / ".join(f"{sign}{number:.1f}" for number in multiples)
                entries[one["group"]].append((max(multiples), f"{one['search']} {text}"))
        texts = {
            group: "; ".join(text for _, text in sorted(some, reverse=True)[:SHOWN])
            for group, some in entries.items()
        }
        found.append({"without": strategy, **texts})
    return found


@benchmark(
    {"search": SEARCHES, "without": (ALL, *map(str, Strategy))},
    quick={"search": SEARCHES[:2], "without": (ALL, *map(str, Strategy))[:3]},
    seeds="fixed, of the tests",
    summary=earned,
)
def ablation(
    search: tuple[str, str, str], without: str, data: str | None = None, time_limit: float = 20.0
) -> Iterator[Record]:
    """Nodes and CPU seconds of searches without each strategy, as multiples of those with all."""
    group, problem, kind = search
    instance = (
        PROBLEMS[problem]() if group == "synthetic" else of_data(group, problem, Path(str(data)))
    )
    left_out = frozenset() if without == ALL else frozenset({Strategy(without)})
    tuning = replace(TUNING, without=left_out)
    started = time.process_time()
    try:
        nodes, ended = count_of(instance, kind, tuning, time_limit=time_limit).nodes, "yes"
    except Unfinished as stopped:
        nodes, ended = stopped.counts.nodes, "no"
    seconds = time.process_time() - started
    yield {"group": group, "search": f"{problem}, {kind}", "without": without, "ended": ended,
           "nodes": nodes, "seconds": seconds}  # fmt: skip
