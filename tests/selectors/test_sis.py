"""DP-SIS: its scores, and their sensitivity to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mipselect.grid import on_grid
from mipselect.privacy.audit import largest_loss, law_of
from mipselect.selectors import SISSelector

BOUNDS = {"x_bound": 1.0, "y_bound": 1.0}


def scores_of(selector: SISSelector, X: Any, y: Any) -> np.ndarray:
    return np.asarray(selector.mechanism(X, y).scores)  # type: ignore[attr-defined]


def test_scores_are_those_of_clipped_and_rescaled_data_on_the_grid() -> None:
    rng = np.random.default_rng(0)
    X, y = 3.0 * rng.normal(size=(70, 9)), 2.0 * rng.normal(size=70)
    expected = np.abs(on_grid(X, 2.5).T @ on_grid(y, 1.5))
    assert expected == pytest.approx(np.abs(np.clip(X, -2.5, 2.5).T @ np.clip(y, -1.5, 1.5)) / 3.75,
                                     abs=70 * 2.0**-15)  # fmt: skip
    selector = SISSelector(3, x_bound=2.5, y_bound=1.5)
    np.testing.assert_array_equal(scores_of(selector, X, y), expected)
    assert scores_of(selector, X.astype(np.float32), y) == pytest.approx(expected, abs=1e-2)


@pytest.mark.parametrize("bound", [0.1, 0.7, 1.0 / 3.0, 3.0, 1e-30, 1e30])
def test_one_row_moves_no_score_by_more_than_the_sensitivity_not_even_by_rounding(
    bound: float,
) -> None:
    def scores(X: np.ndarray, y: np.ndarray) -> np.ndarray:
        return scores_of(SISSelector(1, x_bound=bound, y_bound=1.0), bound * X, y)

    rng = np.random.default_rng(1)
    for _ in range(6):
        X, y = rng.uniform(-1.0, 1.0, (400, 5)), rng.uniform(-1.0, 1.0, 400)
        X[0], y[0] = rng.choice([-1.0, 1.0, 7.0, 1.0 + 1e-15], 5), 1.0
        whole = scores(X, y)
        assert 0.99 < np.abs(whole - scores(X[1:], y[1:])).max() <= 1.0
        order = rng.permutation(400)
        np.testing.assert_array_equal(scores(X[order], y[order]), whole)
        X[0] *= -1.0
        assert np.abs(whole - scores(X, y)).max() <= 2.0


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
