"""Quality of a model, in plain sentences and as a table."""

from __future__ import annotations

import math
from collections.abc import Iterator

from mipselect.documents.blocks import Alert, Block, Paragraph, TextTable
from mipselect.quality import Measure, Quality
from mipselect.quality.measures import ACCURACY, AUC, CONCORDANCE, PREDICTED, R2, SHARE
from mipselect.reports.words import of_hundred, percent, share_in_words

WARNING = {
    R2: "Not known to be better than predicting the mean of all rows for everybody.",
    AUC: "Not known to tell the two classes apart any better than chance.",
    CONCORDANCE: "Not known to order two rows any better than chance.",
}


def quality_blocks(quality: Quality, target: str) -> Iterator[Block]:
    """Describe what was measured on rows that the model was not fitted to."""
    if not quality.beats_chance:
        yield Alert(WARNING[quality.first.name])
    yield Paragraph(f"{_about(quality)} {_first(quality, target)}")
    if accuracy := _named(quality, ACCURACY):
        yield Paragraph(_accuracy(quality, accuracy))
    yield TextTable(
        ("measure", "estimate", f"{100.0 * quality.level:g} % interval"),
        tuple((one.name, _estimate(one), _interval(one)) for one in quality.measures),
        numbers=("estimate", f"{100.0 * quality.level:g} % interval"),
    )
    if quality.clip is not None:
        yield Paragraph(
            f"Errors and distances from the mean count up to ±{quality.clip:.4g}, so that no "
            "single row can decide the result."
        )
    if quality.bins:
        yield Paragraph(
            "Do predicted probabilities mean what they say? Of the rows with a prediction in the "
            f"first column, so many were of the second class of {target}:"
        )
        yield TextTable(
            ("predicted", "true share", f"{100.0 * quality.level:g} % interval"),
            tuple(
                (
                    f"{100.0 * one.lower:.0f} to {percent(one.upper)}",
                    "unknown" if one.share.value is None else percent(one.share.value),
                    f"{100.0 * one.share.low:.0f} to {percent(one.share.high)}",
                )
                for one in quality.bins
            ),
            numbers=("true share", f"{100.0 * quality.level:g} % interval"),
        )


def _about(quality: Quality) -> str:
    rows = "rows" if quality.rows is None else f"{quality.rows:,} rows"
    if quality.share is None:
        return f"Measured on {rows} of a table that was given for it."
    return f"Measured on {rows} that were kept apart from the fit ({percent(quality.share)})."


def _first(quality: Quality, target: str) -> str:
    """Say in plain words what the first measure means."""
    one = quality.first
    surely = f"with {100.0 * quality.level:g} % probability"
    if one.value is None or math.isinf(one.low):
        return f"The noise leaves no estimate of {one.name}; it is at most {one.high:.2f}."
    if one.name == R2:
        if one.value <= 0.0:
            return (
                f"By the estimate the model does worse than the mean, R² {one.value:.2f}; {surely} "
                f"R² lies between {one.low:.2f} and {one.high:.2f}."
            )
        return (
            f"The model explains {share_in_words(one.value)} of the variation of {target} "
            f"({percent(one.value)}); {surely} it is between {percent(one.low)} and "
            f"{percent(one.high)}."
        )
    if one.name == AUC:
        pair = "Of two rows, one of each class, the model finds out which is which"
    else:
        pair = f"Of two rows, the model finds out which has more of {target}"
    return (
        f"{pair} in {of_hundred(one.value)} cases; {surely} in {100.0 * one.low:.0f} to "
        f"{100.0 * one.high:.0f}. Guessing would find it in 50."
    )


def _accuracy(quality: Quality, accuracy: Measure) -> str:
    if accuracy.value is None:
        return "How often the class that it names is right is not known."
    said = f"The class that it names is right in {of_hundred(accuracy.value)} rows."
    share = _named(quality, SHARE)
    if share is None or share.value is None:
        return said
    common = max(share.value, 1.0 - share.value)
    return f"{said} Always naming the more frequent class would be right in {100.0 * common:.0f}."


def _named(quality: Quality, name: str) -> Measure | None:
    return next((one for one in quality.measures if one.name == name), None)


def _estimate(one: Measure) -> str:
    if one.value is None:
        return "unknown"
    return percent(one.value) if one.name in (ACCURACY, SHARE, PREDICTED) else f"{one.value:.3f}"


def _interval(one: Measure) -> str:
    if math.isinf(one.low):
        return f"at most {one.high:.3f}"
    if one.name in (ACCURACY, SHARE, PREDICTED):
        return f"{100.0 * one.low:.0f} to {percent(one.high)}"
    return f"{one.low:.3f} to {one.high:.3f}"
