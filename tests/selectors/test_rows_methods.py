"""Methods that draw from rows: what they build, beside the same by hand."""

from __future__ import annotations

import random
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from mipselect.errors import InvalidInput
from mipselect.mechanisms import (
    AdaptivePeeling,
    CanonicalLipschitz,
    JointExponential,
    OneShotTopK,
    SampleAggregate,
)
from mipselect.problem.data import Rows
from mipselect.problem.problem import Problem
from mipselect.selectors import KendallSelector, MCMCSelector, SampleAggregateSelector, SISSelector
from mipselect.selectors.lasso_ballots import path_ballot
from mipselect.selectors.scored import RowsSelector
from tests.support.tables_of_scores import Table

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


@pytest.mark.parametrize("relation", RELATIONS)
def test_sis_is_a_top_k_of_the_correlations(relation: str) -> None:
    given = rows()
    scores = np.abs(np.clip(given.X, -0.8, 0.8).T @ np.clip(given.y, -0.5, 0.5)) / 0.4
    found: Any = given.law(OF_ROWS[f"sis, {relation}"])
    wanted = CanonicalLipschitz(scores, 2, 0.5, sensitivity=RELATIONS[relation], relation=relation)
    assert type(found) is CanonicalLipschitz
    np.testing.assert_allclose(found.scores, scores, atol=300 * 2.0**-32)
    for pair in combinations(range(5), 2):
        assert found.log_probability(pair) == pytest.approx(wanted.log_probability(pair), abs=1e-6)
    assert type(given.law(OF_ROWS["sis, joint"])) is JointExponential


@pytest.mark.parametrize(("relation", "one"), [("replace-one", 2.0), ("add-remove", 1.5)])
def test_kendall_peels_by_relevance_less_redundancy(relation: str, one: float) -> None:
    given = rows()
    table = np.column_stack([given.X, given.y])
    signs = np.sign(table[:, None, :] - table[None, :, :])
    concordance = np.einsum("abi,abj->ij", signs, signs) / 2.0 / (given.n - 1)
    strengths = np.abs(concordance)

    def scores(chosen: tuple[int, ...]) -> np.ndarray:
        redundancy = [strengths[:5, j] for j in chosen]
        return strengths[:5, 5] - (np.mean(redundancy, axis=0) if chosen else 0.0)

    wanted = AdaptivePeeling(scores, 2, 0.5, sensitivities=[one, 2.0 * one], relation=relation)
    found: Any = given.law(KendallSelector(epsilon=0.5, relation=relation))
    for pair in combinations(range(5), 2):
        assert found.log_probability(pair) == pytest.approx(wanted.log_probability(pair), abs=1e-6)


def test_sample_aggregate_hands_its_options_on() -> None:
    given = rows()
    found: Any = given.law(OF_ROWS["sample-aggregate"])
    ballot = partial(path_ballot, k=2)
    laplace = partial(OneShotTopK, noise="laplace")
    wanted = SampleAggregate(
        given.X, given.y, 2, 0.5, ballot=ballot, n_blocks=4, top_k=laplace, relation="replace-one"
    )
    assert found.log_probability([0, 1]) == wanted.log_probability([0, 1])
    sparse: Any = given.law(SampleAggregateSelector(epsilon=0.5, alpha=1e9))
    assert list(sparse.votes([range(150), range(150, 300)])) == [0.0] * 5


def test_mcmc_walks_to_the_exponential_mechanism_of_clipped_least_squares() -> None:
    given = rows()
    X, y = np.clip(given.X, -0.8, 0.8), np.clip(given.y, -0.5, 0.5)
    radius = 40.0 * np.sqrt(2.0)
    pairs = list(combinations(range(5), 2))
    squares = np.array(
        [np.linalg.lstsq(X[:, pair], y, rcond=None)[1][0] for pair in map(list, pairs)]
    )
    logs = -0.5 * squares / 2.0 / (0.5 + radius * 0.8) ** 2
    logs -= np.logaddexp.reduce(logs)
    for method in (OF_ROWS["mcmc"], MCMCSelector(epsilon=0.5, coef_bound=radius)):
        found: Any = given.law(method)
        for pair, log in zip(pairs, logs, strict=True):
            assert found.stationary_log_probability(pair) == pytest.approx(log, abs=1e-9)
    assert given.law(OF_ROWS["mcmc"]).n_steps == 7  # type: ignore[attr-defined]


class Loud(SISSelector):
    """Everything in it would warn."""

    def _of_rows(self, problem: Problem, rows: Rows, source: random.Random) -> Any:
        assert np.isinf(np.array([1e308]) * 10.0).all()
        return super()._of_rows(problem, rows, source)


def test_methods_of_rows_are_silent_and_leave_the_state_as_it_was() -> None:
    before = np.geterr()
    X = np.array([[1e308, -1e308], [-1e308, 1e-310], [0.0, 5e-324]])
    hostile = Table(X, X[:, 0], 1, x_bound=1.0, y_bound=1e25, coef_bound=1.0)
    for method in (*OF_ROWS.values(), Loud(epsilon=1.0)):
        assert len(hostile.law(method).release().support) == 1
    assert np.geterr() == before
    with pytest.raises(RuntimeWarning):
        assert np.isinf(np.array([1e308]) * 10.0).all()


def test_wrong_options_of_methods_of_rows_are_refused_before_there_are_data() -> None:
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        (SISSelector, {"top_k": "laplace"}, "top_k must be one of 'canonical'"),
        (SISSelector, {"relation": "swap"}, "relation must be"),
        (KendallSelector, {"relation": None}, "relation must be"),
        (SampleAggregateSelector, {"top_k": "joint"}, "top_k must be 'peeling' or 'laplace'"),
        (SampleAggregateSelector, {"alpha": 0.0}, "alpha must be"),
        (SampleAggregateSelector, {"n_blocks": 0}, "n_blocks must be"),
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
    with pytest.raises(InvalidInput, match="must differ"):
        _ = rows(feature_names=["a", "b", "a", "c", "d"]).problem
