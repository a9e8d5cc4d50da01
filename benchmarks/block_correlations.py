"""Rank correlations within blocks of rows, and from public bins, beside those of all rows.

    OMP_NUM_THREADS=1 python -m benchmarks.block_correlations [--columns 50] [--json]

n/2 · τ of columns with a target, n = 20,000, τ = 0.19; measured is the root of the mean squared
distance from that of all rows. Bins cut the public range of column and target into equal parts, and
rows in one bin are tied. Column and target are normal: "well spread" in a range of six standard
deviations, "a narrow range of values" in one of fifty; of "skew" the logarithms of both are normal,
with a standard deviation of 2.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy.stats import kendalltau

from benchmarks.stored import Record, add_json_option, print_records

ROWS = 20_000
TAU = 0.19
SPREADS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], float, float]] = {
    "well spread": (lambda z: z, -3.0, 3.0),
    "a narrow range of values": (lambda z: z, -25.0, 25.0),
    "skew": (lambda z: np.exp(2.0 * z), 0.0, math.exp(9.0)),
}
"""Values from normal ones, and their public range."""


def score(x: np.ndarray, y: np.ndarray) -> float:
    """n/2 · τ: pairs of rows in the same order less those in the opposite one, by all pairs."""
    n, found = len(x), kendalltau(x, y).statistic
    pairs = n * (n - 1) / 2.0
    untied = [pairs - float((c * (c - 1.0) / 2.0).sum()) for c in map(_counts, (x, y))]
    return 0.0 if min(untied) == 0.0 else n / 2.0 * found * math.sqrt(untied[0] * untied[1]) / pairs


def _counts(x: np.ndarray) -> np.ndarray:
    return np.unique(x, return_counts=True)[1].astype(float)


def of_blocks(x: np.ndarray, y: np.ndarray, rows: int) -> float:
    places = range(0, len(x), rows)
    return sum(score(x[start : start + rows], y[start : start + rows]) for start in places)


def binned(x: np.ndarray, low: float, high: float, bins: int) -> np.ndarray:
    return np.clip(np.floor(bins * (x - low) / (high - low)), 0, bins - 1)


def distances(columns: int) -> Iterator[Record]:
    r = math.sin(math.pi * TAU / 2.0)
    for spread, (values, low, high) in SPREADS.items():
        rng = np.random.default_rng(0)
        errors: dict[str, list[float]] = {}
        for _ in range(columns):
            z = rng.normal(size=ROWS)
            target = r * z + math.sqrt(1.0 - r * r) * rng.normal(size=ROWS)
            x, y = np.clip(values(z), low, high), np.clip(values(target), low, high)
            whole = score(x, y)
            found = {f"blocks of {rows:,} rows": of_blocks(x, y, rows) for rows in (2_000, 200)}
            for bins in (100, 20):
                both = [binned(each, low, high, bins) for each in (x, y)]
                found[f"{bins} public bins for each column"] = score(*both)
            for way, each in found.items():
                errors.setdefault(way, []).append(each - whole)
        for way, each in errors.items():
            distance = float(np.sqrt(np.mean(np.square(each))))
            yield {"values": spread, "way": way, "distance": distance}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--columns", type=int, default=50)
    add_json_option(parser)
    options = parser.parse_args()
    print_records(distances(options.columns), as_json=options.json)


if __name__ == "__main__":
    main()
