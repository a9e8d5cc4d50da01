"""Quality of a model in words: what was measured on rows that the model was not fitted to."""

from __future__ import annotations

import math

from mipselect.quality import Measure, Quality
from mipselect.quality.measures import (
    ACCURACY,
    PREDICTED,
    R2,
    SHARE,
    in_percent,
)


def in_plain_words(quality: Quality, target: str | None) -> list[str]:
    """Say what was measured, and what the measures mean that are not in the verdict."""
    said = _about(quality)
    if quality.beats_chance:
        said = f"{said} {_first(quality, target or 'the target')}"
    accuracy = next((one for one in quality.measures if one.name == ACCURACY), None)
    return [said] if accuracy is None else [said, _accuracy(quality, accuracy)]


def measured(quality: Quality) -> list[tuple[str, str, str]]:
    """Return the measures as rows: name, estimate, interval."""
    return [(quality.name_of(one), _estimate(one), _interval(one)) for one in quality.measures]


def calibration(quality: Quality) -> list[tuple[str, str, str]]:
    """Return the bins of probabilities as rows: the bin, the share of the class, its interval."""
    return [
        (
            one.probabilities,
            "unknown" if one.share.value is None else f"{in_percent(one.share.value)} %",
            f"{in_percent(one.share.low)} to {in_percent(one.share.high)} %",
        )
        for one in quality.bins
    ]


def _about(quality: Quality) -> str:
    rows = "rows" if quality.rows is None else f"{quality.rows:,} rows"
    if quality.share is None:
        return f"Measured on {rows} of a table that was given for it."
    return f"Measured on {rows} that were kept apart from the fit ({_percent(quality.share)})."


def _first(quality: Quality, target: str) -> str:
    """Say in plain words what the first measure means, which is above chance and so is known."""
    one, its = quality.first, f"the {100.0 * quality.level:g} % interval is"
    value = one.estimate or 0.0
    if one.name == R2:
        return (
            f"The model explains {_percent(value)} of the variation of {target}; {its} "
            f"{_whole(one.low)} to {_percent(one.high)}."
        )
    return (
        "Of two rows, one of each class, the model finds out which is which in "
        f"{_whole(value)} of 100 cases; {its} {_whole(one.low)} to {_whole(one.high)}. Guessing "
        "would find it in 50."
    )


def _whole(share: float) -> str:
    """Write in percent without a decimal, and no minus before a zero."""
    return str(round(100.0 * share))


def _percent(share: float) -> str:
    """Write a share as percent, such as "61 %"."""
    return f"{_whole(share)} %"


def _accuracy(quality: Quality, accuracy: Measure) -> str:
    if accuracy.value is None:
        return "How often the class that it names is right is not known."
    said = f"The class that it names is right in {_whole(accuracy.value)} of 100 rows."
    if quality.common is None:
        return said
    common = 100.0 * quality.common
    return f"{said} Always naming the more frequent class would be right in {common:.0f}."


def _estimate(one: Measure) -> str:
    value = one.estimate
    if value is None:
        return "unknown"
    return _percent(value) if one.name in (ACCURACY, SHARE, PREDICTED) else f"{value:.3f}"


def _interval(one: Measure) -> str:
    if math.isinf(one.low):
        return f"at most {one.high:.3f}"
    if one.name in (ACCURACY, SHARE, PREDICTED):
        return f"{_whole(one.low)} to {_percent(one.high)}"
    return f"{one.low:.3f} to {one.high:.3f}"
