"""How much of a grid is certified: pool and levels within some CPU seconds of one thread each.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m benchmarks.certified_grid
    ... --s 5 --rho 0.9 --p 1000 --p 3000 --n 1000 --jobs 2   # a part of it, two cells at a time

The instances are those of `timing.py`: b = 0.5, r = 1.1. Counted are, for each s, ρ, n and p, the
cells of SNR and λ whose pool and levels are both certified. Beside that stand, for each cell, the
CPU seconds of pool / levels, the first one with XᵀX, and in brackets the subproblems; a dash is a
refusal, and the last figure of it is what is missing: what was needed less what was proven, in
units of τΔ.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from itertools import product
from multiprocessing import Pool

import numpy as np

from benchmarks.microarray_search import SEARCHES, search_of
from benchmarks.stored import Record, add_json_option, print_records
from benchmarks.timing import Setting, instance_of
from mipselect import Instance, NotCertified
from mipselect.search.setup import Search

SIZES_AND_CORRELATIONS = ((5, 0.9), (5, 0.5), (8, 0.5), (10, 0.5))
"""s and ρ, unless one of them is asked for."""

P = (100, 300, 1000, 3000)
N = (5000, 1000, 200)
SNR = (0.5, 5.0)
SHARES = (0.003, 0.024)
"""λ / n."""


def outcome(find: Callable[[Search], object], instance: Instance, limit: float) -> tuple[bool, str]:
    """Whether it is certified, and how long that took or what is missing."""
    started = time.process_time()
    search = search_of(instance, limit)
    try:
        with np.errstate(all="ignore"):
            find(search)
    except NotCertified as refusal:
        missing = (refusal.incumbent - refusal.bound) / (search.tolerance * instance.sensitivity)
        return False, f"– ({search.run.subproblems:,}; {missing:.0f})"
    return True, f"{time.process_time() - started:.1f} ({search.run.subproblems:,})"


def cell(task: tuple[Setting, float]) -> tuple[Setting, bool, str]:
    """One cell of the grid."""
    setting, limit = task
    instance = instance_of(setting)
    found = [outcome(SEARCHES[name], instance, limit) for name in ("pool", "levels")]
    return setting, all(certified for certified, _ in found), " / ".join(text for _, text in found)


def counted(options: argparse.Namespace) -> Iterator[Record]:
    shapes = (
        list(product(options.s or (5,), options.rho or (0.9,)))
        if options.s or options.rho
        else SIZES_AND_CORRELATIONS
    )
    each = list(product(options.snr or SNR, options.share or SHARES))
    tasks = [
        (Setting(n, p, support_size=s, snr=snr, rho=rho, ridge=share * n), options.time_limit)
        for (s, rho), n, p in product(shapes, options.n or N, options.p or P)
        for snr, share in each
    ]
    with Pool(options.jobs, maxtasksperchild=1) as workers:
        cells = workers.imap(cell, tasks)
        for at, _ in tasks[:: len(each)]:
            found = [next(cells) for _ in each]
            yield {
                "s": at.support_size,
                "rho": at.rho,
                "n": at.n,
                "p": at.p,
                "cells": len(found),
                "certified": sum(certified for _, certified, _ in found),
                **{
                    f"SNR {place.snr:g}, λ = {place.ridge / place.n:g} n": text
                    for place, _, text in found
                },
            }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--s", type=int, action="append", help="support size")
    parser.add_argument("--rho", type=float, action="append")
    parser.add_argument("--p", type=int, action="append")
    parser.add_argument("--n", type=int, action="append")
    parser.add_argument("--snr", type=float, action="append")
    parser.add_argument("--share", type=float, action="append", help="λ / n")
    parser.add_argument("--time-limit", type=float, default=10.0, help="CPU seconds a search")
    parser.add_argument("--jobs", type=int, default=1)
    add_json_option(parser)
    options = parser.parse_args()
    print_records(counted(options), as_json=options.json)


if __name__ == "__main__":
    main()
