"""The canonical Lipschitz experiments: the joint exponential mechanism beside the others."""

from __future__ import annotations

import math
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest

from mipselect.mechanisms import JointExponential, Peeling
from mipselect_papers.canonical.counts import (
    EVENT_METRICS,
    METHODS,
    Counts,
    Zipf,
)
from mipselect_papers.canonical.laws import EVENTS, ends, joint_event, peeled_shares
from mipselect_papers.sources import SCORES, DataSource

SCORES_OF_SEVEN = {
    "all different": np.array([4.1, -2.0, 0.3, 3.9, 1.2, 6.5, 2.2]),
    "ties": np.array([4.0, -2.0, 0.0, 4.0, 1.0, 4.0, 1.0]),
}


def by_enumeration(scores: np.ndarray, k: int, epsilon: float, head: int, last: int) -> float:
    mechanism = JointExponential(scores, k, epsilon, sensitivity=0.5)
    order = np.argsort(-scores, kind="stable")
    inside, allowed = set(order[:head]), set(order[:last])
    return sum(
        math.exp(mechanism.log_probability(ranking))
        for ranking in permutations(range(scores.size), k)
        if inside <= set(ranking) <= allowed
    )


@pytest.mark.parametrize("scores", SCORES_OF_SEVEN.values(), ids=SCORES_OF_SEVEN)
@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_events_of_the_joint_exponential_mechanism(scores: np.ndarray, epsilon: float) -> None:
    for k in (1, 4, 6):
        for event in EVENTS:
            share = by_enumeration(scores, k, epsilon, *ends(event, k))
            found = joint_event(scores, k, epsilon, 0.5, event)
            assert found == pytest.approx(share, abs=1e-10)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_draws_of_peeling_against_its_law(epsilon: float) -> None:
    scores = SCORES_OF_SEVEN["all different"]
    mechanism = Peeling(scores, 4, epsilon, sensitivity=0.5, noise="exponential")
    order = np.argsort(-scores)
    shares = peeled_shares(scores, 4, epsilon, 0.5, 20_000, 3)
    assert list(shares) == list(EVENTS)
    for event, share in shares.items():
        head, last = ends(event, 4)
        inside, allowed = set(order[:head]), set(order[:last])
        chance = math.fsum(
            math.exp(mechanism.log_probability(chosen))
            for chosen in combinations(range(7), 4)
            if inside <= set(chosen) <= allowed
        )
        assert 0.01 < chance < 0.999
        assert abs(share - chance) < 4.0 * math.sqrt(chance * (1.0 - chance) / 20_000)


@pytest.fixture
def one_table(tmp_path: Path) -> DataSource:
    np.save(tmp_path / "mine.npy", np.floor(900.0 / np.arange(1, 41)))
    return DataSource.found(SCORES, tmp_path)


def test_every_mechanism_has_every_event(one_table: DataSource) -> None:
    wanted = {(method, metric.key) for method in METHODS for metric in EVENT_METRICS}
    zipf = list(Zipf(0.5, 3, items=40).measure(1, 1, None))
    assert {(reading.method, reading.metric) for reading in zipf} >= wanted
    counts = list(Counts(3, (1.0,), METHODS, "mine").measure(1, 1, one_table))
    assert {(reading.method, reading.metric) for reading in counts} == wanted
    for readings in (zipf, counts):
        by_event = {(r.method, r.metric): r.value for r in readings}
        for method in METHODS:
            top, great, good = (by_event[method, metric.key] or 0.0 for metric in EVENT_METRICS)
            assert 0.0 < top <= great + 1e-9 <= good + 2e-9 <= 1.0 + 3e-9
