"""What `mipselect fit` reaches by default: test R², as a share of that of the best subset.

python -m benchmarks.fit_defaults FOLDER [--draws 16] [--shares 0.2,0.3] [--epsilons 0.25,0.5,1,2]
    [--json]

FOLDER is that of `benchmarks.real_tables`; of its tables those with a target that is a number and
4,000 rows or more. A fifth of the rows is the test. The best subset is least squares, without
privacy, on the support with the largest R² on the other rows. "loss" draws features by the loss on
public ranges with half of ε, as was the default before there were blocks; "ranges as stated" gives
nothing of ε to the ranges of numbers. Seeded, and where a table has no schema its ranges are made
up from its rows: nothing here is private.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sklearn.metrics import r2_score

from benchmarks.fit_tables import least_squares
from benchmarks.stored import Record, add_json_option, print_records
from benchmarks.tables_at_hand import Table, tables_of
from mipselect import Instance
from mipselect.problem.block_scores import BlockOptions
from mipselect.regression import ObjectivePerturbationRegressor
from mipselect.regression.shares import SHARE_OF_BLOCKS
from mipselect.regression.table_pair import TablePair
from mipselect.regression.table_plan import TablePlan
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables import map_table

TEST_SHARE = 0.2
ENOUGH_ROWS = 4_000


@dataclass(frozen=True)
class Way:
    """How features are drawn, the share of ε that this may cost, and that of ranges."""

    in_blocks: bool
    share: float
    range_share: float | None = None

    @property
    def name(self) -> str:
        ranges = "" if self.range_share is None else ", ranges as stated"
        return f"{'blocks' if self.in_blocks else 'loss'}, {self.share:g} of ε{ranges}"


def best_subset(train: Table, test: Table) -> float:
    support = train.supports()[int(np.argmax(train.ways()))]
    columns = np.concatenate([list(train.unscaled.blocks[j]) for j in support])
    rows, unseen = (map_table(part.frame, part.schema, **part.question) for part in (train, test))
    predicted = least_squares(rows.X[:, columns], rows.y, unseen.X[:, columns])
    return float(r2_score(unseen.y, predicted))


def r_squared(train: Table, test: Table, way: Way, epsilon: float, draws: int) -> list[float]:
    """Test R² of so many models, each with features of its own."""
    schema, question, size = train.schema, train.question, train.support_size
    of_selection = way.share * epsilon
    method = PermuteAndFlipSelector(size, epsilon=of_selection)
    blocks = BlockOptions(epsilon=of_selection, partition_seed=0) if way.in_blocks else None
    model = ObjectivePerturbationRegressor(loss="huber", epsilon=epsilon - of_selection)
    plan = TablePlan(train.table_question, method, model, size, blocks, way.range_share)
    instance = Instance.from_table(train.frame, schema, support_size=size, **question)
    scored = plan.scored(train.frame).made() if way.in_blocks else None
    pair = TablePair.of(plan, instance, random.Random(0), private=False, scored=scored)
    truth = test.frame[test.target].to_numpy()
    sources = random.Random(1), random.Random(2)
    return [
        float(r2_score(truth, pair.release(None, sources).predict(test.frame)))
        for _ in range(draws)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )

    def numbers(text: str) -> list[float]:
        return [float(part) for part in text.split(",")]

    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=16)
    parser.add_argument("--shares", type=numbers, default=[SHARE_OF_BLOCKS])
    parser.add_argument("--epsilons", type=numbers, default=[0.25, 0.5, 1.0, 2.0])
    add_json_option(parser)
    options = parser.parse_args()
    ways = [
        Way(False, 0.5, range_share=0.0),
        Way(True, SHARE_OF_BLOCKS, range_share=0.0),
        *(Way(True, share) for share in options.shares),
    ]
    tables = [table for table in tables_of(options.folder) if len(table.frame) >= ENOUGH_ROWS]
    found: dict[tuple[float, Way, str], float] = {}
    best: dict[str, float] = {}
    for table in tables:
        order = np.random.default_rng(0).permutation(len(table.frame))
        cut = int(TEST_SHARE * len(order))
        test, train = (
            replace(table, frame=table.frame.iloc[part].reset_index(drop=True))
            for part in (order[:cut], order[cut:])
        )
        best[table.name] = best_subset(train, test)
        for epsilon in options.epsilons:
            for way in ways:
                values = r_squared(train, test, way, epsilon, options.draws)
                found[epsilon, way, table.name] = float(np.mean(values))
                print(table.name, epsilon, way.name, file=sys.stderr)
    print_records(shares(found, best), as_json=options.json)


def shares(found: dict[tuple[float, Way, str], float], best: dict[str, float]) -> Iterator[Record]:
    """Shares of the R² of the best subset: of the sums over all tables, and of each table."""
    for epsilon, way in dict.fromkeys((epsilon, way) for epsilon, way, _ in found):
        each = {name: found[epsilon, way, name] for name in best}
        named = {"epsilon": epsilon, "way": way.name}
        yield {**named, "table": "mean", "share": sum(each.values()) / sum(best.values())}
        for name in best:
            yield {**named, "table": name, "share": each[name] / best[name]}


if __name__ == "__main__":
    main()
