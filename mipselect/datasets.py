"""Generators of the papers, and the diabetes data that come with scikit-learn."""

from __future__ import annotations

import math

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.parameters import completed_by
from mipselect.validation import checked_integer, checked_number, checked_positive

__all__ = ["correlated_gaussian", "diabetes", "logistic_gaussian"]


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


DIABETES_ROWS = 442
DIABETES_FEATURES = ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6")
DIABETES_SHIFT = 150.0
"""A round number inside the published range of the target, not its mean."""


def diabetes() -> tuple[FloatArray, FloatArray]:
    """Load the diabetes data that come with scikit-learn, in the order of `DIABETES_FEATURES`.

    Returns
    -------
    X : ndarray of shape (442, 10)
        Each feature centred and divided by √n times its standard deviation, so that a column has
        length 1 and a typical entry is of size 1/√442 ≈ 0.048, without unit.
    y : ndarray of shape (442,)
        A measure of the progression of the disease one year later, in points from 25 to 346, minus
        `DIABETES_SHIFT`: a model of it needs no intercept.

    Examples
    --------
    >>> from mipselect.datasets import diabetes
    >>> X, y = diabetes()
    >>> X.shape, float(y.min()), float(y.max())
    ((442, 10), -125.0, 196.0)
    """
    # Imported here because scikit-learn takes longer to import than the rest of the package.
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=True)
    return data.data, data.target - DIABETES_SHIFT
