"""The defaults of `coef_bound` and `ridge`: what they promise, and what they are worth."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from mipselect import Instance
from mipselect.tables import TableSchema
from mipselect.tables.problems import DEFAULT_RIDGE, default_coef_bound
from tests.support.shared_data import TABLES, wants_data


@pytest.mark.parametrize("size", [1, 5, 20])
@pytest.mark.parametrize("always", [0, 3])
def test_predictions_reach_as_far_whatever_the_size(size: int, always: int) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (40, 25)), rng.uniform(-1, 1, 40)
    for intercept, reach in ((True, 1.25), (False, 1.0)):
        instance = Instance(
            X,
            y,
            support_size=size,
            x_bound=1,
            y_bound=1,
            coef_bound=default_coef_bound(size, always, intercept),
            ridge=DEFAULT_RIDGE,
            always=list(range(always)),
            intercept=intercept,
        )
        assert instance.prediction_bound == pytest.approx(reach)
        assert instance.sensitivity == pytest.approx(0.5 * (1 + reach) ** 2 / 40)


@wants_data
@pytest.mark.parametrize(("size", "at_least"), [(1, 0.20), (3, 0.09), (5, 0.05)])
def test_they_find_more_in_wine_than_a_looser_bound(
    repository: Path, size: int, at_least: float
) -> None:
    schema = TableSchema.read(repository / "docs/tables/wine.schema.json")

    def share(reach: float | None) -> float:
        """The mean R² of a draw at ε = 1, as a share of the best."""
        instance = Instance.from_table(
            TABLES / "winequality_white.csv.gz",
            schema,
            target="quality",
            support_size=size,
            coef_bound=None if reach is None else reach / (size + 1) ** 0.5,
        )
        supports = np.array(list(combinations(range(instance.n_features), size)))
        values = instance.objectives(supports)
        weights = np.exp(-(values - values.min()) / (2.0 * instance.sensitivity))
        gains = [_r_squared(instance, support) for support in supports]
        return float(np.average(gains, weights=weights) / max(gains))

    assert share(None) - share(2.0) > at_least


def _r_squared(instance: Instance, support: np.ndarray) -> float:
    """Of ordinary least squares."""
    X = np.column_stack([np.ones(instance.n), instance.X[:, support]])
    residuals = instance.y - X @ np.linalg.lstsq(X, instance.y, rcond=None)[0]
    return float(1.0 - residuals.var() / instance.y.var())
