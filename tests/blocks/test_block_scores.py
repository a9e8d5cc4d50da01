"""`BlockScores`: from arrays, frames and tables, and what is refused before a row is looked at."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mipselect import BlockScores, ExponentialMechanism, Instance
from mipselect.blocks.r_squared import ListedFeatures
from mipselect.errors import InvalidInput
from mipselect.tables.instances import rows_of_table
from mipselect.tables.public_map import TableQuestion
from tests.support.block_pairs import FIELDS, SCHEMA, hostile_cells, table_of
from tests.support.dense_block_r2 import direct_counts
from tests.support.enumeration import frequencies_agree, log_law


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"support_size": 5}, "support_size must be an integer in 1..4, got 5"),
        ({"support_size": 1, "never": "dose"}, "never must be a list of field names"),
        ({"support_size": 1, "unit_rule": "last"}, "needs csvw-eo:privacyUnit"),
    ],
)
def test_a_wrong_question_is_refused_before_a_row_is_read(
    question: dict[str, Any], message: str
) -> None:
    def rows() -> Any:
        raise AssertionError("a row was read")
        yield

    names = pa.schema([(field["name"], pa.string()) for field in FIELDS])
    source = pa.RecordBatchReader.from_batches(names, rows())
    asked = {"target": "y", **question}
    with pytest.raises(InvalidInput, match=message):
        Instance.from_table(source, SCHEMA, **asked, score="block-r2")


def arrays(n: int = 200, p: int = 7, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 1] - X[:, 4] + 0.1 * rng.standard_normal(n)


def test_a_table_has_the_scores_of_its_fields() -> None:
    cells = hostile_cells(np.random.default_rng(0), 90)
    # The judge squares what it is given.
    source = table_of([[7 if cell == "-1e300" else cell for cell in each] for each in cells])
    for always in ([], ["sex"], ["ward"]):
        scores = Instance.from_table(
            source,
            SCHEMA,
            target="y",
            support_size=2,
            always=always,
            block_rows=7,
            partitions=2,
            score="block-r2",
        )
        public = TableQuestion(SCHEMA, "y", always).without_ranges
        rows = rows_of_table(source, public)
        features = ListedFeatures(public.parts, scores.n_features, 2, 7)
        expected = direct_counts(rows, features, scores.settings)
        assert np.abs(scores.counts - expected).max() <= 3
        assert scores.feature_names == tuple(
            name for name in ("ward", "dose", "sex", "stage") if name not in always
        )
        assert scores.n == 90


def test_scores_are_by_support_in_any_order() -> None:
    X, y = arrays()
    scores = BlockScores(X, y, support_size=3, partition_seed=1, partitions=3, block_rows=9)
    supports = np.array(list(combinations(range(7), 3)))
    np.testing.assert_array_equal(scores.scores(supports), scores.counts / 2.0**20 / 3)
    order = np.random.default_rng(0).permutation(35)
    np.testing.assert_array_equal(
        scores.scores(supports[order][:, ::-1]), scores.scores(supports)[order]
    )
    assert scores.scores([[4, 1, 0]]) > scores.scores([[2, 3, 0]])
    for wrong in ([[1, 1, 2]], [[0, 1]], [0, 1, 2], [[0, 1, 7]]):
        with pytest.raises(InvalidInput):
            scores.scores(wrong)


def test_arrays_frames_and_order_of_columns_give_the_same_scores() -> None:
    X, y = arrays()
    question = {"support_size": 2, "partition_seed": 1, "block_rows": 8, "partitions": 1}
    names = [f"c{j}" for j in range(7)]
    plain = BlockScores(X, y, **question)
    framed = BlockScores(pd.DataFrame(X, columns=names), pd.Series(y), **question)
    assert (plain.counts == framed.counts).all()
    assert framed.feature_names == tuple(names)
    grouped = BlockScores(X, y, groups=[[0, 3], [1], [4, 2]], always=[5, 6], **question)
    assert grouped.n_features == 3
    order = [3, 0, 1, 2, 4, 6, 5]
    moved = BlockScores(X[:, order], y, groups=[[1, 0], [2], [4, 3]], always=[6, 5], **question)
    assert np.abs(grouped.counts - moved.counts).max() <= 3


def test_partitions_are_those_of_the_operating_system_without_a_seed() -> None:
    X, y = arrays()
    one, other = (BlockScores(X, y, support_size=2) for _ in range(2))
    assert (one.counts != other.counts).any()
    assert one.settings.blocks.seed != other.settings.blocks.seed
    assert str(one.settings.blocks.seed) not in repr(one) + str(one.problem.public())


def test_draws_have_the_stated_law_and_a_rho() -> None:
    rows = np.random.default_rng(3).standard_normal((60, 6))
    rows[:, 5] = rows[:, 0] + rows[:, 3]
    question = {"support_size": 2, "block_rows": 6, "partitions": 2, "partition_seed": 5}
    scores = BlockScores(rows[:, :5], rows[:, 5], **question)
    supports = list(combinations(range(5), 2))
    stated = 3.0 / 2.0 * scores.scores(supports)
    stated -= np.logaddexp.reduce(stated)
    mechanism = ExponentialMechanism(scores, 3.0)
    np.testing.assert_allclose(log_law(mechanism, supports), stated, atol=1e-9)
    rng = np.random.default_rng(4)
    frequencies_agree(lambda: mechanism.sample(rng), supports, stated)
    guarantee = mechanism.guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.conditions) == (3.0, 0.0, ())
    assert guarantee.rho == pytest.approx(3.0**2 / 8.0)


def test_a_draw_takes_no_other_sizes() -> None:
    X, y = arrays()
    scores = BlockScores(X, y, support_size=2)
    with pytest.raises(InvalidInput, match="2 features, not of 3"):
        ExponentialMechanism(scores, 1.0, sizes=[3])
    with pytest.raises(InvalidInput, match="one size"):
        ExponentialMechanism(scores, 1.0, sizes=[1, 2])
    assert ExponentialMechanism(scores, 1.0, sizes=[2]).listed


def test_too_many_supports_are_refused_before_a_row_is_scored() -> None:
    X, y = arrays(p=60)
    with pytest.raises(InvalidInput, match="5,461,512, more than 1,000,000"):
        BlockScores(X, y, support_size=5)


def test_what_is_wrong_is_named() -> None:
    X, y = arrays()
    with pytest.raises(InvalidInput, match="block_rows must be an integer ≥ 5"):
        BlockScores(X, y, support_size=2, block_rows=4)
    with pytest.raises(InvalidInput, match="3 rows are no block of 6"):
        BlockScores(X[:3], y[:3], support_size=2, block_rows=6)
    with pytest.raises(InvalidInput, match="one value per row"):
        BlockScores(X, y[:-1], support_size=2)
    with pytest.raises(InvalidInput, match="epsilon"):
        BlockScores(X, y, support_size=2, epsilon=0.0)
    scores = BlockScores(X, y, support_size=2)
    with pytest.raises(AttributeError, match="immutable"):
        scores.n = 3
    for array in (scores.counts, scores.all_scores):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_later_changes_of_the_rows_change_nothing() -> None:
    X, y = arrays()
    scores, other = (BlockScores(X, y, support_size=2, partition_seed=1) for _ in range(2))
    before = other.counts
    X[:], y[:] = 0.0, 0.0
    assert (scores.counts == before).all()
