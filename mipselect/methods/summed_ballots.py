"""Ballots of the Lasso from the moments of a fold: it needs sums of squares and products alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.grid import GRID
from mipselect.losses.features import Features
from mipselect.methods.summed import SummedRows
from mipselect.moments.sums import IntMatrix

Votes = Callable[[FloatArray, FloatArray, Features, int], list[int]]
"""From columns, a target, features and the number of rows to the features that are voted for."""


def votes_of_folds(rows: SummedRows, ballot: Votes) -> FloatArray:
    """Count the folds that vote for each feature, shape (p,). Sensitive.

    Parameters
    ----------
    rows : SummedRows
    ballot : callable
        See `Votes`; its columns are centred, those that are always in last.
    """
    always = sum(map(len, rows.layout.always))
    features = Features(rows.layout.features.widths, always)
    entries = np.append(rows.places, rows.moments.p + 1)
    names, bounds = rows.moments.columns.names, rows.moments.columns.x_bounds
    units = [bounds[k - 1] for k in rows.places.tolist()] + [rows.moments.columns.y_bound]
    assert len(names) == rows.moments.p
    votes = np.zeros(features.count)
    for fold in rows.folds:
        count = int(fold[0, 0]) // 2**32
        root = centred_root(fold, entries) * units
        chosen = ballot(root[:, :-1], root[:, -1], features, count) if count > 1 else []
        votes[chosen] += 1.0
    return votes


def centred_root(fold: IntMatrix, entries: np.ndarray[tuple[int], np.dtype[np.intp]]) -> FloatArray:
    """A matrix R, as wide as the entries, with RᵀR = Σ (z_i - z̄)(z_i - z̄)ᵀ up to rounding.

    A Lasso on R has the path of one on the centred rows.
    """
    sums = fold[0, entries].astype(np.float64) * GRID**2
    products = fold[np.ix_(entries, entries)].astype(np.float64) * GRID**2
    rows = max(1.0, float(fold[0, 0]) * GRID**2)
    values, vectors = np.linalg.eigh(products - np.outer(sums, sums) / rows)
    # What is left of a direction by rounding is no direction.
    kept = np.where(values > len(values) * 2.0**-50 * max(float(values[-1]), 0.0), values, 0.0)
    return np.asarray(np.sqrt(kept)[:, None] * vectors.T)
