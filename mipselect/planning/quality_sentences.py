"""Sentences of a plan about intervals of the quality that are too wide, and what else would do."""

from __future__ import annotations

import math

from mipselect.planning.forecasts import LARGER_SHARE, ModelPlan
from mipselect.planning.model_sentences import without_a_model
from mipselect.planning.quality_forecasts import QualityForecast
from mipselect.quality.measures import LEVEL


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
    ...     return ModelLine(rows, (1.0,), 2 * (TableScores(0.3, ((0.2,),), ((found,),)),))
    >>> asked = {"rows": 500, "support_size": 1, "features": 4, "epsilons": (1.0,), "seed": 0}
    >>> more = {"guesses": Guesses(), "measure": "R²", "goal": 0.5, "quality_share": 0.3}
    >>> plan = ModelPlan(**asked, **more, lines=(line(500, -0.1), line(1000, 0.1)))
    >>> for part in quality_sentences(plan)[0].split(", and "):
    ...     print(part)
    At ε = 1 the 90% interval of R² would be ±0.30
    lie above the mean in 0% of cases; 1,000 rows would do.
    """
    places = range(len(plan.epsilons))
    return tuple(_sentence(plan, k) for k in places if plan.in_doubt(k))


def width_in_words(quality: QualityForecast) -> str:
    """Write the half-width of an interval with two decimal places; "open" without a lower end."""
    return "open" if math.isinf(quality.half_width) else f"±{quality.half_width:.2f}"


def _sentence(plan: ModelPlan, k: int) -> str:
    quality = plan.of_fit.quality(k)
    assert quality is not None
    is_open = math.isinf(quality.half_width)
    width = "have no lower end" if is_open else f"be {width_in_words(quality)}"
    return (
        f"At ε = {plan.epsilons[k]:g} the {LEVEL:.0%} interval of {plan.measure} would {width}, "
        f"and lie above {without_a_model(plan)} in {quality.above_chance:.0%} of cases; "
        f"{_what_would_do(plan, k)}."
    )


def _what_would_do(plan: ModelPlan, k: int) -> str:
    rows, epsilon = plan.rows_that_tell(k), plan.epsilon_that_tells(k)
    of_more, larger_share = plan.larger_share, f"--quality-share {LARGER_SHARE:g}"
    ways = []
    if rows is not None:
        ways.append(f"{rows:,} rows")
    if epsilon is not None:
        ways.append(f"ε = {epsilon:g}")
    if of_more is not None and of_more.tells(k):
        ways.append(larger_share)
    if ways:
        return f"{' or '.join(ways)} would do"
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
    if not tried:
        return "no time was left to say what would do"
    if len(tried) == 1:
        return f"{tried[0]} would not do"
    return f"neither {' nor '.join(tried)} would do"
