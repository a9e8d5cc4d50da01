"""What a bound on the coefficients, and a narrower range of the target, do to a draw by a loss.

    OMP_NUM_THREADS=1 python -m benchmarks.coefficient_bounds FOLDER [--epsilon 1] [--json]

The exponential mechanism on public ranges: the expected R² of what is drawn, over all supports, as
a share of the largest R² of as many fields; at the chance level each support is as likely. U, which
is `coef_bound` √(s + 1), says how far predictions reach, in halves of the range of the target.
"gain" is what is gained over the chance level, as a share of what the best fields gain: the mean
over all tables, sizes from 1 to 8 whose supports can be listed, and ε = 0.5, 1 and 2. FOLDER
is that of `benchmarks.real_tables`; the ranges of cpu_act and of scikit-learn's diabetes data are
made up from their rows: nothing here is private.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.special import softmax

from benchmarks.stored import Record, add_json_option, print_records
from benchmarks.tables_at_hand import Table, diabetes, tables_of
from mipselect import Instance

QUESTIONS = (
    ("winequality_white", 1),
    ("winequality_white", 3),
    ("diabetes", 3),
    ("cpu_act", 3),
    ("bike_sharing_hour", 3),
)
SIZES = range(1, 9)
MOST_SUPPORTS = 10_000
EPSILONS = (0.5, 1.0, 2.0)
REACHES = (2.0, 1.25, 1.0)
NARROWER = {"winequality_white": (3.0, 9.0), "bike_sharing_hour": (0.0, 500.0)}
"""Ranges of the target."""


def law(
    table: Table, epsilon: float, reach: float, ranges: dict[str, tuple[float, float]]
) -> np.ndarray:
    """Probabilities of all supports."""
    instance = Instance.from_table(
        table.frame,
        table.schema,
        support_size=table.support_size,
        coef_bound=reach / math.sqrt(table.support_size + 1),
        ranges=ranges,
        **table.question,
    )
    values = instance.objectives(table.supports())
    return np.asarray(softmax(-epsilon * values / (2.0 * instance.oscillation)))


def shares(table: Table, epsilon: float) -> Iterator[Record]:
    r_squared = table.r_squared()
    share = r_squared / r_squared.max()
    named = {"table": table.name, "s": table.support_size}
    yield {**named, "law": "chance level", "share": float(share.mean())}
    for reach in REACHES:
        found = float(law(table, epsilon, reach, {}) @ share)
        yield {**named, "law": f"U = {reach:g}", "share": found}
        if table.name in NARROWER:
            ranges = {table.target: NARROWER[table.name]}
            found = float(law(table, epsilon, reach, ranges) @ share)
            yield {**named, "law": f"U = {reach:g}, narrower range", "share": found}


def gains(tables: list[Table]) -> Iterator[Record]:
    found: dict[float, list[float]] = {reach: [] for reach in REACHES}
    for table in tables:
        sizes = [s for s in SIZES if s < table.n_features]
        listed = [s for s in sizes if math.comb(table.n_features, s) <= MOST_SUPPORTS]
        for asked in (replace(table, size=size) for size in listed):
            gain = asked.ways()
            for reach in REACHES:
                found[reach] += [float(law(asked, each, reach, {}) @ gain) for each in EPSILONS]
    for reach, each in found.items():
        yield {"law": f"U = {reach:g}", "gain": float(np.mean(each)), "settings": len(each)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epsilon", type=float, default=1.0)
    add_json_option(parser)
    options = parser.parse_args()
    tables = {table.name: table for table in (*tables_of(options.folder), diabetes())}
    asked = (replace(tables[name], size=size) for name, size in QUESTIONS)
    found = [record for table in asked for record in shares(table, options.epsilon)]
    names = dict.fromkeys(name for name, _ in QUESTIONS)
    found += gains([tables[name] for name in names])
    print_records(found, as_json=options.json)


if __name__ == "__main__":
    main()
