"""Selectors that draw from the values R(S) of an instance."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from mipselect.errors import InvalidInput
from mipselect.estimators import feature_bounds, target_bound
from mipselect.losses import Loss, checked_loss
from mipselect.losses.classes import SIGNS, Classes, class_signs
from mipselect.mechanisms.base import SupportMechanism
from mipselect.parameters import estimator, parameter
from mipselect.privacy.concentrated import bounded_range_rho
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.randomness import Rng
from mipselect.problem.instance import Instance
from mipselect.problem.problem import Problem
from mipselect.problem.sums import require_squared
from mipselect.search.progress import ProgressCallback
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.dask_collections import summed
from mipselect.validation import checked_epsilon

BOUNDS = ("x_bound", "y_bound", "coef_bound", "ridge")


@estimator
class ProblemSelector(PrivateSelector):
    """A selector whose distribution comes from the values R(S) of an `Instance`."""

    x_bound: float | Sequence[float] | None = feature_bounds(
        ": the length of a row within a feature of several columns. In their units. Public; "
        "required."
    )
    y_bound: float | None = target_bound("Public; required, but not if y holds classes.")
    coef_bound: float | None = parameter(
        "float",
        "r, the largest ‖β‖₂. Public; required. Without `intercept` centre by public constants.",
        default=None,
        assumption="the largest length of the coefficients",
    )
    ridge: float | None = parameter(
        "float",
        "λ > 0 of the penalty (λ/2n)‖β‖²; it may be 0 for exact draws from few supports. Public; "
        "required.",
        default=None,
        assumption="λ of the penalty (λ/2n)‖β‖²",
    )
    loss: str | Loss = parameter(
        "str or Loss", 'See `Instance`. With "hinge" y holds two classes.', default="squared"
    )
    intercept: bool = parameter("bool", "Whether a column of ones is always in.", default=False)
    always_bound: float | None = parameter(
        "float, optional",
        "Bound of the columns that are always in; default the largest `x_bound`.",
        default=None,
    )

    @property
    def guarantee(self) -> Guarantee:
        """(ε, 0) under replace-one and, of an exponential mechanism, ρ = ε²/8."""
        epsilon = checked_epsilon(self.epsilon)
        return Guarantee(epsilon, rho=bounded_range_rho(epsilon))

    @property
    def bounds(self) -> tuple[str, ...]:
        """Those of `Instance`."""
        return BOUNDS

    def problem(self, problem: Problem) -> Problem:
        """All of it; with the largest size, where sizes are an option."""
        return problem

    def on(
        self, instance: Instance, rng: Rng = None, progress: ProgressCallback | None = None
    ) -> SupportMechanism:
        """Search as far as is needed, and return the law. See `PrivateSelector.on`."""
        self.check()
        with np.errstate(all="ignore"):
            return self._law(instance, progress)

    @abstractmethod
    def _law(self, instance: Instance, progress: ProgressCallback | None) -> SupportMechanism:
        """See `on`."""

    def _mechanism(self, X: Any, y: Any, source: random.Random) -> SupportMechanism:
        return self.on(self._instance(X, y))

    def _from_dask(self, X: Any, y: Any, source: random.Random) -> SupportMechanism:
        loss = checked_loss(self.loss)
        require_squared(loss)
        if self.always_bound is not None:
            raise InvalidInput("of Dask collections x_bound bounds all columns: no always_bound")
        given = self._public(*BOUNDS)
        coef_bound, ridge = given.pop("coef_bound"), given.pop("ridge")
        parts: dict[str, Any] = {
            "groups": self.groups,
            "always": self.always,
            "intercept": self.intercept,
        }
        sums = summed(self, X, y, **parts, **given)
        problem = Problem(
            layout=sums.layout,
            support_size=self._support_size(),
            loss=loss,
            y_bound=self.y_bound,
            coef_bound=coef_bound,
            ridge=ridge,
        )
        return self.on(Instance.of(problem, sums))

    def _support_size(self) -> int:
        return int(self.n_features_to_select)

    def _labelled(self, y: ArrayLike) -> ArrayLike:
        classes = _public_classes(checked_loss(self.loss))
        return y if classes is None else class_signs(y, classes)

    def _instance(self, X: Any, y: Any) -> Instance:
        loss, needed = checked_loss(self.loss), list(BOUNDS)
        if _public_classes(loss) is not None:
            loss = replace(cast(Any, loss), classes=SIGNS)
        if loss.encode(y)[1] is not None:
            needed.remove("y_bound")
        return Instance(
            X,
            y,
            support_size=self._support_size(),
            loss=loss,
            feature_names=self._names(),
            groups=self.groups,
            always=self.always,
            intercept=self.intercept,
            always_bound=self.always_bound,
            **{"y_bound": 1.0, **self._public(*needed)},
        )


def _public_classes(loss: Loss) -> Classes | None:
    """The classes that a loss knows without looking at y."""
    classes: Classes | None = getattr(loss, "classes", None)
    return classes
