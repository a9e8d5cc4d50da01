"""What `mipselect fit` reaches with private ranges and with stated ones: mean test R².

python -m benchmarks.private_ranges FOLDER [--draws 8] [--rows 5000] [--json]

FOLDER is that of `benchmarks.real_tables`; of its tables those with a target that is a number. The
fields are drawn as by default, with the same part of ε whatever the ranges are. "2 × span" are
stated ranges twice as wide as the span of the rows, and so on. Four fifths of the rows are fitted,
n, and the others are the test; R² below -1 counts as -1. Seeded, and the spans are looked up in the
rows: nothing here is private.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.metrics import r2_score

from benchmarks.stored import Record, add_json_option, print_records
from benchmarks.tables_at_hand import Table, tables_of
from mipselect import Instance
from mipselect.problem.block_scores import BlockOptions, BlockScores
from mipselect.regression import ObjectivePerturbationRegressor
from mipselect.regression.private_ranges import PrivateRanges
from mipselect.regression.shares import SHARE_OF_BLOCKS, SHARE_OF_PRIVATE_RANGES
from mipselect.regression.table_pair import TablePair
from mipselect.regression.table_plan import TablePlan
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables import TableSchema
from mipselect.tables.instances import instance_of_table

TEST_SHARE = 0.2
PRODUCTS = (1500, 2000, 5000, 10_000, 20_000)
SPANS = (1.0, 2.0, 5.0, 20.0, 100.0)

Ranges = dict[str, tuple[float, float]]


def without_ranges(schema: TableSchema) -> TableSchema:
    content = schema.content
    for entry in content["fields"]:
        if "categories" not in entry:
            for end in ("minimum", "maximum"):
                entry.get("constraints", {}).pop(end, None)
    return TableSchema.of(content)


def of_span(table: Table, names: tuple[str, ...], factor: float) -> Ranges:
    found = {}
    for name in names:
        values = table.frame[name].to_numpy(dtype=float)
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        middle, half = 0.5 * (low + high), 0.5 * factor * ((high - low) or 1.0)
        found[name] = (middle - half, middle + half)
    return found


def r_squared(
    plan: TablePlan,
    train: Table,
    test: Table,
    scored: Instance | BlockScores,
    draws: int,
) -> list[float]:
    """Test R² of so many models."""
    instance = None
    if plan.ranges is None:
        instance = instance_of_table(train.frame, plan.question, support_size=plan.size)
    pair = TablePair.of(plan, instance, random.Random(0), private=False, scored=scored)
    truth = test.frame[test.target].to_numpy()
    sources = random.Random(1), random.Random(2)
    models = (pair.release(None, sources, train.frame) for _ in range(draws))
    return [max(-1.0, float(r2_score(truth, model.predict(test.frame)))) for model in models]


def of_table(table: Table, product: float, draws: int) -> dict[str, list[float]]:
    order = np.random.default_rng(0).permutation(len(table.frame))
    cut = int(TEST_SHARE * len(order))
    test, train = (
        replace(table, frame=table.frame.iloc[part].reset_index(drop=True))
        for part in (order[:cut], order[cut:])
    )
    epsilon = product / len(train.frame)
    question = replace(table.table_question, schema=without_ranges(table.schema))
    size = table.support_size
    of_ranges = SHARE_OF_PRIVATE_RANGES * epsilon
    asked = PrivateRanges(question, of_ranges)
    method = PermuteAndFlipSelector(size, epsilon=SHARE_OF_BLOCKS * epsilon)
    blocks = BlockOptions(epsilon=SHARE_OF_BLOCKS * epsilon, partition_seed=0)
    rest = (1.0 - SHARE_OF_BLOCKS) * epsilon
    model = ObjectivePerturbationRegressor(loss="huber", epsilon=rest)
    less = ObjectivePerturbationRegressor(loss="huber", epsilon=rest - of_ranges)
    plan = TablePlan(asked.placed, method, less, size, blocks, None, asked)
    scored = plan.scored(train.frame).made()
    found = {"private": r_squared(plan, train, test, scored, draws)}
    for factor in SPANS:
        ranges = of_span(table, asked.open, factor)
        stated = TablePlan(replace(question, ranges=ranges), method, model, size, blocks)
        name = f"{factor:g} × span"
        found[name] = r_squared(stated, train, test, scored, draws)
    return found


def measured(tables: list[Table], draws: int) -> Iterator[Record]:
    for product in PRODUCTS:
        for table in tables:
            for ranges, values in of_table(table, product, draws).items():
                named = {"product": product, "ranges": ranges, "table": table.name}
                yield {**named, "r_squared": values}
            print(table.name, product, file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--rows", type=int, default=5000)
    add_json_option(parser)
    options = parser.parse_args()
    tables = [table.drawn(options.rows, 0) for table in tables_of(options.folder)]
    print_records(measured(tables, options.draws), as_json=options.json)


if __name__ == "__main__":
    main()
