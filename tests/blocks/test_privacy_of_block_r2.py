"""Privacy of draws by block R² as it is defined: exact laws over all supports of hostile pairs.

Neighbours have the same partitions, which are drawn without the data.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from mipselect import BlockScores, ExponentialMechanism, Instance, Ledger
from mipselect.errors import RelationMismatch
from tests.support.block_pairs import (
    SCHEMA,
    hostile_cells,
    table_of,
    with_other_cells,
    with_other_rows,
)
from tests.support.enumeration import frequencies_agree
from tests.support.hostile_blocks import hostile_rows

Pair = tuple[BlockScores, BlockScores]


def law(scores: BlockScores, epsilon: float) -> np.ndarray:
    """Log probabilities of all supports."""
    mechanism = ExponentialMechanism(scores, epsilon)
    supports = combinations(range(scores.n_features), scores.support_size)
    return np.array([mechanism.log_probability(support) for support in supports])


def loss(pair: Pair, epsilon: float) -> float:
    one, other = (law(scores, epsilon) for scores in pair)
    return float(np.abs(one - other).max())


def of_rows(rows: np.ndarray, **question: Any) -> BlockScores:
    return BlockScores(rows[:, :-1], rows[:, -1], partition_seed=5, **question)


@cache
def flipped(p: int = 60) -> Pair:
    """A row that makes the target go with the first column alone, or with all others alone."""
    rng = np.random.default_rng(0)
    t = np.array([-1.0, 0.0, 1.0])
    first = np.array([1.0, -2.0, 1.0])
    rows = np.empty((4, p + 1))
    rows[1:, 0], rows[1:, 1:] = first, t[:, None]
    rows[1:, 1:p] += 1e-9 * rng.standard_normal((3, p - 1))
    one, other = rows.copy(), rows.copy()
    one[0], other[0] = 0.0, 0.0
    one[0, [0, p]] = 1e300
    question = {"support_size": 1, "block_rows": 4, "partitions": 1}
    return of_rows(one, **question), of_rows(other, **question)


@cache
def pairs() -> tuple[Pair, ...]:
    found = [flipped(), flipped(4)]
    for seed in range(24):
        rng = np.random.default_rng([seed, 5])
        n, b = ((6, 6), (13, 6), (40, 8))[seed % 3]
        rows = np.nan_to_num(hostile_rows(rng, n, 5))
        question = {
            "support_size": 1 + seed % 2,
            "block_rows": b,
            "partitions": 1 + seed % 2 * 3,
            "always": [3] if seed % 5 == 4 else None,
            "groups": [[0, 1], [2], [3]] if seed % 5 == 3 else None,
        }
        first = of_rows(rows, **question)
        found += [(first, of_rows(other, **question)) for other in with_other_rows(rng, rows, 6)]
    return tuple(found)


@cache
def pairs_of_tables() -> tuple[Pair, ...]:
    found = []
    for seed in range(8):
        rng = np.random.default_rng([seed, 6])
        question: dict[str, Any] = {
            "target": "y",
            "support_size": 2,
            "block_rows": 8,
            "partitions": 2,
            "partition_seed": 5,
            "always": ["sex"] if seed % 3 == 2 else [],
        }
        cells = hostile_cells(rng, (8, 20)[seed % 2])
        first, *others = (
            Instance.from_table(table_of(each), SCHEMA, **question, score="block-r2")
            for each in (cells, *with_other_cells(rng, cells, 5))
        )
        found += [(first, other) for other in others]
    return tuple(found)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_no_hostile_pair_shows_more_than_epsilon(epsilon: float) -> None:
    found = [loss(pair, epsilon) for pair in (*pairs(), *pairs_of_tables())]
    assert len(found) > 150
    assert max(found) <= epsilon
    assert np.mean(np.array(found) > 0.1 * epsilon) > 0.15


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_one_pair_shows_nearly_all_of_epsilon(epsilon: float) -> None:
    assert 0.9 * epsilon < loss(flipped(), epsilon) <= epsilon


def test_no_score_moves_by_more_than_its_sensitivity() -> None:
    moved = [np.abs(one.counts - other.counts).max() for one, other in pairs()]
    most = [2**20 * one.settings.blocks.partitions for one, _ in pairs()]
    assert all(move <= limit for move, limit in zip(moved, most, strict=True))
    one, other = flipped()
    assert one.counts[0] - other.counts[0] == 2**20
    assert (other.counts[1:] - one.counts[1:] == 2**20).all()


def test_half_of_the_constant_would_fail() -> None:
    class Halved(BlockScores):
        @property
        def oscillation(self) -> float:
            return 0.5

    def halved(scores: BlockScores) -> BlockScores:
        other = Halved.__new__(Halved)
        other.__dict__.update(scores.__dict__)
        return other

    one, other = flipped()
    assert loss((halved(one), halved(other)), 1.0) > 1.5


def test_a_draw_states_pure_epsilon_of_bounded_range_under_replace_one_alone() -> None:
    scores, _ = flipped(4)
    mechanism = ExponentialMechanism(scores, 0.8)
    guarantee = mechanism.guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.relation) == (0.8, 0.0, "replace-one")
    assert guarantee.rho == pytest.approx(0.8**2 / 8.0)
    assert guarantee.conditions == ()
    assert set(mechanism.guarantees) == {"replace-one"}
    with pytest.raises(RelationMismatch):
        mechanism.release(Ledger(1.0, relation="add-remove"))
    ledger = Ledger(1.0)
    assert mechanism.release(ledger).private
    assert ledger.remaining.epsilon == pytest.approx(0.2)


@pytest.mark.parametrize("epsilon", [0.5, 5.0])
def test_every_log_weight_moves_within_a_range_of_epsilon(epsilon: float) -> None:
    for pair in (*pairs()[:40], *pairs_of_tables()):
        one, other = (law(scores, epsilon) for scores in pair)
        assert np.ptp(one - other) <= epsilon


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_draws_have_the_stated_law(epsilon: float) -> None:
    rows = np.random.default_rng(3).standard_normal((60, 6))
    rows[:, 5] = rows[:, 0] + rows[:, 3]
    scores = of_rows(rows, support_size=2, block_rows=6, partitions=2)
    supports = list(combinations(range(5), 2))
    logs = law(scores, epsilon)
    stated = epsilon / 2.0 * scores.scores(supports)
    stated -= np.logaddexp.reduce(stated)
    np.testing.assert_allclose(logs, stated, atol=1e-9)
    mechanism = ExponentialMechanism(scores, epsilon)
    rng = np.random.default_rng(4)
    frequencies_agree(lambda: mechanism.sample(rng), supports, logs)
