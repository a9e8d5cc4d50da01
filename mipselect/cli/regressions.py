"""The options of a private model, and its estimator: which regression, and which of ε and δ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from mipselect.cli.options import PRIVACY_PANEL, about
from mipselect.errors import InvalidInput
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

LOSS_OF_NUMBERS = "huber(0.25)"
LOSS_OF_CLASSES = "logistic"
"""What `--model-loss` is without it; by experiment, see docs/regression.md."""

RESIDUAL_BOUND = 0.25
ROUNDS = 8
"""Of boosted AdaSSP, for a target in [-1, 1]; by experiment too."""


class Regression(StrEnum):
    """Ways to release coefficients."""

    OBJECTIVE = "objective"
    ADASSP = "adassp"
    BOOSTED = "boosted-adassp"
    TUKEY = "tukey"


RegressionName = Annotated[
    Regression,
    typer.Option(
        "--regression",
        help="objective is pure ε; adassp, boosted-adassp and tukey need --delta, and tukey many "
        "rows for each coefficient.",
        rich_help_panel=MODEL_PANEL,
    ),
]
SelectionShare = Annotated[
    float,
    typer.Option(
        "--selection-share",
        metavar="A",
        help="What part of ε the selection may cost, between 0 and 1; the model gets the rest.",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
ModelLoss = Annotated[
    str | None,
    typer.Option(
        "--model-loss",
        help='For objective: squared, "huber(κ)" with κ in halves of the range of the target; for '
        'two classes logistic, smoothed-hinge, "smoothed-hinge(h)".',
        show_default=f"{LOSS_OF_NUMBERS}; {LOSS_OF_CLASSES} for two classes",
        rich_help_panel=MODEL_PANEL,
    ),
]
ModelBound = Annotated[
    float | None,
    typer.Option(
        "--model-bound",
        metavar="R",
        help="For objective: the largest length of the coefficients, the intercept among them, of "
        "features and a target in [-1, 1]; public.",
        show_default="3/√(s + a + 1)",
        rich_help_panel=MODEL_PANEL,
    ),
]


@dataclass(frozen=True)
class ModelOptions:
    """Options of the model: the regression, its loss and its bound.

    Attributes
    ----------
    regression : Regression
    loss : str or None
    bound : float or None
    """

    regression: Regression
    loss: str | None
    bound: float | None

    def __post_init__(self) -> None:
        given = {"--model-loss": self.loss, "--model-bound": self.bound}
        for option, value in given.items():
            if value is not None and self.regression is not Regression.OBJECTIVE:
                raise InvalidInput(f"{option} does not apply to --regression {self.regression}")
        if self.bound is not None:
            checked_scale(self.bound, "--model-bound")

    @property
    def needs_delta(self) -> bool:
        """True if the regression is (ε, δ)-private, not pure."""
        return self.regression is not Regression.OBJECTIVE

    def model(
        self, *, of_classes: bool, epsilon: float, delta: float | None, **shared: Any
    ) -> PrivateLinearModel:
        """The estimator, not fitted.

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
        if self.regression is Regression.OBJECTIVE:
            return self._objective(of_classes, shared)
        return WITH_DELTA[self.regression](delta=delta, **shared)

    def _objective(self, of_classes: bool, shared: dict[str, Any]) -> PrivateLinearModel:
        loss = self.loss or (LOSS_OF_CLASSES if of_classes else LOSS_OF_NUMBERS)
        shared |= {"loss": loss, "coef_bound": self.bound}
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
