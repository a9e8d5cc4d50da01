"""Methods that draw from rows, or from sums of them: what they build, beside the same by hand."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any

import numpy as np
import pytest

from mipselect import Instance
from mipselect.blocks.grid import on_grid
from mipselect.errors import InvalidInput
from mipselect.mechanisms import OneShotTopK, SampleAggregate
from mipselect.selectors import KendallSelector, MCMCSelector, SampleAggregateSelector, SISSelector
from mipselect.selectors.base import RowsSelector
from mipselect.selectors.sample_aggregate import centred_root, lasso_ballot
from mipselect.selectors.sis import exact_lengths, sums_of_moments
from mipselect.tables.moments import Moments, folds_of
from tests.support.all_selectors import Table
from tests.support.one_table import numbers

RELATIONS = {"replace-one": 2.0, "add-remove": 1.0}
OF_ROWS: dict[str, RowsSelector] = {
    **{f"sis, {relation}": SISSelector(epsilon=0.5, relation=relation) for relation in RELATIONS},
    "sis, joint": SISSelector(epsilon=0.5, relation="replace-one", top_k="joint"),
    "kendall": KendallSelector(epsilon=0.5, relation="replace-one"),
    "kendall, add-remove": KendallSelector(epsilon=0.5, relation="add-remove"),
    "sample-aggregate": SampleAggregateSelector(
        epsilon=0.5, relation="replace-one", n_blocks=4, top_k="laplace"
    ),
    "sample-aggregate, add-remove": SampleAggregateSelector(epsilon=0.5, relation="add-remove"),
    "mcmc": MCMCSelector(epsilon=0.5, delta=1e-3, n_steps=7),
}


def rows(**changes: Any) -> Table:
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (300, 5))
    y = X @ [0.1, 0.8, -0.3, 0.0, 0.2]
    bounds = {"x_bound": 0.8, "y_bound": 0.5, "coef_bound": 40.0}
    return Table(3.0 * X, y, **{"support_size": 2, **bounds, **changes})


@pytest.mark.parametrize("name", OF_ROWS)
def test_the_guarantee_of_a_method_of_rows_is_known_before_there_are_data(name: str) -> None:
    method = OF_ROWS[name]
    assert method.guarantee == rows().law(method).guarantee
    assert method.guarantee.relation == ("add-remove" if "add-remove" in name else "replace-one")
    bare = {**dict.fromkeys(("x_bound", "y_bound", "coef_bound")), **bounds_of(method)}
    assert rows(**bare).law(method).guarantee == method.guarantee
    for missing in method.bounds:
        with pytest.raises(InvalidInput, match=f"{missing} must be given"):
            rows(**{missing: None}).law(method)


def bounds_of(method: RowsSelector) -> dict[str, float]:
    return {name: rows().question[name] for name in method.bounds}


def test_sample_aggregate_hands_its_options_on() -> None:
    given = rows()
    found: Any = given.law(OF_ROWS["sample-aggregate"])
    ballot = partial(lasso_ballot, k=2)
    laplace = partial(OneShotTopK, noise="laplace")
    wanted = SampleAggregate(
        given.X, given.y, 2, 0.5, ballot=ballot, n_blocks=4, top_k=laplace, relation="replace-one"
    )
    assert found.log_probability([0, 1]) == wanted.log_probability([0, 1])
    sparse: Any = given.law(SampleAggregateSelector(epsilon=0.5, alpha=1e9))
    assert list(sparse.votes([range(150), range(150, 300)])) == [0.0] * 5


def test_wrong_options_of_methods_of_rows_are_refused_before_there_are_data() -> None:
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        (SISSelector, {"top_k": "laplace"}, "top_k must be one of 'canonical'"),
        (SISSelector, {"relation": "swap"}, "relation must be"),
        (KendallSelector, {"relation": None}, "relation must be"),
        (KendallSelector, {"redundancy": "median"}, "redundancy must be 'max' or 'mean'"),
        (KendallSelector, {"redundancy": ["max"]}, "redundancy must be 'max' or 'mean'"),
        (SampleAggregateSelector, {"top_k": "joint"}, "top_k must be 'peeling' or 'laplace'"),
        (SampleAggregateSelector, {"alpha": 0.0}, "alpha must be"),
        (SampleAggregateSelector, {"penalise_intercept": True}, "needs an alpha"),
        (SampleAggregateSelector, {"alpha": 1.0, "penalise_intercept": 1}, "must be True or"),
        (SampleAggregateSelector, {"n_blocks": 0}, "n_blocks must be"),
        (SampleAggregateSelector, {"n_blocks": 1.5}, "n_blocks must be"),
        (SampleAggregateSelector, {"n_blocks": "k/n"}, "n_blocks must be"),
        (MCMCSelector, {"delta": 1.0}, "delta must be"),
        (MCMCSelector, {"n_steps": 0}, "n_steps must be"),
        (MCMCSelector, {"coef_bound": 1e26}, "coef_bound must lie between"),
    ]
    for kind, options, message in wrong:
        with pytest.raises(InvalidInput, match=message):
            kind(epsilon=1.0, **options).check()
    for size in (0, 6, 2.5, True):
        with pytest.raises(InvalidInput, match=r"support_size must be an integer in 1\.\.5"):
            _ = rows(support_size=size).problem


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
    votes = np.zeros(5)
    for k in range(6):
        votes[lasso_ballot(X[fold == k], y[fold == k], k=2, **options)] += 1.0
    law = method.on(instance_of(X, y, folds=6))
    assert law.scores.tolist() == votes.tolist()  # type: ignore[attr-defined]
    assert votes.sum() > 6
    always = method.on(instance_of(X[:, [1, 2, 3, 4, 0]], y, folds=6, always=[4]))
    assert len(always.scores) == 4  # type: ignore[attr-defined]
    assert sum(always.scores) > 6  # type: ignore[attr-defined]
