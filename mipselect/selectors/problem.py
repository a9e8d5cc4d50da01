"""Selectors defined by a restricted problem: the bounds they need, and their `Instance`."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from numpy.typing import ArrayLike

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.instance import Instance
from mipselect.layout import Column, Columns
from mipselect.losses import Loss, checked_loss
from mipselect.losses.classes import SIGNS, Classes, class_signs
from mipselect.losses.held import require_squared
from mipselect.mechanisms.base import Mechanism, SupportMechanism
from mipselect.methods import SearchSettings, SupportMethod
from mipselect.privacy.ledger import Ledger
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.dask_collections import instance_of, is_dask

Groups = Iterable[Columns] | Mapping[str, Columns] | None
Always = Iterable[Columns] | Column | None


MEANINGS = {
    "x_bound": "features are clipped to ± this",
    "y_bound": "the target is clipped to ± this",
    "coef_bound": "the largest length of the coefficients",
    "ridge": "λ of the penalty (λ/2n)‖β‖²",
}
"""Meanings of the public bounds."""


def _public_classes(loss: Loss) -> Classes | None:
    """The classes that a loss knows without looking at y."""
    classes: Classes | None = getattr(loss, "classes", None)
    return classes


class ProblemSelector(PrivateSelector, ABC):
    """A selector whose distribution comes from the values R(S) of an `Instance`."""

    def __init__(
        self,
        n_features_to_select: int = 5,
        *,
        epsilon: float = 1.0,
        x_bound: float | Sequence[float] | None = None,
        y_bound: float | None = None,
        coef_bound: float | None = None,
        ridge: float | None = None,
        loss: str | Loss = "squared",
        groups: Groups = None,
        always: Always = None,
        intercept: bool = False,
        always_bound: float | None = None,
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.epsilon = epsilon
        self.x_bound = x_bound
        self.y_bound = y_bound
        self.coef_bound = coef_bound
        self.ridge = ridge
        self.loss = loss
        self.groups = groups
        self.always = always
        self.intercept = intercept
        self.always_bound = always_bound
        self.ledger = ledger
        self.random_state = random_state

    @abstractmethod
    def _method(self) -> SupportMethod:
        """The way to draw, with its options."""

    def _mechanism(self, X: FloatArray, y: Any, source: random.Random) -> SupportMechanism:
        method = self._method()
        return method.mechanism(self._instance(X, y))

    def _silent_mechanism(
        self, X: ArrayLike, y: ArrayLike, source: random.Random
    ) -> Mechanism[Any]:
        if not is_dask(X):
            return super()._silent_mechanism(X, y, source)
        require_squared(checked_loss(self.loss))
        if self.always_bound is not None:
            raise InvalidInput("of Dask collections x_bound bounds all columns: no always_bound")
        instance = instance_of(
            self,
            X,
            y,
            support_size=self._support_size(),
            intercept=self.intercept,
            **self._public(**MEANINGS),
        )
        return self._method().mechanism(instance)

    def _support_size(self) -> int:
        return int(self.n_features_to_select)

    def _labelled(self, y: ArrayLike) -> ArrayLike:
        classes = _public_classes(checked_loss(self.loss))
        return y if classes is None else class_signs(y, classes)

    def _instance(self, X: FloatArray, y: Any) -> Instance:
        loss, meanings = checked_loss(self.loss), dict(MEANINGS)
        if _public_classes(loss) is not None:
            loss = replace(cast(Any, loss), classes=SIGNS)
        if loss.encode(y)[1] is not None:
            del meanings["y_bound"]
        bounds = {"y_bound": 1.0, **self._public(**meanings)}
        return Instance(
            X,
            y,
            support_size=self._support_size(),
            loss=loss,
            feature_names=self._names(),
            x_bound=bounds["x_bound"],
            y_bound=bounds["y_bound"],
            coef_bound=bounds["coef_bound"],
            ridge=bounds["ridge"],
            groups=self.groups,
            always=self.always,
            intercept=self.intercept,
            always_bound=self.always_bound,
        )


class SearchSelector(ProblemSelector, ABC):
    """A `ProblemSelector` whose distribution comes from a certified search."""

    def __init__(
        self,
        n_features_to_select: int = 5,
        *,
        epsilon: float = 1.0,
        x_bound: float | Sequence[float] | None = None,
        y_bound: float | None = None,
        coef_bound: float | None = None,
        ridge: float | None = None,
        loss: str | Loss = "squared",
        groups: Groups = None,
        always: Always = None,
        intercept: bool = False,
        always_bound: float | None = None,
        pool_size: int | Literal["one-swap"] = "one-swap",
        solver: str = "auto",
        tolerance: float | None = None,
        time_limit: float | None = None,
        ledger: Ledger | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_features_to_select,
            epsilon=epsilon,
            x_bound=x_bound,
            y_bound=y_bound,
            coef_bound=coef_bound,
            ridge=ridge,
            loss=loss,
            groups=groups,
            always=always,
            intercept=intercept,
            always_bound=always_bound,
            ledger=ledger,
            random_state=random_state,
        )
        self.pool_size = pool_size
        self.solver = solver
        self.tolerance = tolerance
        self.time_limit = time_limit

    def _search(self) -> SearchSettings:
        return SearchSettings(
            pool_size=self.pool_size,
            solver=self.solver,
            tolerance=self.tolerance,
            time_limit=self.time_limit,
        )
