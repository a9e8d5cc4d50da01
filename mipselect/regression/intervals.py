"""Confidence intervals for private coefficients, from released numbers only: no further ε."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.special import chdtri, stdtrit  # chi2.isf and t.ppf, without all of scipy.stats

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.regression.release import ModelRelease
from mipselect.tables.equation import TableEquation
from mipselect.tables.model_table import ModelTable
from mipselect.validation import checked_share

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
            quantile = float(stdtrit(max(1.0, self.rows - size), 0.5 + 0.5 * level))
            found = whole.copy()
            for k, c in enumerate(functions):
                a = inverse @ c
                turned = half * (a @ a) * chdtri(max(1, unseen.shape[1]), TURNED)
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


@dataclass(frozen=True)
class CoefficientIntervals:
    """An interval for every coefficient of a release, each at the same level on its own.

    Attributes
    ----------
    level : float
        With this probability an interval holds its coefficient.
    names : tuple of str
        The columns, or for a model of a table what the terms of its equation mean; and "intercept"
        at the end where there is one.
    coefficients : tuple of float
        Those of the release. With much ridge one may lie outside of its interval.
    lower, upper : tuple of float
        Per unit of each column, or in the units of the table. ``-inf`` and ``inf`` where the noise
        leaves everything open.

    Examples
    --------
    >>> from mipselect.regression.intervals import CoefficientIntervals
    >>> found = CoefficientIntervals(0.9, ("age", "dose"), (0.5, 1.5), (0.4, 1.2), (0.6, 1.8))
    >>> print(found)
    90 % intervals, each on its own:
    age: 0.5 in [0.4, 0.6]
    dose: 1.5 in [1.2, 1.8]
    """

    level: float
    names: tuple[str, ...]
    coefficients: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON: None for an end at infinity."""
        return {
            "level": self.level,
            "names": list(self.names),
            "coefficients": list(self.coefficients),
            "lower": [end if math.isfinite(end) else None for end in self.lower],
            "upper": [end if math.isfinite(end) else None for end in self.upper],
        }

    def __str__(self) -> str:
        rows = zip(self.names, self.coefficients, self.lower, self.upper, strict=True)
        lines = [f"{name}: {value:.6g} in [{a:.6g}, {b:.6g}]" for name, value, a, b in rows]
        return "\n".join([f"{100.0 * self.level:.6g} % intervals, each on its own:", *lines])


def confidence_intervals(release: ModelRelease, level: float = 0.95) -> CoefficientIntervals:
    """Return intervals for the coefficients of an AdaSSP model; they cost no further ε.

    Parameters
    ----------
    release : ModelRelease
        A release of an `AdaSSPRegressor`, alone or after a selection.
    level : float
        Between 0 and 1: the probability that one interval holds its coefficient.

    Returns
    -------
    CoefficientIntervals
        For the coefficients that least squares finds on the released columns of the whole
        population, rows and targets mapped and clipped as for the fit. For a model of a table
        those of `ModelRelease.in_units`, category against reference included. The whole line where
        the noise is so large that no bounded interval could keep the level.

    Raises
    ------
    InvalidInput
        If there is no model, or the mechanism does not release what an interval needs.

    Notes
    -----
    See `NoisyNormalEquations` for how. Not covered: clipping (it changes what is estimated, not
    only the noise), residuals whose size depends on the columns, and a selection that was drawn
    from the same rows, which prefers columns that happen to look strong.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.regression import AdaSSPRegressor, confidence_intervals
    >>> X = np.random.default_rng(0).uniform(-1, 1, (20_000, 1))
    >>> model = AdaSSPRegressor(epsilon=3.0, x_bound=1.0, y_bound=1.0)
    >>> release = model.fit(X, 0.5 * X[:, 0]).release_
    >>> found = confidence_intervals(release)
    >>> found.upper[0] - found.lower[0] < 0.2
    True
    """
    checked_share(level, "level", closed=False)
    equations = NoisyNormalEquations.of(release)
    size = release.rows.columns
    # In units of the mapped columns, which row_norm has made shorter.
    units = np.full(size, release.bounds["row_norm"])
    if release.rows.unit is not None:
        units[: release.rows.size] *= release.rows.unit
    if release.table is None:
        names = (*release.column_names, "intercept")[:size]
        values = (*(release.coefficients or ()), release.intercept)[:size]
        ends = equations.ends(np.diag(1.0 / units), level)
    else:
        rule = release.in_units
        names = (*(term.meaning for term in rule.terms), "intercept")
        values = _terms(rule)
        functions, constants = _terms_of_coefficients(release, release.table)
        ends = equations.ends(functions / units, level) + constants[:, None]
    low, high = ends.T.tolist()
    return CoefficientIntervals(level, names, values, tuple(low), tuple(high))


def _terms(rule: TableEquation) -> tuple[float, ...]:
    return (*(term.coefficient for term in rule.terms), rule.intercept)


def _terms_of_coefficients(
    release: ModelRelease, table: ModelTable
) -> tuple[FloatArray, FloatArray]:
    """Find A, shape (m, d), and c, shape (m,): the terms of a table's equation are A(β, β₀) + c."""
    size = release.rows.size

    def terms(theta: FloatArray) -> FloatArray:
        intercept = float(theta[size]) if release.rows.fit_intercept else 0.0
        return np.array(_terms(table.equation(theta[:size].tolist(), intercept)))

    constants = terms(np.zeros(release.rows.columns))
    ones = np.eye(release.rows.columns)
    return np.column_stack([terms(one) - constants for one in ones]), constants
