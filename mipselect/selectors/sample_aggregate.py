"""Votes of a Lasso on blocks of rows as a scikit-learn estimator."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.mechanisms import OneShotTopK, Peeling, SampleAggregate
from mipselect.mechanisms.scores.sample_aggregate import TopK
from mipselect.privacy.ledger import Ledger
from mipselect.selectors.base import PrivateSelector, real_target
from mipselect.selectors.lasso_path import lasso_path
from mipselect.selectors.sis import top_k_named
from mipselect.validation import checked_positive

MECHANISMS: dict[str, TopK] = {
    "peeling": Peeling,
    "laplace": partial(OneShotTopK, noise="laplace"),
}


class SampleAggregateSelector(PrivateSelector):
    """Select the columns that a Lasso finds on most blocks of rows: two-stage, or SubLasso.

    Each block votes for the k columns with the largest |coefficients| of a non-private Lasso
    with intercept, of those that are not zero; of equal ones for the earlier. A private top-k
    selects from the votes. Nothing is clipped, and no bounds are needed.

    Parameters
    ----------
    n_features_to_select : int
        k, between 1 and p: the `support_size` of an `Instance`.
    epsilon : float
        ε > 0, under `relation`; pure.
    alpha : float, optional
        The penalty of `sklearn.linear_model.Lasso`; a public constant. None is, for each block,
        the largest at which k coefficients are not zero, from the path on the centred block; it
        does not depend on the units of X and y.
    n_blocks : int, optional
        How many blocks; public. None is about √n: see `SampleAggregate`.
    top_k : {"peeling", "laplace"} or callable
        "peeling" is `Peeling` with Gumbel noise, "laplace" the k largest of the votes with
        Laplace noise of scale 2k/ε. A callable ``(scores, k, epsilon, *, sensitivity,
        relation)`` returns a `Mechanism`.
    relation : {"add-remove", "replace-one"}
    ledger : Ledger, optional
        Pays for each fit.
    random_state : None, int or RandomState
        None is the operating system's generator. Anything else is for tests and experiments, and
        marks the release as not private.

    Notes
    -----
    One row changes one block's ballot, so each count by at most 1; not all in one direction.
    Blocks of fewer than two rows cast an empty ballot. No block can raise an error or a warning,
    which would tell about its rows: the Lasso is that of `lasso_path`, where rounding may at
    worst spoil a ballot, and privacy does not depend on what a ballot says.

    With the k counts that Laplace noise of scale λ = 2k/ε would bring to the top, moving each of
    their noises by 2 outweighs what a neighbour changes: (e^{2/λ})^k = e^ε.

    References
    ----------
    See `SampleAggregate`.
    """

    def __init__(
        self,
        n_features_to_select: int = 5,
        *,
        epsilon: float = 1.0,
        alpha: float | None = None,
        n_blocks: int | None = None,
        top_k: str | TopK = "peeling",
        relation: str = "add-remove",
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.epsilon = epsilon
        self.alpha = alpha
        self.n_blocks = n_blocks
        self.top_k = top_k
        self.relation = relation
        self.ledger = ledger
        self.random_state = random_state

    def _mechanism(self, X: FloatArray, y: Any, source: random.Random) -> SampleAggregate:
        count = int(self.n_features_to_select)
        if self.alpha is None:
            ballot = partial(path_ballot, k=count)
        else:
            ballot = partial(lasso_ballot, k=count, alpha=checked_positive(self.alpha, "alpha"))
        return SampleAggregate(
            X,
            real_target(y),
            count,
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
