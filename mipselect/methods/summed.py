"""`SummedRows`: what a method of scores draws from where there are moments and no rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import InvalidInput
from mipselect.held_moments import held_sums
from mipselect.instance import Instance
from mipselect.layout import Layout
from mipselect.losses.held import HeldSums
from mipselect.moments import Moments
from mipselect.moments.sums import IntMatrix


@dataclass(frozen=True, eq=False)
class SummedRows:
    """Moments with the features that are chosen from; named as in `Rows`.

    Attributes
    ----------
    moments : Moments
        Sensitive.
    layout : Layout
        With the bounds of all features.
    support_size : int
    x_bound, y_bound, coef_bound : float or None
        Those that the method needs, as they are reported.
    """

    moments: Moments = field(repr=False)
    layout: Layout = field(repr=False)
    support_size: int
    x_bound: float | None = None
    y_bound: float | None = None
    coef_bound: float | None = None

    @property
    def n(self) -> int:
        """Number of rows; private under add-remove."""
        return self.moments.n

    @property
    def n_columns(self) -> int:
        """Columns, without the one that is an intercept."""
        return len(self.layout.column_names)

    @property
    def n_features(self) -> int:
        """Number of features that a support is chosen from."""
        return len(self.layout.groups)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name for every feature."""
        return self.layout.feature_names

    def bound(self, name: str) -> float:
        """A bound by its name."""
        value = getattr(self, name)
        if value is None:
            raise InvalidInput(f"{name} must be given; choose it without looking at the data")
        return float(value)

    @property
    def places(self) -> IntArray:
        """Rows of M for the columns of the features, then for those always in."""
        names = {name: k for k, name in enumerate(self.moments.columns.names, 1)}
        return np.array([names[self.layout.column_names[j]] for j in self.layout.order.tolist()])

    @property
    def shares(self) -> FloatArray:
        """Unit of M's entries for each column of a feature, as a share of the feature's bound."""
        known, bounds = self.moments.columns.x_bounds, self.layout.bounds.tolist()
        widths = self.layout.features.widths.tolist()
        each = [b for b, width in zip(bounds, widths, strict=True) for _ in range(width)]
        units = [known[k - 1] for k in self.places[: len(each)].tolist()]
        shares = np.array([unit / b for unit, b in zip(units, each, strict=True)])
        # Rounded down: those of a feature have squares of at most 1 together.
        return np.where(shares < 1.0, np.nextafter(shares, 0.0), 1.0)

    @property
    def folds(self) -> IntMatrix:
        """M of every fold."""
        return self.moments.folds

    @property
    def held(self) -> HeldSums:
        """G, b and d in the order of the layout and the units of the columns."""
        return held_sums(self.moments, self.layout)


def summed_rows(instance: Instance, moments: Moments, bounds: Iterable[str]) -> SummedRows:
    """The moments that an instance was made from, with these of its bounds."""
    return SummedRows(
        moments,
        instance.layout,
        instance.support_size,
        **{name: getattr(instance, name) for name in bounds},
    )
