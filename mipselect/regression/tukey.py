"""The Tukey mechanism: a private median of models that are fitted on blocks of rows; (ε, δ)."""

from __future__ import annotations

import math
import random
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray, checked_scales
from mipselect.errors import warn_of_little_use
from mipselect.mechanisms.noise.noise import plus_laplace, standard_normals
from mipselect.mechanisms.scores import depth
from mipselect.mechanisms.scores.sample_aggregate import random_blocks
from mipselect.parameters import estimator, parameter
from mipselect.privacy.decimals import exact, round_down
from mipselect.privacy.guarantee import Guarantee
from mipselect.regression.base import NumberPredictor, PrivateLinearModel
from mipselect.regression.rows import Drawn, ModelRows, RowMap
from mipselect.validation import checked_delta, checked_integer

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


def on_integer_grid(models: FloatArray, bounds: FloatArray, steps: FloatArray) -> depth.Grid:
    """Clip to ± bounds and round to multiples of steps: int64, shape (m, d)."""
    clipped = np.clip(models, -bounds, bounds)
    grid: depth.Grid = np.rint(clipped / steps).astype(np.int64)
    return grid


BLOCK_RIDGE = 1.0
"""c of the model of a block, as much as a further row without a signal. Models of few rows scatter
without bounds at 0, and the test fails; blocks of many rows hardly feel it."""

COUNT_SHARE = 0.05
"""Share of ε that a noisy number of rows costs."""

PADDING_RISK = 1e-4
"""η: with this probability the noisy number of rows is above the true one."""

MOST_BLOCKS = 2.0**17
MOST_ROWS = 2.0**40
"""Further rows are left out; a noisy number of rows may be large by chance."""

TOO_FEW = 0.65
"""Share of `enough_rows` below which the test fails in more than half of the cases: with 0.6 it
never passed in 120 simulated tables with normal errors, with 0.7 in 86."""

STEPS = 2.0**60
"""Steps of the grid from 0 to the bound of a coefficient: far finer than the noise, and its points
are 64-bit integers."""


@estimator
class TukeyRegressor(NumberPredictor, PrivateLinearModel):
    """A private median of least-squares models on blocks of rows. No bounds on the data.

    Under replace-one the number of blocks is public; under add-remove 5 % of ε pay for a noisy
    number of rows.

    Notes
    -----
    Rows are sent to the b places of m blocks by a random injection (`random_blocks`); places may
    be left, and rows for which there is no place are left out. Given
    what happens to all others, one row changes one block, under both relations; so one of m
    models, which are points of a public grid. ε_t = ε_s are halves of what is left of ε.

    The test decides with ε_t and δ whether the law of depths is stable (`DepthLaw.distance`), and
    only then is a point drawn from it, with ε_s. Where it is stable the loss is ε_t + ε_s with
    δ; elsewhere the test passes with a probability of at most δ. δ is the larger of the two, not
    their sum. Where it fails no model is released.

    The published weights exp(εT) are not private as claimed: a row that changes replaces a model,
    depths move both ways, and at ε = 0.5 + 0.5, δ = 1e-5, m = 240 there are neighbours that need
    δ = 0.0133. Draws, weights and the test are exact here, in integers; only the noisy number of
    rows is OpenDP's Laplace noise.

    References
    ----------
    Amin, Joseph, Ribero and Vassilvitskii, "Easy differentially private linear regression", 2023;
    Brown, Gaboardi, Smith, Ullman and Zakynthinou, "Covariance-aware private mean estimation
    without private covariance estimation", 2021; "Better Private Linear Regression Through Better
    Private Feature Selection", section 8, whose constants are for a depth that only grows.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.regression import TukeyRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(8000, 2))
    >>> y = X[:, 0] + 0.1 * rng.normal(size=8000)
    >>> model = TukeyRegressor(epsilon=5.0, delta=1e-6, block_size=20).fit(X, y)
    >>> model.release_.has_model, model.score(X, y) > 0.8
    (True, True)
    """

    delta: float = parameter(
        "float", "0 < δ < 1/2, under `relation`.", default=1e-6, check=checked_delta
    )
    block_size: int | None = parameter(
        "int, optional",
        "b ≥ d, the rows of a block, d = p + 1 with an intercept. Public. None is as many as leave "
        "the number of blocks that the test needs (`depth.enough_points`), at least d.",
        default=None,
    )
    coef_bound: float | ArrayLike = parameter(
        "float or array_like of shape (p,)",
        "Models are clipped to ± this, in units of y per unit of a column; for the intercept the "
        "largest of them. Public.",
        default=2.0**26,
    )
    _per_column: ClassVar[tuple[str, ...]] = ("coef_bound",)

    def _promise(self, size: int) -> Guarantee:
        """Return the guarantee: (ε, δ)."""
        if self.block_size is not None:
            checked_integer(self.block_size, "block_size", size + self.fit_intercept)
        self._bounds(size)
        return Guarantee(self.epsilon, self.delta, relation=self.relation)

    def enough_rows(self, size: int) -> int:
        """Return how many rows the test needs for a model on so many columns; public."""
        columns = size + self.fit_intercept
        blocks = depth.enough_points(columns, self._half, self.delta)
        return (self.block_size or columns) * blocks

    def warn_of_few(self, rows: int, size: int) -> None:
        """Warn that the test will fail in more than half of the cases, where n is public."""
        enough = self.enough_rows(size)
        if self.relation == "replace-one" and rows < TOO_FEW * enough:
            warn_of_little_use(
                f"{rows:,} rows are few: the private test needs about {enough:,} at this ε, and "
                "where it fails ε is spent and there is no model"
            )

    def _draw(self, rows: ModelRows, source: random.Random, private: bool) -> Drawn:
        n, size = rows.X.shape
        row_map = RowMap(size, self.fit_intercept)
        bounds = self._bounds(size)
        steps = bounds / STEPS
        height, count = self._blocks(n, row_map.columns, source, private)
        blocks = random_blocks(n, count, height, source)
        if (shares := rows.shares) is not None:
            blocks = [[row for row in block if shares[row] > 0.0] for block in blocks]
        guesses = standard_normals(source, count * size).reshape(count, size)
        models = block_models(rows.X, rows.y, blocks, guesses, row_map.fit_intercept, BLOCK_RIDGE)
        law = depth.DepthLaw(on_integer_grid(models, bounds, steps), self._half)
        distance = law.distance(self.delta)
        if depth.passes(depth.margin(distance, self._half, self.delta), source) and count > 0:
            return Drawn(
                np.array([float(v) for v in law.draw(source)]) * steps,
                row_map,
                "tukey",
                bounds={"block_size": float(height), "blocks": float(count)},
            )
        return Drawn(None, row_map, "tukey")

    def _bounds(self, size: int) -> FloatArray:
        """Return the largest values of the coefficients, shape (d,); the intercept last."""
        bounds = list(checked_scales(self.coef_bound, "coef_bound", size))
        return np.array([*bounds, max(bounds)] if self.fit_intercept else bounds)

    @property
    def _half(self) -> float:
        """ε_t and ε_s, which are the same; rounded down."""
        return round_down((exact(self.epsilon) - exact(self._count_epsilon)) / 2)

    @property
    def _count_epsilon(self) -> float:
        """Part of ε that the number of blocks costs; zero except under add-remove."""
        return COUNT_SHARE * self.epsilon if self.relation == "add-remove" else 0.0

    def _blocks(
        self, rows: int, columns: int, source: random.Random, private: bool
    ) -> tuple[int, int]:
        """Choose rows and number of the blocks, from n or a noisy lower bound on n.

        ñ = n + Lap(1/ε') - ln(1/2η)/ε' under add-remove.
        """
        epsilon = self._count_epsilon
        known = float(rows)
        if epsilon > 0.0:
            noisy = plus_laplace(known, epsilon, 1.0, source, private=private)
            known = max(0.0, noisy - math.log(0.5 / PADDING_RISK) / epsilon)
        wanted = depth.enough_points(columns, self._half, self.delta)
        height = self.block_size or max(columns, int(min(known / wanted, MOST_ROWS)))
        return height, int(min(known / height, MOST_BLOCKS))
