"""Sentences of a plan of a model: how good it would be at each ε, and what else would do."""

from __future__ import annotations

from mipselect.planning.forecasts import R_SQUARED, ModelPlan, in_two_places

OFTEN = 0.1
"""Models that are no better than the mean are named where they are at least such a share."""


def model_sentences(plan: ModelPlan) -> tuple[str, ...]:
    """Say for each ε how good a model would be, and which rows or ε would do where it is not.

    Examples
    --------
    >>> from mipselect.planning import Guesses, ModelLine, ModelPlan, TableScores, model_sentences
    >>> lines = (
    ...     ModelLine(500, (1.0,), (TableScores(0.3, ((-0.1, -0.2),)),)),
    ...     ModelLine(1000, (1.0,), (TableScores(0.3, ((0.2, 0.2),)),)),
    ... )
    >>> further = (ModelLine(500, (2.0,), (TableScores(0.3, ((0.2, 0.2),)),)),)
    >>> asked = {"rows": 500, "support_size": 1, "features": 4, "epsilons": (1.0,), "seed": 0}
    >>> more = {"guesses": Guesses(), "lines": lines, "further": further}
    >>> for sentence in model_sentences(ModelPlan(**asked, measure="R²", goal=0.5, **more)):
    ...     print(sentence)
    At ε = 1 the model would be worse than the mean (R² -0.15); about 910 rows or ε = 1.8 would do.
    """
    if not plan.of_fit.tables:
        return ("How good a model would be is left out: no time was left.",)
    return tuple(_sentence(plan, k) for k in range(len(plan.epsilons)))


def no_better(plan: ModelPlan, k: int) -> float:
    """Return the share of models at the k-th ε that are no better than the mean, or a coin."""
    scores = [score for table in plan.of_fit.tables for score in table.models[k]]
    return sum(score <= plan.level for score in scores) / len(scores)


def without_a_model(plan: ModelPlan) -> str:
    """Name what a model has to be better than."""
    return "the mean" if plan.measure == R_SQUARED else "a coin"


def _sentence(plan: ModelPlan, k: int) -> str:
    said = f"At ε = {plan.epsilons[k]:g} the model would {_verdict(plan, k)}"
    if not plan.reaches(k):
        said += f"; {_what_would_do(plan, k)}"
    unreleased = plan.of_fit.unreleased(k)
    if 0.0 < unreleased < 1.0:
        said += (
            f". In {unreleased:.0%} of cases none would be released, for its private test would "
            f"fail: these count as {without_a_model(plan)}"
        )
    return f"{said}."


def _verdict(plan: ModelPlan, k: int) -> str:
    line, none = plan.of_fit, without_a_model(plan)
    if line.unreleased(k) == 1.0:
        return "not be released, for its private test would fail"
    expected = line.expected(k)
    score = f"{plan.measure} {in_two_places(expected)}"
    if expected <= plan.level:
        return f"be worse than {none} ({score})"
    if not line.is_clear(k, plan.level):
        return f"hardly be better than {none} ({score})"
    share = f"{line.share(k, plan.level):.0%} of what is possible without privacy"
    said = f"have an {plan.measure} of {in_two_places(expected)}, {share}"
    worse = no_better(plan, k)
    return said if worse < OFTEN else f"{said}, but no better than {none} in {worse:.0%} of cases"


def _what_would_do(plan: ModelPlan, k: int) -> str:
    rows, epsilon = plan.rows_needed(k), plan.epsilon_needed
    ways = []
    if rows is not None:
        ways.append(f"about {float(f'{rows:.2g}'):,.0f} rows")
    if epsilon is not None:
        ways.append(f"ε = {float(f'{epsilon:.2g}'):g}")
    if ways:
        return f"{' or '.join(ways)} would do"
    most = max(line.rows for line in plan.by_rows)
    largest = max(e for line in (plan.of_fit, *plan.further) if line.tables for e in line.epsilons)
    if most <= plan.rows and largest <= max(plan.epsilons):
        return "no time was left to say what would do"
    return f"neither {most:,} rows nor ε = {largest:g} would do"
