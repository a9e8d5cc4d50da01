"""Votes of a Lasso on blocks of rows, and a private top-k of the votes."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.losses.features import Features, plain_features
from mipselect.mechanisms import OneShotTopK, Peeling, SampleAggregate
from mipselect.mechanisms.base import Mechanism, Support
from mipselect.mechanisms.scores.sample_aggregate import TopK
from mipselect.methods.base import Rows, ScoreMethod
from mipselect.methods.correlations import top_k_named
from mipselect.methods.lasso_path import lasso_path
from mipselect.validation import checked_integer, checked_positive

DEPENDENT = 1e-8
"""A column that is always in depends on earlier ones if less than this share of it is left."""

MECHANISMS: dict[str, TopK] = {
    "peeling": Peeling,
    "laplace": partial(OneShotTopK, noise="laplace"),
}


@dataclass(frozen=True, kw_only=True)
class SampleAggregateMethod(ScoreMethod):
    """See `SampleAggregateSelector`.

    A block votes for features: those of the s largest ‖β_F‖ of its Lasso on all columns, in
    which columns that are always in have no penalty. A row is in one block and so changes one
    ballot, and each count by at most 1, whatever a ballot looks at.

    Parameters
    ----------
    epsilon : float
        ε of one draw, under `relation`.
    relation : {"replace-one", "add-remove"}
    alpha : float, optional
        The penalty of each Lasso; None is the largest at which s coefficients are not zero.
    n_blocks : int, optional
        None is about √n.
    top_k : {"peeling", "laplace"} or callable
        What selects from the votes.
    """

    alpha: float | None = None
    n_blocks: int | None = None
    top_k: str | TopK = "peeling"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha is not None:
            checked_positive(self.alpha, "alpha")
        if self.n_blocks is not None:
            checked_integer(self.n_blocks, "n_blocks", 1)
        top_k_named(self.top_k, MECHANISMS)

    def _mechanism(self, rows: Rows, source: random.Random) -> Mechanism[Support]:
        s, features = rows.support_size, rows.layout.features
        # What is not clipped needs no column of ones, nor one to fill up with.
        features = Features(features.widths, sum(map(len, rows.layout.always)))
        if self.alpha is None:
            ballot = partial(path_ballot, k=s, features=features)
        else:
            ballot = partial(lasso_ballot, k=s, alpha=float(self.alpha), features=features)
        return SampleAggregate(
            rows.columns,
            rows.y,
            s,
            self.epsilon,
            ballot=ballot,
            n_blocks=self.n_blocks,
            top_k=top_k_named(self.top_k, MECHANISMS),
            relation=self.relation,
            n_items=rows.n_features,
        )


def lasso_ballot(
    X: FloatArray, y: FloatArray, *, k: int, alpha: float, features: Features | None = None
) -> list[int]:
    """Vote for the k features with the longest coefficients of a Lasso with this penalty.

    Without `features` every column is one. scikit-learn's alpha is λ/m of `lasso_path`, in the
    units of the block and of its m rows.
    """
    if y.size < 2:
        return []
    with np.errstate(all="ignore"):
        features = plain_features(X.shape[1]) if features is None else features
        table, x_unit, target, y_unit = centred_block(X, y, features)
        penalty = float(y.size * alpha / x_unit / y_unit)
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
        table, _, target, _ = centred_block(X, y, features)
        lengths: FloatArray = np.zeros(features.count)
        for segment in lasso_path(table, target):
            lengths = lengths_of(segment.middle, features)
            if np.count_nonzero(lengths) >= k:
                break
        return largest(lengths, k)


def centred_block(
    X: FloatArray, y: FloatArray, features: Features
) -> tuple[FloatArray, np.float64, FloatArray, np.float64]:
    """The features' columns and the target of a block, and the units of both.

    Centred, and beside the columns that are always in: a Lasso on what they do not explain is one
    in which they have no penalty.
    """
    table, x_unit = centred(X.astype(np.float64))
    target, y_unit = centred(y[:, None])
    end = features.starts[-1]
    if features.always:
        fixed, more = table[:, end:], np.hstack([table[:, :end], target])
        rest = unexplained(more, fixed)
        table, x_more = with_largest_one(rest[:, :-1])
        target, y_more = with_largest_one(rest[:, -1:])
        x_unit, y_unit = x_unit * x_more, y_unit * y_more
    return table, x_unit, target[:, 0], y_unit


def unexplained(columns: FloatArray, fixed: FloatArray) -> FloatArray:
    """What is left of columns beside fixed ones, by Gram-Schmidt, which never fails."""
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
    """‖β_F‖ of every feature."""
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


def largest(sizes: FloatArray, k: int) -> list[int]:
    """Return the places of the k largest sizes above zero, of equal ones the earlier."""
    order = np.argsort(-sizes, kind="stable")[:k]
    chosen: list[int] = order[sizes[order] > 0.0].tolist()
    return chosen
