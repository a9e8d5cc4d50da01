"""Modular bounds on R over the completions of a base, and the target that they bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mipselect.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class ModularBound:
    """constant - Σ_{j∈T} shares_j: a bound on R(B ∪ T), for one base B.

    Attributes
    ----------
    constant : float
    shares : ndarray of shape (L,)
        One per live feature.
    """

    constant: float
    shares: FloatArray

    def taking(self, position: int, keep: IntArray) -> ModularBound:
        """The same bound where live[position] is in T and the others are among `keep`."""
        return ModularBound(self.constant - float(self.shares[position]), self.shares[keep])

    def without(self, keep: IntArray) -> ModularBound:
        """The same bound where T is among `keep`."""
        return ModularBound(self.constant, self.shares[keep])

    def mixed(self, other: ModularBound, share: float) -> ModularBound:
        """(1 - share) of this bound and `share` of the other: a bound as well."""
        return ModularBound(
            (1.0 - share) * self.constant + share * other.constant,
            (1.0 - share) * self.shares + share * other.shares,
        )


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

    def log_bound(
        self, base: IntArray, live: IntArray, size: int, bound: ModularBound
    ) -> tuple[float, FloatArray]:
        """A bound on R as one on the log weight: a constant and one term per live feature."""
        constant = self.log_prior[len(base) + size] + float(self.log_features[base].sum())
        constant -= self.rate * (bound.constant - self.reference)
        return constant, self.rate * bound.shares + self.log_features[live]
