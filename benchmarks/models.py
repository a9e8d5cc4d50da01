"""What a user of `fit` gets on real tables, beside the alternatives and the forecast of `plan`.

A fifth of the rows is the test. "all fields" and "best subset" have no privacy: least squares or
logistic regression on all fields, and on the support with the largest R² on the other rows (of
classes: fields added one by one). Seeded, and ranges of tables without a schema are made up from
their rows: nothing here is private.
"""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, r2_score, roc_auc_score

from benchmarks.declared import Record, benchmark
from benchmarks.tables import DIABETES, NUMBERS, Table, made_up, mapped, table_named
from mipselect.planning import Question, plan_study
from mipselect.regression import (
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
)
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables import TableSchema

TEST_SHARE = 0.2
PEER_SCRIPT = Path(__file__).with_name("peer_models.py")
OF_NUMBERS = ("R²", "useless")
OF_CLASSES = ("accuracy", "AUC", "log loss", "predicted yes", "mean probability", "useless")
THRESHOLDS = {
    "winequality_white": 7.0,
    "bike_sharing_hour": 300.0,
    "cpu_act": 95.0,
    "elevators": 0.025,
    "ailerons": -0.0005,
}
"""The second class of a table: where its target is at least so much."""

CANCER = "breast cancer"
MOST_FIELDS = 4
ENOUGH = 5_000
"""Rows by which fields of classes are added one by one."""


def of_two_classes(data: str | None, name: str) -> Table:
    """A table whose target is whether its number reaches a threshold, or the breast cancer data."""
    if name == CANCER:
        bunch = load_breast_cancer(as_frame=True)
        frame = bunch.data.assign(yes=bunch.target == 0)
        return Table(name, frame, TableSchema.of(made_up(frame)), "yes")
    table = table_named(data, name)
    answer = {"name": "yes", "type": "boolean", "constraints": {"required": True}}
    content = table.schema.content
    return replace(
        table,
        frame=table.frame.assign(yes=table.frame[table.target] >= THRESHOLDS[name]),
        schema=TableSchema.of({**content, "fields": [*content["fields"], answer]}),
        target="yes",
        never=(*table.never, table.target),
    )


def split(table: Table, seed: int) -> tuple[Table, Table]:
    """Rows of the test, and the others."""
    order = np.random.default_rng(seed).permutation(len(table.frame))
    cut = int(TEST_SHARE * len(order))
    return table.part(order[:cut]), table.part(order[cut:])


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
    if classes:
        model = LogisticRegression(C=1e4, max_iter=2_000).fit(X, y > 0.0)
        return np.asarray(model.decision_function(test))
    ones, test_ones = (np.column_stack([rows, np.ones(len(rows))]) for rows in (X, test))
    return np.asarray(test_ones @ np.linalg.lstsq(ones, y, rcond=None)[0])


def added_one_by_one(X: np.ndarray, y: np.ndarray, blocks: list[list[int]]) -> list[int]:
    """Fields with the least logistic loss, given those before them."""
    X, yes = X[:ENOUGH], y[:ENOUGH] > 0.0
    chosen: list[int] = []

    def loss_with(j: int) -> float:
        columns = [c for k in (*chosen, j) for c in blocks[k]]
        u = without_privacy(X[:, columns], y[:ENOUGH], X[:, columns], classes=True)
        return float(log_loss(yes, 1.0 / (1.0 + np.exp(-np.clip(u, -30.0, 30.0)))))

    for _ in range(min(MOST_FIELDS, len(blocks) - 1)):
        chosen.append(min(set(range(len(blocks))) - set(chosen), key=loss_with))
    return chosen


def best_fields(train: Table, X: np.ndarray, y: np.ndarray, *, classes: bool) -> list[int]:
    if classes:
        return added_one_by_one(X, y, [list(block) for block in train.unscaled.blocks])
    return [int(j) for j in train.supports()[int(np.argmax(train.ways()))]]


def by_peer(
    peer: str, X: np.ndarray, y: np.ndarray, test: np.ndarray, *, classes: bool, epsilon: float,
    seed: int,
) -> np.ndarray:  # fmt: skip
    with TemporaryDirectory() as folder:
        given, found = Path(folder) / "given.npz", Path(folder) / "found.npy"
        np.savez(given, X=X, y=y, test=test, classes=classes, epsilon=epsilon, seed=seed)
        subprocess.run([peer, str(PEER_SCRIPT), str(given), str(found)], check=True)
        return np.asarray(np.load(found))


def fitted(
    train: Table, frame: pd.DataFrame, size: int, epsilon: float, seed: int, *, classes: bool
) -> np.ndarray:
    """What a model of `fit`, by its defaults, says of other rows."""
    regressor = (
        ObjectivePerturbationClassifier(random_state=seed)
        if classes
        else ObjectivePerturbationRegressor(loss="huber", random_state=seed)
    )
    selector = PermuteAndFlipSelector(size, random_state=seed)
    model = SelectThenRegress(selector, regressor, epsilon=epsilon)
    model.fit_table(train.frame, train.schema, **train.question)
    return np.asarray(model.release_.decision(frame))


def models(
    table: Table, seed: int, peer: str, *, classes: bool
) -> Iterator[tuple[str, list[float]]]:
    """Measures of every model of one split."""
    test, train = split(table, seed)
    (X, y), (rows, truth) = (mapped(part) for part in (train, test))
    measured = of_classes if classes else of_numbers
    chosen = best_fields(train, X, y, classes=classes)
    columns = [c for j in chosen for c in table.unscaled.blocks[j]]
    yield "all fields", measured(truth, without_privacy(X, y, rows, classes=classes))
    best = without_privacy(X[:, columns], y, rows[:, columns], classes=classes)
    yield "best subset", measured(truth, best)
    for epsilon in (0.5, 1.0):
        found = fitted(train, test.frame, len(chosen), epsilon, seed, classes=classes)
        yield f"fit, ε = {epsilon:g}", measured(truth, found)
        if peer:
            found = by_peer(peer, X, y, rows, classes=classes, epsilon=epsilon, seed=seed)
            yield f"diffprivlib, ε = {epsilon:g}", measured(truth, found)


@benchmark(
    {
        "table": (
            *(("number", name) for name in NUMBERS),
            *(("two classes", name) for name in (*THRESHOLDS, CANCER)),
        )
    },
    quick={"table": (("number", "winequality_white"),), "splits": 1},
    seeds="0 to 19 of splits and models",
)
def released_models(
    table: tuple[str, str], data: str | None = None, splits: int = 20, peer: str = ""
) -> Iterator[Record]:
    """What a user of `fit` gets: medians over splits; `peer` is a Python that has diffprivlib.

    "useless" is the share of splits in which a model is no better than the mean, or than the share
    of yes for everybody.
    """
    target, name = table
    classes = target == "two classes"
    whole = of_two_classes(data, name) if classes else table_named(data, name)
    found: dict[str, list[list[float]]] = defaultdict(list)
    for seed in range(splits):
        for model, values in models(whole, seed, peer, classes=classes):
            found[model].append(values)
    for model, each in found.items():
        *middle, _ = np.median(each, axis=0).tolist()
        useless = float(np.mean(each, axis=0)[-1])
        named = {"target": target, "table": name, "rows": len(whole.frame), "model": model}
        measures = OF_CLASSES if classes else OF_NUMBERS
        yield {**named, **dict(zip(measures, [*middle, useless], strict=True))}


@benchmark(
    {"table": (*NUMBERS, DIABETES)},
    quick={"table": (DIABETES,), "splits": 1, "draws": 1, "time_limit": 2.0},
    seeds="0 to 2 of splits; 0 to 5 of models; 0 of the plan",
)
def plan_against_fit(
    table: str,
    data: str | None = None,
    splits: int = 3,
    draws: int = 2,
    time_limit: float = 20.0,
) -> Iterator[Record]:
    """How far forecasts of `mipselect plan` are from the mean test R² of `mipselect fit`.

    `plan` is told the schema, the number of rows, and as `--effect` the test R² of the best subset
    without privacy; all other guesses are the defaults.
    """
    whole = table_named(data, table)
    parts = [split(whole, seed) for seed in range(splits)]
    # Models with privacy come after these two, and are not fitted.
    without = (dict(islice(models(whole, seed, "", classes=False), 2)) for seed in range(splits))
    effect = float(np.mean([found["best subset"][0] for found in without]))
    rows, size, epsilons = len(parts[0][1].frame), whole.support_size, (0.5, 1.0, 2.0)
    defaults = SelectThenRegress(
        PermuteAndFlipSelector(size), ObjectivePerturbationRegressor(loss="huber")
    )
    asked = {"rows": rows, "support_size": size, "epsilons": epsilons, "effect": effect}
    question = Question(schema=whole.schema, **whole.question, **asked)
    plan = plan_study(question, time_limit=2.0 * time_limit)
    for k, epsilon in enumerate(epsilons):
        found = []
        for seed, (test, train) in enumerate(parts):
            for draw in range(draws):
                model = clone(defaults).set_params(epsilon=epsilon)
                state = draws * seed + draw
                model.selector.random_state = model.regressor.random_state = state
                model.fit_table(train.frame, train.schema, **train.question)
                found.append(r2_score(test.frame[test.target], model.predict(test.frame)))
        yield {
            "table": table,
            "rows": rows,
            "fields": f"{size} of {whole.n_features}",
            "best": effect,
            "epsilon": epsilon,
            "plan": plan.forecasts[k].expected,
            "fit": float(np.mean(found)),
        }
