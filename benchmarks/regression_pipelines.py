"""Selection and regression on real tables, as in the DPKendall paper: median test R².

python -m benchmarks.regression_pipelines FOLDER [--trials 10] [--k 5,10]

FOLDER holds cpu_act.csv.gz, elevators.csv.gz, ailerons.csv.gz and bike_sharing_hour.csv.gz. Seeded,
so nothing here is private.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score

from mipselect.regression import BoostedAdaSSPRegressor, SelectThenRegress, TukeyRegressor
from mipselect.selectors import KendallSelector, SampleAggregateSelector

EPSILON, DELTA = math.log(3.0), 1e-5
TEST_SHARE = 0.1
TIE_NOISE = 1e-6


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


def bas(seed: int, share: float = 1.0) -> Any:
    return BoostedAdaSSPRegressor(
        epsilon=share * EPSILON, delta=DELTA, relation="add-remove", random_state=seed
    )


def tukey(seed: int, share: float = 1.0) -> Any:
    return TukeyRegressor(
        epsilon=share * EPSILON, delta=DELTA, relation="add-remove", random_state=seed
    )


def kendall(seed: int, k: int, share: float) -> Any:
    return KendallSelector(k, epsilon=share * EPSILON, random_state=seed)


def sub_lasso(seed: int, k: int, share: float) -> Any:
    return SampleAggregateSelector(
        k,
        epsilon=share * EPSILON,
        alpha=1.0,
        n_blocks="n/k",
        penalise_intercept=True,
        random_state=seed,
    )


PIPELINES: dict[str, Callable[[int, int], Any]] = {
    "BAS": lambda seed, k: bas(seed),
    "Tukey": lambda seed, k: tukey(seed),
    "L-BAS": lambda seed, k: SelectThenRegress(sub_lasso(seed, k, 0.1), bas(seed, 0.9)),
    "L-Tukey": lambda seed, k: SelectThenRegress(sub_lasso(seed, k, 0.1), tukey(seed, 0.9)),
    "K-BAS": lambda seed, k: SelectThenRegress(kendall(seed, k, 0.05), bas(seed, 0.95)),
    "K-Tukey": lambda seed, k: SelectThenRegress(kendall(seed, k, 0.05), tukey(seed, 0.95)),
}


def non_private(X: np.ndarray, y: np.ndarray, test: np.ndarray) -> np.ndarray:
    columns = [np.column_stack([rows, np.ones(len(rows))]) for rows in (X, test)]
    return columns[1] @ np.linalg.lstsq(columns[0], y, rcond=None)[0]


def trial(X: np.ndarray, y: np.ndarray, k: int, seed: int, names: list[str]) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    X = X + rng.uniform(-TIE_NOISE, TIE_NOISE, X.shape)
    y = y + rng.uniform(-TIE_NOISE, TIE_NOISE, y.shape)
    order = rng.permutation(len(y))
    cut = int(TEST_SHARE * len(y))
    test, train = order[:cut], order[cut:]
    found = {"NonDP": r2_score(y[test], non_private(X[train], y[train], X[test]))}
    for name in names:
        model = PIPELINES[name](seed, k).fit(X[train], y[train])
        released = model.release_.has_model
        found[name] = r2_score(y[test], model.predict(X[test])) if released else -math.inf
    return found


def shown(value: float) -> str:
    if value == -math.inf:
        return "no model"
    return f"{value:.2f}" if value > -10.0 else f"{value:.1e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--k", default="5,10")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--pipelines", default=",".join(PIPELINES))
    options = parser.parse_args()
    names = options.pipelines.split(",")
    print("| table | k |", " | ".join(["NonDP", *names]), "|")
    print("| --- " * (len(names) + 3) + "|")
    for table in options.tables.split(","):
        X, y = TABLES[table].load(options.folder)
        for k in map(int, options.k.split(",")):
            trials = [trial(X, y, k, seed, names) for seed in range(options.trials)]
            medians = [
                shown(statistics.median(one[name] for one in trials)) for name in ["NonDP", *names]
            ]
            print(f"| {table} | {k} |", " | ".join(medians), "|", flush=True)


if __name__ == "__main__":
    main()
