"""Sentences of a plan of a model: how good it would be, how well that is known, what would do."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mipselect.planning.few_tables import is_rough, rough_guess
from mipselect.planning.forecasts import LARGER_SHARE, R_SQUARED, ModelPlan, in_two_places
from mipselect.planning.quality_forecasts import QualityForecast
from mipselect.quality.measures import LEVEL
from mipselect.validation import joined

OFTEN = 0.1
"""Models that are no better than the mean are named where they are at least such a share."""


def model_sentences(plan: ModelPlan) -> tuple[str, ...]:
    """Say for each ε how good a model would be, and which rows or ε would do where it is not.

    Examples
    --------
    >>> from mipselect.planning import Guesses, ModelLine, ModelPlan, TableScores, model_sentences
    >>> lines = (
    ...     ModelLine(500, (1.0,), 3 * (TableScores(0.3, ((-0.1, -0.2),)),)),
    ...     ModelLine(1000, (1.0,), 3 * (TableScores(0.3, ((0.2, 0.2),)),)),
    ... )
    >>> further = (ModelLine(500, (2.0,), 3 * (TableScores(0.3, ((0.2, 0.2),)),)),)
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
    guess = rough_guess([len(plan.of_fit.tables)])
    said = f"At ε = {plan.epsilons[k]:g}{f', {guess},' if guess else ''} the model would "
    said += _verdict(plan, k)
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
        ways.append(f"about {_rounded(rows, plan.rows):,.0f} rows")
    if epsilon is not None and epsilon > plan.epsilons[k]:
        ways.append(f"ε = {_rounded(epsilon, plan.epsilons[k]):g}")
    most = max(line.rows for line in plan.by_rows)
    largest = max(e for line in (plan.of_fit, *plan.further) if line.tables for e in line.epsilons)
    more = most > plan.rows or largest > max(plan.epsilons)
    said = _would_do(ways, [f"{most:,} rows", f"ε = {largest:g}"] if more else [])
    others = [*plan.by_rows, *(line for line in plan.further if line.tables)]
    known = not is_rough(len(plan.of_fit.tables)) and (ways or more)
    guess = rough_guess([len(line.tables) for line in others]) if known else ""
    return f"{guess}, {said}" if guess else said


def _rounded(needed: float, not_enough: float) -> float:
    """Round to two digits; up where the nearest would be no more than what is not enough."""
    nearest = float(f"{needed:.2g}")
    return nearest if nearest > not_enough else float(f"{not_enough * 1.06:.2g}")


def _would_do(ways: Sequence[str], tried: Sequence[str]) -> str:
    """Name ways that would do; of none of them say what was tried in vain."""
    if ways:
        return f"{' or '.join(ways)} would do"
    if not tried:
        return "no time was left to say what would do"
    if len(tried) == 1:
        return f"{tried[0]} would not do"
    return f"neither {' nor '.join(tried)} would do"


def quality_sentences(plan: ModelPlan) -> tuple[str, ...]:
    """Say at which ε the quality would rarely tell a model from the mean, and what would do.

    Only what was simulated is said to do.

    Examples
    --------
    >>> from mipselect import Guarantee
    >>> from mipselect.planning import Guesses, ModelLine, ModelPlan, TableScores
    >>> from mipselect.planning import quality_sentences
    >>> from mipselect.quality import Measure, Quality
    >>> def line(rows, low):
    ...     found = Quality(measures=(Measure("R²", 0.2, low, 0.5),), guarantee=Guarantee(1.0))
    ...     return ModelLine(rows, (1.0,), 3 * (TableScores(0.3, ((0.2,),), ((found,),)),))
    >>> asked = {"rows": 500, "support_size": 1, "features": 4, "epsilons": (1.0,), "seed": 0}
    >>> more = {"guesses": Guesses(), "measure": "R²", "goal": 0.5, "quality_share": 0.3}
    >>> plan = ModelPlan(**asked, **more, lines=(line(500, -0.1), line(1000, 0.1)))
    >>> for part in quality_sentences(plan)[0].split(", and "):
    ...     print(part)
    At ε = 1 the 90% interval of R² would be ±0.30
    lie above the mean in 0% of cases; 1,000 rows would do.
    """
    places = range(len(plan.epsilons))
    return tuple(_of_quality(plan, k) for k in places if plan.in_doubt(k))


def width_in_words(quality: QualityForecast) -> str:
    """Write the half-width of an interval with two decimal places; "open" without a lower end."""
    return "open" if math.isinf(quality.half_width) else f"±{quality.half_width:.2f}"


def interval_sentences(plan: ModelPlan) -> tuple[str, ...]:
    """Say how wide the intervals of coefficients would be; nothing where a model has none.

    Examples
    --------
    >>> from mipselect.planning import Guesses, ModelLine, ModelPlan, TableScores
    >>> from mipselect.planning.model_sentences import interval_sentences
    >>> scored = TableScores(0.3, ((0.2,),), half_widths=((0.5, 1.5, float("inf")),))
    >>> asked = {"rows": 500, "support_size": 1, "features": 4, "epsilons": (1.0,), "seed": 0}
    >>> more = {"guesses": Guesses(), "lines": (ModelLine(500, (1.0,), 3 * (scored,)),)}
    >>> for sentence in interval_sentences(ModelPlan(**asked, measure="R²", goal=0.5, **more)):
    ...     print(sentence[:70])
    The 95% interval of an effect would be ±1.5 at ε = 1: half of its widt
    """
    widths = [plan.of_fit.half_width(k) for k in range(len(plan.epsilons))]
    said = [
        f"{'open' if math.isinf(width) else f'±{width:.2g}'} at ε = {epsilon:g}"
        for epsilon, width in zip(plan.epsilons, widths, strict=True)
        if width is not None
    ]
    if not said:
        return ()
    unit = "units of the target" if plan.measure == R_SQUARED else "shares of the second class"
    guess = rough_guess([len(plan.of_fit.tables)])
    return (
        f"{f'{guess[:1].upper()}{guess[1:]}, the' if guess else 'The'} 95% interval of an effect "
        f"would be {joined(said)}: half of its width, the median of simulated models, in {unit}. "
        "An effect is that of a number from one end of its range to the other, or of a category "
        "beside the first; open intervals hold any number.",
    )


def _of_quality(plan: ModelPlan, k: int) -> str:
    quality = plan.of_fit.quality(k)
    assert quality is not None
    is_open = math.isinf(quality.half_width)
    width = "have no lower end" if is_open else f"be {width_in_words(quality)}"
    guess = rough_guess([len(plan.of_fit.tables)])
    return (
        f"At ε = {plan.epsilons[k]:g}{f', {guess},' if guess else ''} the {LEVEL:.0%} interval of "
        f"{plan.measure} would {width}, and lie above {without_a_model(plan)} in "
        f"{quality.above_chance:.0%} of cases; "
        f"{_what_would_tell(plan, k)}."
    )


def _what_would_tell(plan: ModelPlan, k: int) -> str:
    rows, epsilon = plan.rows_that_tell(k), plan.epsilon_that_tells(k)
    of_more, larger_share = plan.larger_share, f"--quality-share {LARGER_SHARE:g}"
    ways = []
    if rows is not None:
        ways.append(f"{rows:,} rows")
    if epsilon is not None:
        ways.append(f"ε = {epsilon:g}")
    if of_more is not None and of_more.tells(k):
        ways.append(larger_share)
    most = max(line.rows for line in plan.by_rows if line.tells(k) is not None)
    tried = [f"{most:,} rows"] if most > plan.rows else []
    of_rows = (plan.of_fit, *plan.further)
    largest = max(
        epsilon
        for line in of_rows
        for place, epsilon in enumerate(line.epsilons)
        if line.tells(place) is not None
    )
    tried += [f"ε = {largest:g}"] if largest > plan.epsilons[k] else []
    tried += [larger_share] if of_more is not None and of_more.tells(k) is False else []
    return _would_do(ways, tried)
