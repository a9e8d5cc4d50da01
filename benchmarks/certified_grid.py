"""How much of a grid is certified: pool and levels within some CPU seconds of one thread each.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/certified_grid.py --s 5 --rho 0.9
    ... --p 1000 --p 3000 --n 1000 --jobs 2            # a part of it, two cells at a time

The instances are those of `timing.py`: b = 0.5, r = 1.1. An entry is the CPU seconds of pool and
levels, the first one with XᵀX; a dash is a refusal. Of a refusal the last figure is what is
missing: what was needed less what was proven, in units of τΔ.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from itertools import product
from multiprocessing import Pool

import numpy as np
from microarray_search import SEARCHES, search_of
from timing import Setting, instance_of

from mipselect import Instance, NotCertified
from mipselect.search.setup import Search

P = (100, 300, 1000, 3000)
N = (200, 1000, 5000)
SNR = (0.5, 5.0)
SHARES = (0.003, 0.024)
"""λ / n."""


def outcome(find: Callable[[Search], object], instance: Instance, limit: float) -> tuple[bool, str]:
    """Whether it is certified, and how long that took or what is missing."""
    started = time.process_time()
    search = search_of(instance, limit)
    statistics = search.run.statistics
    try:
        with np.errstate(all="ignore"):
            find(search)
    except NotCertified as refusal:
        missing = (refusal.incumbent - refusal.bound) / (search.tolerance * instance.sensitivity)
        return False, f"– ({statistics.subproblems:,}; {missing:.0f})"
    return True, f"{time.process_time() - started:.1f} ({statistics.subproblems:,})"


def cell(task: tuple[Setting, float]) -> tuple[Setting, bool, list[str]]:
    """One cell of the grid."""
    setting, limit = task
    instance = instance_of(setting)
    found = [outcome(SEARCHES[name], instance, limit) for name in ("pool", "levels")]
    return setting, all(certified for certified, _ in found), [text for _, text in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--s", type=int, action="append", help="support size")
    parser.add_argument("--rho", type=float, action="append")
    parser.add_argument("--p", type=int, action="append")
    parser.add_argument("--n", type=int, action="append")
    parser.add_argument("--snr", type=float, action="append")
    parser.add_argument("--share", type=float, action="append", help="λ / n")
    parser.add_argument("--time-limit", type=float, default=10.0, help="CPU seconds a search")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    tasks = [
        (
            Setting(n, p, support_size=s, snr=snr, rho=rho, ridge=share * n),
            options.time_limit,
        )
        for s, rho, p, n, snr, share in product(
            options.s or (5,),
            options.rho or (0.9,),
            options.p or P,
            options.n or N,
            options.snr or SNR,
            options.share or SHARES,
        )
    ]
    print("| s | ρ | p | n | SNR | λ / n | pool | levels |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |")
    certified: Counter[tuple[int, float]] = Counter()
    number: Counter[tuple[int, float]] = Counter()
    with Pool(options.jobs, maxtasksperchild=1) as workers:
        for at, both, entries in workers.imap(cell, tasks):
            number[at.support_size, at.rho] += 1
            certified[at.support_size, at.rho] += both
            print(
                f"| {at.support_size} | {at.rho:g} | {at.p:,} | {at.n:,} | {at.snr:g} | "
                f"{at.ridge / at.n:g} | {' | '.join(entries)} |",
                flush=True,
            )
    for (s, rho), count in number.items():
        print(f"\ns = {s}, ρ = {rho:g}: {certified[s, rho]} of {count} cells certified")


if __name__ == "__main__":
    main()
