"""`Instance`: data together with everything that is public about the problem."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import InvalidInput
from mipselect.frames import numeric_matrix, numeric_vector, plain_array
from mipselect.layout import Column, Columns, Layout, laid_out
from mipselect.losses import CertifiedLoss, Loss, PreparedLoss, RestrictedFit, checked_loss
from mipselect.losses.grouping import on_features
from mipselect.validation import (
    checked_indices,
    checked_integer,
    checked_nonnegative,
    checked_scale,
)

if TYPE_CHECKING:  # Reading tables takes long to import.
    from mipselect.tables import TableCoefficients, TableSchema, Units

SMALLEST_RIDGE = 1e-50
LARGEST_RIDGE = 1e50
"""λ > 0 lies between these; it is in the units of squared entries of X."""


class Instance:
    """A sparse regression problem with public bounds; validated, clipped and immutable.

    The value of a support S with |S| = s is

        R(S) = min over β ∈ R^S, ‖β‖₂ ≤ r of (1/n) Σ_i ℓ(y_i, x_iS·β) + (λ/2n) ‖β‖₂².

    A support is a set of s features; a feature is one column, or several that are chosen or left
    out together. Columns that are always in, and an intercept, have coefficients as well, in the
    same ball and with the same ridge.

    Parameters
    ----------
    X : array_like of shape (n, p)
        One row per person. Clipped to `x_bound`: the entries of a single column, the Euclidean
        length of a row within a feature of several columns. A data frame (pandas, or
        what offers an Arrow table, as Polars) keeps its column names. float32 stays float32;
        everything else becomes float64. Text, dates, masked and missing values are refused.
    y : array_like of shape (n,)
        Clipped entrywise to [-y_bound, y_bound]. For the hinge loss two classes (numbers or
        names); the first in sorted order becomes -1, the second +1, and `classes` says which.
    support_size : int
        s, between 1 and the number of features: the `n_features_to_select` of a selector.
    x_bound : float or sequence of float
        b_x, or one b_j for every feature, in the units of the columns of X. Where all features
        are single columns it may also hold one for every column.
    y_bound : float
        b_y, in the units of y. Classes are -1 and +1 whatever `y_bound` was given: it is 1 then.
        All bounds lie between 1e-25 and 1e25.
    coef_bound : float
        r, the largest ‖β‖₂.
    ridge : float
        λ, zero or between 1e-50 and 1e50. Certified search needs λ > 0.
    loss : str or Loss
        "squared", ½(y-u)²; "hinge"; "huber(κ)" with κ in the units of y; "quantile(q)"; or a
        loss of your own.
    feature_names : sequence of str, optional
        p different names, each one printable line of at most 200 characters; default x0, x1, ...
        With `groups` as a list they may name the groups instead.
    groups : sequence of sequences of int or str, or mapping of str to these, optional
        The columns of every feature, as indices or names; disjoint, and with `always` all of
        them. A mapping names the features. Default: every column that is not always in.
    always : sequence of int or str, optional
        Columns that are in whatever is chosen. A sequence within it is bounded as one, as the
        indicators of a category are.
    intercept : bool
        Whether a column of ones is always in.
    always_bound : float, optional
        Bound of every entry of `always`; default the largest `x_bound`.

    Raises
    ------
    InvalidInput
        With the row, the column and the value that is wrong, and what would be right.

    Notes
    -----
    As an attribute `x_bound` is the largest bound; `feature_bounds` holds all of them.

    `classes` is None, or the names of the classes that became -1 and +1; `units` is None, or what
    turns columns back into the units of the table that `from_table` read.

    The support size, the bounds, λ, the loss, its classes, the groups, n and p must be chosen
    without looking at the data: the privacy guarantee treats them as public.

    With features of norm at most b_j and columns that are always in of norm at most b_A in all
    every prediction is within U = r √(b_A² + the s largest b_j² added up): a category with 200
    indicators costs no more sensitivity than a number.

    References
    ----------
    "Differentially Private High-dimensional Variable Selection via Integer Programming",
    sections 2 and 4, appendix A.1.
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        support_size: int,
        x_bound: float | Sequence[float],
        y_bound: float,
        coef_bound: float,
        ridge: float,
        loss: str | Loss = "squared",
        feature_names: Sequence[str] | None = None,
        groups: Iterable[Columns] | Mapping[str, Columns] | None = None,
        always: Iterable[Columns] | Column | None = None,
        intercept: bool = False,
        always_bound: float | None = None,
    ) -> None:
        matrix, names = numeric_matrix(X, feature_names if groups is None else None)
        n, p = matrix.shape
        layout = laid_out(
            p,
            names,
            feature_names,
            groups=groups,
            always=always,
            intercept=intercept,
            x_bound=x_bound,
            always_bound=always_bound,
        )
        law = checked_loss(loss)
        encoded, classes = law.encode(plain_array(y, "y"))
        target = numeric_vector(encoded, "y")
        if target.shape != (n,):
            raise InvalidInput(f"y must have one value per row of X, ({n},); got {target.shape}")
        self._hold_public(layout, law, support_size, y_bound, coef_bound, ridge)
        self._hold(layout.arranged(matrix), target, classes, units=None)

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
        arranged: FloatArray,
        y: FloatArray,
        classes: tuple[str, str] | None,
        units: Units | None,
    ) -> None:
        """Keep the rows, which are clipped and in the order of the layout; nothing changes then."""
        self.classes, self.units = classes, units
        if classes is not None:
            self.y_bound = 1.0
        self._arranged = arranged
        self.y: FloatArray = np.clip(y.astype(np.float64), -self.y_bound, self.y_bound)
        self._arranged.flags.writeable = False
        self.y.flags.writeable = False
        self._frozen = True

    @classmethod
    def from_table(
        cls,
        source: Any,
        schema: TableSchema,
        *,
        target: str,
        support_size: int,
        always: Sequence[str] = (),
        never: Sequence[str] = (),
        intercept: bool = True,
        coef_bound: float | None = None,
        ridge: float | None = None,
        loss: str | Loss = "squared",
        ranges: Mapping[str, tuple[float, float]] | None = None,
        unit_rule: str = "first",
    ) -> Instance:
        """Make an instance of a real table by the public map of its schema.

        Every field is one feature, whatever the number of its columns; features and target lie
        in [-1, 1], so that `x_bound` and `y_bound` are 1.

        Parameters
        ----------
        source : path or table
            CSV, Parquet or Arrow files, a folder of them, a data frame, whatever offers an Arrow
            stream; see `mipselect.tables.sources.open_source`.
        schema : TableSchema
            What is public about the table.
        target : str
            The field to predict: a number with a range, or two classes.
        support_size : int
            s, how many fields to choose.
        always, never : sequence of str
            Fields that are always in, or left out.
        intercept : bool
            Whether a column of ones is always in.
        coef_bound : float, optional
            r, in the units of columns and a target in [-1, 1]; default 1.25/√(s + a + 1) with a
            fields that are always in and an intercept, so that U = 1.25, else 1/√(s + a).
        ridge : float, optional
            λ; default 1, as much as one row.
        loss : str or Loss
            As for `Instance`; κ of Huber's is in units of half the target's range.
        ranges : mapping of str to (float, float), optional
            Public ranges in place of those of the schema.
        unit_rule : {"first", "last", "mean"}
            What becomes of several rows of one person, where the schema has a privacy unit.

        Raises
        ------
        InvalidInput
            For what is wrong with the schema, the question or a header, before a row is read;
            nothing is raised because of the rows.

        Notes
        -----
        A missing target counts as the middle of its range. Where the loss wants classes, a row
        without one has no features and no intercept, so that its loss is the same whatever is
        chosen.

        References
        ----------
        docs/tables.md; "Differentially Private High-dimensional Variable Selection via Integer
        Programming", section 4, for the sensitivity.
        """
        from mipselect.tables.defaults import DEFAULT_RIDGE, default_coef_bound
        from mipselect.tables.mapping import open_table, read_rows
        from mipselect.tables.people import checked_rule
        from mipselect.tables.public_map import PublicMap

        public = PublicMap.of(schema, target=target, always=always, never=never, ranges=ranges)
        checked_rule(unit_rule, schema.privacy_unit)
        law, units = checked_loss(loss), public.units
        wants_classes = law.encode(np.array([-1.0, 1.0]))[1] is not None
        if wants_classes and units.classes is None:
            raise InvalidInput(
                f"the {law.name} loss needs a target of two classes; {target!r} is a number"
            )
        names = [encoder.field.name for encoder in public.features]
        k = len(names)
        layout = laid_out(
            len(units.columns),
            None,
            [column.name for column in units.columns],
            groups=dict(zip(names, public.blocks[:k], strict=True)),
            always=public.blocks[k:],
            intercept=intercept,
            x_bound=1.0,
            always_bound=1.0,
        )
        checked_integer(support_size, "support_size", 1, k)
        if coef_bound is None:
            coef_bound = default_coef_bound(support_size, len(public.always), intercept)
        new = cls.__new__(cls)
        new._hold_public(
            layout, law, support_size, 1.0, coef_bound, DEFAULT_RIDGE if ridge is None else ridge
        )
        spare = layout.features.size - len(units.columns)
        X, y = read_rows(open_table(source, public), public, unit_rule, spare)
        X[:, len(units.columns) :] = 0.0
        if intercept:
            X[:, len(units.columns)] = 1.0
        y[np.isnan(y)] = 0.0
        if wants_classes:
            unknown = y == 0.0
            y[unknown], X[unknown] = -1.0, 0.0
        new._hold(X, y, units.classes, units)
        return new

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
        return int(self._arranged.shape[0])

    @property
    def p(self) -> int:
        """Number of columns of X."""
        return len(self._layout.column_names)

    @property
    def n_features(self) -> int:
        """How many features a support is chosen from; p without groups and always."""
        return len(self._layout.groups)

    @property
    def X(self) -> FloatArray:
        """The clipped columns, shape (n, p), read-only; sensitive."""
        columns = self._layout.table(self._arranged)
        columns.flags.writeable = False
        return columns

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
        """Whether a column of ones is always in."""
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
        return self._loss.value_error(self.n, self.y_bound, self.prediction_bound)

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
        columns = self._loss.prepare(
            self._arranged, self.y, ridge=self.ridge, radius=self.coef_bound
        )
        return on_features(columns, self._layout.features)

    def with_support_size(self, support_size: int) -> Instance:
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
            Where the instance was not made by `from_table`.
        """
        if self.units is None:
            raise InvalidInput("units are known of an instance from Instance.from_table only")
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
