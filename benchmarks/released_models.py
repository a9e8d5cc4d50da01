"""What a user of `fit` gets: R², or accuracy, AUC and calibration, beside the alternatives.

python -m benchmarks.released_models FOLDER [--splits 20] [--epsilons 0.5,1,2] [--rows 50]
    [--peer PYTHON] [--tables NAME,...] [--json]

Every split takes a fifth of the rows for the test. "all fields" and "best subset" have no privacy:
least squares or logistic regression on all fields, and on the support with the largest R² on the
other rows (of classes: fields added one by one). "fit" is `SelectThenRegress.fit_table` with its
defaults. With `--peer` an interpreter that has diffprivlib fits all fields at the same ε, on rows
and target in [-1, 1] by the same public ranges. "useless" is the share of splits in which a model
is no better than the mean, or than the share of yes for everybody. Seeded, and ranges of tables
without a schema are made up from their rows: nothing here is private. All others are medians.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, r2_score, roc_auc_score

from benchmarks.class_tables import class_tables
from benchmarks.fit_tables import least_squares
from benchmarks.stored import Record, add_json_option, print_records
from benchmarks.tables_at_hand import Table, tables_of
from benchmarks.two_classes import added_one_by_one
from mipselect.regression import (
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
)
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables import map_table

TEST_SHARE = 0.2
PEER_SCRIPT = Path(__file__).with_name("peer_models.py")
OF_NUMBERS = ("R²", "useless")
OF_CLASSES = ("accuracy", "AUC", "log loss", "predicted yes", "mean probability", "useless")


def of_numbers(truth: np.ndarray, predicted: np.ndarray) -> list[float]:
    score = float(r2_score(truth, predicted))
    return [score, float(score <= 0.0)]


def of_classes(truth: np.ndarray, u: np.ndarray) -> list[float]:
    yes = truth > 0.0
    p = 1.0 / (1.0 + np.exp(-np.clip(u, -30.0, 30.0)))
    loss, alone = log_loss(yes, p), log_loss(yes, np.full(len(yes), yes.mean()))
    found = [float(((p > 0.5) == yes).mean()), float(roc_auc_score(yes, u)), float(loss)]
    return [*found, float((p > 0.5).mean()), float(p.mean()), float(loss >= alone)]


def without_privacy(X: np.ndarray, y: np.ndarray, test: np.ndarray, *, classes: bool) -> np.ndarray:
    if not classes:
        return least_squares(X, y, test)
    model = LogisticRegression(C=1e4, max_iter=2_000).fit(X, y > 0.0)
    return np.asarray(model.decision_function(test))


def by_peer(
    peer: str, X: np.ndarray, y: np.ndarray, test: np.ndarray, *, classes: bool, epsilon: float,
    seed: int,
) -> np.ndarray:  # fmt: skip
    with TemporaryDirectory() as folder:
        given, found = Path(folder) / "given.npz", Path(folder) / "found.npy"
        np.savez(given, X=X, y=y, test=test, classes=classes, epsilon=epsilon, seed=seed)
        subprocess.run([peer, str(PEER_SCRIPT), str(given), str(found)], check=True)
        return np.asarray(np.load(found))


def fitted(train: Table, test: Table, size: int, epsilon: float, seed: int, *, classes: bool
           ) -> np.ndarray:  # fmt: skip
    regressor = (
        ObjectivePerturbationClassifier(random_state=seed)
        if classes
        else ObjectivePerturbationRegressor(loss="huber", random_state=seed)
    )
    selector = PermuteAndFlipSelector(size, random_state=seed)
    model = SelectThenRegress(selector, regressor, epsilon=epsilon)
    model.fit_table(train.frame, train.schema, **train.question)
    return np.asarray(model.release_.decision(test.frame))


def models(
    table: Table, epsilons: list[float], seed: int, peer: str | None, *, classes: bool
) -> Iterator[tuple[str, float, list[float]]]:
    """Measures of every model of one split, with ε; 0 for none."""
    order = np.random.default_rng(seed).permutation(len(table.frame))
    cut = int(TEST_SHARE * len(order))
    test, train = (table.part(rows) for rows in (order[:cut], order[cut:]))
    seen, unseen = (map_table(part.frame, part.schema, **part.question) for part in (train, test))
    X, y, judged, truth = seen.X.astype(float), seen.y, unseen.X.astype(float), unseen.y
    measured = of_classes if classes else of_numbers
    blocks = [list(block) for block in table.unscaled.blocks]
    if classes:
        chosen = added_one_by_one(X, np.where(y > 0.0, 1.0, -1.0), blocks)
    else:
        chosen = [int(j) for j in train.supports()[int(np.argmax(train.ways()))]]
    columns = [c for j in chosen for c in blocks[j]]
    whole = without_privacy(X, y, judged, classes=classes)
    yield "all fields", 0.0, measured(truth, whole)
    best = without_privacy(X[:, columns], y, judged[:, columns], classes=classes)
    yield "best subset", 0.0, measured(truth, best)
    for epsilon in epsilons:
        found = fitted(train, test, len(chosen), epsilon, seed, classes=classes)
        yield "fit", epsilon, measured(truth, found)
        if peer is not None:
            told = {"classes": classes, "epsilon": epsilon, "seed": seed}
            yield "diffprivlib", epsilon, measured(truth, by_peer(peer, X, y, judged, **told))


def medians(tables: list[Table], options: argparse.Namespace, *, classes: bool) -> Iterator[Record]:
    names = OF_CLASSES if classes else OF_NUMBERS
    for table in tables:
        if options.tables is not None and table.name not in options.tables:
            continue
        found: dict[str, list[list[float]]] = defaultdict(list)
        for seed in range(options.splits):
            part = table if options.rows is None else table.drawn(options.rows, seed)
            for name, epsilon, values in models(
                part, options.epsilons, seed, options.peer, classes=classes
            ):
                found[f"{name}, ε = {epsilon:g}" if epsilon else name].append(values)
            print(table.name, seed, file=sys.stderr)
        for name, splits in found.items():
            *middle, _ = np.median(splits, axis=0).tolist()
            useless = float(np.mean(splits, axis=0)[-1])
            yield {
                "target": "two classes" if classes else "number",
                "table": table.name,
                "rows": len(table.frame) if options.rows is None else options.rows,
                "model": name,
                **dict(zip(names, [*middle, useless], strict=True)),
            }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--rows", type=int, help="of each table so many alone")
    parser.add_argument("--peer", help="an interpreter that has diffprivlib")
    parser.add_argument("--tables", type=lambda text: text.split(","))
    parser.add_argument(
        "--epsilons",
        type=lambda text: [float(one) for one in text.split(",")],
        default=[0.5, 1.0, 2.0],
    )
    add_json_option(parser)
    options = parser.parse_args()
    found = chain(
        medians(tables_of(options.folder), options, classes=False),
        medians(class_tables(options.folder), options, classes=True),
    )
    print_records(found, as_json=options.json)


if __name__ == "__main__":
    main()
