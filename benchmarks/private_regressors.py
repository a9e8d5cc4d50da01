"""Private regressors against each other on real tables whose ranges are known: median test R².

python -m benchmarks.private_regressors FOLDER [--trials 10] [--json]

Columns and target are mapped from their ranges to [-1, 1]. The ranges are those of the tables, in
place of a codebook; seeded: nothing here is private. FOLDER holds cpu_act.csv.gz, elevators.csv.gz,
ailerons.csv.gz and bike_sharing_hour.csv.gz.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score

from benchmarks.stored import Record, add_json_option, print_records
from mipselect.regression import (
    AdaSSPRegressor,
    BoostedAdaSSPRegressor,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    TukeyRegressor,
)
from mipselect.selectors import KendallSelector

TEST_SHARE = 0.1
DELTA = 1e-6
SELECTION_SHARE = 0.2
EPSILONS = (0.3, 1.0, 3.0)
CHOSEN = 5


@dataclass(frozen=True)
class Table:
    """A file, its target, and columns that are left out."""

    file: str
    target: str
    without: tuple[str, ...] = ()

    def load(self, folder: Path) -> tuple[np.ndarray, np.ndarray]:
        frame = pd.read_csv(folder / self.file).drop(columns=list(self.without))
        for name in frame.select_dtypes(exclude="number").columns:
            frame[name] = pd.factorize(frame[name], sort=True)[0]
        y = frame.pop(self.target)
        return frame.to_numpy(float), y.to_numpy(float)


TABLES = {
    "cpu_act": Table("cpu_act.csv.gz", "usr"),
    "elevators": Table("elevators.csv.gz", "Goal"),
    "ailerons": Table("ailerons.csv.gz", "goal"),
    "bike": Table("bike_sharing_hour.csv.gz", "cnt", ("instant", "dteday", "casual", "registered")),
}

REGRESSORS: dict[str, Callable[..., Any]] = {
    "objective": lambda **options: ObjectivePerturbationRegressor(
        x_bound=1.0, y_bound=1.0, coef_bound=2.0, **options
    ),
    "Huber": lambda **options: ObjectivePerturbationRegressor(
        loss="huber(0.25)", x_bound=1.0, y_bound=1.0, coef_bound=1.2, **options
    ),
    "AdaSSP": lambda **options: AdaSSPRegressor(x_bound=1.0, y_bound=1.0, delta=DELTA, **options),
    "boosted": lambda **options: BoostedAdaSSPRegressor(
        x_bound=1.0, residual_bound=0.25, rounds=20, delta=DELTA, **options
    ),
    "Tukey": lambda **options: TukeyRegressor(delta=DELTA, **options),
}


def non_private(X: np.ndarray, y: np.ndarray, test: np.ndarray) -> np.ndarray:
    columns = [np.column_stack([rows, np.ones(len(rows))]) for rows in (X, test)]
    return columns[1] @ np.linalg.lstsq(columns[0], y, rcond=None)[0]


def in_ranges(columns: np.ndarray) -> np.ndarray:
    low, high = columns.min(axis=0), columns.max(axis=0)
    return (2.0 * columns - low - high) / np.where(high > low, high - low, 1.0)


def trial(X: np.ndarray, y: np.ndarray, epsilon: float, seed: int) -> dict[str, float]:
    order = np.random.default_rng(seed).permutation(len(y))
    cut = int(TEST_SHARE * len(y))
    test, train = order[:cut], order[cut:]
    found = {"NonDP": r2_score(y[test], non_private(X[train], y[train], X[test]))}
    for name, regressor in REGRESSORS.items():
        model = SelectThenRegress(
            KendallSelector(CHOSEN, random_state=seed),
            regressor(relation="add-remove", random_state=seed),
            epsilon=epsilon,
            selection_share=SELECTION_SHARE,
        ).fit(X[train], y[train])
        drawn = model.support_
        # The same columns for all regressors: those of one seed.
        chosen = non_private(X[train][:, drawn], y[train], X[test][:, drawn])
        found["NonDP, chosen"] = r2_score(y[test], chosen)
        released = model.release_.has_model
        found[name] = r2_score(y[test], model.predict(X[test])) if released else -np.inf
    return found


def medians(folder: Path, count: int) -> Iterator[Record]:
    names = ["NonDP", "NonDP, chosen", *REGRESSORS]
    for table, source in TABLES.items():
        X, y = source.load(folder)
        X, y = in_ranges(X), in_ranges(y)
        for epsilon in EPSILONS:
            trials = [trial(X, y, epsilon, seed) for seed in range(count)]
            found = {name: statistics.median(one[name] for one in trials) for name in names}
            models = {
                name: value if value > -np.inf else "no model" for name, value in found.items()
            }
            yield {"table": table, "rows": len(y), "epsilon": epsilon, **models}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trials", type=int, default=10)
    add_json_option(parser)
    options = parser.parse_args()
    print_records(medians(options.folder, options.trials), as_json=options.json)


if __name__ == "__main__":
    main()
