"""DPKendall as a scikit-learn estimator."""

from __future__ import annotations

import random
from typing import Any

from mipselect.arrays import FloatArray
from mipselect.mechanisms import Mechanism
from mipselect.methods import KendallMethod
from mipselect.privacy.ledger import Ledger
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.problem import Always, Groups


class KendallSelector(PrivateSelector):
    """Select columns that go with the target and not with each other, by rank correlation.

    Round 1 scores column j by |τ̂(X_j, Y)|; a later round by that less the largest of
    |τ̂(X_j, X_j')| over the columns j' that were chosen. Each of the k rounds draws a column with
    Gumbel noise and ε/k.

    No bounds on the data are needed: a rank correlation sees the order of the values and not
    their size, so one row counts for as much as any other, wherever it lies.

    Parameters
    ----------
    n_features_to_select : int
        k, how many features: the `support_size` of an `Instance`.
    epsilon : float
        ε > 0, under `relation`.
    groups, always : optional
        As for `TopRSelector`. A feature of several columns has the largest |τ̂| of theirs, which
        moves by no more than each; many columns have more chances to be large by accident. Columns
        that are always in count as chosen before round 1, which then has the sensitivity of later
        rounds.
    redundancy : {"max", "mean"}
        What is subtracted of the |τ̂(X_j, X_j')|. "mean" is as published; a copy of one of several
        chosen columns comes back with it, for its |τ̂| is divided by their number.
    relation : {"add-remove", "replace-one"}
        Under the first n is private.
    ledger : Ledger, optional
        Pays for each fit.
    random_state : None, int or RandomState
        None is the operating system's generator. Anything else is for tests and experiments, and
        marks the release as not private.

    Notes
    -----
    The sensitivity of τ̂ = n/2 - 2d/(n-1), and so of |τ̂|, is 3/2 under add-remove (lemma 3.2).
    Under replace-one it is 2: n stays, and a row is in n - 1 pairs, so that d moves by at most
    n - 1 and 2d/(n-1) by at most 2. A score of a later round is the difference of one such |τ̂|
    and a mean or a maximum of them, which move by no more than each does: twice as much.

    Theorem 3.8 of the paper, that exactly one of each group of copies is chosen, is false for the
    mean from the third round on.

    Ties are broken by random priorities of the rows, drawn at each fit (see `Rankings`). What
    `mechanism` returns is the law given how they were broken; it is ε-differentially private
    for every way of it, and so is the mixture of them, which `fit` draws from.

    References
    ----------
    "Better Private Linear Regression Through Better Private Feature Selection", section 3 and
    algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.selectors import KendallSelector
    >>> X = np.random.default_rng(0).normal(size=(2000, 6))
    >>> selector = KendallSelector(1, epsilon=5.0).fit(X, X[:, 4])
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
        redundancy: str = "max",
        relation: str = "add-remove",
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.epsilon = epsilon
        self.groups = groups
        self.always = always
        self.redundancy = redundancy
        self.relation = relation
        self.ledger = ledger
        self.random_state = random_state

    def _method(self) -> KendallMethod:
        return KendallMethod(
            epsilon=self.epsilon, relation=self.relation, redundancy=self.redundancy
        )

    def _mechanism(self, X: FloatArray, y: Any, source: random.Random) -> Mechanism[Any]:
        return self._method().mechanism(self._rows(X, y), source)
