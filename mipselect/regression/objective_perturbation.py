"""Objective perturbation: the minimiser of a loss plus a random linear term, pure ε."""

from __future__ import annotations

import math
import random
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.estimators import target_bound
from mipselect.losses.classes import Classes, checked_classes, class_signs, sorted_classes
from mipselect.mechanisms.noise.noise import log_exponentials, standard_normals
from mipselect.parameters import estimator, parameter
from mipselect.privacy.guarantee import Guarantee
from mipselect.regression import perturbed_objective as objective
from mipselect.regression.base import NumberPredictor, PrivateLinearModel
from mipselect.regression.rows import HUBER, Balls, Drawn, ModelRows, RowMap
from mipselect.validation import SMALLEST_SCALE, checked_nonnegative, checked_scale

REACH = 3.0
"""Bound of predictions by the squared loss of a table, in bounds of the target."""

FAR = 60.0
"""Bound of predictions where the slope of the loss is bounded; in practice the ridge decides."""

OUTLYING = 2.0**10
"""Targets are clipped to so many of their bounds where a bounded slope makes it no dearer."""

STEPS = 2.0**20
"""Released coefficients are multiples of coef_bound / STEPS."""

FOOTNOTE = (
    "noise and minimiser are computed in double precision and rounded to coef_bound / 2^20; "
    "epsilon is proven for real numbers"
)


def product_laplace(source: random.Random, balls: Balls, scale: float) -> FloatArray:
    """Draw b with density ∝ exp(-max_f ‖b_f‖₂/(a_f scale)), f over the balls; shape (size,).

    The level sets of that norm are multiples of the product of the balls. So b is a uniform point
    of the product times a Gamma variable of shape size + 1, independent of it: the sum of so many
    exponential ones. For one ball of radius 1 the density is ∝ exp(-‖b‖₂/scale).
    """
    length = scale * float(np.exp(log_exponentials(source, balls.size + 1)).sum())
    points = [
        radius * uniform_in_ball(source, width)
        for width, radius in zip(balls.widths, balls.radii, strict=True)
    ]
    return length * np.concatenate(points)


def uniform_in_ball(source: random.Random, size: int) -> FloatArray:
    """Draw a uniform point of the unit ball, shape (size,).

    The direction is that of a normal vector, and the length e^{-E/size} with an exponential E: the
    size-th power of a length is uniform.
    """
    direction = standard_normals(source, size)
    length = math.exp(-math.exp(float(log_exponentials(source, 1)[0])) / size)
    return length * direction / np.linalg.norm(direction)


@estimator
class _ObjectivePerturbation(PrivateLinearModel):
    """Common base of the regressor and the classifier."""

    x_bound: float | ArrayLike | None = parameter(
        "float or array_like of shape (p,)",
        "Columns are clipped to ± this, in their units. Public; required.",
        default=None,
        assumption="columns are clipped to ± this",
    )
    row_bound: float | None = parameter(
        "float, optional",
        "Rows, with the one in them, are shortened to this length: fewer digits of the data for "
        "less noise.",
        default=None,
        check=checked_scale,
    )
    fields: tuple[int, ...] | None = parameter(
        "tuple of int, optional",
        "Widths of fields of consecutive columns, in whose columns together a row is shortened to "
        "a length of 1. Public; for a table they follow from its schema.",
        default=None,
    )
    coef_bound: float | None = parameter(
        "float, optional",
        "r: the largest Euclidean length of the coefficients, the intercept among them. Public; "
        "required by the squared loss. Without it, the length at which a linear predictor may "
        f"reach {FAR:g} bounds of the target, which is no bound in practice: the ridge decides.",
        default=None,
        check=checked_scale,
        assumption="the largest length of the coefficients, with the intercept; "
        'loss="huber" needs none',
    )
    ridge: float | None = parameter(
        "float, optional",
        "γ ≥ 0 of the penalty (γ/2)‖β‖² on the sum of losses, the λ of an `Instance`; privacy may "
        "need a larger one. Without it a public rule of ε, the number of coefficients and, under "
        "replace-one, the number of rows.",
        default=None,
        check=checked_nonnegative,
    )

    noise_grows_with_ranges: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = True
    _balance: ClassVar[float]
    """k of `balanced_ridge`; by experiment, see docs/regression.md."""

    def _promise(self, size: int) -> Guarantee:
        """Return the guarantee: pure ε."""
        self._perturbation(size)
        return Guarantee(self.epsilon, relation=self.relation)

    @abstractmethod
    def _loss(self) -> objective.SmoothLoss:
        """Return the loss, by its name."""

    def _for_rows(self, count: int | None) -> Self:
        """Return the estimator with what a public number of rows decides."""
        return self

    @abstractmethod
    def _target_bound(self) -> float:
        """Return B_y, the bound of the target."""

    def _rows(self, size: int) -> RowMap:
        """Return the map of rows, which are bounded."""
        x_bound = self._public("x_bound")["x_bound"]
        bounds = {"x_bound": x_bound, "row_bound": self.row_bound, "fields": self.fields}
        return RowMap(size, self.fit_intercept, **bounds)

    @property
    def _bounds_slopes(self) -> bool:
        """True if a gradient is bounded without a bound on coefficients, as of classes."""
        return True

    def _radius(self, size: int) -> float:
        """Return r, the bound of the coefficients."""
        if self.coef_bound is None and self._bounds_slopes:
            return FAR * self._target_bound() / self._rows(size).norm
        return float(self._public("coef_bound")["coef_bound"])

    @property
    def _clip_bound(self) -> float:
        """Clip of targets: far out if the loss is nowhere steeper than at their bound."""
        near, loss = self._target_bound(), self._loss()
        far = OUTLYING * near
        return far if loss.slope(far, math.inf) <= loss.slope(near, 0.0) else near

    def _change(self, size: int) -> tuple[Balls, float]:
        """Choose the balls in whose norm noise is drawn, and Γ: how far a gradient moves in it.

        There are the balls of the fields, in which a gradient has the norm of its slope, and one
        ball of whole rows, in which two gradients may be nearer than that. Those with less noise
        are chosen.
        """
        loss, rows = self._loss(), self._rows(size)
        y_bound, radius = self._clip_bound, self._radius(size)
        whole = Balls((rows.columns,), (rows.norm,))
        apart = whole_apart = loss.slope(y_bound, radius * rows.norm)
        if self.relation == "replace-one":
            apart *= 2.0
            whole_apart = loss.replaced(rows.norm, y_bound, radius) / rows.norm
        ways = [(rows.parts or whole, apart), (whole, whole_apart)]
        balls, change = min(ways, key=lambda way: way[0].deviation * way[1])
        return balls, change

    def _perturbation(self, size: int, count: int | None = None) -> objective.Perturbation:
        """Compute amounts of ridge and noise; `count` is the number of rows if that is public."""
        rows, (balls, change) = self._rows(size), self._change(size)
        epsilon, y_bound = float(self.epsilon) * (1.0 - objective.ROUNDING), self._target_bound()
        curvature = rows.norm**2 * self._loss().curvature
        if self.ridge is None:
            in_units = change / y_bound
            ridge = objective.balanced_ridge(
                self._balance, epsilon, in_units, curvature, balls, count
            )
        else:
            length = change * math.hypot(*balls.radii)
            ridge = objective.lightest_ridge(
                epsilon, float(self.ridge), length, curvature, self._radius(size), rows.columns
            )
        return objective.with_ridge(ridge, epsilon, change, curvature)

    def _follow(self, widths: Sequence[int], length: float) -> Mapping[str, Any]:
        follows = {"fields": tuple(widths)}
        return follows if self._bounds_slopes else {**follows, "coef_bound": REACH / length}

    def _draw(self, rows: ModelRows, source: random.Random, private: bool) -> Drawn:
        size, count = rows.X.shape[1], len(rows.X) if self.relation == "replace-one" else None
        settled = self._for_rows(count)
        loss, clip = settled._loss(), settled._clip_bound
        row_map, chosen = settled._rows(size), settled._perturbation(size, count)
        y_bound, radius = settled._target_bound(), settled._radius(size)
        balls, _ = settled._change(size)
        noise = product_laplace(source, balls, chosen.noise_scale)
        theta = objective.perturbed_minimiser(
            loss,
            row_map(rows.X),
            np.clip(rows.y, -clip, clip),
            chosen.ridge,
            noise,
            radius,
            rows.shares,
        )
        return Drawn(
            np.trunc(theta / radius * STEPS) / STEPS * radius,
            row_map,
            f"objective-perturbation, {loss.name}",
            bounds={
                "y_bound": y_bound,
                "coef_bound": radius,
                "ridge": chosen.ridge,
                "noise_scale": chosen.noise_scale,
                "noise_deviation": chosen.noise_scale * balls.deviation,
                "curvature": loss.curvature,
            },
            footnotes=(FOOTNOTE,),
        )


@estimator
class ObjectivePerturbationRegressor(NumberPredictor, _ObjectivePerturbation):
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
    replaced that of `Huber.replaced`, between 1 and 2 times as much. λ̄ = B². The published
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
        '{"squared", "huber", "huber(κ)"}',
        "κ in the units of y. The default is the squared loss, which estimates means and needs "
        "`coef_bound`. Huber's loss, the default of `mipselect fit`, has a ninth of the noise at κ "
        "a quarter of `y_bound`, and a bias where errors are skewed. Without a number κ grows with "
        "the rows from that to `y_bound`, if their number is public.",
        default="squared",
        check=lambda loss, _: objective.regression_loss(loss),
    )

    _balance = 64.0

    def _loss(self) -> objective.SmoothLoss:
        if self.loss == HUBER:
            return objective.Huber(objective.LEAST_THRESHOLD * self._target_bound())
        return objective.regression_loss(self.loss)

    @property
    def _bounds_slopes(self) -> bool:
        """True for Huber's loss, whatever its κ."""
        return objective.regression_loss(self.loss).bounds_slopes

    @property
    def noise_grows_with_target(self) -> bool:
        """True for Huber's loss whose κ follows the target, if the intercept says where it is."""
        plain = self.fit_intercept and self.coef_bound is None and self.row_bound is None
        return plain and self.loss == HUBER

    def _for_rows(self, count: int | None) -> Self:
        """Give Huber's loss without a number its κ."""
        if self.loss != HUBER:
            return self
        wanted = self._target_bound() * objective.default_threshold(float(self.epsilon), count)
        threshold = max(wanted, SMALLEST_SCALE)  # The least bound of a target has a κ below it.
        settled: Self = clone(self).set_params(ledger=None, loss=f"{HUBER}({threshold:.3g})")
        return settled

    def _target_bound(self) -> float:
        return float(self._public("y_bound")["y_bound"])


@estimator
class ObjectivePerturbationClassifier(ClassifierMixin, _ObjectivePerturbation):  # type: ignore[misc]
    """Logistic regression in a ball, with a random linear term: pure ε.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        In sorted order: predicted where the linear predictor is not above 0, and above.

    Notes
    -----
    As the regressor, with λ̄ = B²/4, but for the norm of the noise. A row lies in a product K of
    balls, one for each entry (or field, or the whole row if it has a `row_bound` alone), so a
    gradient moves by Γ = L or 2L at most in the norm of K, L the largest slope in the ball, and the
    density of the noise is ∝ e^{-η‖b‖_K} (docs/mathematics/regression.md, (1)). For numbers that is
    √3 times less noise a coefficient than in the Euclidean norm. The default ridge is
    `balanced_ridge`.

    References
    ----------
    See `ObjectivePerturbationRegressor`; Awan and Slavković, "Structure and sensitivity in
    differential privacy: comparing K-norm mechanisms", 2021, for other norms.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect.regression import ObjectivePerturbationClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, (20_000, 2))
    >>> y = np.where(X[:, 0] > 0, "ill", "well")
    >>> model = ObjectivePerturbationClassifier(epsilon=2.0, x_bound=1.0)
    >>> model.fit(X, y).score(X, y) > 0.9
    True
    >>> well = model.predict_proba([[-0.5, 0.0], [0.5, 0.0]])[:, 1]
    >>> bool(well[0] > 0.5 > well[1])
    True
    """

    classes: Iterable[Any] | None = parameter(
        "sequence of two values, optional",
        "Public: two texts, or two numbers or truth values. A row whose label is neither, whatever "
        "it is, has no class: it does not count, and nothing is raised because of it. Without "
        "`classes` they are those of y, which must be public knowledge.",
        default=None,
        check=lambda classes, _: sorted_classes(classes),
    )

    loss: ClassVar[str] = objective.LogisticLoss.name

    _balance = 6.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags

    def _loss(self) -> objective.SmoothLoss:
        return objective.LogisticLoss()

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
                "Only binary classification is supported. The type of the target is multiclass. "
                "For one class against the rest give whether y is that class."
            )
        self._classes()  # After the draw it would be too late to find that they cannot be kept.
        return np.where(target == self.classes_[1], 1.0, -1.0)

    def _classes(self) -> Classes:
        return checked_classes(self.classes_.tolist(), "the classes of y")
