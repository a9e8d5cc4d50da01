"""Base of all private models: scikit-learn's conventions around one private draw."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.frames import numeric_matrix, numeric_vector, plain_array
from mipselect.losses.classes import Classes
from mipselect.privacy.guarantee import Guarantee, checked_relation
from mipselect.privacy.ledger import Ledger, checked_ledger, paid
from mipselect.privacy.randomness import source_of
from mipselect.regression.release import ModelRelease
from mipselect.regression.rows import RowMap
from mipselect.tables.mixed_tables import refuse_text
from mipselect.tables.model_table import ModelTable
from mipselect.validation import checked_feature_names, require_public


@dataclass(frozen=True)
class Drawn:
    """Result of a draw; all of it is released.

    Attributes
    ----------
    theta : float array, shape (columns of `rows`,), or None
        Coefficients of mapped rows; None where no model is released.
    rows : RowMap
    mechanism : str
    statistics, bounds, footnotes
        See `ModelRelease`.
    """

    theta: FloatArray | None
    rows: RowMap
    mechanism: str
    bounds: Mapping[str, float] = field(default_factory=dict)
    statistics: Mapping[str, Any] = field(default_factory=dict)
    footnotes: tuple[str, ...] = ()


REACH = 3.0
"""Bound of predictions, in halves of the target range, where `coef_bound` follows from a table."""


class ReleasedModel(BaseEstimator, ABC):  # type: ignore[misc]
    """A linear model that is a private release, and what scikit-learn expects around it.

    Attributes
    ----------
    coef_ : ndarray of shape (p,)
        Per unit of each column; zeros where no model was released.
    intercept_ : float
    guarantee_ : Guarantee
        What the draw promises.
    release_ : ModelRelease
        The model with its guarantee and all that is public about it. Its `private` is false
        after a fit with a `random_state`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X had names.
    """

    ledger: Ledger | None

    coef_: FloatArray
    intercept_: float
    guarantee_: Guarantee
    release_: ModelRelease
    n_features_in_: int

    @abstractmethod
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Draw the model, once. Every call draws again and costs the whole guarantee again."""

    @abstractmethod
    def _seeded(self) -> bool:
        """Return whether two fits to the same data give the same model."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = not self._seeded()
        return tags

    def _keep(self, release: ModelRelease, columns: Sequence[int], size: int) -> None:
        """Keep a release whose coefficients are those of some of `size` columns."""
        self.release_ = release
        self.guarantee_ = release.guarantee
        self._columns = list(columns)
        self.coef_ = np.zeros(size)
        if release.coefficients is not None:
            self.coef_[self._columns] = release.coefficients
        self.intercept_ = release.intercept

    def _validated(self, X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, Any]:
        """Return finite X, shape (n, p), and y, shape (n,), which `_encoded` takes."""
        y = self._labelled(y)
        try:
            # A warning of an overflowing sum would tell about the data.
            with np.errstate(all="ignore"):
                table, target = validate_data(self, X, y, dtype=[np.float64, np.float32])
        except np.exceptions.DTypePromotionError:
            numeric_matrix(X)  # Some columns are dates: this says which.
            raise
        except ValueError:
            refuse_text(X)
            raise
        # scikit-learn overlooks masks, dates and a stored index, and with `assume_finite` NaN too.
        plain_array(y, "y")
        return numeric_matrix(table)[0].astype(np.float64), target

    def _labelled(self, y: ArrayLike) -> ArrayLike:
        """The target before it is checked; of public classes as -1 and +1, 0 for no class."""
        return y

    def _table(self, X: ArrayLike) -> FloatArray:
        """The columns of the release, for a prediction."""
        check_is_fitted(self)
        with np.errstate(all="ignore"):
            table = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        columns: FloatArray = numeric_matrix(table)[0][:, self._columns]
        return columns

    def _names(self) -> tuple[str, ...]:
        """The p names: those of X, or x0, x1, ..."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return tuple(f"x{j}" for j in range(self.n_features_in_))
        return checked_feature_names([str(name) for name in names], len(names))


class PrivateLinearModel(ReleasedModel):
    """A linear model whose coefficients are one private draw.

    A subclass is a constructor, which stores its arguments, `promise` and `_draw`.
    """

    epsilon: float
    relation: str
    random_state: Any

    _per_column: ClassVar[tuple[str, ...]] = ("x_bound",)
    """Parameters that may hold one number for each column."""

    @abstractmethod
    def promise(self, size: int) -> Guarantee:
        """Return the guarantee of a fit on `size` columns; nothing is drawn or charged.

        Raises
        ------
        InvalidInput
            If a parameter is missing or out of its range.
        """

    @abstractmethod
    def _draw(self, X: FloatArray, y: FloatArray, source: random.Random, private: bool) -> Drawn:
        """Draw a model from finite X, shape (n, p), and y, shape (n,).

        It must neither fail nor warn, whatever the rows are; `promise` has checked the rest.
        """

    def for_columns(self, support: tuple[int, ...], size: int) -> Self:
        """Return the same estimator, not fitted and without its ledger, for some of the columns.

        Parameters
        ----------
        support : tuple of int
            The columns that are kept, out of `size`.
        size : int
        """
        cut: dict[str, Any] = {"ledger": None}
        for name in self._with_columns(size):
            value = np.asarray(getattr(self, name))
            cut[name] = value[list(support)].tolist()
        model: Self = clone(self).set_params(**cut)
        return model

    def for_features(self, parts: int) -> Self:
        """Return the same estimator, not fitted and without its ledger, for rows of a table.

        After the public map of a schema a row has a length of at most 1 in every field, and the
        target lies in [-1, 1]: the bounds follow, but for those that were given.

        Parameters
        ----------
        parts : int
            The fields of the model, those that are always in among them.

        Raises
        ------
        InvalidInput
            If `x_bound` or `row_bound` were given.
        """
        own = self.get_params(deep=False)
        stated = [name for name in ("x_bound", "row_bound") if own.get(name) is not None]
        if stated:
            raise InvalidInput(
                f"{' and '.join(stated)} must not be given for a table: its schema has the ranges"
            )
        length = math.sqrt(parts + bool(own["fit_intercept"]))
        follow = {
            "x_bound": 1.0,
            "row_bound": length,
            "y_bound": 1.0,
            "coef_bound": REACH / length,
        }
        follow = {name: bound for name, bound in follow.items() if own.get(name, bound) is None}
        model: Self = clone(self).set_params(ledger=None, **follow)
        return model

    def has_columns(self, size: int) -> bool:
        """Return whether a parameter has one number for each of so many columns."""
        return bool(self._with_columns(size))

    def _with_columns(self, size: int) -> list[str]:
        values = {name: getattr(self, name, None) for name in self._per_column}
        arrays = {name: np.asarray(value, dtype=object) for name, value in values.items()}
        return [name for name, array in arrays.items() if array.shape == (size,)]

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Draw the coefficients, once.

        Every call draws again and costs the whole guarantee again.

        Parameters
        ----------
        X : array_like of shape (n, p)
            One row per person. Dense, without missing values.
        y : array_like of shape (n,)

        Returns
        -------
        self

        Raises
        ------
        InvalidInput
            If a parameter is missing or out of its range.
        BudgetExceeded, RelationMismatch
            From the ledger, before anything is drawn.
        """
        checked_ledger(self.ledger)
        source, private = source_of(self.random_state)
        table, given = self._validated(X, y)
        target, size = self._encoded(given), table.shape[1]
        names = self._names()
        guarantee = replace(self.promise(size), private=private)
        # A warning would tell about the data. NumPy's state is that of the thread.
        with (
            paid(self.ledger, guarantee, type(self).__name__) as promised,
            np.errstate(all="ignore"),
        ):
            drawn = self._draw(table, target, source, private)
        guarantee = replace(guarantee, conditions=promised.conditions)
        columns = tuple(range(size))
        self._keep(released(drawn, columns, names, guarantee, self._classes()), columns, size)
        return self

    def _seeded(self) -> bool:
        return self.random_state is not None

    def _encoded(self, target: Any) -> FloatArray:
        """The target as finite numbers."""
        return numeric_vector(target).astype(np.float64)

    def _classes(self) -> Classes | None:
        """The two classes, for a classifier."""
        return None

    def _require(self, **meanings: str) -> None:
        """Raise `InvalidInput` if one of these parameters is None."""
        given = {name: getattr(self, name) for name in meanings}
        require_public(type(self).__name__, given, meanings)

    def _checked_relation(self) -> str:
        return checked_relation(self.relation)


class NumberPredictor(RegressorMixin, ReleasedModel):  # type: ignore[misc]
    """A released model that predicts numbers."""

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return predictions, shape (n,), for X of shape (n, p).

        Raises
        ------
        InvalidInput
            If no model was released.
        """
        table = self._table(X)
        return self.release_.decision(table)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


class PrivateRegressor(NumberPredictor, PrivateLinearModel):
    """A private linear model that predicts numbers."""


def released(
    drawn: Drawn,
    support: tuple[int, ...],
    names: tuple[str, ...],
    guarantee: Guarantee,
    classes: Classes | None = None,
    columns: tuple[str, ...] = (),
    table: ModelTable | None = None,
) -> ModelRelease:
    """Return what was drawn for some features with its guarantee; `names` are those of them."""
    coef, intercept = None, 0.0
    if drawn.theta is not None:
        coefficients, intercept = drawn.rows.in_units_of_columns(drawn.theta)
        coef = tuple(coefficients.tolist())
    return ModelRelease(
        support=support,
        feature_names=names,
        guarantee=guarantee,
        mechanism=drawn.mechanism,
        private=guarantee.private,
        coefficients=coef,
        intercept=intercept,
        rows=drawn.rows,
        bounds=drawn.bounds,
        classes=classes,
        statistics=drawn.statistics,
        footnotes=drawn.footnotes,
        columns=columns,
        table=table,
    )
