"""`Posed`: what can be asked of a problem, whether its table is there or only sums over it."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import InvalidInput
from mipselect.layout import Layout
from mipselect.losses import CertifiedLoss, Loss, PreparedLoss, RestrictedFit
from mipselect.losses.base import wants_classes
from mipselect.losses.grouping import on_features
from mipselect.losses.held import Held
from mipselect.validation import (
    checked_indices,
    checked_integer,
    checked_nonnegative,
    checked_scale,
)

if TYPE_CHECKING:  # Reading tables takes long to import.
    from mipselect.moments import Moments
    from mipselect.tables import TableCoefficients, Units

SMALLEST_RIDGE = 1e-50
LARGEST_RIDGE = 1e50
"""λ > 0 lies between these; it is in the units of squared entries of X."""


class Posed:
    """A problem with its public settings and its data, which are sensitive; immutable.

    `Instance` says what the settings are, and makes one.
    """

    def _hold_public(
        self,
        layout: Layout,
        loss: Loss,
        support_size: int,
        y_bound: float,
        coef_bound: float,
        ridge: float,
    ) -> None:
        """Check and keep what is known before a row is."""
        self._layout, self._loss = layout, loss
        self.feature_names: tuple[str, ...] = layout.feature_names
        self.support_size = checked_integer(support_size, "support_size", 1, self.n_features)
        self.x_bound: float = max(layout.bounds.tolist())
        self.y_bound = checked_scale(y_bound, "y_bound")
        self.coef_bound = checked_scale(coef_bound, "coef_bound")
        self.ridge = checked_nonnegative(ridge, "ridge")
        if self.ridge > 0.0:
            checked_scale(self.ridge, "ridge", SMALLEST_RIDGE, LARGEST_RIDGE)

    def _hold(
        self,
        held: Held,
        classes: tuple[str, str] | None,
        units: Units | None,
        moments: Moments | None = None,
    ) -> None:
        """Keep the data, which are clipped and in the order of the layout; nothing changes then."""
        self.classes, self.units, self._held, self._moments = classes, units, held, moments
        if classes is not None:
            self.y_bound = 1.0
        self._frozen = True

    @property
    def moments(self) -> Moments | None:
        """Moments that `from_moments` made it from; None where it has rows. Sensitive."""
        return self._moments

    def __setattr__(self, name: str, value: object) -> None:
        if getattr(self, "_frozen", False):
            raise AttributeError(f"Instance is immutable; make a new one to change {name}")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        features = "" if self._layout.features.plain else f"n_features={self.n_features}, "
        classes = f", classes={self.classes!r}" if self.classes is not None else ""
        return (
            f"Instance(n={self.n}, p={self.p}, {features}support_size={self.support_size}, "
            f"x_bound={self.x_bound:g}, y_bound={self.y_bound:g}, "
            f"coef_bound={self.coef_bound:g}, ridge={self.ridge:g}, loss={self.loss!r}{classes})"
        )

    @property
    def n(self) -> int:
        """Number of rows; public under the replace-one relation."""
        return self._held.n

    @property
    def p(self) -> int:
        """Number of columns of X."""
        return len(self._layout.column_names)

    @property
    def n_features(self) -> int:
        """Number of features that a support is chosen from; p without groups and always."""
        return len(self._layout.groups)

    @property
    def feature_bounds(self) -> FloatArray:
        """b_j of every feature, shape (n_features,); `x_bound` is the largest."""
        return self._layout.bounds

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of the columns of X, p of them."""
        return self._layout.column_names

    @property
    def layout(self) -> Layout:
        """Which columns make a feature, and what is always in; public."""
        return self._layout

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The columns of every feature."""
        return self._layout.groups

    @property
    def always(self) -> tuple[tuple[int, ...], ...]:
        """The columns that are always in, those together that are bounded together."""
        return self._layout.always

    @property
    def intercept(self) -> bool:
        """True if a column of ones is always in."""
        return self._layout.intercept

    @property
    def always_bound(self) -> float:
        """The bound of every entry of `always`."""
        return self._layout.always_bound

    @property
    def loss(self) -> str:
        """Name of the loss."""
        return self._loss.name

    @property
    def of_classes(self) -> bool:
        """True if the loss is for a target of two classes."""
        return wants_classes(self._loss)

    @property
    def prediction_bound(self) -> float:
        """U = r √(b_A² + the s largest b_j² added up), the largest |x_iS·β|."""
        return self._layout.prediction_bound(self.support_size, self.coef_bound)

    @property
    def sensitivity(self) -> float:
        """Δ: the most that R(S) moves, for any S, when one row is replaced."""
        return self._loss.spread(self.y_bound, self.prediction_bound) / self.n

    @property
    def value_error(self) -> float:
        """The most by which a value that is returned differs from R(S), for any S; public."""
        columns = self._layout.features.most_columns(self.support_size)
        return self._held.value_error(self._loss, self.y_bound, self.prediction_bound, columns)

    @property
    def uncertain(self) -> float:
        """Part of τΔ that a certificate leaves for the errors of two values; public."""
        return 2.0 * self.value_error

    @property
    def value_error_of_one_row(self) -> float:
        """Error of a value with one row, as a share of Δ: what the loss leaves open; public."""
        bounds = self.y_bound, self.prediction_bound
        return self._loss.value_error(1, *bounds) / self._loss.spread(*bounds)

    @property
    def has_rows(self) -> bool:
        """True if there are rows, and not only sums over them."""
        return self._held.has_rows

    @property
    def number_of_supports(self) -> int:
        """C(n_features, s)."""
        return math.comb(self.n_features, self.support_size)

    @cached_property
    def prepared(self) -> PreparedLoss:
        """The loss tied to the clipped data; what the search works on."""
        if isinstance(self._tied, CertifiedLoss):
            return self._tied.certified_for(self.sensitivity)
        return self._tied

    @cached_property
    def _tied(self) -> PreparedLoss:
        """The same for any support size."""
        columns = self._held.prepared(self._loss, self.ridge, self.coef_bound)
        return on_features(columns, self._layout.features)

    def with_support_size(self, support_size: int) -> Self:
        """The same data and bounds with another s; nothing is copied."""
        size = checked_integer(support_size, "support_size", 1, self.n_features)
        if size == self.support_size:
            return self
        # Made here if it is not there yet, so that both share it.
        _ = self._tied
        other = copy(self)
        other.__dict__.pop("prepared", None)
        object.__setattr__(other, "support_size", size)
        return other

    def objective(self, support: ArrayLike) -> float:
        """R(support); sensitive.

        Parameters
        ----------
        support : array_like of int, shape (s,)
            Distinct 0-based indices of features, in any order.
        """
        return self.fit(support).value

    def objectives(self, supports: ArrayLike) -> FloatArray:
        """R of every row of `supports`, shape (m, s), in one batch: shape (m,); sensitive."""
        rows = np.asarray(supports)
        if rows.ndim != 2:
            raise InvalidInput(
                f"supports must have shape (m, {self.support_size}), got {rows.shape}"
            )
        for row in rows[:1]:
            self.check_support(row)
        ordered = np.sort(rows, axis=1)
        wrong = (ordered[:, 0] < 0) | (ordered[:, -1] >= self.n_features)
        wrong |= (np.diff(ordered, axis=1) == 0).any(axis=1)
        if wrong.any():
            self.check_support(rows[np.flatnonzero(wrong)[0]])
        return self.prepared.values(ordered.astype(np.intp))

    def fit(self, support: ArrayLike) -> RestrictedFit:
        """Solve the restricted problem exactly; value, coef and multiplier are sensitive.

        `coef` follows the order of `support`, and within a feature that of its columns.
        """
        indices = self.check_support(support)
        order = np.argsort(indices)
        # In one order, so that rounding does not depend on how a support is written.
        fit = self.prepared.fit(indices[order])
        widths = self._layout.features.widths[indices[order]]
        blocks = np.split(fit.coef, np.cumsum(widths)[:-1])
        return replace(fit, coef=np.concatenate([blocks[k] for k in np.argsort(order)]))

    def fit_in_units(self, support: ArrayLike) -> TableCoefficients:
        """Return the coefficients of `fit` in the units of the table; sensitive.

        Raises
        ------
        InvalidInput
            Where the instance was not made from a table with a schema.
        """
        if self.units is None:
            raise InvalidInput("units are known of a table with a schema only: Instance.from_table")
        fit = self.fit(support)
        chosen = [self.groups[j] for j in self.check_support(support).tolist()]
        indices = [j for group in (*chosen, *self.always) for j in group]
        always = fit.always.tolist()
        constant = always.pop() if self.intercept else 0.0
        return self.units.coefficients(indices, [*fit.coef.tolist(), *always], constant)

    def check_support(self, support: ArrayLike) -> IntArray:
        """Return `support` as an index array, or raise `InvalidInput`."""
        size, kind = (
            self.n_features,
            "column indices" if self._layout.features.plain else "features",
        )
        return checked_indices(support, self.support_size, size, "a support", kind)
