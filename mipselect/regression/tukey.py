"""The Tukey mechanism: a private median of models that are fitted on blocks of rows; (ε, δ).

Its law over a grid and its private test are exact: volumes count points, and weights are integers.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mipselect.arrays import FloatArray, checked_scales
from mipselect.errors import warn_of_little_use
from mipselect.mechanisms.noise.noise import plus_laplace, standard_normals
from mipselect.mechanisms.scores.noisy_max import exponential_coin
from mipselect.mechanisms.scores.sample_aggregate import random_blocks
from mipselect.parameters import estimator, parameter
from mipselect.privacy.decimals import exact, round_down
from mipselect.privacy.guarantee import Guarantee
from mipselect.regression.base import NumberPredictor, PrivateLinearModel
from mipselect.regression.rows import Drawn, ModelRows, RowMap
from mipselect.validation import checked_delta, checked_integer

Grid = NDArray[np.int64]

WEIGHT_BITS = 4096
"""Bits of the largest weight: shells whose weight is below 2^-4096 of it count as 2^-4096."""

SHALLOWEST = 10
"""Only points of depth m/10 and more are drawn."""

RATIO_BITS = 40
"""e^{ε/2} is rounded down to a multiple of 2^-40."""

ROUNDED = 1e-12
"""More than what doubles round of a logarithm, relatively, or absolutely near 0."""


@dataclass(frozen=True)
class DepthLaw:
    """Draw a point with weight u(T), T its axis-aligned depth, among those with T ≥ t.

    Parameters
    ----------
    points : int64 array, shape (m, d)
        The models on the grid. Sensitive.
    epsilon : float
        ε_s: u grows by a factor of at most e^{ε_s/2} from one depth to the next.

    Notes
    -----
    T(y) = min over axes and sides of the number of points that are not beyond y, and at most
    ⌈m/2⌉. One point that is replaced moves T by at most 1, up **or** down: m is fixed. So the
    weights take ε/2 and not ε. S_i = {T ≥ i} is the box ∏[x_(i), x_(m-i+1)] of order statistics,
    t = ⌊m/10⌋: any public t would do, and the published ⌊m/4⌋ takes 40 % more models for the
    test to pass.

    With q = e^{ε_s/2}, rounded down, u is any sequence of integers with 1 ≤ u(i+1)/u(i) ≤ q.
    """

    points: Grid = field(repr=False)
    epsilon: float

    @property
    def lowest(self) -> int:
        """t = ⌊m/10⌋; 1 if that is 0."""
        return max(1, len(self.points) // SHALLOWEST)

    @property
    def deepest(self) -> int:
        """⌈m/2⌉, the largest depth there is."""
        return (len(self.points) + 1) // 2

    @cached_property
    def ratio(self) -> Fraction:
        """The ratio q ≤ e^{ε_s/2}, a multiple of 2^-`RATIO_BITS`."""
        # Beyond e^700 a larger one could not be told from it: every weight is at its floor.
        exponent = min(self.epsilon / 2.0, 700.0)
        step = Fraction(1, 1 << RATIO_BITS)
        return 1 + Fraction(math.expm1(exponent) * (1.0 - 1e-12)) // step * step

    @cached_property
    def weights(self) -> dict[int, int]:
        """u(i) for i = t, ..., ⌈m/2⌉: from the deepest down, each at least the next one / q."""
        found = {self.deepest: 1 << WEIGHT_BITS}
        for depth in range(self.deepest - 1, self.lowest - 1, -1):
            found[depth] = -(-found[depth + 1] * self.ratio.denominator // self.ratio.numerator)
        return found

    @cached_property
    def volumes(self) -> list[int]:
        """V_i = |S_i| for i = 1, ..., ⌈m/2⌉, and 0 beyond. V_0, all of the grid, is not used."""
        found = [0]
        for depth in range(1, self.deepest + 1):
            low, high = self._box(depth)
            found.append(math.prod(h - w + 1 for w, h in zip(low, high, strict=True)))
        return [*found, *([0] * (self.deepest + 2))]

    @cached_property
    def totals(self) -> dict[int, int]:
        """w(S_i) = Σ over the points of S_i of u(T), for i = t, ..., ⌈m/2⌉."""
        found: dict[int, int] = {}
        total = 0
        for depth in range(self.deepest, self.lowest - 1, -1):
            total += self._shell(depth) * self.weights[depth]
            found[depth] = total
        return found

    def unsafe_share(self, k: int) -> Fraction:
        """Compute g_k = (V_{t-k} - V_{t+k+1}) u(t) q^k / w(S_{t+k}), 0 ≤ k < t.

        For neighbouring data one step away g_k is at most g_{k+1} here: boxes are nested,
        S'_i ⊆ S_{i-1} and S_{i+1} ⊆ S'_i, and w'(S'_i) ≥ w'(S_{i+1}) ≥ w(S_{i+1})/q.
        """
        t = self.lowest
        moved = self.volumes[t - k] - self.volumes[t + k + 1]
        return moved * self.weights[t] * self.ratio**k / self.totals[t + k]

    def distance(self, delta: float) -> int:
        """Find M: the largest k in 0..t-2 with g_k + g_{k+1} ≤ δ, else -1; it moves by at most 1.

        Where M ≥ 0 the law and that of any neighbour are (ε_s, δ)-indistinguishable. What is in
        S_t and not in S'_t has no depth above t, so the share g_0 at most; the other way round
        it is a share of g'_0 ≤ g_1; elsewhere weights differ by q and totals by q/(1 - g'_0).
        """
        if self.lowest < 2:
            return -1
        bound = _smaller(delta)

        def holds(k: int) -> bool:
            return self.unsafe_share(k) + self.unsafe_share(k + 1) <= bound

        # g_k rises with k.
        low, high = -1, self.lowest - 2
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if holds(middle) else (low, middle - 1)
        return low

    def draw(self, source: random.Random) -> tuple[int, ...]:
        """Draw a point, shape (d,)."""
        left = source.randrange(self.totals[self.lowest])
        depth = self.lowest
        while True:
            left -= self._shell(depth) * self.weights[depth]
            if left < 0:
                break
            depth += 1
        inner = self._box(depth + 1) if depth < self.deepest else None
        return draw_in_shell(self._box(depth), inner, source)

    def _shell(self, depth: int) -> int:
        """Return the number of points of the grid that have this depth."""
        return self.volumes[depth] - self.volumes[depth + 1]

    @cached_property
    def _sorted(self) -> Grid:
        return np.sort(self.points, axis=0)

    def _box(self, depth: int) -> tuple[list[int], list[int]]:
        """Return x_(i) and x_(m-i+1) of every axis."""
        low, high = self._sorted[depth - 1], self._sorted[len(self.points) - depth]
        return low.tolist(), high.tolist()


def draw_in_shell(
    outer: tuple[list[int], list[int]],
    inner: tuple[list[int], list[int]] | None,
    source: random.Random,
) -> tuple[int, ...]:
    """Draw uniformly from a box without a smaller box in it.

    Points are divided by the first axis j on which they are outside the inner box: earlier
    coordinates are in its sides, coordinate j in what is left of side j, later ones anywhere.
    """
    low, high = outer
    if inner is None:
        return tuple(source.randrange(a, b + 1) for a, b in zip(low, high, strict=True))
    inside = [(a, b) for a, b in zip(*inner, strict=True)]
    sides = [(a, b) for a, b in zip(low, high, strict=True)]
    parts = [
        math.prod(_length(side) for side in inside[:j])
        * (_length(sides[j]) - _length(inside[j]))
        * math.prod(_length(side) for side in sides[j + 1 :])
        for j in range(len(sides))
    ]
    left = source.randrange(sum(parts))
    axis = 0
    while left >= parts[axis]:
        left -= parts[axis]
        axis += 1
    point = [source.randrange(a, b + 1) for a, b in [*inside[:axis], *sides[axis:]]]
    (a, b), (c, d) = sides[axis], inside[axis]
    place = source.randrange((c - a) + (b - d))
    point[axis] = a + place if place < c - a else d + 1 + place - (c - a)
    return tuple(point)


def _length(side: tuple[int, int]) -> int:
    return side[1] - side[0] + 1


def margin(distance: int, epsilon: float, delta: float) -> Fraction:
    """Compute M ε_t - ln(1/2δ), the logarithm rounded up: how far M is above the threshold.

    M moves by 1, and so this by ε_t exactly.
    """
    threshold = Fraction(math.log(0.5 / delta) * (1.0 + ROUNDED) + ROUNDED)
    return distance * _smaller(epsilon) - threshold


def passes(margin: Fraction, source: random.Random) -> bool:
    """Return True where M + Lap(1/ε_t) is above the threshold; the coin is drawn, and no noise.

    It shows the rarer side with a probability of exactly e^-|margin|/2. Where M = -1 it passes with
    a probability of δe^{-ε_t} at most; else the log of either probability moves by at most ε_t.
    """
    rare = source.getrandbits(1) == 0 and exponential_coin(abs(margin), source)
    return rare if margin <= 0 else not rare


def _smaller(value: float) -> Fraction:
    """Return the smaller one of a double and the decimal that it is printed as."""
    return min(Fraction(value), exact(value))


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
        "the number of blocks that the test needs (`enough_blocks`), at least d.",
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
        blocks = enough_blocks(columns, self._half, self.delta)
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
        law = DepthLaw(on_integer_grid(models, bounds, steps), self._half)
        distance = law.distance(self.delta)
        if passes(margin(distance, self._half, self.delta), source) and count > 0:
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
        wanted = enough_blocks(columns, self._half, self.delta)
        height = self.block_size or max(columns, int(min(known / wanted, MOST_ROWS)))
        return height, int(min(known / height, MOST_BLOCKS))


def enough_blocks(columns: int, epsilon: float, delta: float) -> int:
    """Return how many blocks let the test pass, for models that are about normal; public.

    (11 + 1.2d)x with x = (ln(1/2δ) + 3)/ε_t: a quarter above what passes with a probability of 0.9
    for models with normal errors, for d up to 21. And 10(⌈x⌉ + 2), for the distance is at most
    t - 2, t a tenth of the blocks, and the test wants some x.
    """
    distance = (math.log(0.5 / delta) + 3.0) / epsilon
    least = SHALLOWEST * (math.ceil(distance) + 2)
    return max(least, math.ceil((11.0 + 1.2 * columns) * distance))
