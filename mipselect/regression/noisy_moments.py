"""Noisy sums of squares: how much noise keeps (ε, δ), and how they are made invertible."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dsyevd

from mipselect.arrays import FloatArray
from mipselect.grid import MOST_ROWS
from mipselect.regression.gaussian_noise import largest_mu, plus_gaussian

SENSITIVITIES: dict[str, tuple[float, float, float]] = {
    "add-remove": (1.0, 1.0, 1.0),
    "replace-one": (math.sqrt(2.0), 1.0, 2.0),
}
"""Sensitivities of the sum of squares, its smallest eigenvalue, and a gradient, for rows and
residuals ≤ 1."""

SIZES: dict[str, float] = {"add-remove": math.sqrt(2.0), "replace-one": 1.0}
"""Sensitivity of (Σu², n) for |u| ≤ 1: of both where a row is added; n is public where one is
replaced."""

SIZES_SHARE = 0.01
"""Share of μ² for (Σu², n): it makes all other noise 0.5 % larger. What it leaves unknown of the
variance of a residual is below a μ-th of what the other noise adds to an interval's."""

SLACK = 1.0 + 1e-12
"""Deviations are raised by this much, for their own roundings."""

ROUNDED = 2.0 * MOST_ROWS * 2.0**-53
"""Distance that an entry of a sum of rows within 1 moves when it becomes a double, in two tables
together. Public: it does not depend on how many rows there are."""

QUANTILE = 1.96
"""Quantile of the normal law: 97.5 % lie below."""


@dataclass(frozen=True)
class Deviations:
    """Standard deviations of the noise, for rows and residuals within 1; public.

    Attributes
    ----------
    gram, eigenvalue, gradient : float
        σ_G on the diagonal of the sum of squares and σ_G/√2 beside it; σ_λ; σ_r in each round.
    sizes : float
        Deviation of the sum of squares of the target, and of the number of rows; ``inf`` if
        neither is released.
    """

    gram: float
    eigenvalue: float
    gradient: float
    sizes: float = math.inf

    def stated(self, clip: float) -> dict[str, float]:
        """Return them as a release states them, for residuals within `clip`."""
        return {
            "gram_deviation": self.gram,
            "eigenvalue_deviation": self.eigenvalue,
            "gradient_deviation": self.gradient * clip,
        }


def deviations(
    epsilon: float,
    delta: float,
    relation: str,
    rounds: int,
    sizes_share: float = 0.0,
    *,
    columns: int,
) -> Deviations:
    """Compute σ = Δ√3/μ for the sum of squares and its eigenvalue, Δ√(3T)/μ for each of T rounds.

    1/σ_G² + 1/σ_λ² + T/σ_r² in units of the sensitivities is μ²: all together are μ-Gaussian
    private, and so (ε, δ)-private with the largest μ that allows it. A share of μ² goes to the
    sizes first. What up to `MOST_ROWS` rows of d columns are rounded by is part of every Δ: see
    docs/mathematics/regression.md, (4).
    """
    mu = largest_mu(epsilon, delta)
    left = mu * math.sqrt(1.0 - sizes_share) / SLACK
    moves, sums = SENSITIVITIES[relation], columns * ROUNDED
    eigenvalue_error = 8.0 * (columns + 2) * ROUNDED
    gram, gradient = (moves[0] + sums) / left, (moves[2] + sums) / left
    eigenvalue = (moves[1] + sums + eigenvalue_error) / left
    third, each = math.sqrt(3.0), math.sqrt(3.0 * rounds)
    sizes = math.inf
    if sizes_share > 0.0:
        # The slack of the others is far more than this share is rounded by.
        sizes = (SIZES[relation] + ROUNDED) / (mu * math.sqrt(sizes_share))
    return Deviations(third * gram, third * eigenvalue, each * gradient, sizes)


def smallest_eigenvalue(gram: FloatArray) -> float:
    """Compute λ_min of a sum of squares, shape (d, d), off by at most 8(d + 2) 2^-53 Σ_i g_ii.

    By bisection, with Cholesky's decomposition of G - tI as the judge: what that may be off by is
    proven with its constants, and it never fails. An eigenvalue from LAPACK, of which neither is
    known, says where to look first. See docs/mathematics/regression.md, (4).
    """
    size = len(gram)
    step = 2.0 * (size + 2) * 2.0**-53 * float(np.trace(gram))
    low, high = -step, float(np.diagonal(gram).min()) + step
    guess = float(dsyevd(gram, compute_v=0)[0][0])
    first = [guess + step / 3.0, guess - step / 3.0]
    while high - low > step:
        middle = first.pop() if first else 0.5 * (low + high)
        if not low < middle < high:
            continue
        _, failed = dpotrf(gram - middle * np.eye(size), lower=True)
        low, high = (low, middle) if failed else (middle, high)
    return low


def plus_symmetric_gaussian(
    matrix: FloatArray, deviation: float, source: random.Random, *, private: bool
) -> FloatArray:
    """Add N(0, σ²) to the diagonal and N(0, σ²/2) to each pair of entries beside it.

    This is the normal law on symmetric matrices with the Frobenius norm, in which a row within 1
    moves the sum of squares by ‖xxᵀ‖_F = ‖x‖² ≤ 1, and replacing one by
    √(‖x‖⁴ + ‖z‖⁴ - 2(x·z)²) ≤ √2.
    """
    above = np.triu_indices(len(matrix), 1)
    noisy = np.zeros_like(matrix)
    if above[0].size:
        beside = deviation / math.sqrt(2.0)
        noisy[above] = plus_gaussian(matrix[above], beside, source, private=private)
    diagonal = plus_gaussian(np.diagonal(matrix).copy(), deviation, source, private=private)
    result: FloatArray = noisy + noisy.T + np.diag(diagonal)
    return result


@dataclass(frozen=True)
class NoisyGram:
    """Released part of a sum of squares G, and an inverse that is computed from it.

    Attributes
    ----------
    gram : float array, shape (d, d)
        G̃ = G + noise.
    lower : float array, shape (1,)
        λ̃, which lies below λ_min(G) with a probability of 97.5 %.
    inverse : float array, shape (d, d)
        See `inverse_of_regularised`.
    """

    gram: FloatArray
    lower: FloatArray
    inverse: FloatArray

    @classmethod
    def draw(
        cls, gram: FloatArray, sigma: Deviations, source: random.Random, *, private: bool
    ) -> NoisyGram:
        """Add noise to G and to its smallest eigenvalue."""
        noisy = plus_symmetric_gaussian(gram, sigma.gram, source, private=private)
        least = np.array([smallest_eigenvalue(gram)])
        lower = plus_gaussian(least, sigma.eigenvalue, source, private=private)
        lower -= QUANTILE * sigma.eigenvalue
        return cls(noisy, lower, inverse_of_regularised(noisy, float(lower[0]), sigma.gram))

    def stated(self, square: float = 1.0) -> dict[str, FloatArray]:
        """Return what a release has of it, for rows that were longer by √`square`."""
        return {"gram": self.gram / square, "smallest_eigenvalue": self.lower / square}


def inverse_of_regularised(noisy_gram: FloatArray, lower: float, deviation: float) -> FloatArray:
    """Compute (G̃ + λI)⁻¹ with λ = max(0, c - max(0, λ̃)), c = 1.96 √d σ_G.

    The norm of the noise in G̃ is about √(2d) σ_G, below c, so that λ_min(G) - c + λ ≥ 0 as λ̃ is a
    lower bound on λ_min(G): the ridge is there only as far as the data are not. Where the noise was
    larger, eigenvalues below σ_G count as σ_G. All of it is computed from released numbers.
    """
    noise = QUANTILE * math.sqrt(len(noisy_gram)) * deviation
    ridge = max(0.0, noise - max(0.0, lower))
    values, vectors = eigh(noisy_gram)
    inverse: FloatArray = (vectors / np.maximum(values + ridge, deviation)) @ vectors.T
    return inverse
