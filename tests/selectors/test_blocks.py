"""Selectors on blocks of rows: without a bound, of arrays and frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from mipselect import ExponentialMechanism, Instance
from mipselect.errors import InvalidInput
from mipselect.selectors import (
    ExponentialSelector,
    MistakesSelector,
    PermuteAndFlipSelector,
    TopRSelector,
)

KINDS = (ExponentialSelector, PermuteAndFlipSelector, TopRSelector, MistakesSelector)
BOUNDS = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}


def table(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Skewed columns, of which two make up the target."""
    X = np.random.default_rng(0).lognormal(size=(n, 7))
    return X, X[:, 2] - X[:, 5]


@pytest.mark.parametrize("kind", KINDS)
def test_x_and_y_are_enough(kind: type[Any]) -> None:
    X, y = table(3000)
    selector = kind(2, epsilon=5.0).fit(X, y)
    assert selector.release_.support == (2, 5)
    assert selector.release_.private
    assert selector.guarantee_.relation == "replace-one"
    assert selector.transform(X).shape == (3000, 2)


def test_the_law_is_that_of_the_instance_with_the_partitions_of_the_random_state() -> None:
    X, y = table()
    options: dict[str, Any] = {"block_rows": 4, "partitions": 3, "coef_bound": 0.4, "ridge": 2.0}
    selector = ExponentialSelector(2, score="blocks", random_state=7, **options)
    law = selector.mechanism(X, y)
    assert isinstance(law, ExponentialMechanism)
    blocks = law.instance.problem.blocks
    assert blocks is not None
    same = Instance.from_blocks(X, y, support_size=2, partition_seed=blocks.seed, **options)
    other = ExponentialMechanism(same, 1.0)
    for support in ([0, 1], [2, 5], [3, 6]):
        assert law.log_probability(support) == other.log_probability(support)
    again = clone(selector).mechanism(X, y)
    assert again.instance.problem.blocks == blocks
    plain = ExponentialSelector(2, score="blocks")
    unseeded = plain.mechanism(X, y).instance.problem.blocks
    assert unseeded is not None
    assert (unseeded.rows, unseeded.partitions) == (2, 16)
    assert unseeded != plain.mechanism(X, y).instance.problem.blocks


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block_rows": 4, "score": "block-r2"}, "block_rows must be an integer ≥ 5"),
        ({"block_rows": 2, **BOUNDS}, "block_rows goes with scores from blocks"),
        ({"score": "r2"}, "score must be one of 'blocks', 'block-r2', 'loss', got 'r2'"),
        ({"block_rows": 1}, r"block_rows must be an integer in 2\.\.256, got 1"),
        ({"partitions": 0}, r"partitions must be an integer in 1\.\.1024, got 0"),
        ({"x_bound": 1.0}, "needs y_bound .* with score='blocks' none is needed"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        ExponentialSelector(2, **options).fit(*table())


def test_score_is_a_parameter_that_scikit_learn_does_not_call() -> None:
    selector = ExponentialSelector(2, score="blocks")
    assert selector.get_params()["score"] == "blocks"
    assert selector.set_params(score=None).get_params()["score"] is None
    assert not hasattr(selector, "score")
    with pytest.raises(AttributeError, match="parameter and no method"):
        _ = selector.score
    X, y = table()
    assert make_pipeline(ExponentialSelector(2, epsilon=9.0)).fit_transform(X, y).shape[1] == 2
