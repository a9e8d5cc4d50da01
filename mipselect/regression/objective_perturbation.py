"""Objective perturbation: the minimiser of a loss plus a random linear term, pure ε."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.estimators import target_bound
from mipselect.losses.classes import Classes, checked_classes, class_signs, sorted_classes
from mipselect.parameters import estimator, parameter
from mipselect.privacy.guarantee import Guarantee
from mipselect.regression.base import PrivateLinearModel, PrivateRegressor
from mipselect.regression.double_draws import euclidean_laplace
from mipselect.regression.drawn import Drawn
from mipselect.regression.perturbed_objective import (
    ROUNDING,
    Perturbation,
    perturbation,
    perturbed_minimiser,
)
from mipselect.regression.rows import RowMap, require_bounded
from mipselect.regression.smooth_losses import (
    SmoothLoss,
    classification_loss,
    regression_loss,
)
from mipselect.validation import checked_nonnegative, checked_scale

STEPS = 2.0**20
"""Released coefficients are multiples of coef_bound / STEPS."""

FOOTNOTE = (
    "noise and minimiser are computed in double precision and rounded to coef_bound / 2^20; "
    "epsilon is proven for real numbers"
)


@estimator
class _ObjectivePerturbation(PrivateLinearModel):
    """Common base of the regressor and the classifier."""

    x_bound: float | ArrayLike | None = parameter(
        "float or array_like of shape (p,)",
        "Columns are clipped to ± this, in their units. Public; required.",
        default=None,
        assumption="columns are clipped to ± this",
    )
    coef_bound: float | None = parameter(
        "float",
        "r: the largest Euclidean length of the coefficients, the intercept among them. Public; "
        "required.",
        default=None,
        check=checked_scale,
        assumption="the largest length of the coefficients, with the intercept",
    )
    ridge: float = parameter(
        "float",
        "γ ≥ 0 of the penalty (γ/2)‖β‖² on the sum of losses, the λ of an `Instance`.",
        default=0.0,
        check=checked_nonnegative,
    )
    row_bound: float | None = parameter(
        "float, optional",
        "Rows, with the one in them, are shortened to this length: fewer digits of the data for "
        "less noise.",
        default=None,
        check=checked_scale,
    )

    def _promise(self, size: int) -> Guarantee:
        """Pure ε."""
        self._perturbation(size)
        return Guarantee(self.epsilon, relation=self.relation)

    @abstractmethod
    def _loss(self) -> SmoothLoss:
        """The loss, by its name."""

    @abstractmethod
    def _target_bound(self) -> float:
        """B_y."""

    def _rows(self, size: int) -> RowMap:
        x_bound = self._public("x_bound", "coef_bound")["x_bound"]
        row_map = RowMap(size, self.fit_intercept, x_bound=x_bound, row_bound=self.row_bound)
        return require_bounded(row_map)

    @property
    def _radius(self) -> float:
        """r."""
        return float(self._public("coef_bound")["coef_bound"])

    def _perturbation(self, size: int) -> Perturbation:
        loss, rows, y_bound = self._loss(), self._rows(size), self._target_bound()
        radius = self._radius
        if self.relation == "replace-one":
            change = loss.replaced(rows.norm, y_bound, radius)
        else:
            change = rows.norm * loss.slope(y_bound, radius * rows.norm)
        return perturbation(
            float(self.epsilon),
            float(self.ridge),
            change * (1.0 + ROUNDING),
            rows.norm**2 * loss.curvature * (1.0 + ROUNDING),
            radius,
            rows.columns,
        )

    def _draw(self, X: FloatArray, y: FloatArray, source: random.Random, private: bool) -> Drawn:
        rows, chosen = self._rows(X.shape[1]), self._perturbation(X.shape[1])
        y_bound, radius = self._target_bound(), self._radius
        noise = euclidean_laplace(source, rows.columns, chosen.noise_scale)
        theta = perturbed_minimiser(
            self._loss(), rows(X), np.clip(y, -y_bound, y_bound), chosen.ridge, noise, radius
        )
        return Drawn(
            np.trunc(theta / radius * STEPS) / STEPS * radius,
            rows,
            f"objective-perturbation, {self._loss().name}",
            bounds={
                "y_bound": y_bound,
                "coef_bound": radius,
                "ridge": chosen.ridge,
                "noise_scale": chosen.noise_scale,
            },
            footnotes=(FOOTNOTE,),
        )


@estimator
class ObjectivePerturbationRegressor(PrivateRegressor, _ObjectivePerturbation):
    """Least squares or Huber regression in a ball, with a random linear term: pure ε.

    Notes
    -----
    β minimises Σℓ + (c/2)‖β‖² + b·β over the ball; b has the density ∝ exp(-η‖b‖). Inside the
    ball b = -(Σ∇ℓ(β) + cβ) is a function of β whose value at one β moves by at most Γ between
    neighbours, so the density of b by at most e^{ηΓ}; the determinant of its Jacobian Σ∇²ℓ + cI
    changes by at most 1 + λ̄/c, for one row adds a matrix of rank one and norm λ̄ at most. So
    ηΓ + ln(1 + λ̄/c) = ε. The ball and losses with a kink in the slope are limits of smooth
    functions (Kifer, Smith and Thakurta 2012, lemmas 20 and 22).

    Γ is B(B_y + rB) when a row is added, B = √Σx_bound² with the one in it; and when a row is
    replaced that of `Squared.replaced`, between 1 and 2 times as much. λ̄ = B². The published
    constants (η = ε/2Γ, c at least 2λ̄/ε, Γ as for adding a row) lose 1.107ε under replace-one at
    ε = 0.1, and waste half of the budget under add-remove.

    References
    ----------
    Chaudhuri, Monteleoni and Sarwate, "Differentially private empirical risk minimization",
    2011, section 3.3; Kifer, Smith and Thakurta, "Private convex empirical risk minimization and
    high-dimensional regression", 2012, algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.regression import ObjectivePerturbationRegressor
    >>> X = np.random.default_rng(0).uniform(-1, 1, (20_000, 2))
    >>> y = 0.5 * X[:, 0]
    >>> bounds = {"x_bound": 1.0, "y_bound": 1.0, "coef_bound": 1.0}
    >>> model = ObjectivePerturbationRegressor(epsilon=2.0, **bounds)
    >>> model.fit(X, y).score(X, y) > 0.9
    True
    >>> print(model.guarantee_)
    2-differentially private (pure), replacing one row; no further condition
    """

    y_bound: float | None = target_bound(check=checked_scale)
    loss: str = parameter(
        '{"squared", "huber(κ)"}',
        "κ in the units of y.",
        default="squared",
        check=lambda loss, _: regression_loss(loss),
    )

    def _loss(self) -> SmoothLoss:
        return regression_loss(self.loss)

    def _target_bound(self) -> float:
        return float(self._public("y_bound")["y_bound"])


@estimator
class ObjectivePerturbationClassifier(ClassifierMixin, _ObjectivePerturbation):  # type: ignore[misc]
    """Logistic or smoothed hinge classification in a ball, with a random linear term: pure ε.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        In sorted order: predicted where the linear predictor is not above 0, and above.

    Notes
    -----
    As the regressor, with λ̄ = B²/4 for the logistic loss and B²/2h for the hinge, and
    Γ = BL or 2BL, L the largest slope in the ball.

    References
    ----------
    See `ObjectivePerturbationRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.regression import ObjectivePerturbationClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (20_000, 2))
    >>> y = np.where(X[:, 0] > 0, "ill", "well")
    >>> model = ObjectivePerturbationClassifier(epsilon=2.0, x_bound=1.0, coef_bound=5.0)
    >>> model.fit(X, y).score(X, y) > 0.9
    True
    """

    loss: str = parameter(
        '{"logistic", "smoothed-hinge", "smoothed-hinge(h)"}',
        "h is the half width of the smoothed kink, 0.5 if none is given. The hinge itself has no "
        "bounded curvature and would not be private.",
        default="logistic",
        check=lambda loss, _: classification_loss(loss),
    )
    classes: Iterable[Any] | None = parameter(
        "sequence of two values, optional",
        "Public: two texts, or two numbers or truth values. A row whose label is neither, whatever "
        "it is, has no class: it does not count, and nothing is raised because of it. Without "
        "`classes` they are those of y, which must be public knowledge.",
        default=None,
        check=lambda classes, _: sorted_classes(classes),
    )

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the linear predictor, shape (n,); above 0 for the second class."""
        table = self._table(X)
        return self.release_.decision(table)

    def predict(self, X: ArrayLike) -> np.ndarray[Any, Any]:
        """Return a class for every row of X; shape (n,)."""
        positive = (self.decision_function(X) > 0.0).astype(int)
        found: np.ndarray[Any, Any] = self.classes_[positive]
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags

    def _loss(self) -> SmoothLoss:
        return classification_loss(self.loss)

    def _target_bound(self) -> float:
        return 1.0

    def _labelled(self, y: ArrayLike) -> ArrayLike:
        return y if self.classes is None else class_signs(y, sorted_classes(self.classes))

    def _encoded(self, target: Any) -> FloatArray:
        if self.classes is not None:
            self.classes_ = np.array([*sorted_classes(self.classes)])
            return np.asarray(target, dtype=np.float64)
        check_classification_targets(target)
        self.classes_ = np.unique(target)
        if self.classes_.size < 2:
            raise InvalidInput(f"{type(self).__name__} needs two classes, got one class")
        if self.classes_.size > 2:
            raise InvalidInput(
                "Only binary classification is supported. The type of the target is multiclass."
            )
        self._classes()  # After the draw it would be too late to find that they cannot be kept.
        return np.where(target == self.classes_[1], 1.0, -1.0)

    def _classes(self) -> Classes:
        return checked_classes(self.classes_.tolist(), "the classes of y")
