"""Private sure independence screening as a scikit-learn estimator."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.mechanisms import (
    CanonicalLipschitz,
    JointExponential,
    Mechanism,
    OneShotTopK,
    Peeling,
)
from mipselect.mechanisms.scores.sample_aggregate import TopK
from mipselect.privacy.guarantee import checked_relation
from mipselect.privacy.ledger import Ledger
from mipselect.selectors.base import PrivateSelector, real_target
from mipselect.validation import checked_positive

SENSITIVITIES = {"add-remove": 1.0, "replace-one": 2.0}
"""Of |x_j·y| with entries in [-1, 1]: one term comes or goes, or is replaced by its opposite."""

MECHANISMS: dict[str, TopK] = {
    "canonical": CanonicalLipschitz,
    "peeling": Peeling,
    "one-shot": OneShotTopK,
    "joint": JointExponential,
}

UNIT = 2.0**32
"""The terms of a score are multiples of 1/UNIT: their sums are exact, in any order."""

CHUNK = 1 << 20
"""So many entries of X are worked on at a time."""


class SISSelector(PrivateSelector):
    """Select the columns with the largest |x_j·y|: DP-SIS, pure ε-differential privacy.

    X and y are clipped to their bounds and divided by them; |x_j·y| is then a score of
    sensitivity 1 under add-remove and 2 under replace-one, and a private top-k mechanism selects
    from the scores.

    Parameters
    ----------
    n_features_to_select : int
        k, between 1 and p: the `support_size` of an `Instance`.
    epsilon : float
        ε > 0, under `relation`.
    x_bound, y_bound : float
        Features and target are clipped to ± these, in their units. Public; required. Nothing is
        centred: centre by public constants.
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
    X may be sparse; it is not made dense. float32 is added up in double precision.

    An entry divided by its bound never exceeds 1 in floating point either. For the draw each
    product x_ij y_i is rounded to a multiple of 2^-32, so that the sum of n < 2^31 products is
    exact as an integer: rounding adds nothing to the sensitivity of a sum.

    References
    ----------
    "Feature Selection from Differentially Private Correlations" (DP-SIS), algorithm 1; Fan and
    Lv, "Sure independence screening for ultrahigh dimensional feature space", 2008.
    """

    _accept_sparse: ClassVar[str | bool] = "csr"

    def __init__(
        self,
        n_features_to_select: int = 5,
        *,
        epsilon: float = 1.0,
        x_bound: float | None = None,
        y_bound: float | None = None,
        top_k: str | TopK = "canonical",
        relation: str = "add-remove",
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.epsilon = epsilon
        self.x_bound = x_bound
        self.y_bound = y_bound
        self.top_k = top_k
        self.relation = relation
        self.ledger = ledger
        self.random_state = random_state

    def _mechanism(self, X: Any, y: Any, source: random.Random) -> Mechanism[Any]:
        sensitivity = SENSITIVITIES[checked_relation(self.relation, SENSITIVITIES)]
        scores = exact_correlations(*self._rescaled(X, y))
        return top_k_named(self.top_k, MECHANISMS)(
            scores,
            int(self.n_features_to_select),
            self.epsilon,
            sensitivity=sensitivity,
            relation=self.relation,
        )

    def _rescaled(self, X: Any, y: Any) -> tuple[Any, FloatArray]:
        bounds = self._public(
            x_bound="features are clipped to ± this", y_bound="the target is clipped to ± this"
        )
        x_bound, y_bound = (checked_positive(bounds[name], name) for name in bounds)
        return in_units_of(x_bound, X), in_units_of(y_bound, real_target(y))


def in_units_of(bound: float, values: Any) -> Any:
    """Clip to ± bound and divide by it, in double precision; of a CSR matrix the stored values.

    The quotient of two doubles with |x| ≤ b is at most 1, for rounding is monotone.
    """
    if not sparse.issparse(values):
        return np.clip(np.asarray(values, dtype=np.float64), -bound, bound) / bound
    result = values.astype(np.float64)
    # Duplicates of one entry, each within the bound, could add up to more.
    result.sum_duplicates()
    result.data = in_units_of(bound, result.data)
    return result


def exact_correlations(table: Any, target: FloatArray) -> FloatArray:
    """|Σ_i x_ij y_i|, every product rounded to a multiple of 1/UNIT and then summed exactly.

    Parameters
    ----------
    table : float array or CSR matrix, shape (n, p), n < 2^31
        Entries in [-1, 1].
    target : float array, shape (n,)
        Entries in [-1, 1].

    Returns
    -------
    float array, shape (p,)
    """
    rows, columns = table.shape
    sums = np.zeros(columns, dtype=np.int64)
    if sparse.issparse(table):
        entries = table.tocoo()
        np.add.at(sums, entries.col, _in_units(entries.data * target[entries.row]))
    else:
        for part in gen_batches(rows, max(1, CHUNK // columns)):
            sums += _in_units(table[part] * target[part, None]).sum(axis=0)
    return np.abs(sums) / UNIT


def _in_units(products: FloatArray) -> np.ndarray[Any, np.dtype[np.int64]]:
    units: np.ndarray[Any, np.dtype[np.int64]] = np.rint(products * UNIT).astype(np.int64)
    return units


def top_k_named(top_k: str | TopK, known: Mapping[str, TopK]) -> TopK:
    """Return a callable as it is and a name's mechanism, or raise `InvalidInput`."""
    if isinstance(top_k, str) and top_k in known:
        return known[top_k]
    if isinstance(top_k, str) or not callable(top_k):
        names = ", ".join(repr(name) for name in known)
        raise InvalidInput(f"top_k must be one of {names}, or a callable, got {top_k!r}")
    return top_k
