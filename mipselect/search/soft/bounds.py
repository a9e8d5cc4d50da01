"""The log weights of supports, and what bounds on R say of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mipselect.arrays import FloatArray, IntArray
from mipselect.search.bounds.modular import ModularBound
from mipselect.search.node import Node


@dataclass(frozen=True, eq=False)
class LogWeight:
    """log weight of a support: log μ(S) - c (R(S) - reference).

    Attributes
    ----------
    rate : float
        c.
    reference : float
        A value of R near the smallest, so that the numbers stay small. Its choice cancels.
    log_prior : mapping of int to float
        log μ by size, without the factors of the features.
    log_features : ndarray of shape (p,)
        log of the factor of every feature.
    """

    rate: float
    reference: float
    log_prior: Mapping[int, float]
    log_features: FloatArray

    def log_weight(self, support: IntArray, value: float) -> float:
        """Return log μ(S) - c (R(S) - reference) of a support S whose R is `value`."""
        prior = self.log_prior[len(support)] + float(self.log_features[support].sum())
        return prior - self.rate * (value - self.reference)

    def log_bound(self, node: Node, bound: ModularBound) -> tuple[float, FloatArray]:
        """Turn a bound on -R into one on the log weight: a constant and a term per live feature."""
        constant = self.log_prior[len(node.base) + node.size]
        constant += float(self.log_features[node.base].sum())
        constant += self.rate * (bound.constant + self.reference)
        return constant, self.rate * bound.terms + self.log_features[node.live]
