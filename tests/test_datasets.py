"""The papers' generator and the data of scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mipselect.datasets import BUNDLED, bundled, correlated_gaussian, logistic_gaussian
from mipselect.errors import InvalidInput

RECIPE = {"rho": 0.4, "snr": 5.0, "support_size": 2, "seed": 11}


def test_signal_to_noise_ratio_is_exact() -> None:
    X, y = correlated_gaussian(50, 6, **RECIPE)
    signal = X[:, [1, 3]].sum(axis=1) / math.sqrt(2)
    noise = y - signal
    assert signal @ signal / (noise @ noise) == pytest.approx(5.0, rel=1e-12)


def test_draws_come_in_the_stated_order() -> None:
    X, y = correlated_gaussian(7, 5, **RECIPE)
    generator = np.random.default_rng(11)
    columns = [generator.standard_normal(7)]
    for _ in range(4):
        fresh = generator.standard_normal(7)
        columns.append(0.4 * columns[-1] + math.sqrt(1 - 0.4**2) * fresh)
    noise = generator.standard_normal(7)
    np.testing.assert_allclose(X, np.column_stack(columns), rtol=1e-13)
    rest = y - (columns[1] + columns[3]) / math.sqrt(2)
    np.testing.assert_allclose(rest / np.linalg.norm(rest), noise / np.linalg.norm(noise))


def test_logistic_labels_follow_the_latent_response() -> None:
    X, y = logistic_gaussian(20_000, 4, **RECIPE)
    plain, latent = correlated_gaussian(20_000, 4, **RECIPE)
    np.testing.assert_array_equal(X, plain)
    assert set(y) == {-1.0, 1.0}
    for low, high in ((-2.0, -1.0), (-0.5, 0.5), (1.0, 2.0)):
        rows = (latent > low) & (latent < high)
        wanted = (1.0 / (1.0 + np.exp(-latent[rows]))).mean()
        assert np.mean(y[rows] == 1.0) == pytest.approx(wanted, abs=0.03)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, "n must be an integer ≥ 1, got 0"),
        ({"p": 2.0}, "p must be an integer ≥ 1, got 2.0"),
        ({"p": 3}, "at least 2 · support_size = 4, got 3"),
        ({"support_size": 0}, "support_size must be an integer ≥ 1"),
        ({"seed": -1}, "seed must be an integer ≥ 0, got -1"),
        ({"rho": 1.0}, "rho must be a number strictly between -1 and 1"),
        ({"rho": float("nan")}, "rho must be a number strictly between -1 and 1"),
        ({"rho": "0.1"}, "rho must be a number"),
        ({"snr": 0.0}, "snr must be a finite number > 0"),
        ({"snr": float("inf")}, "snr must be a finite number > 0"),
    ],
)
def test_bad_recipes_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message.replace("(", r"\(")):
        correlated_gaussian(**{"n": 10, "p": 6, **RECIPE, **change})


@pytest.mark.parametrize("name", sorted(BUNDLED))
def test_bundled_data_have_the_stated_shape(name: str) -> None:
    X, y, names = bundled(name)
    assert X.shape == (BUNDLED[name].n, len(names)) == (len(y), len(BUNDLED[name].names))


def test_diabetes_is_scaled_as_the_instance_assumes() -> None:
    X, y, _ = bundled("diabetes")
    np.testing.assert_allclose(np.linalg.norm(X, axis=0), 1.0)
    assert (y.min(), y.max()) == (25.0, 346.0)


def test_unknown_bundled_data() -> None:
    with pytest.raises(InvalidInput, match=r"'iris' is unknown; known: breast-cancer, diabetes"):
        bundled("iris")
