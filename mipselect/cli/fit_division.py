"""Division of ε and δ by `fit`, and by a fit that `plan` simulates, and both estimators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from mipselect.cli.arguments import flags_of, method_asked_for
from mipselect.cli.declared import given
from mipselect.cli.options import MethodOptions, require_positive
from mipselect.cli.table_options import (
    LOSS_OF_CLASSES,
    LOSS_OF_NUMBERS,
    DivisionOptions,
    ModelOptions,
    Regression,
)
from mipselect.errors import InvalidInput, about
from mipselect.privacy.decimals import exact, round_down
from mipselect.privacy.guarantee import RELATIONS
from mipselect.regression import (
    AdaSSPRegressor,
    BoostedAdaSSPRegressor,
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    TukeyRegressor,
)
from mipselect.regression.base import PrivateLinearModel
from mipselect.regression.shares import (
    SHARE_OF_PRIVATE_RANGES,
    checked_range_share,
    epsilon_of_private_ranges,
    share_of_selection,
)
from mipselect.regression.smooth_losses import regression_loss
from mipselect.selectors import BY_NAME, MistakesSelector
from mipselect.selectors.base import PrivateSelector
from mipselect.validation import checked_choice, checked_delta, checked_share

RESIDUAL_BOUND = 0.25
ROUNDS = 8
"""Rounds of boosted AdaSSP, for a target in [-1, 1]; by experiment too."""

WITH_DELTA: dict[Regression, Callable[..., PrivateLinearModel]] = {
    Regression.ADASSP: AdaSSPRegressor,
    Regression.BOOSTED: lambda **shared: BoostedAdaSSPRegressor(
        residual_bound=RESIDUAL_BOUND, rounds=ROUNDS, **shared
    ),
    Regression.TUKEY: TukeyRegressor,
}


def estimator(
    options: ModelOptions, *, of_classes: bool, epsilon: float, delta: float | None, **shared: Any
) -> PrivateLinearModel:
    """Make the estimator, not fitted.

    Parameters
    ----------
    options : ModelOptions
    of_classes : bool
        Whether the target has two classes.
    epsilon : float
    delta : float or None
        None if the regression is pure.
    **shared
        relation and fit_intercept.
    """
    shared["epsilon"] = epsilon
    if options.way is not Regression.OBJECTIVE:
        return WITH_DELTA[options.way](delta=delta, **shared)
    loss = options.loss or (LOSS_OF_CLASSES if of_classes else LOSS_OF_NUMBERS)
    with about("--model-loss"):
        if loss == LOSS_OF_CLASSES:
            if not of_classes:
                raise InvalidInput(f"{loss} is for a target of two classes; this one is a number")
            return ObjectivePerturbationClassifier(**shared)
        regression_loss(loss)
    return ObjectivePerturbationRegressor(loss=loss, **shared)


def selection_needs_delta(method: str, options: MethodOptions) -> bool:
    """Return True if a method is (ε, δ)-private, not pure."""
    flags = flags_of(BY_NAME[method])
    pure = "--test-epsilon" in flags and options.test_epsilon is None
    return "--delta" in flags and not pure


def model_of_numbers(
    model: ModelOptions, delta: float | None, method: str, of_the_method: MethodOptions
) -> ModelOptions:
    """Return AdaSSP, which has intervals, for a δ that nothing else needs; else what is asked."""
    if delta is None or given(model) or selection_needs_delta(method, of_the_method):
        return model
    return replace(model, regression=Regression.ADASSP)


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """ε, δ and rows, divided between features, ranges, coefficients and their quality.

    Attributes
    ----------
    model : ModelOptions
    division : DivisionOptions
        δ of all together, and shares of ε and of the rows.
    in_blocks : bool
        True if features are drawn from scores from blocks of rows.
    method : str
    of_the_method : MethodOptions
        Without δ and relation, which both parts share.
    epsilon : float
        ε of all together.
    relation : str
    private_ranges : bool
        True if ranges that nobody stated are drawn.

    Raises
    ------
    InvalidInput
        Naming the option.
    """

    model: ModelOptions
    division: DivisionOptions
    in_blocks: bool
    method: str = "permute-and-flip"
    of_the_method: MethodOptions = field(default_factory=MethodOptions)
    epsilon: float = 1.0
    relation: str = "replace-one"
    private_ranges: bool = False

    def __post_init__(self) -> None:
        require_positive("--epsilon", self.epsilon)
        division, way = self.division, self.model.way.value
        if division.selection_share is not None:
            checked_share(division.selection_share, "--selection-share", closed=False)
        if division.range_share is not None:
            if self.model.way is Regression.TUKEY:
                raise InvalidInput(
                    f"--range-share does not apply to --regression {way}: it takes ranges as they "
                    "are"
                )
            checked_range_share(division.range_share, "--range-share")
        if division.quality_share is not None:
            checked_share(division.quality_share, "--quality-share", closed=False)
        checked_choice(self.relation, "--relation", RELATIONS)
        if self.private_ranges and self.relation != "replace-one":
            raise InvalidInput(
                f"--relation {self.relation}: private ranges go with features from blocks of rows, "
                "under replace-one"
            )
        if self.private_ranges and self.share + SHARE_OF_PRIVATE_RANGES >= 1.0:
            raise InvalidInput(
                f"--selection-share must be below {1.0 - SHARE_OF_PRIVATE_RANGES:g}, for private "
                f"ranges cost {SHARE_OF_PRIVATE_RANGES:g} of epsilon; got {self.share:g}"
            )
        if division.delta is not None:
            with about("--delta"):
                checked_delta(division.delta)
        if division.delta is None and self._parts_of_delta:
            who = f"--regression {way}" if self.model.needs_delta else f"--method {self.method}"
            raise InvalidInput(f"--delta must be given for {who}")
        if division.delta is not None and not self._parts_of_delta:
            raise InvalidInput(
                f"--delta does not apply to --method {self.method} with --regression {way}: both "
                "are pure; --regression adassp takes it, and has intervals, of two classes as "
                "differences of shares"
            )

    @property
    def _parts_of_delta(self) -> int:
        """Number of the two parts, selection and model, that need a δ."""
        return selection_needs_delta(self.method, self.of_the_method) + self.model.needs_delta

    @property
    def _delta_each(self) -> float:
        assert self.division.delta is not None
        return round_down(exact(self.division.delta) / self._parts_of_delta)

    @property
    def delta_of_the_model(self) -> float | None:
        """Part of δ that the model costs; None if it is pure."""
        return self._delta_each if self.model.needs_delta else None

    @property
    def share(self) -> float:
        """The part of ε that the selection may cost."""
        return share_of_selection(self.division.selection_share, in_blocks=self.in_blocks)

    @property
    def epsilon_of_ranges(self) -> float:
        """Price of private ranges in ε; 0 where none is drawn."""
        return epsilon_of_private_ranges(self.epsilon) if self.private_ranges else 0.0

    def selection(self) -> PrivateSelector:
        """Return the method that selects features, within its share of ε.

        Raises
        ------
        InvalidInput
            Naming the option.
        """
        share = round_down(exact(self.epsilon) * exact(self.share))
        options, kind = self.of_the_method, BY_NAME[self.method]
        if selection_needs_delta(self.method, options):
            options = replace(options, delta=self._delta_each)
        if "--relation" in flags_of(kind):
            options = replace(options, relation=self.relation)
        tested = options.test_epsilon
        if tested is not None and issubclass(kind, MistakesSelector):
            if not 0.0 < tested < share:
                raise InvalidInput(
                    "--test-epsilon must be above 0 and below what the selection may cost, "
                    f"{share:.15g}; got {tested:.15g}"
                )
            share = round_down(exact(share) - exact(tested))
        method = method_asked_for(self.method, share, options)
        if self.relation not in method.guarantees:
            raise InvalidInput(
                f"--relation {self.relation}: --method {self.method} is private under "
                f"{', '.join(method.guarantees)} only"
            )
        return method

    def regressor(
        self, method: PrivateSelector, *, of_classes: bool, fit_intercept: bool
    ) -> PrivateLinearModel:
        """Return the estimator of coefficients, with the ε that the selection leaves."""
        rest = exact(self.epsilon) - exact(method.guarantees[self.relation].epsilon)
        return estimator(
            self.model,
            of_classes=of_classes,
            epsilon=round_down(rest - exact(self.epsilon_of_ranges)),
            delta=self.delta_of_the_model,
            relation=self.relation,
            fit_intercept=fit_intercept,
        )
