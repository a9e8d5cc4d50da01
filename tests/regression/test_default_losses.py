"""Default losses of the command line and of Python differ, and both say so."""

from __future__ import annotations

import numpy as np
import pytest

from mipselect.regression import ObjectivePerturbationRegressor


def skewed(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Days of a stay: a tenth are long, and their mean is above their median."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (n, 1))
    return X, X[:, 0] + rng.gamma(0.5, 4.0, n)


def huber(**options: object) -> ObjectivePerturbationRegressor:
    asked = {"loss": "huber", "x_bound": 1.0, "y_bound": 10.0, "random_state": 0, **options}
    return ObjectivePerturbationRegressor(**asked)


@pytest.mark.parametrize(
    ("n", "epsilon", "relation", "threshold"),
    [
        (2000, 1.0, "replace-one", 2.5),
        (100, 1.0, "replace-one", 2.5),
        (8000, 1.0, "replace-one", 5.0),
        (4000, 2.0, "replace-one", 5.0),
        (4000, 20.0, "replace-one", 10.0),
        (8000, 1.0, "add-remove", 2.5),
    ],
)
def test_without_a_number_it_follows_from_public_rows(
    n: int, epsilon: float, relation: str, threshold: float
) -> None:
    """And from nothing else: the model is that of the number."""
    shared = {"epsilon": epsilon, "relation": relation}
    found = huber(**shared).fit(*skewed(n))
    again = huber(**shared, loss=f"huber({threshold})").fit(*skewed(n))
    assert found.release_.mechanism == f"objective-perturbation, huber({threshold!r})"
    np.testing.assert_array_equal(found.coef_, again.coef_)
    assert found.get_params()["loss"] == "huber"


def test_the_least_bound_of_a_target_has_a_model_too() -> None:
    """A draw that fails would have been paid for."""
    X, y = skewed(100)
    assert huber(epsilon=1.0, y_bound=1e-25).fit(X, 1e-25 * y).release_.has_model
