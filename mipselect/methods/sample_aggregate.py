"""Votes of a Lasso on blocks of rows, and a private top-k of the votes."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.mechanisms import OneShotTopK, Peeling, SampleAggregate
from mipselect.mechanisms.base import Mechanism, Support
from mipselect.mechanisms.scores.sample_aggregate import TopK
from mipselect.methods.base import Rows, ScoreMethod
from mipselect.methods.correlations import top_k_named
from mipselect.methods.lasso_path import lasso_path
from mipselect.validation import checked_integer, checked_positive

MECHANISMS: dict[str, TopK] = {
    "peeling": Peeling,
    "laplace": partial(OneShotTopK, noise="laplace"),
}


@dataclass(frozen=True, kw_only=True)
class SampleAggregateMethod(ScoreMethod):
    """See `SampleAggregateSelector`.

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
        s = rows.support_size
        if self.alpha is None:
            ballot = partial(path_ballot, k=s)
        else:
            ballot = partial(lasso_ballot, k=s, alpha=float(self.alpha))
        return SampleAggregate(
            rows.X,
            rows.y,
            s,
            self.epsilon,
            ballot=ballot,
            n_blocks=self.n_blocks,
            top_k=top_k_named(self.top_k, MECHANISMS),
            relation=self.relation,
        )


def lasso_ballot(X: FloatArray, y: FloatArray, *, k: int, alpha: float) -> list[int]:
    """Vote for the k largest |coefficients| of a Lasso with this penalty.

    scikit-learn's alpha is λ/m of `lasso_path`, in the units of the block and of its m rows.
    """
    if y.size < 2:
        return []
    with np.errstate(all="ignore"):
        table, x_unit = centred(X.astype(np.float64))
        target, y_unit = centred(y[:, None])
        penalty = float(y.size * alpha / x_unit / y_unit)
        coefficients: FloatArray = np.zeros(X.shape[1])
        for segment in lasso_path(table, target[:, 0]):
            coefficients = segment.at(penalty)
            if segment.penalties[1] <= penalty:
                break
        return largest(coefficients, k)


def path_ballot(X: FloatArray, y: FloatArray, *, k: int) -> list[int]:
    """Vote by a Lasso with the largest penalty at which k coefficients are not zero.

    The coefficients are linear between two knots of the path. They are taken in the middle of
    the first segment with k of them, or of the last one.
    """
    if y.size < 2:
        return []
    with np.errstate(all="ignore"):
        table, target = centred(X.astype(np.float64))[0], centred(y[:, None])[0]
        coefficients: FloatArray = np.zeros(X.shape[1])
        for segment in lasso_path(table, target[:, 0]):
            coefficients = segment.middle
            if np.count_nonzero(coefficients) >= k:
                break
        return largest(coefficients, k)


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


def largest(coefficients: FloatArray, k: int) -> list[int]:
    """Return the places of the k largest |coefficients| above zero, of equal ones the earlier."""
    sizes = np.abs(coefficients)
    order = np.argsort(-sizes, kind="stable")[:k]
    chosen: list[int] = order[sizes[order] > 0.0].tolist()
    return chosen
