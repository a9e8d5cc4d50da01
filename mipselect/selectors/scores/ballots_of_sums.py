"""Ballots of the Lasso from the moments of a fold: it needs sums of squares and products alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.grid import GRID, rounded
from mipselect.problem.sums import ExactSums
from mipselect.restricted.features import Features

Votes = Callable[[FloatArray, FloatArray, Features, int], list[int]]
"""Function from columns, a target, features and the number of rows to features with a vote."""


def votes_of_folds(sums: ExactSums, ballot: Votes) -> FloatArray:
    """Count the folds that vote for each feature, shape (p,). Sensitive.

    Parameters
    ----------
    sums : ExactSums
    ballot : callable
        See `Votes`; its columns are centred, those that are always in last.
    """
    layout, moments = sums.layout, sums.moments
    features = Features(layout.features.widths, sum(map(len, layout.always)))
    entries = np.append(sums.places, moments.p + 1)
    units = [*sums.units, moments.columns.y_bound]
    votes = np.zeros(features.count)
    for fold in moments.folds:
        count = int(fold[0, 0]) // 2**32
        root = centred_root(fold, entries) * units
        chosen = ballot(root[:, :-1], root[:, -1], features, count) if count > 1 else []
        votes[chosen] += 1.0
    return votes


def centred_root(fold: IntArray, entries: np.ndarray[tuple[int], np.dtype[np.intp]]) -> FloatArray:
    """Find R, as wide as the entries, with RᵀR = Σ (z_i - z̄)(z_i - z̄)ᵀ up to rounding.

    A Lasso on R has the path of one on the centred rows.
    """
    sums, products = rounded(fold[0, entries]), rounded(fold[np.ix_(entries, entries)])
    rows = max(1.0, float(fold[0, 0]) * GRID**2)
    values, vectors = np.linalg.eigh(products - np.outer(sums, sums) / rows)
    # What is left of a direction by rounding is no direction.
    kept = np.where(values > len(values) * 2.0**-50 * max(float(values[-1]), 0.0), values, 0.0)
    return np.asarray(np.sqrt(kept)[:, None] * vectors.T)
