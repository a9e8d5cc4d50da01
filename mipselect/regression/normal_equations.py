"""Normal equations with noise of known size, and intervals for what they determine."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import eigh
from scipy.stats import chi2
from scipy.stats import t as student

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.regression.release import ModelRelease

REFUSALS = {
    "objective-perturbation": (
        "objective perturbation releases coefficients only: how steep the loss is around them, on "
        "which any width depends, is not released"
    ),
    "boosted-adassp": (
        "boosted AdaSSP estimates what the clipping of residuals leaves, and how many of them were "
        "clipped is not released; AdaSSPRegressor has intervals"
    ),
    "tukey": (
        "the Tukey mechanism releases one median of models: how far the models of the blocks lie "
        "from each other is not released; AdaSSPRegressor has intervals"
    ),
}
"""Reasons why there are no intervals, by the name of a mechanism."""


TURNED = 1e-4
"""Probability that noise turns a function out of what is seen of it by more than is allowed for."""

UNSEEN = 0.02
"""The largest part of a function, squared, that may be allowed for in this way."""


@dataclass(frozen=True)
class NoisyNormalEquations:
    """G̃θ ≈ g̃ with noise of known size on both sides, and intervals for linear functions of θ.

    Attributes
    ----------
    gram, gradient : float arrays, shapes (d, d) and (d,)
        G̃ = ZᵀZ + E and g̃ = Zᵀy + e.
    gram_deviation, gradient_deviation : float
        σ_G and σ_r: E has variance σ_G² on the diagonal and σ_G²/2 beside it, e has σ_r².
    squares, rows : float
        yᵀy and n, with or without noise.
    target_bound : float
        B_y.

    Notes
    -----
    At the true θ the difference w = g̃ - G̃θ = Zᵀr + e - Eθ has mean zero and the covariance
    Σ(θ) = σ²G + σ_r²I + (σ_G²/2)(‖θ‖²I + θθᵀ), where r are the residuals of least squares in the
    population, σ² their variance: sampling error and privacy noise together. So the law of all
    that is released is known, up to θ and σ², and quantiles need no draws; the ridge of the
    released coefficients plays no part, nor does its bias.

    Directions in which G̃ is below √d σ_G, about its noise, are left out: columns that depend on
    each other, such as those of a category beside an intercept, and ones that are zero. With U the
    eigenvectors of all others UᵀG̃V = 0, so Uᵀw = Uᵀ(Zᵀr + e - Eθ) as before, for every θ; where
    GV = 0 the one with Vᵀθ = 0 may be taken. G̃⁻¹ stands for U(UᵀG̃U)⁻¹Uᵀ. A function that has a
    part in V, more than what noise turns of it, has the whole line.

    For a function cᵀθ let θ̂ = G̃⁻¹g̃, a = G̃⁻¹c, C = G̃⁻¹Σ(θ̂)G̃⁻¹, and θ(x) = θ̂ + x Cc/cᵀCc, of
    all θ with cᵀθ = cᵀθ̂ + x the nearest. The interval has the x with x² ≤ t² aᵀΣ(θ(x))a
    (Fieller's): the noise Eθ grows with θ, and where it grows as fast as x no x can be excluded
    and the interval is the whole line. No bounded interval would do there (Gleser and Hwang
    1987: none keeps its level where G̃ may be noise alone).

    σ² is what g̃ᵀθ̂ leaves of yᵀy, plus what noise in θ̂ took away; between 0 and yᵀy/n.

    References
    ----------
    Fieller, "Some problems in interval estimation", 1954; Fuller, "Measurement error models",
    1987, section 1.2; Gleser and Hwang, "The nonexistence of 100(1-α)% confidence sets of finite
    expected diameter in errors-in-variables and related models", 1987.
    """

    gram: FloatArray = field(repr=False)
    gradient: FloatArray = field(repr=False)
    gram_deviation: float
    gradient_deviation: float
    squares: float
    rows: float
    target_bound: float

    @classmethod
    def of(cls, release: ModelRelease) -> NoisyNormalEquations:
        """Read the equations from a release; raises what `confidence_intervals` does."""
        if not isinstance(release, ModelRelease):
            raise InvalidInput(f"intervals need a ModelRelease (release_), got {type(release)}")
        if not release.has_model:
            raise InvalidInput("no model was released, so there are no coefficients to bound")
        regression = release.mechanism.rsplit("then ", 1)[-1]
        for name, reason in REFUSALS.items():
            if regression.startswith(name):
                raise InvalidInput(f"no intervals: {reason}")
        statistics, bounds = release.statistics, release.bounds
        if release.table is not None and release.table.weight is not None:
            raise InvalidInput(
                "no intervals: they take all rows to count the same, and these count by the "
                f"survey weight {release.table.weight}"
            )
        if "squares" not in statistics:
            raise InvalidInput(
                f"no intervals: {regression} did not release a noisy sum of squares of the target"
            )
        rows = bounds["rows"] if "rows" in bounds else statistics["rows"][0]
        return cls(
            gram=np.array(statistics["gram"]),
            gradient=np.array(statistics["gradients"][0]),
            gram_deviation=bounds["gram_deviation"],
            gradient_deviation=bounds["gradient_deviation"],
            squares=statistics["squares"][0],
            rows=rows,
            target_bound=bounds["y_bound"],
        )

    def ends(self, functions: FloatArray, level: float) -> FloatArray:
        """Compute intervals for the linear functions cᵀθ; shapes (m, d) to (m, 2)."""
        size = len(self.gradient)
        whole = np.tile([-math.inf, math.inf], (len(functions), 1))
        with np.errstate(all="ignore"):
            values, vectors = eigh(self.gram)
            seen = np.abs(values) > math.sqrt(size) * self.gram_deviation
            seen &= values != 0.0
            unseen, vectors, values = vectors[:, ~seen], vectors[:, seen], values[seen]
            inverse = (vectors / values) @ vectors.T
            theta = inverse @ self.gradient
            variance = self._residual_variance(inverse, theta, len(values))
            sampling = variance * (vectors * np.maximum(values, 0.0)) @ vectors.T
            constant = sampling + self.gradient_deviation**2 * np.eye(size)
            half = 0.5 * self.gram_deviation**2
            sigma = constant + half * (theta @ theta * np.eye(size) + np.outer(theta, theta))
            quantile = float(student.ppf(0.5 + 0.5 * level, max(1.0, self.rows - size)))
            found = whole.copy()
            for k, c in enumerate(functions):
                a = inverse @ c
                turned = half * (a @ a) * chi2.isf(TURNED, max(1, unseen.shape[1]))
                if np.square(unseen.T @ c).sum() > min(turned, UNSEEN * (c @ c)):
                    continue
                towards = inverse @ (sigma @ a)
                variance_now = float(a @ sigma @ a)
                if variance_now == 0.0:
                    found[k] = c @ theta
                    continue
                direction = towards / variance_now
                square = half * (direction @ direction * (a @ a) + (a @ direction) ** 2)
                linear = half * (theta @ direction * (a @ a) + (a @ theta) * (a @ direction))
                found[k] = c @ theta + fieller(quantile**2, square, linear, variance_now)
        return np.where(np.isfinite(found).all(axis=1, keepdims=True), found, whole)

    def _residual_variance(self, inverse: FloatArray, theta: FloatArray, rank: int) -> float:
        """Estimate σ² from yᵀy, n and θ̂; B_y² where there are no more rows than coefficients."""
        degrees = self.rows - rank
        if degrees < 1.0:
            return self.target_bound**2
        noise = self.gradient_deviation**2 * np.trace(inverse) + 0.5 * self.gram_deviation**2 * (
            theta @ theta * np.trace(inverse) + theta @ inverse @ theta
        )
        left = float(self.squares - self.gradient @ theta + noise)
        most = min(max(self.squares, 0.0) / degrees, self.target_bound**2)
        return min(max(left / degrees, 0.0), most) if math.isfinite(left) else most


def fieller(quantile: float, square: float, linear: float, constant: float) -> FloatArray:
    """Solve x² ≤ q(s x² + 2l x + c), c > 0, for x; shape (2,). The whole line unless q s < 1."""
    leading = 1.0 - quantile * square
    if not leading > 0.0:
        return np.array([-math.inf, math.inf])
    middle = quantile * linear / leading
    root = math.sqrt(middle**2 + quantile * constant / leading)
    return np.array([middle - root, middle + root])
