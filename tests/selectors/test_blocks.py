"""Selectors on blocks of rows: without a bound, of arrays and frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from mipselect import BlockScores, ExponentialMechanism, Instance
from mipselect.errors import InvalidInput, RelationMismatch
from mipselect.privacy import Ledger
from mipselect.selectors import (
    ExponentialSelector,
    KendallSelector,
    MCMCSelector,
    MistakesSelector,
    PermuteAndFlipSelector,
    SampleAggregateSelector,
    SISSelector,
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


def test_the_loss_follows_from_what_is_given() -> None:
    assert ExponentialSelector().asked_score is None
    assert ExponentialSelector(score="loss").asked_score == "loss"
    assert ExponentialSelector(score="blocks", ridge=2.0).asked_score == "blocks"
    given: list[dict[str, Any]] = [{name: 1.0} for name in BOUNDS]
    for options in (*given, {"intercept": True}, {"loss": "hinge"}):
        assert ExponentialSelector(**options).asked_score == "loss"


@pytest.mark.parametrize(
    ("kind", "options", "score"),
    [
        (ExponentialSelector, {}, "block-r2"),
        (PermuteAndFlipSelector, {}, "block-r2"),
        (PermuteAndFlipSelector, {"sizes": [2]}, "block-r2"),
        (PermuteAndFlipSelector, {"sizes": [1, 2]}, "blocks"),
        (PermuteAndFlipSelector, {"block_rows": 4}, "blocks"),
        (PermuteAndFlipSelector, {"block_rows": 5}, "block-r2"),
        (PermuteAndFlipSelector, {"score": "blocks", "coef_bound": 0.3}, "blocks"),
        (ExponentialSelector, BOUNDS, "loss"),
    ],
)
def test_r2_within_blocks_is_the_default_where_supports_can_be_listed(
    kind: type[Any], options: dict[str, Any], score: str
) -> None:
    X, y = table()
    law = kind(2, random_state=1, **options).mechanism(X, y)
    assert law.instance.problem.score == score
    if score == "block-r2":
        blocks = law.instance.problem.blocks
        same = BlockScores(
            X,
            y,
            support_size=2,
            partition_seed=blocks.seed,
            block_rows=options.get("block_rows"),
        )
        assert law.instance.counts.tolist() == same.counts.tolist()
    many = np.random.default_rng(0).standard_normal((400, 60))
    if score == "block-r2":
        law = kind(5, random_state=1, **{**options, "sizes": None}).mechanism(many, many[:, 0])
        assert law.instance.problem.score == "blocks"


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


def test_a_ledger_pays_under_replace_one_only() -> None:
    X, y = table()
    selector = ExponentialSelector(2)
    with pytest.raises(RelationMismatch):
        selector.set_params(ledger=Ledger(9.0, relation="add-remove")).fit(X, y)


def test_methods_of_rows_say_that_blocks_are_none() -> None:
    X, y = table()
    bounds = {"x_bound": 1.0, "y_bound": 1.0}
    methods = [KendallSelector(1), SampleAggregateSelector(1), SISSelector(1, **bounds)]
    methods.append(MCMCSelector(1, coef_bound=1.0, **bounds))
    sums = Instance.from_blocks(X, y, support_size=1)
    for method in methods:
        with pytest.raises(InvalidInput, match="these data are sums over blocks of rows: give it"):
            method.on(sums)
        with pytest.raises(InvalidInput, match="a BlockScores has scores of supports: give it the"):
            method.on(BlockScores(X, y, support_size=1))
