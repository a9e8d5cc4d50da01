"""Division of ε and δ by `fit`, and by a fit that `plan` simulates, and both estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from mipselect.cli.arguments import flags_of, method_asked_for, of_blocks
from mipselect.cli.declared import given
from mipselect.cli.ledger_entry import check_ledger
from mipselect.cli.options import MethodOptions, check_seed, require_positive, stated
from mipselect.cli.table_options import (
    LOSS_OF_CLASSES,
    LOSS_OF_NUMBERS,
    DivisionOptions,
    ModelOptions,
    Regression,
    ScoreOptions,
)
from mipselect.errors import InvalidInput, about
from mipselect.privacy import Ledger
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
from mipselect.regression.plan import TablePlan
from mipselect.regression.ranges import PrivateRanges
from mipselect.regression.shares import (
    SHARE_OF_PRIVATE_RANGES,
    checked_range_share,
    epsilon_of_private_ranges,
    share_of_selection,
)
from mipselect.regression.smooth_losses import classification_loss, regression_loss
from mipselect.selectors import BY_NAME, MistakesSelector
from mipselect.selectors.all_features import AllFeaturesSelector, in_place_of
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.exact_draws import asked_sizes
from mipselect.selectors.problem import ProblemSelector
from mipselect.tables.public_map import TableQuestion
from mipselect.validation import checked_choice, checked_delta, checked_share

ALL_FEATURES = "all-features"
"""Name of the method in reports and ledgers where nothing is drawn."""


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
    loss = options.objective.loss or (LOSS_OF_CLASSES if of_classes else LOSS_OF_NUMBERS)
    shared |= {"loss": loss, "coef_bound": options.objective.bound}
    with about("--model-loss"):
        if of_classes and loss.startswith(("logistic", "smoothed-hinge")):
            classification_loss(loss)
            return ObjectivePerturbationClassifier(**shared)
        if not of_classes and loss.startswith(("logistic", "smoothed-hinge")):
            raise InvalidInput(f"{loss} is for a target of two classes; this one is a number")
        regression_loss(loss)
    return ObjectivePerturbationRegressor(**shared)


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
    """Options of `fit`, checked as far as they can be without the table.

    Attributes
    ----------
    model : ModelOptions
    division : DivisionOptions
        δ of both together, and shares of ε and of the rows.
    in_blocks : bool
        True if features are drawn from scores from blocks of rows.
    scores : ScoreOptions
    method : str
    of_the_method : MethodOptions
        Without δ and relation, which the pair divides and shares.
    epsilon : float
        ε of both together.
    scales : mapping
        What was given of coef_bound and ridge.
    relation : str
    seed : int or None
    ledger : Ledger or None
    private_ranges : bool
        True if ranges that nobody stated are drawn.
    """

    model: ModelOptions
    division: DivisionOptions
    in_blocks: bool
    scores: ScoreOptions
    method: str = "permute-and-flip"
    of_the_method: MethodOptions = field(default_factory=MethodOptions)
    epsilon: float = 1.0
    scales: Mapping[str, float] = field(default_factory=dict)
    relation: str = "replace-one"
    seed: int | None = None
    ledger: Ledger | None = None
    private_ranges: bool = False

    def __post_init__(self) -> None:
        require_positive("--epsilon", self.epsilon)
        division = self.division
        if division.selection_share is not None:
            checked_share(division.selection_share, "--selection-share", closed=False)
        if division.range_share is not None:
            if not self.model.looks_for_ranges:
                raise InvalidInput(
                    "--range-share does not apply to --regression "
                    f"{self.model.way.value}: it takes ranges as they are"
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
        check_seed(self.seed)
        if division.delta is not None:
            with about("--delta"):
                checked_delta(division.delta)
        if division.delta is None and self.parts_of_delta:
            who = "--regression" if self.model.needs_delta else "--method"
            what = self.model.way.value if self.model.needs_delta else self.method
            raise InvalidInput(f"--delta must be given for {who} {what}")
        if division.delta is not None and not self.parts_of_delta:
            raise InvalidInput(
                f"--delta does not apply to --method {self.method} with --regression "
                f"{self.model.way.value}: both are pure; --regression adassp takes it, and has "
                "intervals, of two classes as differences of shares"
            )

    @property
    def parts_of_delta(self) -> int:
        """Number of the two parts, selection and model, that need a δ."""
        return selection_needs_delta(self.method, self.of_the_method) + self.model.needs_delta

    def name_of(self, method: PrivateSelector) -> str:
        """Name the selection for reports and ledgers; of all features nothing is drawn."""
        return ALL_FEATURES if isinstance(method, AllFeaturesSelector) else self.method

    @property
    def share(self) -> float:
        """The part of ε that the selection may cost."""
        return share_of_selection(self.division.selection_share, in_blocks=self.in_blocks)

    def selection(self) -> PrivateSelector:
        """Return the method that selects features, within its share of ε.

        Raises
        ------
        InvalidInput
            Naming the option.
        """
        share = round_down(exact(self.epsilon) * exact(self.share))
        options = self.of_the_method
        if selection_needs_delta(self.method, self.of_the_method):
            options = replace(options, delta=self._delta_each)
        if "--relation" in flags_of(BY_NAME[self.method]):
            options = replace(options, relation=self.relation)
        tested = options.test_epsilon
        if tested is not None and issubclass(BY_NAME[self.method], MistakesSelector):
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

    @property
    def _delta_each(self) -> float:
        assert self.division.delta is not None
        return round_down(exact(self.division.delta) / self.parts_of_delta)

    @property
    def delta_of_the_model(self) -> float | None:
        """Part of δ that the model costs; None if it is pure."""
        return self._delta_each if self.model.needs_delta else None

    @property
    def of_loss(self) -> dict[str, Any]:
        """Settings of the loss: what was given of coef_bound, ridge and loss."""
        return {**self.scales, **stated(loss=self.scores.loss)}

    @property
    def epsilon_of_ranges(self) -> float:
        """Price of private ranges in ε; 0 where none is drawn."""
        return epsilon_of_private_ranges(self.epsilon) if self.private_ranges else 0.0

    def table_plan(
        self,
        question: TableQuestion,
        size: int,
        *,
        fit_intercept: bool,
        ranges: PrivateRanges | None = None,
    ) -> TablePlan:
        """Divide ε and δ, and check them against the ledger.

        Raises
        ------
        InvalidInput
            Naming the option.
        BudgetExceeded, RelationMismatch
            From the ledger.
        """
        asked, public = self.selection(), question.public
        if sizes := asked_sizes(asked):
            size = max(sizes)
        method = in_place_of(asked, size, len(public.features))
        # What the selection does not need of its share goes to the model.
        rest: Fraction = exact(self.epsilon) - exact(method.guarantees[self.relation].epsilon)
        rest -= exact(self.epsilon_of_ranges)
        model = estimator(
            self.model,
            of_classes=public.units.classes is not None,
            epsilon=round_down(rest),
            delta=self.delta_of_the_model,
            relation=self.relation,
            fit_intercept=fit_intercept,
        )
        blocks = None
        scored = ranges is not None or method is asked
        if self.in_blocks and scored and isinstance(asked, ProblemSelector):
            blocks = of_blocks(self.scores, self.scales, asked, stated=False, seed=self.seed)
        plan = TablePlan(
            question,
            method,
            model,
            size,
            blocks,
            self.division.range_share,
            ranges,
            of_loss=self.of_loss,
        )
        with about("--epsilon and --delta"):
            promise = plan.promise
        check_ledger(self.ledger, promise)
        return plan
