"""The options of a private model, and its estimator: which regression, and which of ε and δ."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from mipselect.cli.declared import group, option, options, refuse
from mipselect.cli.options import PRIVACY_PANEL
from mipselect.errors import InvalidInput, about
from mipselect.regression import (
    AdaSSPRegressor,
    BoostedAdaSSPRegressor,
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    TukeyRegressor,
)
from mipselect.regression.base import PrivateLinearModel
from mipselect.regression.smooth_losses import classification_loss, regression_loss
from mipselect.validation import checked_scale

MODEL_PANEL = "Of the model"

LOSS_OF_NUMBERS = "huber"
LOSS_OF_CLASSES = "logistic"
"""Default of `--model-loss` for classes; by experiment, see docs/regression.md."""

RESIDUAL_BOUND = 0.25
ROUNDS = 8
"""Rounds of boosted AdaSSP, for a target in [-1, 1]; by experiment too."""


class Regression(StrEnum):
    """Ways to release coefficients."""

    OBJECTIVE = "objective"
    ADASSP = "adassp"
    BOOSTED = "boosted-adassp"
    TUKEY = "tukey"


@options
class DivisionOptions:
    """Division of ε, δ and the rows between features, coefficients and their quality."""

    PANEL = PRIVACY_PANEL

    delta: float | None = option(
        "--delta",
        "δ of features and coefficients together, for the methods and regressions that need one.",
        show_default="0",
    )
    selection_share: float | None = option(
        "--selection-share",
        "What part of ε the selection may cost, between 0 and 1; the model gets the rest.",
        metavar="A",
        show_default="0.3 where it draws from blocks of rows, else half; 0 where all are in",
    )
    range_share: float | None = option(
        "--range-share",
        "What part of the model's ε finds where most values of each number lie within its range; "
        "0 takes ranges as they are. Not for --regression tukey.",
        metavar="A",
        show_default="0.04 for each number of the model, more with few rows, 0.16 at most; with "
        "Huber's loss 0.08 to 0.25 more for the target",
    )
    quality_share: float | None = option(
        "--quality-share",
        "Keep this share of the rows, or people, apart from the fit, to say how good the model is; "
        "it costs no further ε.",
        metavar="A",
        show_default="none",
    )


@options
class ObjectiveOptions:
    """Options of objective perturbation, which the other regressions do not have."""

    PANEL = MODEL_PANEL

    loss: str | None = option(
        "--model-loss",
        'For objective: squared, huber, "huber(κ)" with κ in halves of the range of the target, '
        "without it from 1/4 to 1 by rows times ε; for two classes logistic, smoothed-hinge, "
        '"smoothed-hinge(h)". In Python the squared loss is the default of numbers.',
        show_default=f"{LOSS_OF_NUMBERS}; {LOSS_OF_CLASSES} for two classes",
    )
    bound: float | None = option(
        "--model-bound",
        "For objective: the largest length of the coefficients, the intercept among them, of "
        "features and a target in [-1, 1]; public.",
        metavar="R",
        show_default="60/√(s + a + 1), and a ridge that grows with the noise; 3/√(s + a + 1) for "
        "the squared loss",
    )


@options
class ModelOptions:
    """Options of the model: which regression, and those of objective perturbation."""

    regression: Regression | None = option(
        "--regression",
        "objective is pure ε; adassp, which has intervals, boosted-adassp and tukey need --delta, "
        "and tukey many rows for each coefficient.",
        panel=MODEL_PANEL,
        show_default="objective; adassp for a number if --delta is given and nothing else needs it",
    )
    objective: ObjectiveOptions = group(ObjectiveOptions)

    def __post_init__(self) -> None:
        if self.way is not Regression.OBJECTIVE:
            refuse(self.objective, f"does not apply to --regression {self.way}")
        if self.objective.bound is not None:
            checked_scale(self.objective.bound, "--model-bound")

    @property
    def way(self) -> Regression:
        """The regression: objective perturbation, unless another is asked for."""
        return Regression.OBJECTIVE if self.regression is None else self.regression

    @property
    def needs_delta(self) -> bool:
        """True if the regression is (ε, δ)-private, not pure."""
        return self.way is not Regression.OBJECTIVE

    @property
    def looks_for_ranges(self) -> bool:
        """True if a part of ε may find where most values of a number lie."""
        return self.way is not Regression.TUKEY

    def model(
        self, *, of_classes: bool, epsilon: float, delta: float | None, **shared: Any
    ) -> PrivateLinearModel:
        """Make the estimator, not fitted.

        Parameters
        ----------
        of_classes : bool
            Whether the target has two classes.
        epsilon : float
        delta : float or None
            None if the regression is pure.
        **shared
            relation and fit_intercept.
        """
        shared["epsilon"] = epsilon
        if self.way is Regression.OBJECTIVE:
            return self._objective(of_classes, shared)
        return WITH_DELTA[self.way](delta=delta, **shared)

    def _objective(self, of_classes: bool, shared: dict[str, Any]) -> PrivateLinearModel:
        loss = self.objective.loss or (LOSS_OF_CLASSES if of_classes else LOSS_OF_NUMBERS)
        shared |= {"loss": loss, "coef_bound": self.objective.bound}
        with about("--model-loss"):
            if of_classes and loss.startswith(("logistic", "smoothed-hinge")):
                classification_loss(loss)
                return ObjectivePerturbationClassifier(**shared)
            if not of_classes and loss.startswith(("logistic", "smoothed-hinge")):
                raise InvalidInput(f"{loss} is for a target of two classes; this one is a number")
            regression_loss(loss)
        return ObjectivePerturbationRegressor(**shared)


WITH_DELTA: dict[Regression, Callable[..., PrivateLinearModel]] = {
    Regression.ADASSP: AdaSSPRegressor,
    Regression.BOOSTED: lambda **shared: BoostedAdaSSPRegressor(
        residual_bound=RESIDUAL_BOUND, rounds=ROUNDS, **shared
    ),
    Regression.TUKEY: TukeyRegressor,
}
