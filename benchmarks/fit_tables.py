"""What regressors reach on two real tables with schemas: test R², median of trials.

python -m benchmarks.fit_tables FOLDER [--trials 10]

FOLDER has winequality_white.csv.gz and bike_sharing_hour.csv.gz, as the UCI repository has them.
Selection by the exponential mechanism and the loss on public ranges, half of ε for it and half for
the coefficients, a fifth of the rows for the test. Seeded: nothing here is private.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import r2_score

from mipselect.regression import (
    AdaSSPRegressor,
    BoostedAdaSSPRegressor,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    TukeyRegressor,
)
from mipselect.selectors import ExponentialSelector
from mipselect.tables import TableSchema, map_table

SCHEMAS = Path(__file__).parents[1] / "docs" / "tables"
TEST_SHARE = 0.2
EPSILONS = (0.5, 1.0, 2.0, 4.0)
DELTA = 1e-6
TABLES: dict[str, tuple[str, str, int, list[str]]] = {
    "wine": ("winequality_white.csv.gz", "quality", 3, []),
    "bikes": (
        "bike_sharing_hour.csv.gz",
        "cnt",
        4,
        ["instant", "dteday", "casual", "registered"],
    ),
}
REGRESSORS: dict[str, Callable[..., Any]] = {
    "objective, huber(0.25)": lambda **o: ObjectivePerturbationRegressor(loss="huber(0.25)", **o),
    "objective, squared": lambda **o: ObjectivePerturbationRegressor(**o),
    "AdaSSP": lambda **o: AdaSSPRegressor(delta=DELTA, **o),
    "boosted AdaSSP": lambda **o: BoostedAdaSSPRegressor(
        delta=DELTA, residual_bound=0.25, rounds=8, **o
    ),
    "Tukey": lambda **o: TukeyRegressor(delta=DELTA, **o),
}


def least_squares(X: np.ndarray, y: np.ndarray, test: np.ndarray) -> np.ndarray:
    def with_ones(rows: np.ndarray) -> np.ndarray:
        return np.column_stack([rows.astype(float), np.ones(len(rows))])

    coef = np.linalg.lstsq(with_ones(X), y, rcond=None)[0]
    return np.asarray(with_ones(test) @ coef)


def trial(name: str, frame: pd.DataFrame, epsilon: float, seed: int) -> dict[str, float]:
    _, target, size, never = TABLES[name]
    schema = TableSchema.read(SCHEMAS / f"{name}.schema.json")
    order = np.random.default_rng(seed).permutation(len(frame))
    cut = int(TEST_SHARE * len(frame))
    test, train = frame.iloc[order[:cut]], frame.iloc[order[cut:]]
    asked: dict[str, Any] = {"target": target, "never": never}
    rows, unseen = (map_table(part, schema, **asked) for part in (train, test))
    truth = test[target].to_numpy()
    found = {"no privacy": r2_score(unseen.y, least_squares(rows.X, rows.y, unseen.X))}
    for regressor, made in REGRESSORS.items():
        selector = ExponentialSelector(size, score="loss", random_state=seed)
        model = SelectThenRegress(selector, made(random_state=seed), epsilon=epsilon)
        model.fit_table(train, schema, **asked)
        release = model.release_
        columns = [rows.column_names.index(column) for column in release.columns]
        chosen = least_squares(rows.X[:, columns], rows.y, unseen.X[:, columns])
        found["no privacy, chosen fields"] = r2_score(unseen.y, chosen)
        predicted = model.predict(test) if release.has_model else None
        found[regressor] = -np.inf if predicted is None else r2_score(truth, predicted)
    return found


def shown(value: float) -> str:
    return "no model" if value == -np.inf else f"{value:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trials", type=int, default=10)
    options = parser.parse_args()
    names = ["no privacy", "no privacy, chosen fields", *REGRESSORS]
    print("| table | ε |", " | ".join(names), "|")
    print("| --- " * (len(names) + 2) + "|")
    for name, (file, *_) in TABLES.items():
        frame = pd.read_csv(options.folder / file)
        for epsilon in EPSILONS:
            found: dict[str, list[float]] = defaultdict(list)
            for seed in range(options.trials):
                for regressor, value in trial(name, frame, epsilon, seed).items():
                    found[regressor].append(value)
            cells = " | ".join(shown(float(np.median(found[column]))) for column in names)
            print(f"| {name} | {epsilon:g} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
