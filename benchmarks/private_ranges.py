"""What private ranges cost beside stated ones: test R² of the coefficients, mean of draws.

python -m benchmarks.private_ranges FOLDER [--draws 8] [--rows 5000]

FOLDER is that of `benchmarks.real_tables`; of its tables those with a target that is a number. The
support is the best subset, so that ranges alone differ. "2 × span" are ranges twice as wide as all
rows, "5 × span" five times. 0.7 of nε are for ranges and coefficients, as by `fit`; of them two
sevenths are for private ranges. A fifth of the rows is the test; R² below -1 counts as -1. Seeded,
and the spans are looked up in the rows: nothing here is private.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import r2_score

from benchmarks.tables_at_hand import Table, tables_of
from mipselect.regression import ObjectivePerturbationRegressor
from mipselect.regression.private_ranges import range_of
from mipselect.regression.shares import SHARE_OF_BLOCKS, SHARE_OF_PRIVATE_RANGES
from mipselect.tables.encoders import Unscaled
from mipselect.tables.mapping import open_table, read_rows

TEST_SHARE = 0.2
PRODUCTS = (1000, 2000, 5000, 10_000, 20_000)

Ends = tuple[float, float]
Ranges = Callable[[np.ndarray, float, random.Random], Ends]


@dataclass(frozen=True)
class Selected:
    """Rows of the best subset; `numbers` are the columns that need a range."""

    X: np.ndarray
    y: np.ndarray
    widths: list[int]
    numbers: list[int]


def selected(table: Table) -> Selected:
    public = table.unscaled
    X, y = read_rows(open_table(table.frame, public), public, "first")
    support = table.supports()[int(np.argmax(table.ways()))]
    blocks = [public.blocks[j] for j in support]
    starts = np.cumsum([0, *(len(block) for block in blocks)])
    kinds = zip(starts, (isinstance(public.features[j], Unscaled) for j in support), strict=False)
    there = np.isfinite(y)
    return Selected(
        X[there][:, np.concatenate([list(block) for block in blocks])].astype(float),
        y[there],
        [len(block) for block in blocks],
        [int(start) for start, number in kinds if number],
    )


def of_span(factor: float) -> Ranges:
    def ends(values: np.ndarray, _: float, __: random.Random) -> Ends:
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        half = 0.5 * factor * (high - low) or 1.0
        return 0.5 * (low + high) - half, 0.5 * (low + high) + half

    return ends


def scaled(values: np.ndarray, ends: Ends) -> np.ndarray:
    return (values - 0.5 * (ends[0] + ends[1])) / (0.5 * (ends[1] - ends[0]))


def r_squared(data: Selected, ranges: Ranges, epsilon: float, share: float, seed: int) -> float:
    order = np.random.default_rng(seed).permutation(len(data.y))
    cut = int(TEST_SHARE * len(order))
    test, train = order[:cut], order[cut:]
    source = random.Random(seed)
    each = share * epsilon / (len(data.numbers) + 1)
    X = data.X.copy()
    for j in data.numbers:
        ends = ranges(data.X[train, j], each, source)
        X[:, j] = np.nan_to_num(np.clip(scaled(data.X[:, j], ends), -1.0, 1.0))
    of_target = ranges(data.y[train], each, source)
    y = scaled(data.y, of_target)
    model = ObjectivePerturbationRegressor(
        loss="huber(0.25)", epsilon=epsilon * (1.0 - share), random_state=seed
    )
    found = model.for_features(data.widths).fit(X[train], y[train]).predict(X[test])
    return max(-1.0, float(r2_score(y[test], found)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--rows", type=int, default=5000)
    options = parser.parse_args()
    share = SHARE_OF_PRIVATE_RANGES / (1.0 - SHARE_OF_BLOCKS)
    ways: dict[str, tuple[Ranges, float]] = {
        "the span": (of_span(1.0), 0.0),
        "2 × span": (of_span(2.0), 0.0),
        "5 × span": (of_span(5.0), 0.0),
        "private": (range_of, share),
    }
    tables = [t.drawn(options.rows, 0) for t in tables_of(options.folder)]
    rows = [selected(table) for table in tables]
    print("| nε |", " | ".join(ways), "|")
    print("| --- " * (len(ways) + 1) + "|")
    for product in PRODUCTS:
        means = []
        for ranges, part in ways.values():
            found = [
                r_squared(data, ranges, (1.0 - SHARE_OF_BLOCKS) * product / len(data.y), part, seed)
                for data in rows
                for seed in range(options.draws)
            ]
            means.append(float(np.mean(found)))
        print(f"| {product:,} |", " | ".join(f"{mean:.2f}" for mean in means), "|")
        print(product, file=sys.stderr)


if __name__ == "__main__":
    main()
