"""Quality of rows with survey weights: privacy loss of every draw, and what is estimated."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

from mipselect.privacy.guarantee import Guarantee
from mipselect.quality.draw import Predictions, quality_of
from tests.quality.test_privacy import EPSILON, audited, neighbours

AUC, R2 = 0.8332, 0.5893
"""Of the population of the last test, from four million rows."""

Rows = list[Any]
"""A target, a linear predictor and a weight each."""


def measured(rows: Rows, relation: str, *, of_classes: bool, epsilon: float) -> Any:
    table = np.array(rows, dtype=float).reshape(-1, 3)
    bound = None if of_classes else 1.0
    predictions = Predictions(
        table[:, 0], table[:, 1], of_classes, bound, complete=True, weights=table[:, 2]
    )
    guarantee = Guarantee(epsilon, relation=relation)
    return lambda: quality_of(predictions, guarantee, random.Random(0))


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("of_classes", [False, True])
@pytest.mark.parametrize("size", [0, 1, 40])
def test_every_draw_keeps_epsilon(
    monkeypatch: pytest.MonkeyPatch, relation: str, of_classes: bool, size: int
) -> None:
    rng = np.random.default_rng(size)
    targets = rng.choice([-1.0, 1.0], size) if of_classes else rng.uniform(-1, 1, size)
    rows = list(zip(targets, rng.normal(size=size), rng.random(size), strict=True))
    nan = float("nan")
    extremes: Rows = [
        (1.0, -9.0, 1.0), (-1.0, 9.0, 1.0), (-1.0, 9.0, 0.0), (1.0, 0.0, 0.3),
        (0.0 if of_classes else nan, 1.0, 1.0), (-1.0, nan, 1.0), (1.0, 1e300, 1e-300),
    ]  # fmt: skip
    worst = 0.0
    for seed, (one, other) in enumerate(neighbours(rows, extremes, relation)):
        draws = (
            measured(each, relation, of_classes=of_classes, epsilon=float(EPSILON))
            for each in (one, other)
        )
        worst = max(worst, audited(monkeypatch, *draws, seed))
    least = 0.8 if of_classes else 0.3
    assert least * float(EPSILON) <= worst * (1.0 + 1e-9) <= float(EPSILON) * (1.0 + 1e-8)


def test_a_weight_above_its_maximum_would_tell_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cut to [0, 1] of what a row adds holds here too, so that only a mistake in it shows."""
    from mipselect.quality import draw

    def careless(values: Any) -> Any:
        return np.rint(np.nan_to_num(values) * draw.UNIT).astype(np.int64)

    monkeypatch.setattr(draw, "integers", careless)
    pair = ([(1.0, -9.0, 3.0)], [(-1.0, 9.0, 3.0)])
    draws = (measured(rows, "replace-one", of_classes=True, epsilon=float(EPSILON))
             for rows in pair)  # fmt: skip
    with pytest.raises(AssertionError):
        audited(monkeypatch, *draws, 0)


def test_measures_are_those_with_sample_weights() -> None:
    rng = np.random.default_rng(2)
    n = 20_000
    found = rng.normal(size=n)
    ill = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * found)), 1.0, -1.0)
    w = np.where(ill * found > 0, rng.random(n), 0.3 * rng.random(n))
    quality = measured(list(zip(ill, found, w, strict=True)), "replace-one", of_classes=True,
                       epsilon=50.0)()  # fmt: skip
    auc, accuracy, share, _ = quality.measures
    assert auc.value == pytest.approx(roc_auc_score(ill, found, sample_weight=w), abs=0.01)
    right = accuracy_score(ill, np.where(found > 0, 1.0, -1.0), sample_weight=w)
    assert accuracy.value == pytest.approx(right, abs=0.01)
    assert share.value == pytest.approx(w[ill > 0].sum() / w.sum(), abs=0.01)
    y = np.clip(0.3 * found + 0.2 * rng.normal(size=n), -1, 1)
    predicted = np.clip(0.3 * found, -1, 1)
    v = np.where(np.abs(y - predicted) < 0.2, 1.0, 0.2)
    of_numbers = measured(list(zip(y, predicted, v, strict=True)), "replace-one", of_classes=False,
                          epsilon=50.0)()  # fmt: skip
    expected = r2_score(y, predicted, sample_weight=v)
    assert of_numbers.measures[0].value == pytest.approx(expected, abs=0.02)
    assert abs(expected - r2_score(y, predicted)) > 0.05


def test_intervals_hold_the_truth_at_least_as_often_as_they_say() -> None:
    rng = np.random.default_rng(3)
    held = {"R²": 0, "AUC": 0}
    trials = 120
    for trial in range(trials):
        x = rng.normal(size=800)
        w = np.where(x + rng.normal(size=800) > 0, 1.0, 0.2)
        y = np.clip(0.3 * x + 0.25 * rng.normal(size=800), -1, 1)
        ill = np.where(x + rng.normal(size=800) > 0, 1.0, -1.0)
        kept = rng.random(800) < 0.2 / w
        for target, of_classes in ((y, False), (ill, True)):
            rows = list(zip(target[kept], 0.3 * x[kept], w[kept], strict=True))
            table = np.array(rows)
            predictions = Predictions(
                table[:, 0], table[:, 1], of_classes, None if of_classes else 1.0, True,
                weights=table[:, 2],
            )  # fmt: skip
            best = quality_of(predictions, Guarantee(3.0), random.Random(trial)).measures[0]
            truth = AUC if of_classes else R2
            held[best.name] += best.low <= truth <= best.high
    assert min(held.values()) >= 0.82 * trials
