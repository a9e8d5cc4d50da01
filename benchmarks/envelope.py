"""The certification envelope: what is proven within a time limit, over a grid of settings.

python benchmarks/envelope.py                   # 60 s a search, the whole grid
python benchmarks/envelope.py --time-limit 10   # a quick look
"""

from __future__ import annotations

import argparse
from itertools import product

from rich.console import Console
from rich.table import Table
from search import in_its_own_process
from timing import Setting

PROBLEMS = ((100, 1_000), (100, 4_000), (1_000, 1_000), (1_000, 5_000), (5_000, 1_000))
SIGNALS = ((5.0, 0.1), (5.0, 0.5), (5.0, 0.9), (0.5, 0.1), (0.5, 0.9))
SUPPORT_SIZES = (3, 5, 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each search")
    parser.add_argument("--solver", default="native")
    parser.add_argument("--support-sizes", default=",".join(map(str, SUPPORT_SIZES)))
    options = parser.parse_args()
    sizes = [int(size) for size in options.support_sizes.split(",")]
    table = Table(
        title=f"{options.solver}: seconds to certify the one-swap pool / all levels, "
        f"within {options.time_limit:g} s; – is not certified"
    )
    for column in ("p", "n", "s"):
        table.add_column(column, justify="right")
    for snr, rho in SIGNALS:
        table.add_column(f"SNR {snr:g}, ρ {rho:g}", justify="right")
    console = Console(width=150)
    for (p, n), size in product(PROBLEMS, sizes):
        cells = []
        for snr, rho in SIGNALS:
            timing = in_its_own_process(
                Setting(
                    n, p, support_size=size, snr=snr, rho=rho, ridge=0.024 * n,
                    solver=options.solver, time_limit=options.time_limit,
                )
            )  # fmt: skip
            pool = f"{timing.pool_seconds:.2f}" if timing.pool_certified else "–"
            levels = f"{timing.levels_seconds:.2f}" if timing.levels_certified else "–"
            cells.append(f"{pool} / {levels}")
        table.add_row(f"{p:,}", f"{n:,}", str(size), *cells)
    console.print(table)


if __name__ == "__main__":
    main()
