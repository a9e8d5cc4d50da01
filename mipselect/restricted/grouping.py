"""Losses that are prepared on columns, for features of several columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.restricted.features import Features
from mipselect.restricted.fenchel import EPS, FenchelBounds, FenchelLoss
from mipselect.restricted.prepared import CertifiedLoss, PreparedLoss, RestrictedFit
from mipselect.restricted.squared import PreparedSquared


class FeatureProblem:
    """A loss that is prepared on columns, for features.

    Parameters
    ----------
    columns : PreparedLoss
        Its matrix is laid out as `features` says.
    features : Features
    """

    def __init__(self, columns: PreparedLoss, features: Features) -> None:
        self.columns, self.features = columns, features

    def certified_for(self, sensitivity: float) -> PreparedLoss:
        """See `CertifiedLoss`."""
        if isinstance(self.columns, CertifiedLoss):
            return on_features(self.columns.certified_for(sensitivity), self.features)
        return self

    def fit(self, support: IntArray) -> RestrictedFit:
        """Solve the problem on `support`, shape (s,)."""
        fit = self.columns.fit(self.features.with_always(support))
        coef, always = self.features.split(fit.coef)
        return RestrictedFit(fit.value, coef, fit.multiplier, always)

    def values(self, supports: IntArray) -> FloatArray:
        """Compute R of every row of `supports`, shape (m, s); returns shape (m,)."""
        return self.columns.values(self.features.columns_of(supports))


class FenchelFeatures(FeatureProblem):
    """A loss on features that bounds itself by dual points."""

    columns: FenchelLoss

    @property
    def p(self) -> int:
        """Number of features."""
        return self.features.count

    def values(self, supports: IntArray, near: FloatArray | None = None) -> FloatArray:
        """Compute R of every row of `supports`, shape (m, s); returns shape (m,)."""
        return self.columns.values(self.features.columns_of(supports), near)

    def bounds(self, supports: IntArray, near: FloatArray | None = None) -> FenchelBounds:
        """Find nearly optimal dual points of every row of `supports`, shape (m, k), k ≥ 0."""
        return self._of_features(self.columns.bounds(self.features.columns_of(supports), near))

    def _of_features(self, bounds: FenchelBounds) -> FenchelBounds:
        features, weights = self.features, bounds.weights
        everything = np.arange(features.count)
        rounding = 1.0 + EPS * features.size
        return replace(
            bounds,
            weights=rounding * features.sums(weights[:, : features.starts[-1]], everything),
            always=rounding * weights[:, features.always_columns].sum(axis=1),
        )

    def bounds_with_one_more(
        self, base: IntArray, point: FloatArray, candidates: IntArray
    ) -> FloatArray:
        """Bound R(B ∪ {j}) from below for candidates j; -inf for features of several columns."""
        if not self.features.singles:
            return np.full(len(candidates), -np.inf)
        inside = self.features.with_always(base)
        return self.columns.bounds_with_one_more(inside, point, candidates)

    def scaled_bounds(
        self, features: IntArray, scales: FloatArray, **accuracy: float
    ) -> FenchelBounds:
        """Find a dual point near to the optimum where feature j has the ridge λ/scales_j²."""
        known = self.features
        of_columns = np.repeat(scales, known.widths[features])
        return self._of_features(
            self.columns.scaled_bounds(
                known.with_always(features),
                np.concatenate([np.ones(known.always), of_columns]),
                **accuracy,
            )
        )


def on_features(columns: PreparedLoss, features: Features) -> PreparedLoss:
    """Turn a loss prepared on columns into one on features, with all that it can do."""
    if features.plain:
        return columns
    if isinstance(columns, PreparedSquared):
        return columns.on_features(features)
    if isinstance(columns, FenchelLoss):
        return FenchelFeatures(columns, features)
    return FeatureProblem(columns, features)
