"""A first exact draw from blocks of rows, in units of one `X.T @ X` of the same process.

    OMP_NUM_THREADS=1 python -m benchmarks.block_draws                  # p = 10,000, n = 6,000
    OMP_NUM_THREADS=1 python -m benchmarks.block_draws --p 1000 --block-rows 4

The paper's recipe, s = 5. CPU seconds, so that threads and other processes do not count.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

from benchmarks.first_draw import first_draw
from mipselect import Instance
from mipselect.datasets import correlated_gaussian


def seconds_of(make: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of a call, and what it returns."""
    before = time.process_time()
    made = make()
    return time.process_time() - before, made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=6_000)
    parser.add_argument("--p", type=int, default=10_000)
    parser.add_argument("--block-rows", type=int, default=2)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    X, y = correlated_gaussian(options.n, options.p, rho=0.1, snr=5.0, support_size=5, seed=1)
    product, _ = seconds_of(lambda: X.T @ X)
    blocks, instance = seconds_of(
        lambda: Instance.from_blocks(
            X, y, support_size=5, block_rows=options.block_rows, partitions=options.partitions,
            partition_seed=1,
        )
    )  # fmt: skip
    draw = first_draw(instance, options.epsilon, limit=600.0)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print("| n | p | b | partitions | blocks | first draw | together | acceptance | peak MiB |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    print(
        f"| {options.n:,} | {options.p:,} | {options.block_rows} | {options.partitions} "
        f"| {blocks / product:.2f} | {draw.cpu / product:.2f} "
        f"| {(blocks + draw.cpu) / product:.2f} | {draw.acceptance:.2f} | {peak:,.0f} |"
    )


if __name__ == "__main__":
    main()
