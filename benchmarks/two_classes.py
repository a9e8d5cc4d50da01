"""How good released models of two classes are: accuracy, AUC, log loss and calibration by ε.

python -m benchmarks.two_classes [FOLDER] [--trials 3] [--epsilons 0.25,0.5,1,2,4] [--rows 1500]
    [--tables NAME,...] [--no-fit]

Models are drawn from 70 % of the rows and judged on the rest. "no privacy" is logistic regression
on up to four fields, added one by one; "coefficients" those fields with private coefficients, as
they are by default; "before" with noise in the Euclidean norm and coefficients within 3/√(s + 1),
the default of before; "fit" has private fields too, for half of ε. Tables are generated or come
with scikit-learn, and those of FOLDER are added. Seeded: nothing here is private.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks.class_tables import class_tables
from benchmarks.tables_at_hand import Table
from mipselect.regression import ObjectivePerturbationClassifier, SelectThenRegress
from mipselect.regression.noise import product_laplace
from mipselect.regression.objective_perturbation import REACH
from mipselect.regression.perturbed_objective import (
    lightest_ridge,
    perturbed_minimiser,
    with_ridge,
)
from mipselect.regression.rows import Balls
from mipselect.regression.smooth_losses import LogisticLoss
from mipselect.selectors import ExponentialSelector
from mipselect.tables import map_table

TEST_SHARE = 0.3
LARGEST_SIZE = 4
ENOUGH = 5_000
"""Rows that fields are added by."""

LOSS = LogisticLoss()
NO_RIDGE, NO_RADIUS = 0.5, 1e4
"""Of the model without privacy: it keeps coefficients finite where classes separate."""

MEASURES = ("accuracy", "AUC", "log loss", "predicted yes", "mean probability")
NO_PRIVACY, BEFORE, COEFFICIENTS, FIT = "no privacy", "before", "coefficients", "fit"


def with_ones(X: np.ndarray) -> np.ndarray:
    return np.column_stack([X, np.ones(len(X))])


def measures(yes: np.ndarray, u: np.ndarray) -> list[float]:
    p = 1.0 / (1.0 + np.exp(-np.clip(u, -30.0, 30.0)))
    found = (p > 0.5) == yes, roc_auc_score(yes, u), log_loss(yes, p), p > 0.5, p
    return [float(np.mean(value)) for value in found]


def without_privacy(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    rows = with_ones(X)
    return perturbed_minimiser(LOSS, rows, y, NO_RIDGE, np.zeros(rows.shape[1]), NO_RADIUS)


def added_one_by_one(X: np.ndarray, y: np.ndarray, blocks: list[list[int]]) -> list[int]:
    """Fields with the least loss, given those before them."""
    X, y = X[:ENOUGH], y[:ENOUGH]
    chosen: list[int] = []

    def loss_with(j: int) -> float:
        columns = [c for k in (*chosen, j) for c in blocks[k]]
        theta = without_privacy(X[:, columns], y)
        return float(LOSS.values(y, with_ones(X[:, columns]) @ theta)[0].sum())

    for _ in range(min(LARGEST_SIZE, len(blocks) - 1)):
        chosen.append(min(set(range(len(blocks))) - set(chosen), key=loss_with))
    return chosen


def before(X: np.ndarray, y: np.ndarray, parts: int, epsilon: float, seed: int) -> np.ndarray:
    rows, length = with_ones(X), math.sqrt(parts + 1.0)
    radius = REACH / length
    change = 2.0 * length * LOSS.slope(1.0, REACH)
    curvature = length**2 * LOSS.curvature
    ridge = lightest_ridge(epsilon, 0.0, change, curvature, radius, rows.shape[1])
    chosen = with_ridge(ridge, epsilon, change, curvature)
    ball = Balls((rows.shape[1],), (1.0,))
    noise = product_laplace(random.Random(seed), ball, chosen.noise_scale)
    return perturbed_minimiser(LOSS, rows, y, chosen.ridge, noise, radius)


def trial(
    table: Table, epsilons: list[float], rows: int | None, seed: int, *, fit: bool
) -> dict[tuple[str, float], list[float]]:
    order = np.random.default_rng(seed).permutation(len(table.frame))
    cut = int(TEST_SHARE * len(order))
    test, train = (table.frame.iloc[part] for part in (order[:cut], order[cut:][:rows]))
    seen, unseen = (map_table(part, table.schema, **table.question) for part in (train, test))
    X, y = seen.X.astype(float), np.where(seen.y > 0.0, 1.0, -1.0)
    yes = unseen.y > 0.0
    blocks = [list(block) for block in table.unscaled.blocks]
    chosen = added_one_by_one(X, y, blocks)
    columns = [c for j in chosen for c in blocks[j]]
    X, judged = X[:, columns], with_ones(unseen.X[:, columns].astype(float))
    found = {(NO_PRIVACY, 0.0): measures(yes, judged @ without_privacy(X, y))}
    widths = [len(blocks[j]) for j in chosen]
    for epsilon in epsilons:
        theta = before(X, y, len(chosen), epsilon, seed)
        found[BEFORE, epsilon] = measures(yes, judged @ theta)
        model = ObjectivePerturbationClassifier(epsilon=epsilon, classes=(-1, 1), random_state=seed)
        model = model.for_features(widths).fit(X, y)
        u = model.decision_function(judged[:, :-1])
        found[COEFFICIENTS, epsilon] = measures(yes, u)
        if fit:
            pair = SelectThenRegress(
                ExponentialSelector(len(chosen), random_state=seed),
                ObjectivePerturbationClassifier(random_state=seed),
                epsilon=epsilon,
            ).fit_table(train, table.schema, **table.question)
            found[FIT, epsilon] = measures(yes, pair.decision_function(test))
    return found


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--rows", type=int, help="of the training rows so many alone")
    parser.add_argument("--no-fit", action="store_true")
    parser.add_argument("--tables", type=lambda text: text.split(","))
    parser.add_argument(
        "--epsilons",
        type=lambda text: [float(one) for one in text.split(",")],
        default=[0.25, 0.5, 1.0, 2.0, 4.0],
    )
    return parser.parse_args()


def main() -> None:
    options = parsed()
    print("| table | rows | yes | ε | model |", " | ".join(MEASURES), "|")
    print("| --- " * (len(MEASURES) + 5) + "|")
    away: dict[tuple[str, float], list[np.ndarray]] = defaultdict(list)
    for table in class_tables(options.folder):
        if options.tables is not None and table.name not in options.tables:
            continue
        found: dict[tuple[str, float], list[list[float]]] = defaultdict(list)
        for seed in range(options.trials):
            trials = trial(table, options.epsilons, options.rows, seed, fit=not options.no_fit)
            for key, values in trials.items():
                found[key].append(values)
        means = {key: np.mean(values, axis=0) for key, values in found.items()}
        share = float(table.frame[table.target].mean())
        for (model, epsilon), values in means.items():
            away[model, epsilon].append(values - means[NO_PRIVACY, 0.0])
            cells = " | ".join(f"{value:.3f}" for value in values)
            head = f"{table.name} | {len(table.frame):,} | {share:.3f} | {epsilon:g} | {model}"
            print(f"| {head} | {cells} |", flush=True)
    print("\n| mean of the tables, beside no privacy | ε |", " | ".join(MEASURES[:3]), "|")
    print("| --- " * 5 + "|")
    for (model, epsilon), differences in away.items():
        cells = " | ".join(f"{value:+.3f}" for value in np.mean(differences, axis=0)[:3])
        print(f"| {model} | {epsilon:g} | {cells} |")


if __name__ == "__main__":
    main()
