"""Votes of a Lasso on blocks of rows as a scikit-learn estimator."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.mechanisms import OneShotTopK, Peeling, SampleAggregate
from mipselect.mechanisms.scores.sample_aggregate import Ballot, TopK
from mipselect.privacy.ledger import Ledger
from mipselect.selectors.base import PrivateSelector, real_target
from mipselect.selectors.lasso_path import lasso_path
from mipselect.selectors.sis import top_k_named
from mipselect.validation import checked_choice, checked_flag, checked_positive

MECHANISMS: dict[str, TopK] = {
    "peeling": Peeling,
    "laplace": partial(OneShotTopK, noise="laplace"),
}


class SampleAggregateSelector(PrivateSelector):
    """Select the columns that a Lasso finds on most blocks of rows: two-stage, or SubLasso.

    Each block votes for the k columns with the largest |coefficients| of a non-private Lasso
    with intercept, of those that are not zero; of equal ones for the earlier. A private top-k
    selects from the votes. Nothing is clipped, and no bounds are needed.

    SubLasso as published is ``alpha=1.0, n_blocks="n/k", penalise_intercept=True``; the baseline
    of the integer programming paper ``penalty=20.0, votes="nonzero", top_k="laplace"`` under
    replace-one.

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
    penalty : float, optional
        In place of `alpha`: λ of ½‖y - Xβ‖² + λ‖β‖₁ in every block, alpha times its rows.
    votes : {"largest", "nonzero"}
        A block votes for at most k columns, or for all whose coefficients are not zero.
    penalise_intercept : bool
        Whether the intercept is a column of ones with a penalty like all others.
    n_blocks : int, "n/k" or None
        How many blocks; an int is public. None is about √n, "n/k" blocks of k rows: see
        `SampleAggregate`.
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
        penalty: float | None = None,
        votes: str = "largest",
        penalise_intercept: bool = False,
        n_blocks: int | str | None = None,
        top_k: str | TopK = "peeling",
        relation: str = "add-remove",
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.epsilon = epsilon
        self.alpha = alpha
        self.penalty = penalty
        self.votes = votes
        self.penalise_intercept = penalise_intercept
        self.n_blocks = n_blocks
        self.top_k = top_k
        self.relation = relation
        self.ledger = ledger
        self.random_state = random_state

    def _mechanism(self, X: FloatArray, y: Any, source: random.Random) -> SampleAggregate:
        count = int(self.n_features_to_select)
        return SampleAggregate(
            X,
            real_target(y),
            count,
            self.epsilon,
            ballot=self._ballot(count),
            n_blocks=self.n_blocks,
            top_k=top_k_named(self.top_k, MECHANISMS),
            relation=self.relation,
        )

    def _ballot(self, count: int) -> Ballot:
        """The votes of a block."""
        checked_choice(self.votes, "votes", ("largest", "nonzero"))
        options: dict[str, Any] = {
            "k": count if self.votes == "largest" else None,
            "penalise_intercept": checked_flag(self.penalise_intercept, "penalise_intercept"),
        }
        if self.alpha is not None and self.penalty is not None:
            raise InvalidInput("alpha and penalty are the same number in two units; give one")
        if self.alpha is not None:
            return partial(lasso_ballot, alpha=checked_positive(self.alpha, "alpha"), **options)
        if self.penalty is not None:
            penalty = checked_positive(self.penalty, "penalty")
            return partial(penalty_ballot, penalty=penalty, **options)
        if options != {"k": count, "penalise_intercept": False}:
            raise InvalidInput("votes and penalise_intercept need an alpha or a penalty")
        return partial(path_ballot, k=count)


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
