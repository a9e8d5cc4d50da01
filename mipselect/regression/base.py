"""Base of all private models: their parameters, and one draw of coefficients."""

from __future__ import annotations

import math
import random
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin, clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.estimators import PrivateDraw, PrivateEstimator, refuse_repeated_names
from mipselect.frames import numeric_matrix, numeric_vector
from mipselect.losses.classes import Classes
from mipselect.parameters import estimator, parameter
from mipselect.privacy.guarantee import Guarantee, checked_relation
from mipselect.privacy.ledger import paid
from mipselect.privacy.randomness import source_of
from mipselect.regression.evaluation import kept_apart_of_arrays
from mipselect.regression.release import ModelRelease
from mipselect.regression.rows import Drawn, ModelRows
from mipselect.validation import checked_budget, checked_flag, checked_share


@estimator
class ReleasedModel(PrivateEstimator):
    """A linear model that is a private release, and what scikit-learn expects around it.

    Attributes
    ----------
    coef_ : ndarray of shape (p,)
        Per unit of each column; zeros where no model was released.
    intercept_ : float
    quality_ : Quality or None
        How good the model is, where `quality_share` is given and a model was released.
    release_ : ModelRelease
        The model with its guarantee and all that is public about it. Its `private` is false
        after a fit with a `random_state`.
    """

    quality_share: float | None = parameter(
        "float, optional",
        "Between 0 and 1: this share of the rows, or people, is kept apart from the fit, and says "
        "in `quality_` how good the model is, at no further ε. Default: none.",
        default=None,
        check=lambda share, name: checked_share(share, name, closed=False),
        last=True,
    )

    def _keep(self, release: ModelRelease, columns: Sequence[int], size: int) -> None:
        """Keep a release whose coefficients are those of some of `size` columns."""
        self.release_ = release
        self.guarantee_, self.quality_ = release.guarantee, release.quality
        self._columns = list(columns)
        self.coef_ = np.zeros(size)
        if release.coefficients is not None:
            self.coef_[self._columns] = release.coefficients
        self.intercept_ = release.intercept

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """Return predictions, shape (n,): numbers or classes.

        Parameters
        ----------
        X : array_like of shape (n, p), or a table after `fit_table`
            See `ModelRelease.predict`.

        Raises
        ------
        InvalidInput
            If no model was released.
        """
        found = self._decision(X)
        return self.release_.predictions_of(found)

    @available_if(is_classifier)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> FloatArray:
        """Return the linear predictor, shape (n,), above 0 for the second class; for classifiers.

        Takes and raises what `predict` does.
        """
        return self._decision(X)

    @available_if(is_classifier)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of `classes_`, shape (n, 2); for classifiers.

        Takes and raises what `predict` does.
        """
        found = self._decision(X)
        return self.release_.probabilities_of(found)

    def _decision(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return self.release_.decision(X if self.release_.table is not None else self._table(X))

    def summary(self) -> str:
        """Return the released model in words; see `ModelRelease.summary`."""
        check_is_fitted(self)
        return self.release_.summary()

    def to_frame(self) -> Any:
        """Return its coefficients as a frame of pandas; see `ModelRelease.to_frame`."""
        check_is_fitted(self)
        return self.release_.to_frame()

    def plot(self, axes: Any = None) -> Any:
        """Draw its coefficients on axes of matplotlib; see `ModelRelease.plot`."""
        check_is_fitted(self)
        return self.release_.plot(axes)

    def _validated(self, X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, Any]:
        """Return checked X and y, in double precision."""
        table, target = super()._validated(X, y)
        return table.astype(np.float64), target

    def _table(self, X: ArrayLike) -> FloatArray:
        """Return the columns of the release, for a prediction."""
        refuse_repeated_names(X)
        with np.errstate(all="ignore"):
            try:
                table = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
            except TypeError as error:
                if "NA" in str(error):
                    numeric_matrix(X)  # This says where.
                raise
        return numeric_matrix(table)[0].take(self._columns, axis=1)


@estimator
class PrivateLinearModel(ReleasedModel, PrivateDraw):
    """A linear model whose coefficients are one private draw.

    A subclass declares the parameters that it adds, and has `_promise` and `_draw`.
    """

    epsilon: float = parameter(
        "float", "ε > 0, under `relation`.", default=1.0, check=checked_budget
    )
    fit_intercept: bool = parameter(
        "bool", "Whether a column of ones is added.", default=True, check=checked_flag
    )
    relation: str = parameter(
        '{"replace-one", "add-remove"}',
        "What ε is stated under; under the second n is private.",
        default="replace-one",
        check=checked_relation,
    )

    _per_column: ClassVar[tuple[str, ...]] = ("x_bound",)
    """Parameters that may hold one number for each column."""

    takes_weights: ClassVar[bool] = False
    """True if rows may count differently."""

    noise_grows_with_ranges: ClassVar[bool] = False
    """True if coefficients of a table cost less where a number keeps to a part of its range."""

    @property
    def noise_grows_with_target(self) -> bool:
        """True if they cost less where the target keeps to a part of its range, and none is cut."""
        return False

    def promise(self, size: int) -> Guarantee:
        """Return the guarantee of a fit on `size` columns; nothing is drawn or charged.

        Raises
        ------
        InvalidInput
            If a parameter is missing or out of its range.
        """
        self.check()
        return self._promise(size)

    @abstractmethod
    def _promise(self, size: int) -> Guarantee:
        """See `promise`, which has checked what can be checked of each parameter alone."""

    @abstractmethod
    def _draw(self, rows: ModelRows, source: random.Random, private: bool) -> Drawn:
        """Draw a model from finite rows.

        It must neither fail nor warn, whatever the rows are; `promise` has checked the rest, and
        `require_weights` that the model takes weights where the rows have some.
        """

    def warn_of_few(self, rows: int, size: int) -> None:
        """Warn, before a draw, that a model of `size` columns needs more rows; here of nothing."""

    def require_weights(self) -> None:
        """Raise `InvalidInput` unless rows may count differently."""
        if not self.takes_weights:
            raise InvalidInput(
                f"{type(self).__name__} takes no survey weights, and the schema has one: objective "
                "perturbation and AdaSSP do"
            )

    def for_columns(self, support: tuple[int, ...], size: int) -> Self:
        """Return the same estimator, not fitted and without its ledger, for some of the columns.

        Parameters
        ----------
        support : tuple of int
            The columns that are kept, out of `size`.
        size : int
        """
        cut: dict[str, Any] = {"ledger": None}
        for name in self.per_column(size):
            value = np.asarray(getattr(self, name))
            cut[name] = value[list(support)].tolist()
        model: Self = clone(self).set_params(**cut)
        return model

    def for_features(self, widths: Sequence[int]) -> Self:
        """Return the same estimator, not fitted and without its ledger, for rows of a table.

        After the public map of a schema a row has a length of at most 1 in every field, and the
        target lies in [-1, 1]: the bounds follow, but for those that were given.

        Parameters
        ----------
        widths : sequence of int
            How many columns each field of the model has, those that are always in among them.

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
        length = math.sqrt(len(widths) + bool(own["fit_intercept"]))
        follow = {
            "x_bound": 1.0,
            "row_bound": length,
            "y_bound": 1.0,
            **self._follow(widths, length),
        }
        follow = {name: bound for name, bound in follow.items() if own.get(name, bound) is None}
        model: Self = clone(self).set_params(ledger=None, **follow)
        return model

    def _follow(self, widths: Sequence[int], length: float) -> Mapping[str, Any]:
        """Return further bounds, for rows of so many fields and this length."""
        return {}

    def per_column(self, size: int) -> list[str]:
        """Return the parameters that have one number for each of so many columns."""
        values = {name: getattr(self, name, None) for name in self._per_column}
        arrays = {name: np.asarray(value, dtype=object) for name, value in values.items()}
        return [name for name, array in arrays.items() if array.shape == (size,)]

    def _fit(self, X: ArrayLike, y: ArrayLike) -> None:
        source, private = source_of(self.random_state)
        table, given = self._validated(X, y)
        target, size = self._encoded(given), table.shape[1]
        names = self._names()
        guarantee = replace(self.promise(size), private=private)
        # A warning would tell about the data. NumPy's state is that of the thread.
        columns = tuple(range(size))
        fitted, measuring = kept_apart_of_arrays(table, target, self.quality_share, self, source)
        self.warn_of_few(int(fitted.sum()), size)
        with paid(self.ledger, guarantee, type(self).__name__), np.errstate(all="ignore"):
            drawn = self._draw(ModelRows(table[fitted], target[fitted]), source, private)
            public = {"support": columns, "feature_names": names, "classes": self._classes()}
            release = measuring(ModelRelease.of(drawn, guarantee, **public))
        self._keep(release, columns, size)

    def _encoded(self, target: Any) -> FloatArray:
        """Convert the target to finite numbers."""
        return numeric_vector(target).astype(np.float64)

    def _classes(self) -> Classes | None:
        """Return the two classes, for a classifier."""
        return None


class NumberPredictor(RegressorMixin, ReleasedModel):  # type: ignore[misc]
    """A released model that predicts numbers."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags
