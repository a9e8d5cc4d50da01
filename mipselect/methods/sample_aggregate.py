"""Votes of a Lasso on blocks of rows, and a private top-k of the votes."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.mechanisms import OneShotTopK, Peeling, SampleAggregate
from mipselect.mechanisms.base import Mechanism, Support
from mipselect.mechanisms.scores.sample_aggregate import Ballot, TopK, checked_blocks
from mipselect.methods.base import Rows, ScoreMethod
from mipselect.methods.correlations import top_k_named
from mipselect.methods.lasso_path import lasso_path
from mipselect.validation import checked_choice, checked_flag, checked_positive

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
    penalty : float, optional
        In place of `alpha`: λ of ½‖y - Xβ‖² + λ‖β‖₁ in every block.
    votes : {"largest", "nonzero"}
        A block votes for at most s columns, or for all whose coefficients are not zero.
    penalise_intercept : bool
        Whether the intercept is a column of ones with a penalty like all others.
    n_blocks : int, "n/k" or None
        None is about √n, "n/k" blocks of s rows.
    top_k : {"peeling", "laplace"} or callable
        What selects from the votes.
    """

    alpha: float | None = None
    penalty: float | None = None
    votes: str = "largest"
    penalise_intercept: bool = False
    n_blocks: int | str | None = None
    top_k: str | TopK = "peeling"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("alpha", "penalty"):
            if getattr(self, name) is not None:
                checked_positive(getattr(self, name), name)
        checked_choice(self.votes, "votes", ("largest", "nonzero"))
        checked_flag(self.penalise_intercept, "penalise_intercept")
        checked_blocks(self.n_blocks)
        top_k_named(self.top_k, MECHANISMS)
        if self.alpha is not None and self.penalty is not None:
            raise InvalidInput("alpha and penalty are the same number in two units; give one")
        along_the_path = self.alpha is None and self.penalty is None
        if along_the_path and (self.votes != "largest" or self.penalise_intercept):
            raise InvalidInput("votes and penalise_intercept need an alpha or a penalty")

    def _mechanism(self, rows: Rows, source: random.Random) -> Mechanism[Support]:
        return SampleAggregate(
            rows.X,
            rows.y,
            rows.support_size,
            self.epsilon,
            ballot=self._ballot(rows.support_size),
            n_blocks=self.n_blocks,
            top_k=top_k_named(self.top_k, MECHANISMS),
            relation=self.relation,
        )

    def _ballot(self, s: int) -> Ballot:
        """The votes of a block."""
        most = s if self.votes == "largest" else None
        options: dict[str, Any] = {"k": most, "penalise_intercept": self.penalise_intercept}
        if self.alpha is not None:
            return partial(lasso_ballot, alpha=float(self.alpha), **options)
        if self.penalty is not None:
            return partial(penalty_ballot, penalty=float(self.penalty), **options)
        return partial(path_ballot, k=s)


def lasso_ballot(
    X: FloatArray, y: FloatArray, *, k: int | None, alpha: float, penalise_intercept: bool = False
) -> list[int]:
    """Vote by a Lasso with scikit-learn's alpha: λ/m of `lasso_path` in a block of m rows."""
    with np.errstate(all="ignore"):
        penalty = float(np.float64(y.size) * alpha)
    return penalty_ballot(X, y, k=k, penalty=penalty, penalise_intercept=penalise_intercept)


def penalty_ballot(
    X: FloatArray, y: FloatArray, *, k: int | None, penalty: float, penalise_intercept: bool = False
) -> list[int]:
    """Vote for the k largest |coefficients| of a Lasso with this λ, or for all that are not 0."""
    if y.size < 2:
        return []
    with np.errstate(all="ignore"):
        if penalise_intercept:
            ones = np.column_stack([X.astype(np.float64), np.ones(y.size)])
            (table, x_unit), (target, y_unit) = with_largest_one(ones), with_largest_one(y[:, None])
        else:
            (table, x_unit), (target, y_unit) = centred(X.astype(np.float64)), centred(y[:, None])
        scaled = float(np.float64(penalty) / x_unit / y_unit)
        coefficients: FloatArray = np.zeros(table.shape[1])
        for segment in lasso_path(table, target[:, 0]):
            coefficients = segment.at(scaled)
            if segment.penalties[1] <= scaled:
                break
        return largest(coefficients[: X.shape[1]], k)


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


def largest(coefficients: FloatArray, k: int | None) -> list[int]:
    """Return the places of the k largest |coefficients| above zero, of equal ones the earlier.

    None is for all above zero.
    """
    sizes = np.abs(coefficients)
    order = np.argsort(-sizes, kind="stable")[:k]
    chosen: list[int] = order[sizes[order] > 0.0].tolist()
    return chosen
