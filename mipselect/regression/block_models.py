"""Least-squares models on blocks of rows, as points of an integer grid."""

from __future__ import annotations

import math

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.regression.box_depth import Grid

CONSTANT = 1e-13
"""A column that varies by less than this, in units of its largest entry, is constant."""

GUESS = 0.1
"""Deviation of a coefficient of which a block knows nothing, in units of y and the largest entry:
small next to what is known, and large next to the steps of the grid."""


def block_models(
    X: FloatArray,
    y: FloatArray,
    blocks: list[list[int]],
    guesses: FloatArray,
    fit_intercept: bool,
    ridge: float,
) -> FloatArray:
    """Fit every block: coefficients with the intercept last, and zeros for blocks without rows.

    `guesses` has a random number for each block and column, shape (m, p); returns shape (m, d).
    """
    models = np.zeros((len(guesses), X.shape[1] + fit_intercept))
    for model, block, guess in zip(models, blocks, guesses, strict=False):
        if block:
            # In one order, which other rows must not decide: sums depend on it.
            rows = np.ascontiguousarray(X[block])
            model[:] = block_model(rows, y[block], guess, fit_intercept, ridge)
    return models


def block_model(
    X: FloatArray, y: FloatArray, guess: FloatArray, fit_intercept: bool, ridge: float
) -> FloatArray:
    """Minimise ‖y - Xβ - β₀‖² + c Σ(s_jβ_j)², shape (d,); zeros where rounding fails.

    The shortest of them in units of s_j, the deviation of a column from its mean, or from 0
    without an intercept: units of the columns decide nothing. A column that is constant in the
    block says nothing about its coefficient, which is a small guess then: zeros in every second
    block would leave the boxes no width to shrink evenly, and the test would fail.
    """
    largest = np.abs(X).max(axis=0)
    target_unit = float(np.abs(y).max()) or 1.0
    table, target = X / np.where(largest > 0.0, largest, 1.0), y / target_unit
    centre, level = table.mean(axis=0) * fit_intercept, float(target.mean()) * fit_intercept
    table, target = table - centre, target - level
    deviation = np.sqrt((table**2).mean(axis=0))
    varies = deviation > CONSTANT
    rows = np.where(varies, table / np.where(varies, deviation, 1.0), 0.0)
    rows = np.vstack([rows, math.sqrt(ridge) * np.eye(X.shape[1])])
    try:
        found = np.linalg.lstsq(rows, np.append(target, np.zeros(X.shape[1])), rcond=None)[0]
    except np.linalg.LinAlgError:
        return np.zeros(X.shape[1] + fit_intercept)
    beta = found / np.where(varies, deviation, 1.0)
    intercept = [level - float(centre @ beta)] if fit_intercept else []
    beta = np.where(varies, beta, GUESS * guess * np.sqrt((target**2).mean()))
    coef = beta / np.where(largest > 0.0, largest, 1.0)
    return np.nan_to_num(np.append(coef, intercept) * target_unit, nan=0.0)


def on_integer_grid(models: FloatArray, bounds: FloatArray, steps: FloatArray) -> Grid:
    """Clip to ± bounds and round to multiples of steps: int64, shape (m, d)."""
    clipped = np.clip(models, -bounds, bounds)
    grid: Grid = np.rint(clipped / steps).astype(np.int64)
    return grid
