"""Measures and their intervals: against what they estimate, and at small tables."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from mipselect.privacy.guarantee import Guarantee
from mipselect.quality import Measure, Quality, ShareInBin
from mipselect.quality.draw import (
    ClassQuality,
    Predictions,
    area_under_curve,
    bin_edges,
    cells,
    quality_of,
    quality_of_classes,
    r2_of_numbers,
    ratio_interval,
)

REPLACE = "replace-one"
MUCH = Fraction(10**9)
"""An ε at which there is hardly any noise."""


def population(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    y = np.clip(0.1 + 0.15 * x + 0.12 * rng.standard_normal(n), -1.0, 1.0)
    return y, 0.1 + 0.15 * x


def test_r2_without_noise_is_that_of_the_clipped_rows() -> None:
    y, fitted = population(5000)
    r2, clip = r2_of_numbers(y, fitted, np.ones(5000, bool), 5000, REPLACE, MUCH, random.Random(0))
    errors, distances = np.abs(y - fitted), np.abs(y - y.mean())
    clipped = [np.minimum(each, clip) ** 2 for each in (errors, distances)]
    assert r2.value == pytest.approx(1.0 - clipped[0].sum() / clipped[1].sum(), abs=1e-4)
    assert (distances > clip).mean() < 0.001
    assert clip <= 1.0 + abs(y.mean()) + 1e-6
    assert r2.value == pytest.approx(1.0 - (errors**2).sum() / (distances**2).sum(), abs=0.01)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_intervals_of_r2_hold_the_truth_as_often_as_they_say(relation: str) -> None:
    y, fitted = population(200_000)
    errors, distances = np.abs(y - fitted), np.abs(y - y.mean())
    rng, held, runs, n = np.random.default_rng(1), 0, 300, 1500
    for seed in range(runs):
        rows = rng.integers(0, len(y), n)
        public = n if relation == "replace-one" else None
        given = (y[rows], fitted[rows], np.ones(n, bool), public)
        r2, clip = r2_of_numbers(*given, relation, Fraction(1), random.Random(seed))
        truth = [(np.minimum(each, clip) ** 2).sum() for each in (errors, distances)]
        held += r2.low <= 1.0 - truth[0] / truth[1] <= r2.high
    assert 0.86 <= held / runs <= 0.97


def test_intervals_of_classes_hold_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(2)
    logits = rng.normal(size=200_000) - 0.7
    y = np.where(rng.random(200_000) < 1.0 / (1.0 + np.exp(-logits)), 1.0, -1.0)
    truth = {
        "AUC": roc_auc_score(y, logits),
        "accuracy": float(((logits > 0.0) == (y > 0.0)).mean()),
        "share of the second class": float((y > 0.0).mean()),
        "predicted share of the second class": float((logits > 0.0).mean()),
    }
    held, runs = dict.fromkeys(truth, 0), 300
    for seed in range(runs):
        rows = rng.integers(0, len(y), 1500)
        found = quality_of_classes(
            y[rows], logits[rows], "replace-one", Fraction(1), random.Random(seed)
        )
        for one in found.measures:
            held[one.name] += one.low <= truth[one.name] <= one.high
    assert all(0.86 <= count / runs <= 0.96 for count in held.values()), held


def test_auc_of_exact_counts_is_that_of_the_bins() -> None:
    rng = np.random.default_rng(0)
    decisions, second = rng.normal(size=3000), rng.random(3000) < 0.3
    decisions[second] += 0.8
    edges = bin_edges(decisions, MUCH, random.Random(0))
    assert 0.0 in edges
    counts = cells(decisions, second, edges).astype(float)
    assert counts.sum() == 3000
    found = area_under_curve(*counts, 0.0)
    binned = np.searchsorted(edges, decisions, side="left")
    assert found.value == pytest.approx(roc_auc_score(second, binned))
    assert found.value == pytest.approx(roc_auc_score(second, decisions), abs=0.003)


def test_accuracy_without_noise_is_exact_at_the_threshold() -> None:
    rng = np.random.default_rng(0)
    decisions = np.append(rng.normal(size=2000), [0.0, 0.0, 1e-12, -1e-12])
    target = np.append(rng.choice([-1.0, 1.0], 2000), [-1.0, -1.0, 1.0, -1.0])
    found = quality_of_classes(target, decisions, "replace-one", MUCH, random.Random(0))
    by_name = {one.name: one.value for one in found.measures}
    right = (decisions > 0.0) == (target > 0.0)
    assert by_name["accuracy"] == pytest.approx(right.mean())
    assert by_name["predicted share of the second class"] == pytest.approx((decisions > 0).mean())
    assert by_name["share of the second class"] == pytest.approx((target > 0).mean())
    assert found.bins[0].lower == 0.0
    assert found.bins[-1].upper == 1.0
    assert all(a.upper == b.lower for a, b in zip(found.bins, found.bins[1:], strict=False))


@pytest.mark.parametrize("rate", [0.06, 0.25, 0.5, 0.8])
def test_as_many_rows_as_are_of_the_second_class_are_above_the_matching_threshold(
    rate: float,
) -> None:
    rng = np.random.default_rng(4)
    logits = rng.normal(loc=np.log(rate / (1.0 - rate)), size=20_000)
    target = np.where(rng.random(20_000) < 1.0 / (1.0 + np.exp(-logits)), 1.0, -1.0)
    shares = []
    for seed in range(40):
        rows = rng.integers(0, 20_000, 2000)
        found = quality_of_classes(
            target[rows], logits[rows], REPLACE, Fraction(1), random.Random(seed)
        )
        threshold = found.matching_threshold
        assert threshold is not None
        shares.append((logits > np.log(threshold / (1.0 - threshold))).mean())
    true = (target > 0.0).mean()
    assert np.mean(shares) == pytest.approx(true, rel=0.04)
    assert np.mean(np.abs(np.array(shares) / true - 1.0) < 1.0 / 3.0) >= 0.9


def test_the_rows_above_a_threshold_fall_by_a_factor_between_two_edges() -> None:
    counts, edges = np.array([[60.0, 20.0, 0.0], [0.0, 11.0, 5.0]]), np.array([-1.0, 1.0])
    # 36 rows lie above -1 and 5 above 1; 16 are of the second class.
    expected = -1.0 + 2.0 * math.log(36.0 / 16.0) / math.log(36.0 / 5.0)
    assert ClassQuality(counts, edges, 0.0).matching_threshold == pytest.approx(expit(expected))
    none_above = np.array([[60.0, 20.0, -3.0], [0.0, 11.0, 1.0]])
    expected = -1.0 + 2.0 * math.log(29.0 / 12.0) / math.log(29.0)
    assert ClassQuality(none_above, edges, 0.0).matching_threshold == pytest.approx(expit(expected))
    assert ClassQuality(0.0 * counts, edges, 0.0).matching_threshold is None
    beyond = np.array([[40.0, 0.0, 9.0], [0.0, 0.0, 5.0]])
    assert ClassQuality(beyond, edges, 0.0).matching_threshold is None
    assert ClassQuality(counts[:, ::-1], edges, 0.0).matching_threshold is None


def test_noise_that_may_move_the_rows_above_by_a_third_leaves_no_threshold() -> None:
    counts, edges = np.array([[40.0, 10.0, 0.0], [0.0, 10.0, 5.0]]), np.array([-1.0, 1.0])
    # 1.645 deviations of the sum of three counts are 5 where the variance is 3.08.
    assert ClassQuality(counts, edges, 3.07).matching_threshold is not None
    assert ClassQuality(counts, edges, 3.09).matching_threshold is None


def test_a_ratio_interval_holds_the_roots_of_its_inequality() -> None:
    for a, b, va, vb in product((0.0, 3.0, 10.0), (-2.0, 0.1, 5.0, 20.0), (0.5, 4.0), (0.5, 9.0)):
        low, high = ratio_interval(a, b, va, vb)
        grid = np.linspace(0.0, 50.0, 5001)
        inside = (a - grid * b) ** 2 <= 1.6449**2 * (va + grid**2 * vb)
        if b < 0.0 and math.isinf(high):
            assert inside[grid >= low].all() or low == 0.0
            continue
        assert ((grid >= low - 1e-9) & (grid <= high + 1e-9))[inside].all()
        assert inside[(grid > low + 1e-9) & (grid < high - 1e-9)].all()


@pytest.mark.parametrize("n", [1, 5, 50])
def test_small_tables_are_never_said_to_be_good(n: int) -> None:
    """Few rows that are kept apart of 50 or 500, of a model that is no better than the mean."""
    rng = np.random.default_rng(0)
    said = 0
    for seed in range(200):
        y, useless = np.clip(rng.normal(0.0, 0.3, (2, n)), -1.0, 1.0)
        known = np.ones(n, bool)
        found = r2_of_numbers(y, useless, known, n, REPLACE, Fraction(1), random.Random(seed))[0]
        said += found.low > 0.0
    assert said <= 0.06 * 200


YES = Measure("share of the second class", 0.5, 0.25, 0.75)


def quality() -> Quality:
    return Quality(
        measures=(Measure("AUC", 0.7, 0.6, 0.8), Measure("accuracy", None, 0.0, 1.0)),
        bins=(ShareInBin(0.0, 1.0, YES),),
        matching_threshold=0.314,
        guarantee=Guarantee(0.5, rho=0.1),
        rows=70,
        share=0.1,
    )


def test_bins_of_a_rare_class_can_be_told_apart() -> None:
    ends = [0.0, 0.0067, 0.0099, 0.016, 1.0]
    shares = [
        ShareInBin(low, high, Measure("share", 0.0071, 0.0049, 0.0098))
        for low, high in pairwise(ends)
    ]
    assert [str(one).partition("of ")[2].partition(" of ")[2] for one in shares] == [
        "0 to 0.67 %: 0.71 % in [0.49, 0.98]",
        "0.67 to 0.99 %: 0.71 % in [0.49, 0.98]",
        "0.99 to 1.6 %: 0.71 % in [0.49, 0.98]",
        "1.6 to 100 %: 0.71 % in [0.49, 0.98]",
    ]


def test_a_quality_survives_json_and_says_what_it_knows() -> None:
    open_end = Quality(
        measures=(Measure("R²", None, -math.inf, 1.0),), guarantee=Guarantee(1.0), clip=0.5
    )
    for one in (quality(), open_end):
        stored = json.dumps(one.to_dict(), allow_nan=False)
        again = Quality.from_dict(json.loads(stored))
        assert (again, str(again)) == (one, str(one))
    assert quality().beats_chance
    assert quality().verdict.startswith("Better than chance at ordering rows: AUC 0.700 in")
    assert "of rows with a probability of 0 to 100 %: 50 % in [25, 75]" in str(quality())
    assert "as many are predicted as there are at a threshold of 0.314" in quality().lines
    before = quality().to_dict()
    del before["matching_threshold"]  # As written by a version that had none.
    assert Quality.from_dict(before) == replace(quality(), matching_threshold=None)
    assert not open_end.beats_chance
    assert open_end.lines[1] == "Errors and distances count up to ±0.5."
    assert open_end.lines[0] == (
        "Not known to be better than predicting the mean: R² unknown, at most 1.000 (90 % "
        "interval)."
    )
    assert "accuracy at one half unknown, at most 1.000" in quality().lines
    named = replace(quality(), second_class="ill=yes", measures=(*quality().measures, YES))
    assert "share of ill=yes 0.500 in [0.250, 0.750]" in named.lines
    assert "naming the more frequent class in every row is right in 0.500" in named.lines
    rare = replace(named, measures=(*quality().measures, replace(YES, value=0.25)))
    assert (rare.common, quality().common, open_end.common) == (0.75, None, None)
    assert Quality.from_dict(json.loads(json.dumps(named.to_dict()))) == named


@pytest.mark.parametrize("epsilon", [1e-9, 1e-20, 1e6])
@pytest.mark.parametrize("n", [0, 1, 30])
def test_extreme_noise_raises_nothing(epsilon: float, n: int) -> None:
    y, fitted = np.random.default_rng(n).uniform(-1.0, 1.0, (2, n))
    for relation in ("replace-one", "add-remove"):
        for given in ((y, fitted, False, 1.0), (np.sign(y), fitted, True, None)):
            predictions = Predictions(*given, complete=True)
            guarantee = Guarantee(epsilon, relation=relation)
            found = quality_of(predictions, guarantee, random.Random(1))
            json.dumps(found.to_dict(), allow_nan=False)
            assert found.verdict
