"""Coverage of the intervals of a private quality, over samples of real tables.

Seeded, so nothing here is private.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.declared import Record, benchmark
from benchmarks.tables import NUMBERS, Table, table_named
from mipselect.privacy.guarantee import Guarantee
from mipselect.quality import Measure, Quality
from mipselect.quality.draw import Predictions, quality_of
from mipselect.tables.mapping import open_table, read_rows
from mipselect.tables.public_map import TableQuestion


def r_squared(y: np.ndarray, fitted: np.ndarray, clip: float = np.inf) -> float:
    errors, distances = np.abs(y - fitted), np.abs(y - y.mean())
    inside = [(np.minimum(each, clip) ** 2).sum() for each in (errors, distances)]
    return 1.0 - float(inside[0] / inside[1])


class Half:
    """The half of a table that is measured, and what a fixed model says of it."""

    def __init__(self, table: Table, *, of_classes: bool) -> None:
        public = TableQuestion(table.schema, **table.question).public
        X, y, _ = read_rows(open_table(table.frame, public), public)
        there = np.isfinite(y)
        X, y = X[there].astype(float), y[there]
        if of_classes:
            y = np.where(y > np.quantile(y, 0.75), 1.0, -1.0)
        half = np.random.default_rng(0).random(len(y)) < 0.5
        ones = np.column_stack([X, np.ones(len(X))])
        if of_classes:
            model = LogisticRegression(C=1.0, max_iter=1000).fit(X[half], y[half])
            fitted = model.decision_function(X)
        else:
            fitted = ones @ np.linalg.lstsq(ones[half], y[half], rcond=None)[0]
        self.name, self.rows, self.of_classes = table.name, len(y), of_classes
        self.y, self.fitted = y[~half], fitted[~half]
        if of_classes:
            self.auc = float(roc_auc_score(self.y, self.fitted))
            self.accuracy = float(((self.fitted > 0.0) == (self.y > 0.0)).mean())
        else:
            self.plain = r_squared(self.y, self.fitted)

    def measured(self, size: int, epsilon: float, relation: str, seed: int) -> Quality:
        rows = np.random.default_rng(seed).integers(0, len(self.y), size)
        bound = None if self.of_classes else 1.0
        predictions = Predictions(
            self.y[rows], self.fitted[rows], self.of_classes, bound, complete=True
        )
        guarantee = Guarantee(epsilon, relation=relation)
        return quality_of(predictions, guarantee, random.Random(seed))

    def checks(self, quality: Quality) -> Iterator[tuple[str, Measure, float]]:
        if self.of_classes:
            yield "AUC", quality.measure("AUC"), self.auc
            yield "accuracy", quality.measure("accuracy"), self.accuracy
        else:
            clipped = r_squared(self.y, self.fitted, quality.clip or np.inf)
            yield "R², clipped", quality.first, clipped
            yield "R² as it is", quality.first, self.plain


@benchmark(
    {
        "table": NUMBERS,
        "of_classes": (False, True),
        "epsilon": (1.0,),
        "relation": ("replace-one",),
    },
    quick={"table": ("winequality_white",), "of_classes": (False,), "runs": 5},
    seeds="0 of halves; 0 to 999 of samples and draws",
)
def quality_coverage(
    table: str,
    of_classes: bool,
    epsilon: float,
    relation: str,
    data: str | None = None,
    runs: int = 1000,
    share: float = 0.1,
) -> Iterator[Record]:
    """Coverage of the intervals of a private quality, over samples of real tables.

    A model is fitted without privacy to half of the rows and stays fixed; of two classes the target
    is whether a number is above its upper quartile. Every run draws `share` of the rows, with
    replacement, from the other half, and measures the model on them. Truth is the measure on the
    whole of that half: R² with the clip of the run, and beside it R² as it is.
    """
    half = Half(table_named(data, table), of_classes=of_classes)
    size = round(share * half.rows)
    held: dict[str, list[bool]] = {}
    truth: dict[str, float] = {}
    widths: dict[str, list[float]] = {}
    for seed in range(runs):
        quality = half.measured(size, epsilon, relation, seed)
        for name, measure, true in half.checks(quality):
            held.setdefault(name, []).append(measure.low <= true <= measure.high)
            widths.setdefault(name, []).append(measure.high - measure.low)
            truth[name] = true
    for name, found in held.items():
        named = {"table": table, "rows": size, "epsilon": epsilon, "relation": relation}
        width = float(np.median(widths[name]))
        yield {
            **named,
            "measure": name,
            "truth": float(truth[name]),
            "width": width if np.isfinite(width) else "∞",
            "covered": float(100.0 * np.mean(found)),
        }
