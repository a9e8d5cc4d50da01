"""Default losses of the command line and of Python differ, and both say so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mipselect.cli.table_options import LOSS_OF_NUMBERS, ModelOptions
from mipselect.regression import ObjectivePerturbationRegressor
from tests.support.commandline import Run


def test_both_name_the_default_of_the_other(run: Run, repository: Path) -> None:
    assert (ObjectivePerturbationRegressor().loss, LOSS_OF_NUMBERS) == ("squared", "huber")
    assert ModelOptions().loss is None
    said = " ".join((ObjectivePerturbationRegressor.__doc__ or "").split())
    assert "The default is the squared loss" in said
    assert "Huber's loss, the default of `mipselect fit`, has a ninth of the noise" in said
    asked = " ".join(run("fit", "--help").out.replace("│", " ").split())
    assert "In Python the squared loss is the default of numbers." in asked
    page = (repository / "docs" / "regression.md").read_text(encoding="utf-8")
    assert 'That of the class is `loss="squared"`' in " ".join(page.split())


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


def test_its_bias_falls_with_the_rows() -> None:
    biases = []
    for n in (2000, 32_000):
        X, y = skewed(n)
        predicted = huber(epsilon=1.0, coef_bound=20.0).fit(X, y).predict(X)
        biases.append(abs(float(predicted.mean() - np.clip(y, -10.0, 10.0).mean())))
    assert biases[0] > 0.3
    assert biases[1] < 0.1


def test_the_least_bound_of_a_target_has_a_model_too() -> None:
    """A draw that fails would have been paid for."""
    X, y = skewed(100)
    assert huber(epsilon=1.0, y_bound=1e-25).fit(X, 1e-25 * y).release_.has_model
