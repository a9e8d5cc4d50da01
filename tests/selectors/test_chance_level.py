"""Selectors on blocks of rows without a bound, and warnings of draws that stay near chance."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from mipselect import ExponentialMechanism, Instance, Ledger
from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput, UsefulnessWarning
from mipselect.regression import AdaSSPRegressor, SelectThenRegress
from mipselect.selectors import (
    ExponentialSelector,
    MistakesSelector,
    PermuteAndFlipSelector,
    SampleAggregateSelector,
    TopRSelector,
)
from mipselect.selectors.base import PrivateSelector
from mipselect.tables import TableSchema

BOUNDS = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0, "ridge": 1.0}
N, P = 20, 30


def rows(seed: int = 0) -> tuple[FloatArray, FloatArray]:
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, (N, P))
    return X, X[:, 0]


def told(fitting: Any) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitting()
    assert all(one.category is UsefulnessWarning for one in caught)
    return caught


@pytest.mark.parametrize("kind", [PermuteAndFlipSelector, ExponentialSelector, TopRSelector])
def test_the_limit_of_epsilon_is_that_of_the_command_line(kind: type[PrivateSelector]) -> None:
    """Noise 2Δ/ε · ln C(p, s) against the range 1/2 of the squared loss, Δ = (1 + 1)²/2n."""
    X, y = rows()
    paid = 1.00001 if kind is TopRSelector else 1.0
    moved = 4.0 / (2 * N)
    limit = 2.0 * paid * moved * math.log(P) / 0.5
    seeing = told(lambda: kind(1, epsilon=1.001 * limit, **BOUNDS).fit(X, y))
    (near,) = told(lambda: kind(1, epsilon=0.999 * limit, **BOUNDS).fit(X, y))
    assert seeing == []
    words = "near chance: at this ε, with so few rows, a draw is almost the same whatever the data."
    assert str(near.message).startswith(f"{words} No draw with an ε below {limit:.2g} can do.")
    assert near.filename == __file__


@pytest.mark.parametrize("more", [{}, BOUNDS, {"score": "blocks"}, {"sizes": (1, 2)}])
def test_the_sentence_is_that_of_the_law_on_these_rows(more: dict[str, Any]) -> None:
    X, y = rows()
    selector = PermuteAndFlipSelector(2, epsilon=0.01, **more)
    (near,) = told(lambda: selector.fit(X, y))
    law: Any = selector.mechanism(X, y)
    found = selector.chance_level(law.instance.problem, N)
    assert found is not None
    assert str(near.message) == found.sentence
    assert ("smaller bounds" in found.sentence) is (more == BOUNDS)


def test_it_depends_on_no_row() -> None:
    tables = (rows(1), (np.zeros((N, P)), np.ones(N)), (np.full((N, P), 1e300), np.zeros(N)))
    found = {
        str(one.message)
        for X, y in tables
        for one in told(lambda X=X, y=y: PermuteAndFlipSelector(2, epsilon=0.1).fit(X, y))  # type: ignore[misc]
    }
    assert len(found) == 1


def test_as_an_error_it_stops_a_fit_before_anything_is_paid() -> None:
    ledger = Ledger(1.0)
    selector = PermuteAndFlipSelector(2, epsilon=0.1, ledger=ledger)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UsefulnessWarning)
        with pytest.raises(UsefulnessWarning, match="near chance"):
            selector.fit(*rows())
    assert ledger.spent.epsilon == 0.0
    assert not hasattr(selector, "release_")


def test_nothing_is_said_where_the_number_of_rows_is_private() -> None:
    X, y = rows()
    hidden = ExponentialSelector(2, epsilon=0.1, **BOUNDS)
    assert told(lambda: hidden.fit(X, y))
    hidden.set_params(ledger=Ledger(1.0, relation="add-remove"))
    assert told(lambda: hidden.fit(X, y)) == []
    hidden.set_params(ledger=None)
    for relation, count in (("replace-one", 1), ("add-remove", 0)):
        regressor = AdaSSPRegressor(relation=relation, x_bound=1.0, y_bound=1.0)
        pair = SelectThenRegress(hidden, regressor, epsilon=0.2)
        assert len(told(lambda pair=pair: pair.fit(X, y))) == count  # type: ignore[misc]


def test_what_cannot_be_known_is_not_said() -> None:
    X, y = rows()
    votes = SampleAggregateSelector(2, epsilon=0.01, relation="replace-one")
    assert told(lambda: votes.fit(X, y)) == []
    weights = np.r_[1e6, np.ones(P - 1)]
    preferring = PermuteAndFlipSelector(1, epsilon=0.01, prior_weights=weights)
    assert told(lambda: preferring.fit(X, y)) == []


def test_a_pair_on_a_table_is_warned_too() -> None:
    X, y = rows()
    between = {"type": "number", "constraints": {"minimum": -1, "maximum": 1}}
    names = [*(f"x{j}" for j in range(P)), "y"]
    schema = TableSchema.of({"fields": [{"name": name, **between} for name in names]})
    frame = pd.DataFrame(np.column_stack([X, y]), columns=names)
    ledger = Ledger(1.0, 1e-6)
    pair = SelectThenRegress(
        PermuteAndFlipSelector(2), AdaSSPRegressor(), epsilon=0.1, ledger=ledger
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", UsefulnessWarning)
        with pytest.raises(UsefulnessWarning, match="near chance"):
            pair.fit_table(frame, schema, target="y")
    assert ledger.spent.epsilon == 0.0


@pytest.mark.parametrize(
    ("n", "p", "size", "epsilon", "rare"),
    [(263, 19, 3, 1.0, True), (263, 19, 4, 1.0, True), (263, 16, 5, 1.0, True),
     (263, 7, 3, 1.0, False), (442, 10, 3, 1.0, False), (442, 10, 3, 0.4, True),
     (600, 12, 3, 1.0, False)],
)  # fmt: skip
def test_draws_from_blocks_that_mostly_miss_the_best_say_so(
    n: int, p: int, size: int, epsilon: float, rare: bool
) -> None:
    """263 rows had three different answers in three draws, and no warning: by public numbers."""
    sentences = set()
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, p))
        y = X[:, :size].sum(axis=1) if seed else rng.standard_normal(n)
        selector = ExponentialSelector(size, epsilon=epsilon, score="block-r2", partitions=1)
        sentences.add(tuple(str(one.message) for one in told(lambda: selector.fit(X, y))))  # noqa: B023
    (sentence,) = sentences
    assert bool(sentence) is rare
    if rare:
        assert "most draws name other fields than the best" in sentence[0]


def test_the_chance_of_the_best_is_that_of_draws() -> None:
    """Where independent features explain all of the target, by simulation."""
    n, p, size, draws = 263, 16, 3, 60
    found = 0
    for seed in range(draws):
        X = np.random.default_rng(seed).standard_normal((n, p))
        y = X[:, :size].sum(axis=1)
        selector = ExponentialSelector(
            size, epsilon=1.0, score="block-r2", partitions=1, random_state=seed
        )
        found += selector.fit(X, y).get_support(indices=True).tolist() == list(range(size))
    (sentence,) = told(lambda: selector.fit(X, y))
    stated = float(str(sentence.message).split("about ")[1].split(",")[0])
    assert abs(found / draws - stated) < 0.2


KINDS = (ExponentialSelector, PermuteAndFlipSelector, TopRSelector, MistakesSelector)


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
