"""`Instance`: data together with everything that is public about the problem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.frames import numeric_matrix, numeric_vector, plain_array
from mipselect.layout import Column, Columns, laid_out
from mipselect.losses import Loss, SquaredLoss, checked_loss
from mipselect.losses.base import wants_classes
from mipselect.losses.held import HeldRows
from mipselect.posed import Posed
from mipselect.validation import checked_integer, shown

if TYPE_CHECKING:  # Reading tables takes long to import.
    from mipselect.moments import Moments
    from mipselect.tables import TableSchema, Units
    from mipselect.tables.public_map import PublicMap


class Instance(Posed):
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
        everything else becomes float64, and is clipped at the same bound, the largest float32 up
        to `x_bound`. Text, dates, masked and missing values are refused.
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

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect import Instance
    >>> X = np.random.default_rng(0).uniform(-1, 1, (400, 6))
    >>> bounds = {"x_bound": 1.0, "y_bound": 2.0, "coef_bound": 1.5, "ridge": 1.0}
    >>> instance = Instance(X, X[:, 1] - X[:, 4], support_size=2, **bounds)
    >>> instance.n, instance.p, instance.number_of_supports
    (400, 6, 15)
    >>> instance.objective([1, 4]) < instance.objective([0, 4])
    True
    >>> round(instance.sensitivity, 6)
    0.021232
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
        # Where the loss knows its classes nothing is refused because of a label.
        declared = getattr(law, "classes", None) is not None
        encoded, classes = law.encode(y if declared else plain_array(y, "y"))
        target = numeric_vector(encoded, "y")
        if target.shape != (n,):
            raise InvalidInput(f"y must have one value per row of X, ({n},); got {target.shape}")
        self._hold_public(layout, law, support_size, y_bound, coef_bound, ridge)
        rows = layout.arranged(matrix)
        if declared:
            _leave_out(rows, target)
        self._hold_rows(rows, target, classes, units=None)

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
        from mipselect.tables.mapping import open_table, read_rows
        from mipselect.tables.people import checked_rule
        from mipselect.tables.public_map import PublicMap

        public = PublicMap.of(schema, target=target, always=always, never=never, ranges=ranges)
        checked_rule(unit_rule, schema.privacy_unit)
        law, units = checked_loss(loss), public.units
        if wants_classes(law) and units.classes is None:
            raise InvalidInput(
                f"the {law.name} loss needs a target of two classes; {target!r} is a number"
            )
        new = cls.__new__(cls)
        new._pose_table(public, law, support_size, intercept, coef_bound, ridge)
        spare = new.layout.features.size - len(units.columns)
        X, y = read_rows(open_table(source, public), public, unit_rule, spare)
        X[:, len(units.columns) :] = 0.0
        if intercept:
            X[:, len(units.columns)] = 1.0
        y[np.isnan(y)] = 0.0
        if wants_classes(law):
            _leave_out(X, y)
        new._hold_rows(X, y, units.classes, units)
        return new

    @classmethod
    def from_moments(
        cls,
        moments: Moments,
        *,
        support_size: int,
        coef_bound: float | None = None,
        ridge: float | None = None,
        always: Iterable[Columns] | Column | None = None,
        never: Sequence[str] = (),
        groups: Iterable[Columns] | Mapping[str, Columns] | None = None,
        feature_names: Sequence[str] | None = None,
        intercept: bool | None = None,
    ) -> Instance:
        """Make an instance with the squared loss from sums over rows that are not here.

        Search, exact draws, levels, values and coefficients are those of the rows, cut to the
        grid of `Moments`. What needs the rows raises `InvalidInput`.

        Parameters
        ----------
        moments : Moments
            Their columns have the bounds, in the units that `Moments.of` was given.
        support_size : int
            s, how many features to choose.
        coef_bound, ridge : float
            r and λ, as for `Instance`. Those of a table have the defaults of `from_table`.
        always : optional
            As for `Instance`; of a table, fields.
        never : sequence of str
            Fields of a table that are left out besides those that the moments leave out.
        groups, feature_names : optional
            As for `Instance`; not of a table, whose fields are its features. A row is bounded
            within a group by the bounds of all its columns together, √(Σ b_j²).
        intercept : bool, optional
            Whether a column of ones is always in; default: of a table it is, of arrays not.

        Raises
        ------
        InvalidInput

        References
        ----------
        docs/large-tables.md.
        """
        from mipselect.held_moments import held_sums, layout_of_arrays
        from mipselect.moments import Moments
        from mipselect.moments.columns import ArrayColumns, TableColumns

        if not isinstance(moments, Moments):
            raise InvalidInput(f"moments must be Moments, got {shown(moments)}")
        new, law, columns, units = cls.__new__(cls), SquaredLoss(), moments.columns, None
        if isinstance(columns, TableColumns):
            if groups is not None or feature_names is not None:
                raise InvalidInput("the fields of a table are its features: leave out groups")
            fixed = [always] if isinstance(always, str) else list(cast(Any, always or ()))
            public = columns.question(fixed, never)
            units = public.units
            new._pose_table(public, law, support_size, intercept is not False, coef_bound, ridge)
        else:
            assert isinstance(columns, ArrayColumns)
            if coef_bound is None or ridge is None or never:
                raise InvalidInput(
                    "moments of arrays need coef_bound and ridge, both public, and have no fields "
                    "to leave out"
                )
            layout = layout_of_arrays(
                columns,
                feature_names=feature_names,
                groups=groups,
                always=always,
                intercept=intercept is True,
            )
            new._hold_public(layout, law, support_size, columns.y_bound, coef_bound, ridge)
        classes = None if units is None else units.classes
        new._hold(held_sums(moments, new.layout), classes, units, moments)
        return new

    def _pose_table(
        self,
        public: PublicMap,
        loss: Loss,
        support_size: int,
        intercept: bool,
        coef_bound: float | None,
        ridge: float | None,
    ) -> None:
        """Keep what is public about a question, before a row is read."""
        from mipselect.tables.defaults import DEFAULT_RIDGE, default_coef_bound

        names = [encoder.field.name for encoder in public.features]
        k = len(names)
        layout = laid_out(
            len(public.columns),
            None,
            [column.name for column in public.columns],
            groups=dict(zip(names, public.blocks[:k], strict=True)),
            always=public.blocks[k:],
            intercept=intercept,
            x_bound=1.0,
            always_bound=1.0,
        )
        checked_integer(support_size, "support_size", 1, k)
        if coef_bound is None:
            coef_bound = default_coef_bound(support_size, len(public.always), intercept)
        self._hold_public(
            layout, loss, support_size, 1.0, coef_bound, DEFAULT_RIDGE if ridge is None else ridge
        )

    def _hold_rows(
        self,
        arranged: FloatArray,
        y: FloatArray,
        classes: tuple[str, str] | None,
        units: Units | None,
    ) -> None:
        """Keep rows, which are clipped and in the order of the layout."""
        bound = self.y_bound if classes is None else 1.0
        target: FloatArray = np.clip(y.astype(np.float64), -bound, bound)
        arranged.flags.writeable = False
        target.flags.writeable = False
        self._hold(HeldRows(arranged, target), classes, units)

    @property
    def X(self) -> FloatArray:
        """The clipped columns, shape (n, p), read-only; sensitive.

        Raises
        ------
        InvalidInput
            For an instance from moments, as `y` does: there are no rows.
        """
        columns = self._layout.table(self._held.X)
        columns.flags.writeable = False
        return columns

    @property
    def y(self) -> FloatArray:
        """The clipped target, shape (n,), read-only; sensitive."""
        return self._held.y


def _leave_out(rows: FloatArray, y: FloatArray) -> None:
    """Let the loss of rows without a class, y = 0, be the same whatever is chosen, in place."""
    without_class = y == 0.0
    y[without_class], rows[without_class] = -1.0, 0.0
