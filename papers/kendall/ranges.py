"""The MIP paper's pipeline on the DPKendall paper's tables, for which ranges must be known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from mipselect.regression import AdaSSPRegressor, ObjectivePerturbationRegressor
from mipselect.selectors import (
    ExponentialSelector,
    KendallSelector,
    PermuteAndFlipSelector,
    TopRSelector,
)

from ..arrays import FloatArray
from ..reproduce.declared import DataSeed, Reading
from ..reproduce.sources import DataSource
from .tables import DELTA, EPSILON, R2, selected, split, table_of

INSIDE = 1.0, 99.0
"""Percentiles between which a column's range is said to be known."""

BOUNDS: dict[str, Any] = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 2.0, "ridge": 1.0}
"""Bounds of all tables; in these units least squares on five columns is 0.4 to 2.0 long."""

TOP_R_OP, EXACT_OP = "ranges: top-R + OP", "ranges: exact + OP"
EXACT_ADA, K_ADA, ADA = "ranges: exact + AdaSSP", "ranges: K-AdaSSP", "ranges: AdaSSP"
BLOCKS_ADA = "ranges: blocks + AdaSSP"
"""Its selection uses no ranges, its regression does."""


def top_r(seed: int, k: int) -> Any:
    """Make Top-R with half of ε."""
    return TopRSelector(k, epsilon=EPSILON / 2, intercept=True, random_state=seed, **BOUNDS)


def exact(seed: int, k: int) -> Any:
    """Make the exact draw with half of ε."""
    return ExponentialSelector(k, epsilon=EPSILON / 2, intercept=True, random_state=seed, **BOUNDS)


def blocks(seed: int, k: int) -> Any:
    """Make an exact draw by scores from blocks of rows with a tenth of ε."""
    return PermuteAndFlipSelector(k, epsilon=0.1 * EPSILON, random_state=seed)


def kendall(seed: int, k: int) -> Any:
    """Make DPKendall with its 5 % of ε."""
    return KendallSelector(
        k, epsilon=0.05 * EPSILON, redundancy="max", relation="replace-one", random_state=seed
    )


def perturbed(seed: int) -> Any:
    """Make objective perturbation with half of ε."""
    return ObjectivePerturbationRegressor(epsilon=EPSILON / 2, random_state=seed, **BOUNDS)


def adassp(seed: int, share: float) -> Any:
    """Make AdaSSP with a share of ε, and δ."""
    return AdaSSPRegressor(
        epsilon=share * EPSILON, delta=DELTA, x_bound=1.0, y_bound=1.0, random_state=seed
    )


PIPELINES: dict[str, tuple[Callable[[int, int], Any] | None, Callable[[int], Any]]] = {
    TOP_R_OP: (top_r, perturbed),
    EXACT_OP: (exact, perturbed),
    EXACT_ADA: (exact, lambda seed: adassp(seed, 0.5)),
    BLOCKS_ADA: (blocks, lambda seed: adassp(seed, 0.9)),
    K_ADA: (kendall, lambda seed: adassp(seed, 0.95)),
    ADA: (None, lambda seed: adassp(seed, 1.0)),
}
"""Selectors, and regressions on what they selected; all under replace-one."""


@dataclass(frozen=True)
class KnownRanges:
    """A trial: the same split as that of `TestError`, columns and target moved to [-1, 1].

    Attributes
    ----------
    k : int
    methods : tuple of str
    table : str
    """

    k: int
    methods: tuple[str, ...] = tuple(PIPELINES)
    table: str = ""

    @property
    def title(self) -> str:
        """See `Recipe`."""
        return f"{self.table}, k = {self.k}, ranges known"

    def on(self, table: str) -> KnownRanges:
        """See `TableRecipe`."""
        return replace(self, table=table)

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterator[Reading]:
        """See `Recipe`."""
        assert source is not None
        X, y = table_of(source, self.table)
        if X.shape[1] < self.k:
            return
        rows = split(X, y, data.number)
        (middle, half), (y_middle, y_half) = known_range(X), known_range(y)
        X, test_X = (rows.X - middle) / half, (rows.X_test - middle) / half
        y = (rows.y - y_middle) / y_half
        for name in self.methods:
            selector, regressor = PIPELINES[name]
            columns = selected(selector, X, y, seed, self.k)
            model = regressor(seed).fit(X[:, columns], y)
            predicted = y_middle + y_half * model.predict(test_X[:, columns])
            value = r2_score(rows.y_test, predicted)
            yield Reading(self.table, name, float(self.k), R2.key, value)


def known_range(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute middle and half width of what stands for the public range of every column."""
    low, high = np.percentile(values, INSIDE, axis=0)
    return (high + low) / 2.0, np.where(high > low, (high - low) / 2.0, 1.0)
