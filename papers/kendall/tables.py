"""The DPKendall paper's tables: how they are read and split, and what is the least error."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mipselect.errors import InvalidInput

from ..arrays import FloatArray
from ..reproduce.declared import Metric
from ..reproduce.sources import REGRESSION, DataSource

EPSILON, DELTA = math.log(3.0), 1e-5
TEST_SHARE, TIE_NOISE = 0.1, 1e-6
LEAKS = {"bike_sharing_hour": ("instant", "dteday", "casual", "registered")}
"""Columns that tell the target, or only number the rows."""

R2 = Metric("R²", "test R²", median=True)


@dataclass(frozen=True)
class Split:
    """A table cut into rows for training and rows for testing.

    Attributes
    ----------
    X, y, X_test, y_test : float array
    """

    X: FloatArray
    y: FloatArray
    X_test: FloatArray
    y_test: FloatArray


def split(X: FloatArray, y: FloatArray, seed: int) -> Split:
    """Take a random tenth for testing; noise of 1e-6 breaks all ties."""
    rng = np.random.default_rng(seed)
    X = X + rng.uniform(-TIE_NOISE, TIE_NOISE, X.shape)
    y = y + rng.uniform(-TIE_NOISE, TIE_NOISE, y.shape)
    order = rng.permutation(y.size)
    cut = int(TEST_SHARE * y.size)
    test, train = order[:cut], order[cut:]
    return Split(X[train], y[train], X[test], y[test])


def table_of(source: DataSource, name: str) -> tuple[FloatArray, FloatArray]:
    """Read X and y of a table, without the columns that tell the target."""
    return numbers(source.text(name), LEAKS.get(name, ()), name)


def numbers(
    lines: list[list[str]], leaks: tuple[str, ...], name: str
) -> tuple[FloatArray, FloatArray]:
    """Read X and y, the last column; words become their places in the alphabet."""
    header = [title.strip('"') for title in lines[0]]
    columns = []
    for title, texts in zip(header, zip(*lines[1:], strict=True), strict=True):
        if title not in leaks:
            columns.append(_column(texts))
    table = np.column_stack(columns)
    if not np.isfinite(table).all():
        raise InvalidInput(f"{name}: a value is missing or no number; {REGRESSION.had}")
    return table[:, :-1], table[:, -1]


def selected(
    build: Callable[[int, int], Any] | None, X: FloatArray, y: FloatArray, seed: int, k: int
) -> list[int]:
    """Draw columns privately; without a selector return all of them."""
    if build is None:
        return list(range(X.shape[1]))
    return sorted(build(seed, k).fit(X, y).get_support(indices=True).tolist())


def non_private(X: FloatArray, y: FloatArray, test: FloatArray) -> FloatArray:
    """Predict by least squares with an intercept."""
    with_one, test_one = (np.column_stack([rows, np.ones(len(rows))]) for rows in (X, test))
    predictions: FloatArray = test_one @ np.linalg.lstsq(with_one, y, rcond=None)[0]
    return predictions


def _column(texts: tuple[str, ...]) -> FloatArray:
    try:
        return np.array(texts, dtype=np.float64)
    except ValueError:
        return np.unique(np.array(texts), return_inverse=True)[1].astype(np.float64)
