"""Scores, ballots, chains and AdaSSP from moments: those of the rows on the grid, and private."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from mipselect import Instance
from mipselect.grid import on_grid
from mipselect.selectors import MCMCSelector, SampleAggregateSelector, SISSelector
from mipselect.selectors.lasso_ballots import centred_root, lasso_ballot
from mipselect.selectors.sis import exact_lengths, sums_of_moments
from mipselect.tables.moments import Moments, folds_of
from tests.support.one_table import SCHEMA, numbers, table
from tests.support.tables_of_scores import Table


def arrays(n: int = 300, p: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, p))
    return X, np.clip(0.6 * X[:, 1] - 0.4 * X[:, 3] + 0.2 * rng.standard_normal(n), -1, 1)


def instance_of(
    X: np.ndarray, y: np.ndarray, *, folds: int = 1, x_bound: Any = 1.0, size: int = 2, **more: Any
) -> Instance:
    moments = Moments.of((X, y), x_bound=x_bound, y_bound=1.0, folds=folds)
    return Instance.from_moments(moments, support_size=size, coef_bound=1.0, ridge=1.0, **more)


def test_scores_of_sis_are_the_lengths_of_sums_of_rows() -> None:
    X, y = numbers(80, p=5)
    bounds = np.array([1.0, 2.0, 0.3, 0.7, 1.1])
    instance = instance_of(X, y, x_bound=bounds, size=1, groups=[[0, 3], [1], [4, 2]])
    sums: Any = instance.data
    table_, target = on_grid(X, bounds) * bounds, on_grid(y, 1.0)
    lengths = [math.hypot(*bounds[[0, 3]]), 2.0, math.hypot(*bounds[[4, 2]])]
    starts = instance.layout.features.starts
    scores = exact_lengths(sums_of_moments(sums), starts, shares=sums.shares)
    for group, length, score in zip(instance.layout.groups, lengths, scores, strict=True):
        wanted = np.linalg.norm(target @ table_[:, group]) / length
        assert score == pytest.approx(wanted, abs=1e-9 * 80)
    centred = instance_of(X, y, x_bound=bounds, size=1, intercept=True)
    sums, starts = centred.data, centred.layout.features.starts
    scores = exact_lengths(sums_of_moments(sums), starts, rows=80, shares=sums.shares)
    covariances = (target - target.mean()) @ (table_ - table_.mean(axis=0)) / bounds
    assert scores == pytest.approx(np.abs(covariances), abs=1e-9 * 80)


@pytest.mark.parametrize("intercept", [False, True])
def test_sis_from_moments_has_the_law_of_the_rows(intercept: bool) -> None:
    X, y = arrays()
    X, y = on_grid(X, 1.0), on_grid(y, 1.0)
    method = SISSelector(epsilon=1.0, relation="replace-one", top_k="peeling")
    summed = method.on(instance_of(X, y, intercept=intercept))
    known = Table(X, y, 2, x_bound=1.0, y_bound=1.0, intercept=intercept).law(method)
    for support in itertools.combinations(range(5), 2):
        assert summed.log_probability(support) == pytest.approx(
            known.log_probability(support), abs=1e-7
        )


def test_a_root_of_centred_sums_has_the_ballots_of_the_rows() -> None:
    for seed in range(10):
        X, y = arrays(60, seed=seed)
        X, y = on_grid(X, 1.0), on_grid(y, 1.0)
        fold = Moments.of((X, y), x_bound=1.0, y_bound=1.0).folds[0]
        root = centred_root(fold, np.arange(1, 7))
        both = np.column_stack([X, y]) - np.column_stack([X, y]).mean(axis=0)
        assert root.T @ root == pytest.approx(both.T @ both, abs=1e-11)
        method = SampleAggregateSelector(epsilon=1.0, relation="replace-one")
        instance = instance_of(X, y)
        law = method.on(instance)
        votes = lasso_ballot(X, y, k=2)
        # One fold, so one ballot: the features that it names are the likeliest pair.
        logs = {pair: law.log_probability(pair) for pair in itertools.combinations(range(5), 2)}
        assert max(logs, key=logs.__getitem__) == tuple(sorted(votes))


@pytest.mark.parametrize("options", [{}, {"alpha": 0.05}])
def test_folds_vote_as_their_rows_do(options: Any) -> None:
    X, y = arrays(400)
    X, y = on_grid(X, 1.0), on_grid(y, 1.0)
    Z = np.column_stack([np.ones(400), X, y]) * 2**16
    fold = folds_of(Z, 6)
    method = SampleAggregateSelector(epsilon=1.0, relation="replace-one", **options)
    ballot = method._ballot(Table(X, y, 2).problem)
    votes = np.zeros(5)
    for k in range(6):
        votes[list(ballot(X[fold == k], y[fold == k]))] += 1.0
    law = method.on(instance_of(X, y, folds=6))
    assert law.scores.tolist() == votes.tolist()  # type: ignore[attr-defined]
    assert votes.sum() > 6
    always = Instance.from_moments(
        Moments.of(table(200), SCHEMA, target="stay", folds=3), support_size=1, always=["ward"]
    )
    assert sum(method.on(always).scores) >= 1  # type: ignore[attr-defined]


def test_the_chain_sees_the_same_squares() -> None:
    X, y = arrays()
    X, y = on_grid(X, 1.0), on_grid(y, 1.0)
    method = MCMCSelector(epsilon=1.0, delta=1e-3, coef_bound=0.5, n_steps=50)
    summed = method.on(instance_of(X, y))
    known = Table(X, y, 2, x_bound=1.0, y_bound=1.0).law(method)
    assert summed.sensitivity == known.sensitivity  # type: ignore[attr-defined]
    for support in itertools.combinations(range(5), 2):
        assert summed.values(support) == pytest.approx(known.values(support), rel=1e-12)  # type: ignore[attr-defined]
