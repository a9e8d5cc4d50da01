"""Generators of the papers, and the data sets that come with scikit-learn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.parameters import completed_by
from mipselect.validation import checked_integer, checked_number, checked_positive

__all__ = ["bundled", "correlated_gaussian", "logistic_gaussian"]


def correlated_gaussian(
    n: int, p: int, *, rho: float, snr: float, support_size: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Draw the papers' synthetic regression: y = Xβ + noise with correlated Gaussian features.

    Rows of X are N(0, Σ) with Σ_ij = ρ^|i-j|; β_j = 1/√s at the 0-based columns 1, 3, 5, ... and
    zero elsewhere; the noise is Gaussian, scaled so that ‖Xβ‖² / ‖noise‖² is exactly `snr`.

    Parameters
    ----------
    n, p : int
        Rows and features, at least 1.
    rho : float
        Correlation of neighbouring columns, -1 < ρ < 1.
    snr : float
        Signal-to-noise ratio of the sample, > 0.
    support_size : int
        s ≥ 1 with 2s ≤ p.
    seed : int
        Seed ≥ 0 of `numpy.random.default_rng`.

    Returns
    -------
    X : ndarray of shape (n, p)
        In column-major order, so that it is there once.
    y : ndarray of shape (n,)

    Raises
    ------
    InvalidInput
        Where a parameter is out of range.

    Notes
    -----
    The result depends on the order of the draws, which is: for each column j = 0, 1, ... its n
    standard normal innovations e_j, then the n standard normals of the noise. Columns follow
    x_0 = e_0 and x_j = ρ x_{j-1} + √(1-ρ²) e_j.

    References
    ----------
    "Differentially Private High-dimensional Variable Selection via Integer Programming",
    section 5.

    Examples
    --------
    >>> from mipselect.datasets import correlated_gaussian
    >>> X, y = correlated_gaussian(200, 10, rho=0.1, snr=5.0, support_size=3, seed=1)
    >>> X.shape, y.shape
    ((200, 10), (200,))
    """
    check_recipe(n, p, rho, snr, support_size, seed)
    return _gaussian_model(n, p, rho, snr, support_size, np.random.default_rng(seed))


@completed_by(correlated_gaussian)
def logistic_gaussian(
    n: int, p: int, *, rho: float, snr: float, support_size: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Draw the paper's synthetic classification: labels -1 and +1 by a logistic law.

    With X and t = Xβ + noise as in `correlated_gaussian`, y_i = +1 with probability
    1/(1 + exp(-t_i)) and -1 otherwise.

    Returns
    -------
    X : ndarray of shape (n, p)
        The same as from `correlated_gaussian` with the same parameters.
    y : ndarray of shape (n,)
        -1.0 and +1.0.

    Notes
    -----
    After the draws of `correlated_gaussian` come n uniforms v_i; y_i = +1 where
    v_i < 1/(1 + exp(-t_i)).

    References
    ----------
    "Differentially Private High-dimensional Variable Selection via Integer Programming",
    appendix D.2.

    Examples
    --------
    >>> from mipselect.datasets import logistic_gaussian
    >>> X, y = logistic_gaussian(200, 10, rho=0.1, snr=5.0, support_size=3, seed=1)
    >>> sorted(set(y.tolist()))
    [-1.0, 1.0]
    """
    check_recipe(n, p, rho, snr, support_size, seed)
    generator = np.random.default_rng(seed)
    X, latent = _gaussian_model(n, p, rho, snr, support_size, generator)
    positive = generator.random(n) < 1.0 / (1.0 + np.exp(-latent))
    return X, np.where(positive, 1.0, -1.0)


def _gaussian_model(
    n: int, p: int, rho: float, snr: float, support_size: int, generator: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    columns = generator.standard_normal((p, n))
    for j in range(1, p):
        columns[j] *= math.sqrt(1.0 - rho**2)
        columns[j] += rho * columns[j - 1]
    signal = columns[1 : 2 * support_size : 2].sum(axis=0) / math.sqrt(support_size)
    noise = generator.standard_normal(n)
    noise *= np.linalg.norm(signal) / (math.sqrt(snr) * np.linalg.norm(noise))
    return columns.T, signal + noise


def check_recipe(n: int, p: int, rho: float, snr: float, support_size: int, seed: int) -> None:
    """Raise `InvalidInput` for a parameter of `correlated_gaussian` that is out of range."""
    for name, count, least in (
        ("n", n, 1),
        ("p", p, 1),
        ("support_size", support_size, 1),
        ("seed", seed, 0),
    ):
        checked_integer(count, name, least)
    if 2 * support_size > p:
        raise InvalidInput(
            f"the signal stands in columns 1, 3, ..., {2 * support_size - 1}, so p must be at "
            f"least 2 · support_size = {2 * support_size}, got {p}"
        )
    checked_number(rho, "rho", "a number strictly between -1 and 1", lambda v: -1.0 < v < 1.0)
    checked_positive(snr, "snr")


@dataclass(frozen=True)
class BundledData:
    """A data set that comes with scikit-learn.

    Attributes
    ----------
    n : int
        Number of rows, known without loading it.
    names : tuple of str
        Names of its features.
    load : callable
        Returns X and y.
    """

    n: int
    names: tuple[str, ...]
    load: Callable[[], tuple[FloatArray, FloatArray]]


def _diabetes() -> tuple[FloatArray, FloatArray]:
    # Imported here because scikit-learn takes longer to import than the rest of the package.
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=True)
    return data.data, data.target


BREAST_CANCER_RANGES = {
    "radius": (5.0, 30.0),
    "texture": (10.0, 40.0),
    "perimeter": (30.0, 190.0),
    "area": (100.0, 2800.0),
    "smoothness": (0.05, 0.15),
    "compactness": (0.0, 0.35),
    "concavity": (0.0, 0.4),
    "concave points": (0.0, 0.2),
    "symmetry": (0.1, 0.3),
    "fractal dimension": (0.05, 0.1),
}
"""Round public ranges of the ten measurements: a radius in pixels, 2πr, πr², and ratios."""


def _breast_cancer() -> tuple[FloatArray, FloatArray]:
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    low, high = np.array(list(BREAST_CANCER_RANGES.values())).T
    # Columns are the means, the standard errors and the worst values of the ten measurements.
    lows = np.concatenate([low, np.zeros(10), low])
    highs = np.concatenate([high, 0.1 * high, 1.5 * high])
    X = (data.data - 0.5 * (lows + highs)) / (0.5 * (highs - lows))
    return X, data.target


BUNDLED = {
    "diabetes": BundledData(
        442, ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"), _diabetes
    ),
    "breast-cancer": BundledData(
        569,
        (
            *(f"mean {name}" for name in BREAST_CANCER_RANGES),
            *(f"{name} error" for name in BREAST_CANCER_RANGES),
            *(f"worst {name}" for name in BREAST_CANCER_RANGES),
        ),
        _breast_cancer,
    ),
}


def bundled(name: str) -> tuple[FloatArray, FloatArray, tuple[str, ...]]:
    """Load a data set that comes with scikit-learn.

    Parameters
    ----------
    name : str
        "diabetes": n = 442 patients, p = 10 features (age, sex, bmi, bp, s1 to s6), each centred
        and divided by √n times its standard deviation, so that a column has length 1 and a
        typical entry is of size 1/√442 ≈ 0.048, without unit. The target is a measure of the
        progression of the disease one year later, in points from 25 to 346.
        "breast-cancer": n = 569 tumours, p = 30 features (mean, standard error and worst value
        of ten measurements of cell nuclei). A public range of every feature is mapped onto
        [-1, 1]: `BREAST_CANCER_RANGES` for the means, from zero to a tenth of its upper end for
        the standard errors, and up to one and a half times its upper end for the worst values.
        The target is 0 for malignant and 1 for benign.

    Returns
    -------
    X : ndarray of shape (n, p)
    y : ndarray of shape (n,)
    feature_names : tuple of str

    Raises
    ------
    InvalidInput
        Where the name is unknown; the message lists the known ones.

    Examples
    --------
    >>> from mipselect.datasets import bundled
    >>> X, y, names = bundled("diabetes")
    >>> X.shape, names[2]
    ((442, 10), 'bmi')
    """
    known = bundled_data(name)
    return *known.load(), known.names


def bundled_data(name: str) -> BundledData:
    """Return what is known of a data set before it is loaded; see `bundled`."""
    if name not in BUNDLED:
        raise InvalidInput(f"data set {name!r} is unknown; known: {', '.join(sorted(BUNDLED))}")
    return BUNDLED[name]
