"""Base of all selectors: scikit-learn's conventions around one private draw."""

from __future__ import annotations

import copy
import random
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.frames import numeric_matrix, numeric_vector, plain_array, refuse_lazy
from mipselect.layout import Layout, laid_out
from mipselect.mechanisms.base import Mechanism
from mipselect.methods import PrivateMethod, Rows
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.ledger import Ledger, checked_ledger
from mipselect.privacy.randomness import source_of
from mipselect.privacy.release import Release
from mipselect.tables.mixed_tables import refuse_text
from mipselect.validation import checked_feature_names, checked_integer, require_public


class PrivateSelector(SelectorMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A scikit-learn transformer that keeps the columns of k features, chosen by one private draw.

    A subclass is a constructor, which stores its arguments, and `_mechanism`. Its arguments may
    have `groups` and `always`, which mean what they do for `Instance`.

    Attributes
    ----------
    support_ : ndarray of bool, shape (p,)
        True for the columns of the chosen features and those that are always in: all that a model
        on the selection needs. `get_support(indices=True)` gives their numbers.
    guarantee_ : Guarantee
        What the draw promises.
    release_ : Release
        The chosen features, numbered and named as features, with their guarantee. Its `private`
        is false after a fit with a `random_state`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if X had names.
    """

    n_features_to_select: int
    epsilon: float
    ledger: Ledger | None
    random_state: Any

    support_: np.ndarray[Any, np.dtype[np.bool_]]
    guarantee_: Guarantee
    release_: Release
    n_features_in_: int
    feature_names_in_: Any

    groups: Any = None
    always: Any = None
    """For the subclasses that have no such arguments."""

    _accept_sparse: ClassVar[str | bool] = False
    """Argument of `validate_data`: the sparse format that `_mechanism` wants, or False."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Draw the features, once.

        Every call draws again and costs the whole guarantee again.

        Parameters
        ----------
        X : array_like of shape (n, p)
            One row per person. Dense, without missing values. Where sums of squares and products
            are enough, also a Dask array or frame, of which nothing else leaves the workers.
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
        source, _ = source_of(self.random_state)
        mechanism = self._silent_mechanism(X, y, source)
        layout = self._layout()
        release = mechanism.release(self.ledger, rng=source)
        chosen = [layout.groups[j] for j in release.support]
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[[c for part in (*chosen, *layout.always) for c in part]] = True
        names = tuple(layout.feature_names[j] for j in release.support)
        self.release_ = replace(release, feature_names=names)
        self.guarantee_ = release.guarantee
        return self

    def mechanism(self, X: ArrayLike, y: ArrayLike) -> Mechanism[Any]:
        """Return the distribution that `fit` draws from. Sensitive; nothing is drawn or charged.

        Takes and raises what `fit` does, but for the ledger.
        """
        return copy.copy(self)._silent_mechanism(X, y, source_of(self.random_state)[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = bool(self._accept_sparse)
        tags.non_deterministic = self.random_state is None
        return tags

    def _get_support_mask(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        check_is_fitted(self)
        return self.support_

    def _silent_mechanism(
        self, X: ArrayLike, y: ArrayLike, source: random.Random
    ) -> Mechanism[Any]:
        """Check the data and build the distribution without a warning, which would tell about them.

        NumPy's state is that of the thread. `Mechanism.release` is silent of itself.
        """
        with np.errstate(all="ignore"):
            return self._mechanism(*self._validated(X, y), source)

    def _method(self) -> PrivateMethod:
        """The way to draw, with its options, from what need not be X and y."""
        raise InvalidInput(f"{type(self).__name__} draws from X and y only")

    @abstractmethod
    def _mechanism(self, X: FloatArray, y: Any, source: random.Random) -> Mechanism[Any]:
        """Build the distribution from finite X, shape (n, p), and y, shape (n,).

        `source` is for choices that do not depend on the data and are not part of the law.
        """

    def _validated(self, X: ArrayLike, y: ArrayLike) -> tuple[Any, Any]:
        """Return finite X, shape (n, p), and y, shape (n,); raise if k features cannot be had."""
        refuse_lazy(X, "X")
        y = self._labelled(y)
        given: Any = X
        if sparse.issparse(X) and given.dtype.kind in "biuf":
            # An entry that is stored several times is added up in the type of the whole table.
            given = given.astype(np.float64)
        try:
            table, target = validate_data(
                self, given, y, dtype=[np.float64, np.float32], accept_sparse=self._accept_sparse
            )
        except np.exceptions.DTypePromotionError:
            numeric_matrix(X)  # Some columns are dates: this says which.
            raise
        except ValueError:
            refuse_text(X)
            raise
        # scikit-learn overlooks masks, dates and a stored index, and with `assume_finite` NaN too.
        if sparse.issparse(table):
            numeric_vector(table.data, "X")
        else:
            table = numeric_matrix(X)[0]
        plain_array(y, "y")
        _require_all_there(target)
        self._check_number(len(self._layout().groups))
        return table, target

    def _labelled(self, y: ArrayLike) -> ArrayLike:
        """The target before it is checked; of public classes as -1 and +1, 0 for no class."""
        return y

    def _check_number(self, p: int) -> None:
        """Raise `InvalidInput` unless so many of p features can be chosen."""
        checked_integer(self.n_features_to_select, "n_features_to_select", 1, p)

    def _names(self) -> list[str]:
        """The p names: those of X, or x0, x1, ..."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"x{j}" for j in range(self.n_features_in_)]
        return list(checked_feature_names([str(name) for name in names], len(names)))

    def _layout(self) -> Layout:
        """Which columns make a feature, without their bounds."""
        return laid_out(
            self.n_features_in_,
            self._names(),
            None,
            groups=self.groups,
            always=self.always,
            intercept=False,
            x_bound=1.0,
            always_bound=None,
        )

    def _rows(self, X: Any, y: Any, **public: Any) -> Rows:
        """Return the rows a method of scores draws from; `public` are bounds, and an intercept."""
        return Rows(
            X,
            real_target(y),
            int(self.n_features_to_select),
            self._names(),
            groups=self.groups,
            always=self.always,
            **public,
        )

    def _public(self, **meanings: str) -> dict[str, Any]:
        """Return the parameters of these names; raise `InvalidInput` if one is missing."""
        given = {name: getattr(self, name) for name in meanings}
        require_public(type(self).__name__, given, meanings)
        return given


def real_target(y: Any) -> FloatArray:
    """Return y as finite floats, or raise `InvalidInput`."""
    try:
        return numeric_vector(y).astype(np.float64)
    except InvalidInput as error:
        raise InvalidInput(
            f"{error}; give classes as numbers, such as -1 and 1, or use a selector with "
            "loss='hinge'"
        ) from None


def _require_all_there(target: Any) -> None:
    """Raise `InvalidInput` unless every entry of y is a finite number or the name of a class."""
    if target.dtype.kind in "biuf":
        numeric_vector(target)
    elif any(value is None or value != value for value in target):
        raise InvalidInput("y must be finite: it has missing values; remove such rows first")
