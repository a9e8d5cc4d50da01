"""What each strategy of the search earns: the work of fixed searches without it.

    OMP_NUM_THREADS=1 python -m benchmarks.ablation                         # some 20 minutes
    OMP_NUM_THREADS=1 python -m benchmarks.ablation --strategy clusters --problem "many columns"

Prints two tables in Markdown: the nodes, values, pairs, steps (see `Counts` in `counted_searches`)
and CPU seconds of every search of `tests/support/counted_searches.py`, and multiples of these
without a strategy. A search whose counts stay within 5 % is left out; ">" means that the time
limit came first.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from dataclasses import astuple, dataclass, replace

from mipselect.search.strategies import Strategy
from mipselect.search.tuning import TUNING
from tests.support.counted_searches import RECORDED, Counts, Unfinished, count

MEASURES = ("nodes", "values", "pairs", "steps", "seconds")
SAME = 0.05


@dataclass(frozen=True)
class Work:
    """Counts and CPU seconds of one search; `ended` tells whether the time limit left it alone."""

    counts: Counts
    seconds: float
    ended: bool

    def multiples(self, of: Work) -> list[float]:
        """Counts and seconds in those of another search; 1 where both are none."""
        ours, theirs = (*astuple(self.counts), self.seconds), (*astuple(of.counts), of.seconds)
        both = zip(ours, theirs, strict=True)
        return [new / max(old, 1e-3) if new or old else 1.0 for new, old in both]


def work(problem: str, search: str, without: frozenset[Strategy], limit: float) -> Work:
    tuning, started = replace(TUNING, without=without), time.process_time()
    try:
        found, ended = count(problem, search, tuning, time_limit=limit), True
    except Unfinished as stopped:
        found, ended = stopped.counts, False
    return Work(found, time.process_time() - started, ended)


def row(*cells: object) -> None:
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def heading(cells: Iterable[str]) -> None:
    titles = list(cells)
    row(*titles)
    row(*("---" for _ in titles))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=20.0, help="seconds for each search")
    parser.add_argument("--strategy", action="append", type=Strategy, help="default: all")
    parser.add_argument("--problem", action="append", help="default: all")
    options = parser.parse_args()
    limit, wanted = options.time_limit, options.problem
    pairs = [pair for pair in (*RECORDED, ("copies", "optimum")) if not wanted or pair[0] in wanted]
    heading(("problem", "search", *MEASURES))
    bases = {}
    for pair in pairs:
        bases[pair] = base = work(*pair, frozenset(), limit)
        row(*pair, *astuple(base.counts), f"{base.seconds:.2f}")
    print()
    heading(("without", "problem", "search", *MEASURES))
    for strategy in options.strategy or Strategy:
        alike = True
        for pair, base in bases.items():
            found = work(*pair, frozenset({strategy}), limit)
            multiples = found.multiples(base)
            if found.ended and all(abs(number - 1.0) <= SAME for number in multiples[:-1]):
                continue
            alike = False
            sign = "" if found.ended else "> "
            row(strategy, *pair, *(f"{sign}{number:.2f}" for number in multiples))
        if alike:
            row(strategy, "no difference", *("" for _ in range(1 + len(MEASURES))))


if __name__ == "__main__":
    main()
