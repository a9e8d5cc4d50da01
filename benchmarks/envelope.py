"""The certification envelope: what is proven within a time limit, over a grid of settings.

Seconds of the one-swap pool and of all levels; a dash is a search that is not certified.

python -m benchmarks.envelope                   # 60 s a search, the whole grid
python -m benchmarks.envelope --time-limit 10   # a quick look
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product

from benchmarks.search import in_its_own_process
from benchmarks.stored import Record, add_json_option, print_records
from benchmarks.timing import Setting

PROBLEMS = ((100, 1_000), (100, 4_000), (1_000, 1_000), (1_000, 5_000), (5_000, 1_000))
SIGNALS = ((5.0, 0.1), (5.0, 0.5), (5.0, 0.9), (0.5, 0.1), (0.5, 0.9))
SUPPORT_SIZES = (3, 5, 10)


def envelope(sizes: list[int], solver: str, time_limit: float) -> Iterator[Record]:
    for (p, n), size, (snr, rho) in product(PROBLEMS, sizes, SIGNALS):
        timing = in_its_own_process(
            Setting(
                n, p, support_size=size, snr=snr, rho=rho, ridge=0.024 * n,
                solver=solver, time_limit=time_limit,
            )
        )  # fmt: skip
        yield {
            "p": p,
            "n": n,
            "s": size,
            "snr": snr,
            "rho": rho,
            "pool": timing.pool_seconds if timing.pool_certified else "–",
            "levels": timing.levels_seconds if timing.levels_certified else "–",
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each search")
    parser.add_argument("--solver", default="native")
    parser.add_argument("--support-sizes", default=",".join(map(str, SUPPORT_SIZES)))
    add_json_option(parser)
    options = parser.parse_args()
    sizes = [int(size) for size in options.support_sizes.split(",")]
    print_records(envelope(sizes, options.solver, options.time_limit), as_json=options.json)


if __name__ == "__main__":
    main()
