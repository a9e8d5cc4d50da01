"""Confidence intervals for private coefficients, from released numbers only: no further ε."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.frames import numeric_matrix
from mipselect.regression.normal_equations import NoisyNormalEquations
from mipselect.regression.release import ModelRelease
from mipselect.tables.equation import TableEquation
from mipselect.tables.model_table import ModelTable
from mipselect.validation import checked_share


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
    >>> from mipselect.regression import CoefficientIntervals
    >>> found = CoefficientIntervals(0.9, ("age", "dose"), (0.5, 1.5), (0.4, 1.2), (0.6, 1.8))
    >>> print(found.of(["dose"]))
    90 % intervals, each on its own:
    dose: 1.5 in [1.2, 1.8]
    """

    level: float
    names: tuple[str, ...]
    coefficients: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def of(self, names: Collection[str]) -> CoefficientIntervals:
        """Return the intervals of some of the names, in their order here."""
        kept = [k for k, name in enumerate(self.names) if name in names]
        return CoefficientIntervals(
            self.level,
            tuple(self.names[k] for k in kept),
            tuple(self.coefficients[k] for k in kept),
            tuple(self.lower[k] for k in kept),
            tuple(self.upper[k] for k in kept),
        )

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


def mean_intervals(release: ModelRelease, X: ArrayLike, level: float = 0.95) -> FloatArray:
    """Return an interval for the mean of the target at each row of X, shape (n, 2).

    The intervals are for the linear model, not for single targets, whose residuals come on top.

    Parameters
    ----------
    release : ModelRelease
        As for `confidence_intervals`.
    X : array_like of shape (n, k)
        The columns of the model; mapped as for a prediction.
    level : float
        Between 0 and 1, for each row on its own.

    Raises
    ------
    InvalidInput
        As `confidence_intervals`, or if X is no such table.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.regression import AdaSSPRegressor, mean_intervals
    >>> X = np.linspace(-1.0, 1.0, 20_000)[:, None]
    >>> model = AdaSSPRegressor(epsilon=3.0, x_bound=1.0, y_bound=1.0).fit(X, 0.5 * X[:, 0])
    >>> mean_intervals(model.release_, X[:3]).shape
    (3, 2)
    """
    checked_share(level, "level", closed=False)
    equations = NoisyNormalEquations.of(release)
    table = numeric_matrix(X)[0]
    if table.shape[1] != release.rows.size:
        raise InvalidInput(f"X must have {release.rows.size} columns, got {table.shape[1]}")
    return equations.ends(release.rows(table) / release.bounds["row_norm"], level)


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
