"""Votes of a Lasso on blocks of rows as a scikit-learn estimator."""

from __future__ import annotations

import random
from typing import Any

from mipselect.arrays import FloatArray
from mipselect.mechanisms import Mechanism
from mipselect.mechanisms.scores.sample_aggregate import TopK
from mipselect.methods import SampleAggregateMethod
from mipselect.privacy.ledger import Ledger
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.problem import Always, Groups


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
        k, how many features: the `support_size` of an `Instance`.
    epsilon : float
        ε > 0, under `relation`; pure.
    groups, always : optional
        As for `TopRSelector`. Blocks vote for features: those with the longest coefficients of a
        Lasso on all columns. In it columns that are always in have no penalty.
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

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.selectors import SampleAggregateSelector
    >>> X = np.random.default_rng(0).normal(size=(2000, 6))
    >>> selector = SampleAggregateSelector(1, epsilon=5.0).fit(X, X[:, 4])
    >>> selector.get_support(indices=True).tolist()
    [4]
    """

    def __init__(
        self,
        n_features_to_select: int = 5,
        *,
        epsilon: float = 1.0,
        groups: Groups = None,
        always: Always = None,
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
        self.groups = groups
        self.always = always
        self.alpha = alpha
        self.penalty = penalty
        self.votes = votes
        self.penalise_intercept = penalise_intercept
        self.n_blocks = n_blocks
        self.top_k = top_k
        self.relation = relation
        self.ledger = ledger
        self.random_state = random_state

    def _method(self) -> SampleAggregateMethod:
        return SampleAggregateMethod(
            epsilon=self.epsilon,
            alpha=self.alpha,
            penalty=self.penalty,
            votes=self.votes,
            penalise_intercept=self.penalise_intercept,
            n_blocks=self.n_blocks,
            top_k=self.top_k,
            relation=self.relation,
        )

    def _mechanism(self, X: FloatArray, y: Any, source: random.Random) -> Mechanism[Any]:
        return self._method().mechanism(self._rows(X, y), source)
