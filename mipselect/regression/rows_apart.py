"""Rows of arrays that are kept apart from a fit, and how good the model is on them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mipselect.arrays import FloatArray
from mipselect.quality.draw import Predictions, held_out, quality_of, require_measurable, within
from mipselect.regression.release import ModelRelease


@dataclass(frozen=True, eq=False)
class RowsApart:
    """Rows that measure a model which does not see them; `HeldOut` does so for tables.

    Attributes
    ----------
    share : float
    mask : bool array, shape (n,)
        True for rows that are kept apart; no row has a say in it.
    of_classes : bool
    bound : float or None
        Bound of a target of numbers.
    source : random.Random
    """

    share: float
    mask: NDArray[np.bool_] = field(repr=False)
    of_classes: bool
    bound: float | None
    source: random.Random

    @classmethod
    def drawn(
        cls,
        rows: int,
        share: float,
        relation: str,
        source: random.Random,
        *,
        of_classes: bool,
        bound: float | None,
    ) -> RowsApart:
        """Draw which of so many rows are kept apart; see `held_out`.

        Raises
        ------
        InvalidInput
            Where no measure is private under the relation.
        """
        require_measurable(of_classes, bound, relation)
        return cls(share, held_out(rows, share, relation, source), of_classes, bound, source)

    @property
    def fitted(self) -> NDArray[np.bool_]:
        """The other rows."""
        return ~self.mask

    def measured(self, release: ModelRelease, X: FloatArray, target: FloatArray) -> ModelRelease:
        """Return a release, charged already, with its quality, which costs nothing on top.

        Without a model there is no quality.

        Parameters
        ----------
        release : ModelRelease
            Fitted to the other rows.
        X : ndarray of shape (n, k)
            Its columns, of all rows.
        target : ndarray of shape (n,)
            Numbers, or classes as -1 and +1.
        """
        if not release.has_model:
            return release
        # By chance there may be none, which must be no error: whether there are is private.
        found = release.decision(X[self.mask]) if self.mask.any() else np.empty(0)
        unseen = Predictions(
            target[self.mask],
            found,
            self.of_classes,
            self.bound,
            complete=True,
            log_odds=release.has_probabilities,
        )
        quality = quality_of(unseen, within(release.guarantee), self.source, self.share)
        return replace(release, quality=quality)
