"""What each strategy of the search earns: the work of fixed searches without it.

    OMP_NUM_THREADS=1 python -m benchmarks.ablation --data ../shared/data   # some 30 minutes
    OMP_NUM_THREADS=1 python -m benchmarks.ablation --strategy clusters --problem "many columns"

Prints nodes and CPU seconds of every search, and for each strategy the
searches whose nodes or seconds grow without it, with both multiples, the largest first;
">" means that the time limit came first. The searches are those of
`tests/support/counted_searches.py` and, where a folder has these data, of real tables (ailerons;
wine quality and the CPU's load with all products of two columns) and of gene-expression tables.
"""

from __future__ import annotations

import argparse
import operator
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.stored import Record, add_json_option, print_records
from mipselect import Instance
from mipselect.search.strategies import Strategy
from mipselect.search.tuning import TUNING
from tests.support.counted_searches import PROBLEMS, RECORDED, Unfinished, count_of

NODES, SECONDS = 1.1, 1.2
"""Multiples that are shown."""

SHOWN = 4
BRIEF = 0.05
"""Seconds; a multiple of less is noise."""


@dataclass(frozen=True)
class Search:
    """A search of one kind on one problem."""

    group: str
    problem: str
    kind: str
    instance: Callable[[], Instance]

    @property
    def name(self) -> str:
        return f"{self.problem}, {self.kind}"


@dataclass(frozen=True)
class Work:
    """Nodes and CPU seconds of one search; `ended` tells whether the time limit left it alone."""

    nodes: int
    seconds: float
    ended: bool

    def multiples(self, base: Work) -> list[float]:
        """Of nodes and, where the base took long enough, of seconds."""
        nodes = [self.nodes / base.nodes]
        return [*nodes, self.seconds / base.seconds] if base.seconds > BRIEF else nodes


def instance_of(X: np.ndarray, y: np.ndarray, size: int, ridge: float) -> Instance:
    """Columns centred and scaled to [-0.5, 0.5]; `ridge` is λ/n."""
    X = X[:, X.std(axis=0) > 0.0]
    X = (X - X.mean(axis=0)) / (2.0 * np.abs(X - X.mean(axis=0)).max(axis=0))
    y = (y - y.mean()) / (2.0 * np.abs(y - y.mean()).max())
    bounds = {"x_bound": 0.5, "y_bound": 0.5, "coef_bound": 1.1, "ridge": ridge * len(y)}
    return Instance(X, y, support_size=size, **bounds)


def of_table(file: Path, size: int, products: bool) -> Instance:
    """Numbers of a table whose last column is the target."""
    table = np.genfromtxt(file, delimiter=",", skip_header=1)
    X, y = table[:, :-1], table[:, -1]
    if products:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        j, k = np.triu_indices(X.shape[1])
        X = np.hstack([X, X[:, j] * X[:, k]])
    return instance_of(X, y, size, 0.001)


def of_genes(file: Path, size: int) -> Instance:
    with np.load(file) as data:
        return instance_of(data["X"].astype(float), data["y"].astype(float), size, 0.024)


def searches(folder: Path | None) -> list[Search]:
    """All searches; those on data only where their file is in the folder."""
    pairs = (*RECORDED, ("copies", "optimum"))
    found = [Search("synthetic", *pair, PROBLEMS[pair[0]]) for pair in pairs]
    if folder is None:
        return found
    for name, size, products in (
        ("ailerons", 8, False),
        ("winequality_white", 8, True),
        ("cpu_act", 6, True),
    ):
        file = folder / "regression" / f"{name}.csv.gz"
        if file.exists():
            of_file = partial(of_table, file, size, products)
            found += [Search("real", name, kind, of_file) for kind in ("pool", "levels")]
    for name, size, kind in (
        ("sorlie", 6, "pool"),
        ("sorlie", 6, "levels"),
        ("alon", 5, "levels"),
        ("golub", 4, "levels"),
    ):
        file = folder / "microarray" / f"{name}.npz"
        if file.exists():
            found.append(Search("genes", name, kind, partial(of_genes, file, size)))
    return found


def work(search: Search, without: frozenset[Strategy], limit: float) -> Work:
    instance, tuning = search.instance(), replace(TUNING, without=without)
    started = time.process_time()
    try:
        nodes, ended = count_of(instance, search.kind, tuning, time_limit=limit).nodes, True
    except Unfinished as stopped:
        nodes, ended = stopped.counts.nodes, False
    return Work(nodes, time.process_time() - started, ended)


def entries(found: list[tuple[Search, Work, Work]]) -> str:
    """The searches that grow most, as in "weak, levels 2.0 / 1.1"."""
    earned = []
    for search, base, without in found:
        multiples = without.multiples(base)
        earns = any(map(operator.ge, multiples, (NODES, SECONDS)))
        if base.ended and (earns or not without.ended):
            sign = "" if without.ended else "> "
            entry = " / ".join(f"{sign}{number:.1f}" for number in multiples)
            earned.append((max(multiples), f"{search.name} {entry}"))
    return "; ".join(entry for _, entry in sorted(earned, reverse=True)[:SHOWN])


def measured(options: argparse.Namespace) -> Iterator[Record]:
    """A record of each search, and one of each strategy."""
    limit, wanted = options.time_limit, options.problem
    chosen = [one for one in searches(options.data) if not wanted or one.problem in wanted]
    groups = list(dict.fromkeys(search.group for search in chosen))
    bases = {}
    for search in chosen:
        bases[search] = base = work(search, frozenset(), limit)
        yield {
            "group": search.group,
            "search": search.name,
            "ended": "yes" if base.ended else "no",
            "nodes": base.nodes,
            "seconds": base.seconds,
        }
    for strategy in options.strategy or Strategy:
        found = {
            group: [
                (search, base, work(search, frozenset({strategy}), limit))
                for search, base in bases.items()
                if search.group == group
            ]
            for group in groups
        }
        yield {"without": str(strategy), **{group: entries(some) for group, some in found.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with regression/ and microarray/")
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds for each search")
    parser.add_argument("--strategy", action="append", type=Strategy, help="default: all")
    parser.add_argument("--problem", action="append", help="default: all")
    add_json_option(parser)
    options = parser.parse_args()
    print_records(measured(options), as_json=options.json)


if __name__ == "__main__":
    main()
