"""Private sure independence screening as a scikit-learn estimator."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from mipselect.mechanisms import Mechanism
from mipselect.mechanisms.scores.sample_aggregate import TopK
from mipselect.methods import SISMethod, rows_of
from mipselect.privacy.ledger import Ledger
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.dask_collections import instance_of, is_dask
from mipselect.selectors.problem import Always, Groups

MEANINGS = {
    "x_bound": "features are clipped to ± this",
    "y_bound": "the target is clipped to ± this",
}
"""Meanings of the public bounds."""


class SISSelector(PrivateSelector):
    """Select the columns with the largest |x_j·y|: DP-SIS, pure ε-differential privacy.

    X and y are clipped to their bounds and divided by them; |x_j·y| is then a score of
    sensitivity 1 under add-remove and 2 under replace-one, and a private top-k mechanism selects
    from the scores.

    The score of a feature F of several columns is the Euclidean length of X_Fᵀy, of the same
    sensitivity: one row adds a vector x_iF y_i of length at most 1. Columns that are always in are
    in the mask and change no score: what remains of y beside them is a function of all rows, and
    a projection of bounded sensitivity would have to be paid for.

    With an intercept, x and y are centred by their own means: the sensitivity is 4 then, and
    features that hardly vary are no longer chosen for their mean.

    Parameters
    ----------
    n_features_to_select : int
        k, how many features: the `support_size` of an `Instance`.
    epsilon : float
        ε > 0, under `relation`.
    x_bound : float or sequence of float
        Features are clipped to ± this, or to one bound for each of them; see `TopRSelector`.
        Public; required. Without `intercept` nothing is centred: centre by public constants.
    y_bound : float
        The target is clipped to ± this, in its units. Public; required.
    groups, always : optional
        As for `TopRSelector`.
    intercept : bool
        Whether scores are centred.
    top_k : {"canonical", "peeling", "one-shot", "joint"} or callable
        "canonical" is `CanonicalLipschitz` with γ = ½ and exponential noise, "peeling" `Peeling`
        and "one-shot" `OneShotTopK`, both with Gumbel noise, "joint" `JointExponential`. A callable
        ``(scores, k, epsilon, *, sensitivity, relation)`` returns a `Mechanism`, as in
        ``functools.partial(CanonicalLipschitz, noise="gumbel", gamma=1.0)``.
    relation : {"add-remove", "replace-one"}
    ledger : Ledger, optional
        Pays for each fit.
    random_state : None, int or RandomState
        None is the operating system's generator. Anything else is for tests and experiments, and
        marks the release as not private.

    Notes
    -----
    X may be sparse; it is not made dense, or with `groups` a few rows at a time. float32
    is added up in double precision.

    An entry divided by its bound never exceeds 1 in floating point either. For the draw each
    product x_ij y_i is rounded to a multiple of 2^-32, so that the sum of n < 2^31 products is
    exact as an integer, which is rounded down to a double: neither adds to the sensitivity.

    References
    ----------
    "Feature Selection from Differentially Private Correlations" (DP-SIS), algorithm 1; Fan and
    Lv, "Sure independence screening for ultrahigh dimensional feature space", 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.selectors import SISSelector
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 30))
    >>> y = 0.5 * X[:, 7] - 0.5 * X[:, 21]
    >>> selector = SISSelector(2, epsilon=5.0, x_bound=1.0, y_bound=1.0).fit(X, y)
    >>> selector.get_support(indices=True).tolist()
    [7, 21]
    """

    _accept_sparse: ClassVar[str | bool] = "csr"

    def __init__(
        self,
        n_features_to_select: int = 5,
        *,
        epsilon: float = 1.0,
        x_bound: float | Sequence[float] | None = None,
        y_bound: float | None = None,
        groups: Groups = None,
        always: Always = None,
        intercept: bool = False,
        top_k: str | TopK = "canonical",
        relation: str = "add-remove",
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.epsilon = epsilon
        self.x_bound = x_bound
        self.y_bound = y_bound
        self.groups = groups
        self.always = always
        self.intercept = intercept
        self.top_k = top_k
        self.relation = relation
        self.ledger = ledger
        self.random_state = random_state

    def _method(self) -> SISMethod:
        return SISMethod(epsilon=self.epsilon, top_k=self.top_k, relation=self.relation)

    def _silent_mechanism(
        self, X: ArrayLike, y: ArrayLike, source: random.Random
    ) -> Mechanism[Any]:
        if not is_dask(X):
            return super()._silent_mechanism(X, y, source)
        # Scores have no coefficients, so that r and λ are anything.
        instance = instance_of(
            self,
            X,
            y,
            support_size=int(self.n_features_to_select),
            intercept=self.intercept,
            coef_bound=1.0,
            ridge=1.0,
            **self._public(**MEANINGS),
        )
        method = self._method()
        return method.mechanism(rows_of(instance, method.bounds), source)

    def _mechanism(self, X: Any, y: Any, source: random.Random) -> Mechanism[Any]:
        rows = self._rows(X, y, intercept=self.intercept, **self._public(**MEANINGS))
        return self._method().mechanism(rows, source)
