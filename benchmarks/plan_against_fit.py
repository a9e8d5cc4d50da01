"""How far the forecasts of `mipselect plan` are from what `mipselect fit` reaches.

python -m benchmarks.plan_against_fit FOLDER [--splits 3] [--draws 2] [--time-limit 20]
    [--json]

FOLDER is that of `benchmarks.real_tables`; scikit-learn's diabetes data are added. `plan` is told
the schema, the number of rows of four fifths of the table, and as `--effect` the test R² of the
best subset without privacy; all other guesses are the defaults. Beside its forecast stands the mean
test R² of models of `fit`, with defaults, over splits and draws. Seeded, and where a table has no
schema its ranges are made up from its rows: nothing here is private.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.metrics import r2_score

from benchmarks.fit_defaults import TEST_SHARE, best_subset
from benchmarks.stored import Record, add_json_option, print_records
from benchmarks.tables_at_hand import Table, diabetes, tables_of
from mipselect.planning import Guesses, plan_fit
from mipselect.regression import ObjectivePerturbationRegressor, SelectThenRegress
from mipselect.selectors import PermuteAndFlipSelector

EPSILONS = (0.5, 1.0, 2.0)


def split(table: Table, seed: int) -> tuple[Table, Table]:
    order = np.random.default_rng(seed).permutation(len(table.frame))
    cut = int(TEST_SHARE * len(order))
    test, train = (
        replace(table, frame=table.frame.iloc[part].reset_index(drop=True))
        for part in (order[:cut], order[cut:])
    )
    return test, train


def defaults(support_size: int) -> SelectThenRegress:
    """The estimators of `mipselect fit` without options."""
    return SelectThenRegress(
        PermuteAndFlipSelector(support_size), ObjectivePerturbationRegressor(loss="huber")
    )


def reached(train: Table, test: Table, epsilon: float, seed: int) -> float:
    """Test R² of one model of `fit`."""
    model = defaults(train.support_size).set_params(epsilon=epsilon)
    model.selector.random_state = model.regressor.random_state = seed
    model.fit_table(train.frame, train.schema, **train.question)
    return float(r2_score(test.frame[test.target], model.predict(test.frame)))


def of_table(table: Table, options: argparse.Namespace) -> Iterator[Record]:
    parts = [split(table, seed) for seed in range(options.splits)]
    best = float(np.mean([best_subset(train, test) for test, train in parts]))
    rows, size = len(parts[0][1].frame), table.support_size
    plan = plan_fit(
        defaults(size),
        table.schema,
        **table.question,
        rows=rows,
        epsilons=EPSILONS,
        guesses=Guesses(effect=best),
        time_limit=options.time_limit,
    )
    for k, epsilon in enumerate(EPSILONS):
        found = [
            reached(train, test, epsilon, options.draws * seed + draw)
            for seed, (test, train) in enumerate(parts)
            for draw in range(options.draws)
        ]
        print(table.name, epsilon, file=sys.stderr)
        yield {
            "table": table.name,
            "rows": rows,
            "fields": f"{size} of {table.n_features}",
            "best": best,
            "epsilon": epsilon,
            "plan": plan.forecasts[k].expected,
            "fit": float(np.mean(found)),
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--time-limit", type=float, default=20.0)
    add_json_option(parser)
    options = parser.parse_args()
    tables = [*tables_of(options.folder), diabetes()]
    found = [record for table in tables for record in of_table(table, options)]
    print_records(found, as_json=options.json)
    difference = np.mean([abs(record["plan"] - record["fit"]) for record in found])
    print(f"\nmean absolute difference {difference:.3f}", file=sys.stderr)


if __name__ == "__main__":
    main()
