"""AdaSSP: least squares from noisy sums of squares and products, once or in rounds; (ε, δ)."""

from __future__ import annotations

import math
import random
import struct
from abc import abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf, dsyevd

from mipselect.arrays import FloatArray
from mipselect.blocks.grid import MOST_ROWS, exact_products, on_grid
from mipselect.estimators import target_bound
from mipselect.mechanisms.noise.noise import plus_gaussian
from mipselect.parameters import estimator, parameter
from mipselect.privacy.concentrated import gaussian_rho
from mipselect.privacy.gaussian_curve import gaussian_delta
from mipselect.privacy.guarantee import Guarantee
from mipselect.regression.base import NumberPredictor, PrivateLinearModel
from mipselect.regression.rows import Drawn, ModelRows, RowMap, products
from mipselect.validation import LARGEST_SCALE, checked_delta, checked_integer, checked_scale

SENSITIVITIES: dict[str, tuple[float, float, float]] = {
    "add-remove": (1.0, 1.0, 1.0),
    "replace-one": (math.sqrt(2.0), 1.0, 2.0),
}
"""Sensitivities of the sum of squares, its smallest eigenvalue, and a gradient, for rows and
residuals ≤ 1."""

SLACK = 1.0 + 1e-12
"""Deviations are raised by this much, for their own roundings."""

ROUNDED = 2.0 * MOST_ROWS * 2.0**-53
"""Distance that an entry of a sum of rows within 1 moves when it becomes a double, in two tables
together. Public: it does not depend on how many rows there are."""

QUANTILE = 1.96
"""Quantile of the normal law: 97.5 % lie below."""


@lru_cache(256)
def largest_mu(epsilon: float, delta: float) -> float:
    """Return the largest double μ with δ(ε) ≤ δ; noise of deviation Δ₂/μ is (ε, δ)-private.

    k releases of μ_1, ..., μ_k together are √Σμ_i²-Gaussian private, also if each depends on the
    ones before (Dong, Roth and Su, corollary 2): there is no loss in composing them.

    Notes
    -----
    An upper bound on δ(ε) is compared, so that no rounding makes μ too large; ε and δ are the
    smaller ones of a double and the decimal that it is printed as. See
    docs/mathematics/regression.md, (3).
    """
    budget, most = (min(Decimal(value), Decimal(repr(value))) for value in (epsilon, delta))
    # Doubles above zero are in the order of their bits.
    low, high = 0, struct.unpack("<q", struct.pack("<d", math.inf))[0]
    while high - low > 1:
        middle = (low + high) // 2
        enough = gaussian_delta(_of_bits(middle), budget)[1] <= most
        low, high = (middle, high) if enough else (low, middle)
    return _of_bits(low)


def _of_bits(bits: int) -> float:
    number: float = struct.unpack("<d", struct.pack("<q", bits))[0]
    return number


@dataclass(frozen=True)
class Deviations:
    """Standard deviations of the noise, for rows and residuals within 1; public.

    Attributes
    ----------
    gram, eigenvalue, gradient : float
        σ_G on the diagonal of the sum of squares and σ_G/√2 beside it; σ_λ; σ_r in each round.
    """

    gram: float
    eigenvalue: float
    gradient: float


def deviations(
    epsilon: float, delta: float, relation: str, rounds: int, *, columns: int
) -> Deviations:
    """Compute σ = Δ√3/μ for the sum of squares and its eigenvalue, Δ√(3T)/μ for each of T rounds.

    1/σ_G² + 1/σ_λ² + T/σ_r² in units of the sensitivities is μ²: all together are μ-Gaussian
    private, and so (ε, δ)-private with the largest μ that allows it. What up to `MOST_ROWS` rows of
    d columns are rounded by is part of every Δ: see docs/mathematics/regression.md, (4).
    """
    left = largest_mu(epsilon, delta) / SLACK
    moves, sums = SENSITIVITIES[relation], columns * ROUNDED
    eigenvalue_error = 8.0 * (columns + 2) * ROUNDED
    gram, gradient = (moves[0] + sums) / left, (moves[2] + sums) / left
    eigenvalue = (moves[1] + sums + eigenvalue_error) / left
    third, each = math.sqrt(3.0), math.sqrt(3.0 * rounds)
    return Deviations(third * gram, third * eigenvalue, each * gradient)


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


@estimator
class _AdaSSP(NumberPredictor, PrivateLinearModel):
    """Common base of the regressors with one round and with many."""

    delta: float = parameter(
        "float", "0 < δ < 1/2, under `relation`.", default=1e-6, check=checked_delta
    )
    x_bound: float | ArrayLike | None = parameter(
        "float or array_like of shape (p,), optional",
        "Columns are clipped to ± this and divided by it. Public.",
        default=None,
    )
    y_bound: float | None = parameter(
        "float, optional",
        "The target is clipped to ± this first. Public.",
        default=None,
        check=checked_scale,
    )
    row_bound: float | None = parameter(
        "float, optional",
        "Rows, with the one in them, are shortened to this Euclidean length; after the division "
        "if there is an `x_bound`, and √(p + 1) then if None is given. 1 with neither.",
        default=None,
        check=checked_scale,
    )

    noise_grows_with_ranges: ClassVar[bool] = True

    def _promise(self, size: int) -> Guarantee:
        """Return the guarantee: (ε, δ), and ρ = μ²/2."""
        self._deviations(size)
        rho = gaussian_rho(largest_mu(self.epsilon, self.delta))
        return Guarantee(self.epsilon, self.delta, relation=self.relation, rho=rho)

    @property
    @abstractmethod
    def _setting(self) -> tuple[str, int, float, float]:
        """The name of the mechanism, rounds T, and bounds B_y and B_r."""

    def _deviations(self, size: int) -> Deviations:
        _, rounds, _, _ = self._setting
        epsilon, delta, columns = float(self.epsilon), float(self.delta), self._rows(size).columns
        return deviations(epsilon, delta, self.relation, rounds, columns=columns)

    def _rows(self, size: int) -> RowMap:
        row_bound = 1.0 if self.row_bound is None and self.x_bound is None else self.row_bound
        return RowMap(
            size,
            self.fit_intercept,
            x_bound=self.x_bound,  # type: ignore[arg-type]
            unit=self.x_bound,  # type: ignore[arg-type]
            row_bound=row_bound,
        )

    takes_weights: ClassVar[bool] = True

    def _draw(self, rows: ModelRows, source: random.Random, private: bool) -> Drawn:
        """Multiply mapped rows and targets by √w, which makes none larger."""
        size = rows.X.shape[1]
        row_map, sigma = self._rows(size), self._deviations(size)
        name, rounds, y_bound, clip = self._setting
        mapped, target = row_map(rows.X), np.clip(rows.y, -y_bound, y_bound)
        if (shares := rows.shares) is not None:
            factors = np.sqrt(shares)
            mapped, target = mapped * factors[:, None], target * factors
        table = on_grid(mapped, row_map.norm)
        gram = exact_products(table, table)
        noisy_gram = plus_symmetric_gaussian(gram, sigma.gram, source, private=private)
        least = np.array([smallest_eigenvalue(gram)])
        # Below the smallest eigenvalue with a probability of 97.5 %.
        lower = plus_gaussian(least, sigma.eigenvalue, source, private=private)
        lower -= QUANTILE * sigma.eigenvalue
        inverse = inverse_of_regularised(noisy_gram, float(lower[0]), sigma.gram)
        theta = np.zeros(row_map.columns)
        for _ in range(rounds):
            residuals = on_grid(target - products(table, theta), clip)
            gradient = exact_products(table, residuals[:, None])[:, 0]
            noisy = plus_gaussian(gradient, sigma.gradient, source, private=private) * clip
            theta = theta + inverse @ noisy
        return Drawn(
            theta / row_map.norm,
            row_map,
            name,
            bounds={
                **({} if self.y_bound is None else {"y_bound": y_bound}),
                "residual_bound": clip,
                "rounds": float(rounds),
                "row_norm": row_map.norm,
                "gram_deviation": sigma.gram,
                "eigenvalue_deviation": sigma.eigenvalue,
                "gradient_deviation": sigma.gradient * clip,
            },
        )


@estimator
class AdaSSPRegressor(_AdaSSP):
    """Least squares from a noisy XᵀX and Xᵀy, with as much ridge as the noise requires.

    Notes
    -----
    Rows x of length at most 1 and targets within B_y give XᵀX, its smallest eigenvalue and Xᵀy
    with the sensitivities 1, 1 and B_y when a row is added, and √2, 1 and 2B_y when one is
    replaced (Weyl's inequality for the eigenvalue: the difference of two matrices xxᵀ and zzᵀ
    has eigenvalues in [-1, 1]). Each has a third
    of μ²; all together are μ-Gaussian private, and μ is the largest one that (ε, δ) allows, rounded
    down.

    Rows and targets are cut to multiples of 2^-16 of their bounds before they are added up, so
    that sums are exact; what doubles round of those of up to 2^31 - 1 rows is part of every
    sensitivity. Noise is drawn with OpenDP.

    The published code adds the noisy eigenvalue itself as a ridge, and its μ exceeds δ by up to
    0.9 %.

    References
    ----------
    Wang, "Revisiting differentially private linear regression", 2018, algorithm 2 (AdaSSP);
    Tang et al., "Improved differentially private regression via gradient boosting", 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.regression import AdaSSPRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (20_000, 2))
    >>> y = 0.5 * X[:, 0] + 0.1
    >>> model = AdaSSPRegressor(epsilon=5.0, delta=1e-6, x_bound=1.0, y_bound=1.0).fit(X, y)
    >>> model.predict(X[:3]).shape, model.score(X, y) > 0.9
    ((3,), True)
    >>> print(model.guarantee_)
    (5, 1e-06)-differentially private, replacing one row; no further condition
    """

    y_bound: float | None = target_bound(check=checked_scale)

    @property
    def _setting(self) -> tuple[str, int, float, float]:
        y_bound = float(self._public("y_bound")["y_bound"])
        return "adassp", 1, y_bound, y_bound


@estimator
class BoostedAdaSSPRegressor(_AdaSSP):
    """AdaSSP in rounds, each on the clipped residuals of the ones before.

    Notes
    -----
    θ ← θ + H⁻¹(Xᵀclip(y - Xθ, ±B_r) + noise), T times, from θ = 0; with T = 1 and B_r = B_y this
    is AdaSSP. A gradient has the sensitivity B_r when a row is added and 2B_r when one is
    replaced, whatever θ is; each of them is μ/√(3T)-Gaussian private. See `AdaSSPRegressor`.

    References
    ----------
    Tang et al., "Improved differentially private regression via gradient boosting", 2023
    (BoostedAdaSSP).

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.regression import BoostedAdaSSPRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (20_000, 2))
    >>> y = 3.0 * X[:, 0]
    >>> model = BoostedAdaSSPRegressor(epsilon=5.0, residual_bound=1.0, rounds=20, x_bound=1.0)
    >>> model.fit(X, y).score(X, y) > 0.8
    True
    """

    residual_bound: float = parameter(
        "float",
        "B_r: residuals are clipped to ± this in every round, in the units of y. Public. What T "
        "rounds can reach is bounded by about T B_r.",
        default=1.0,
        check=checked_scale,
    )
    rounds: int = parameter(
        "int", "T.", default=100, check=lambda rounds, name: checked_integer(rounds, name, 1)
    )

    @property
    def _setting(self) -> tuple[str, int, float, float]:
        y_bound = LARGEST_SCALE if self.y_bound is None else float(self.y_bound)
        name, rounds = f"boosted-adassp, {self.rounds} rounds", int(self.rounds)
        return name, rounds, y_bound, float(self.residual_bound)
