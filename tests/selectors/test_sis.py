"""DP-SIS: its scores, and their sensitivity to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone

from mipselect.errors import InvalidInput
from mipselect.privacy.audit import largest_loss, law_of
from mipselect.selectors import SISSelector
from mipselect.selectors.sis import exact_correlations, in_units_of

BOUNDS = {"x_bound": 1.0, "y_bound": 1.0}


def scores_of(selector: SISSelector, X: Any, y: Any) -> np.ndarray:
    return np.asarray(selector.mechanism(X, y).scores)  # type: ignore[attr-defined]


def test_scores_are_those_of_clipped_and_rescaled_data() -> None:
    rng = np.random.default_rng(0)
    X, y = 3.0 * rng.normal(size=(70, 9)), 2.0 * rng.normal(size=70)
    expected = np.abs(np.clip(X, -2.5, 2.5).T @ np.clip(y, -1.5, 1.5)) / (2.5 * 1.5)
    selector = SISSelector(3, x_bound=2.5, y_bound=1.5)
    np.testing.assert_allclose(scores_of(selector, X, y), expected, atol=1e-10)
    np.testing.assert_allclose(
        scores_of(selector, X.astype(np.float32), y), expected, rtol=1e-5, atol=1e-5
    )
    assert scores_of(selector, X.astype(np.float32), y).dtype == np.float64


@pytest.mark.parametrize("bound", [0.1, 0.7, 1.0 / 3.0, 3.0, 1e-30, 1e30])
def test_no_rescaled_entry_is_above_one(bound: float) -> None:
    values = bound * np.array([1.0, 1.0 + 1e-15, -1.0, 7.0, 1.0 - 1e-16])
    assert np.abs(in_units_of(bound, values)).max() == 1.0
    single = np.array([bound, -2.0 * bound], dtype=np.float32)
    assert np.abs(in_units_of(bound, single)).max() <= 1.0
    assert in_units_of(bound, single).dtype == np.float64


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_one_row_moves_no_score_by_more_than_the_sensitivity_not_even_by_rounding(
    make: Any,
) -> None:
    rng = np.random.default_rng(1)
    for _ in range(30):
        X, y = rng.uniform(-1.0, 1.0, (400, 5)), rng.uniform(-1.0, 1.0, 400)
        X[0], y[0] = rng.choice([-1.0, 1.0], 5), 1.0
        whole = exact_correlations(make(X), y)
        assert np.abs(whole - exact_correlations(make(X[1:]), y[1:])).max() <= 1.0
        order = rng.permutation(400)
        np.testing.assert_array_equal(exact_correlations(make(X[order]), y[order]), whole)
        X[0] *= -1.0
        assert np.abs(whole - exact_correlations(make(X), y)).max() <= 2.0


def test_sparse_tables_have_the_scores_of_dense_ones() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 30)) * (rng.random((40, 30)) < 0.2)
    y = rng.normal(size=40)
    selector = SISSelector(4, x_bound=0.8, y_bound=1.0, random_state=3)
    for kind in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix):
        table = kind(X)
        np.testing.assert_array_equal(scores_of(selector, table, y), scores_of(selector, X, y))
        assert clone(selector).fit(table, y).release_ == clone(selector).fit(X, y).release_
        np.testing.assert_array_equal(table.toarray(), X)


@pytest.mark.parametrize("assumed", [False, True])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
def test_a_sparse_entry_that_is_no_number_is_named_by_its_place(kind: type, assumed: bool) -> None:
    X = np.diag(np.arange(1.0, 13.0))
    X[7, 4] = np.nan
    sound = SISSelector(2, x_bound=1.0, y_bound=1.0)
    told = r"X must be finite: row 7, column 4 \(x4\) holds nan"
    with config_context(assume_finite=assumed), pytest.raises(InvalidInput, match=told):
        sound.fit(kind(X), np.ones(12))


def test_an_entry_that_is_stored_twice_is_clipped_as_one() -> None:
    twice = sparse.csr_array(
        (np.array([0.9, 0.9, 0.5]), np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 2)
    )
    selector = SISSelector(1, **BOUNDS)
    np.testing.assert_allclose(scores_of(selector, twice, np.ones(1)), [1.0, 0.5])


@pytest.mark.parametrize(("relation", "sensitivity"), [("add-remove", 1.0), ("replace-one", 2.0)])
def test_the_relation_decides_the_sensitivity(relation: str, sensitivity: float) -> None:
    """One row is right about one column and wrong about all the others, or the other way."""
    X, y = np.full((3, 30), 1.0), np.ones(3)
    X[0, 1:] = -1.0
    other = -X[:1] if relation == "replace-one" else X[:0]
    pair = ((X, y), (np.vstack([other, X[1:]]), np.ones(2 + len(other))))

    def law(epsilon: float) -> Any:
        selector = SISSelector(1, epsilon=epsilon, top_k="peeling", relation=relation, **BOUNDS)
        return law_of(lambda data: selector.mechanism(*data), [(j,) for j in range(30)])

    mechanism = SISSelector(1, relation=relation, **BOUNDS).mechanism(X, y)
    assert mechanism.guarantee.relation == relation
    assert mechanism.sensitivity == sensitivity  # type: ignore[attr-defined]
    assert 0.85 < largest_loss(law(1.0), [pair]).epsilon <= 1.0 + 1e-9
    assert largest_loss(law(2.0), [pair]).epsilon > 1.6
