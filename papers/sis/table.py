"""DP-SIS paper, table 1: how well a Lasso explains the class codes of microarrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from sklearn.linear_model import Lasso

from ..arrays import FloatArray
from ..reproduce.claims import Number
from ..reproduce.declared import (
    DP_SIS,
    DataSeed,
    Experiment,
    Metric,
    Reading,
    Scale,
)
from ..reproduce.sources import MICROARRAYS, DataSource
from .setting import PENALTY, scaled

R2 = Metric("R²", "R² of a Lasso with alpha 0.1 on its own rows")
UNIT, CENTRED, STANDARD = 1.0, 2.0, 3.0

PUBLISHED = {
    "alon": 0.4822,
    "christensen": 0.7870,
    "golub": 0.6819,
    "gravier": 0.0689,
    "khan": 0.6961,
    "shipp": 0.4204,
    "sorlie": 0.9300,
    "west": 0.7044,
}
"""Of the paper's 19 tables, those that are widely at hand."""


@dataclass(frozen=True)
class LassoFit:
    """R² of one table under each way of preparing it."""

    table: str = ""

    @property
    def title(self) -> str:
        """See `Recipe`."""
        return self.table

    def on(self, table: str) -> LassoFit:
        """See `TableRecipe`."""
        return replace(self, table=table)

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterator[Reading]:
        """See `Recipe`."""
        assert source is not None
        X, codes = source.microarray(self.table)
        centred, target = scaled(X, codes)
        spread = X.std(axis=0)
        standard = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
        ways = {
            UNIT: (from_minus_one_to_one(X), target),
            CENTRED: (centred, codes),
            STANDARD: (standard, codes),
        }
        for way, (columns, y) in ways.items():
            model = Lasso(alpha=PENALTY, max_iter=100_000).fit(columns, y)
            yield Reading("", self.table, way, R2.key, float(model.score(columns, y)))


def from_minus_one_to_one(X: FloatArray) -> FloatArray:
    """Every column mapped onto [-1, 1] by its own range."""
    low, high = X.min(axis=0), X.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    mapped: FloatArray = 2.0 * (X - low) / width - 1.0
    return mapped


TABLE_1 = Experiment(
    name="sis-table-1",
    paper=DP_SIS,
    row="Table 1",
    title="R² of a non-private Lasso on microarrays, by preparation",
    figures=(),
    claims=tuple(
        Number(f"{table}, columns onto [-1, 1]", R2.key, "", table, UNIT, published, 0.05)
        for table, published in PUBLISHED.items()
    ),
    full=Scale((LassoFit(),), 1, 0.5),
    quick=Scale((LassoFit(),), 1, 0.5),
    needs=MICROARRAYS,
    also=(R2,),
    notes=(
        "Columns of the table: 1 columns onto [-1, 1] and the centred target divided by its "
        "largest |entry|; 2 columns centred and divided by their largest |entry|; 3 standardised. "
        "The paper does not say which; the first comes nearest.",
    ),
)
