"""The fit that `plan` simulates: its options, checked as by `fit`, and its estimators."""

from __future__ import annotations

from typing import Any, cast

from mipselect.cli.fit_division import FitOptions, estimator, model_of_numbers
from mipselect.cli.options import MethodOptions
from mipselect.cli.table_options import DivisionOptions, ModelOptions, ScoreOptions
from mipselect.problem.scores import LOSS
from mipselect.regression import SelectThenRegress
from mipselect.selectors import BY_NAME


def planned_options(
    model: ModelOptions | None = None,
    division: DivisionOptions | None = None,
    score: str | None = None,
    *,
    of_classes: bool = False,
) -> FitOptions:
    """Return options of `fit`, without others than these, at an ε that is still to be set.

    Raises
    ------
    InvalidInput
        As from `fit`.
    """
    division = DivisionOptions() if division is None else division
    model = ModelOptions() if model is None else model
    if not of_classes:
        model = model_of_numbers(model, division.delta, FitOptions.method, MethodOptions())
    scores = ScoreOptions(score=score)
    return FitOptions(model=model, division=division, in_blocks=score != LOSS, scores=scores)


def planned_fit(
    options: FitOptions, support_size: int, *, of_classes: bool, fit_intercept: bool = True
) -> SelectThenRegress:
    """Return the estimators that `fit` draws with, at an ε that is still to be set.

    Parameters
    ----------
    options : FitOptions
        From `planned_options`.
    support_size : int
    of_classes : bool
        Whether the target has two classes.
    fit_intercept : bool
    """
    regressor = estimator(
        options.model,
        of_classes=of_classes,
        epsilon=options.epsilon,
        delta=options.delta_of_the_model,
        relation=options.relation,
        fit_intercept=fit_intercept,
    )
    return SelectThenRegress(
        cast(Any, BY_NAME[options.method])(support_size, score=options.scores.score),
        regressor,
        selection_share=options.division.selection_share,
        range_share=options.division.range_share,
        quality_share=options.division.quality_share,
    )


def mechanism_legend(options: FitOptions, share: float) -> str:
    """Say which regression is simulated, at which δ, and what part of ε the selection may cost."""
    delta = options.division.delta
    at = "" if delta is None else f" at δ = {delta:g}"
    return (
        f"Coefficients are those of --regression {options.model.way.value}{at}; the draw "
        f"of fields may cost {share:g} of ε."
    )


def mechanism_report(options: FitOptions, share: float) -> dict[str, Any]:
    """Return the same as part of a JSON object."""
    return {
        "regression": options.model.way.value,
        "delta": options.division.delta,
        "selection_share": share,
        "range_share": options.division.range_share,
    }
