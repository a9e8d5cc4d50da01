"""Ballots of a Lasso on one block of rows: which features it finds."""

from __future__ import annotations

from typing import Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.restricted.features import Features, plain_features
from mipselect.selectors.scores.lasso_path import lasso_path

DEPENDENT = 1e-8
"""A column that is always in depends on earlier ones if less than this share of it is left."""


def lasso_ballot(X: FloatArray, y: FloatArray, *, alpha: float, **options: Any) -> list[int]:
    """Vote by a Lasso with scikit-learn's alpha: λ/m of a block of m rows; see `penalty_ballot`."""
    with np.errstate(all="ignore"):
        penalty = float(np.float64(y.size) * alpha)
    return penalty_ballot(X, y, penalty=penalty, **options)


def penalty_ballot(
    X: FloatArray,
    y: FloatArray,
    *,
    k: int | None,
    penalty: float,
    penalise_intercept: bool = False,
    features: Features | None = None,
) -> list[int]:
    """Vote for the k features with the longest coefficients of a Lasso with this λ.

    None is for all whose coefficients are not 0. Without `features` every column is one.
    """
    if y.size < 2:
        return []
    with np.errstate(all="ignore"):
        features = plain_features(X.shape[1]) if features is None else features
        table, x_unit, target, y_unit = in_block(X, y, features, penalise_intercept)
        return votes_at(table, target, float(np.float64(penalty) / x_unit / y_unit), k, features)


def votes_at(
    table: FloatArray, target: FloatArray, penalty: float, k: int | None, features: Features
) -> list[int]:
    """Return the features with the k longest coefficients of the Lasso at a penalty."""
    lengths: FloatArray = np.zeros(features.count)
    for segment in lasso_path(table, target):
        lengths = lengths_of(segment.at(penalty), features)
        if segment.penalties[1] <= penalty:
            break
    return largest(lengths, k)


def path_ballot(
    X: FloatArray, y: FloatArray, *, k: int, features: Features | None = None
) -> list[int]:
    """Vote by a Lasso with the largest penalty at which k features have coefficients.

    The coefficients are linear between two knots of the path. They are taken in the middle of
    the first segment with k of them, or of the last one.
    """
    if y.size < 2:
        return []
    with np.errstate(all="ignore"):
        features = plain_features(X.shape[1]) if features is None else features
        table, _, target, _ = in_block(X, y, features)
        return votes_along(table, target, k, features)


def votes_along(table: FloatArray, target: FloatArray, k: int, features: Features) -> list[int]:
    """Return features in the middle of the first segment of the path with k of them."""
    lengths: FloatArray = np.zeros(features.count)
    for segment in lasso_path(table, target):
        lengths = lengths_of(segment.middle, features)
        if np.count_nonzero(lengths) >= k:
            break
    return largest(lengths, k)


def in_block(
    X: FloatArray, y: FloatArray, features: Features, penalise_intercept: bool = False
) -> tuple[FloatArray, np.float64, FloatArray, np.float64]:
    """Centre the features' columns and the target of a block, and return the units of both.

    Centred, or with a column of ones behind them. Beside the columns that are always in: a Lasso
    on what they do not explain is one in which they have no penalty.
    """
    end, columns = features.starts[-1], X.astype(np.float64)
    if penalise_intercept:
        ones = np.ones((y.size, 1))
        table, x_unit = with_largest_one(np.hstack([columns[:, :end], ones, columns[:, end:]]))
        target, y_unit = with_largest_one(y[:, None])
    else:
        (table, x_unit), (target, y_unit) = centred(columns), centred(y[:, None])
    return beside_fixed(table, x_unit, target, y_unit, features)


def beside_fixed(
    table: FloatArray,
    x_unit: np.float64,
    target: FloatArray,
    y_unit: np.float64,
    features: Features,
) -> tuple[FloatArray, np.float64, FloatArray, np.float64]:
    """Return what is left of columns and target beside the last columns, which are always in."""
    if features.always:
        end = table.shape[1] - features.always
        fixed, more = table[:, end:], np.hstack([table[:, :end], target])
        rest = unexplained(more, fixed)
        table, x_more = with_largest_one(rest[:, :-1])
        target, y_more = with_largest_one(rest[:, -1:])
        x_unit, y_unit = x_unit * x_more, y_unit * y_more
    return table, x_unit, target[:, 0], y_unit


def unexplained(columns: FloatArray, fixed: FloatArray) -> FloatArray:
    """Return what is left of columns beside fixed ones, by Gram-Schmidt, which never fails."""
    rest, directions = columns.copy(), fixed.copy()
    for j in range(directions.shape[1]):
        direction, length = directions[:, j], float(np.linalg.norm(directions[:, j]))
        if length <= DEPENDENT * float(np.linalg.norm(fixed[:, j])) or length == 0.0:
            continue
        direction = direction / length
        # Twice is enough for orthogonality up to rounding.
        for _ in range(2):
            rest -= np.outer(direction, direction @ rest)
            later = directions[:, j + 1 :]
            later -= np.outer(direction, direction @ later)
    return rest


def lengths_of(coefficients: FloatArray, features: Features) -> FloatArray:
    """Compute ‖β_F‖ of every feature; what stands behind their columns is left out."""
    coefficients = coefficients[: features.starts[-1]]
    if features.singles:
        return np.abs(coefficients)
    return np.sqrt(features.sums(coefficients**2, np.arange(features.count)))


def centred(columns: FloatArray) -> tuple[FloatArray, np.float64]:
    """Subtract the means, in units in which the largest entry is 1; those units too."""
    scaled, first = with_largest_one(columns)
    centred, second = with_largest_one(scaled - scaled.mean(axis=0))
    return centred, first * second


def with_largest_one(values: FloatArray) -> tuple[FloatArray, np.float64]:
    """Divide by the largest |entry|, if there is one above zero; what was divided by.

    It is no float of Python's, whose quotients raise an error where a unit has become zero.
    """
    size = np.float64(np.abs(values).max() or 1.0)
    return values / size, size


def largest(sizes: FloatArray, k: int | None) -> list[int]:
    """Return the places of the k largest sizes above zero, of equal ones the earlier.

    None is for all above zero.
    """
    order = np.argsort(-sizes, kind="stable")[:k]
    chosen: list[int] = order[sizes[order] > 0.0].tolist()
    return chosen
