"""Models in words: their fields, their coefficients as a plot and a table, and how good they are.

What is measured is of rows that the model was not fitted to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mipselect.documents.markdown import PlotRow
from mipselect.quality import Measure, Quality
from mipselect.quality.measures import ACCURACY, PREDICTED, R2, SHARE, in_percent
from mipselect.regression import ModelRelease
from mipselect.regression.coefficients import (
    OPEN,
    CoefficientRow,
    CoefficientTable,
    reading_notes,
    whole_range,
)
from mipselect.reports.released import one_line
from mipselect.tables.encoders import INTERCEPT, Term, in_digits
from mipselect.validation import plural


def model_in_words(model: ModelRelease, told: Mapping[str, str]) -> dict[str, Any]:
    """Describe a model, of whose fields `told` has the titles, by the names in the template."""
    names = model.feature_names or tuple(map(str, model.support))
    always = () if model.table is None else model.table.always
    kept = f"; always in: {', '.join(always)}" if always else ""
    found = {"fields": f"{plural(len(names), 'field')} in the model: {', '.join(names)}{kept}."}
    if not model.has_model:
        return found
    table = CoefficientTable.of(model)
    unit, level = unit_of_target(model), ""
    if not table.reason:
        level = f"{100.0 * table.level:g} % interval"
    what = f"points with {level}s" if level else "points without intervals"
    axis = f"difference of {table.rule.aim}{unit}; {what}"
    if table.rule.log_odds and table.rule.classes is not None:
        axis = f"factor of the odds of {table.rule.target}={table.rule.classes[1]}; {what}"
    rows = []
    for row, (estimate, interval, odds, _) in table.listed():
        factor = _factor(row.term.coefficient) if odds else ""
        rows.append((_meaning(row.term, told), estimate, interval, factor, _reading(table, row)))
    titles = ("what differs", f"estimate{unit}", level, "odds", "reading")
    there = [k for k, title in enumerate(titles) if title and any(row[k] for row in rows)]
    notes = [note for note in reading_notes(table) if note != table.reason]
    notes += [
        f"The range of {each['field']}, {each['minimum']:.4g} to {each['maximum']:.4g}, was found "
        f"privately, with ε = {each['epsilon']:.6g} of this release."
        for each in model.drawn_ranges
    ]
    shown = [row for row, _ in table.listed() if row.term.kind != INTERCEPT]
    return {
        **found,
        "plotted": [_plot_row(model, table, row) for row in shown],
        "axis": axis,
        "reason": table.reason,
        "titles": [titles[k] for k in there],
        "rows": [[row[k] for k in there] for row in rows],
        "numbers": titles[1:4],
        "notes": notes,
    }


def _plot_row(model: ModelRelease, table: CoefficientTable, row: CoefficientRow) -> PlotRow:
    """Draw a number over the whole of its range."""
    label, units = whole_range(model, row.term)
    if row.is_open:
        return PlotRow(label, None, note=OPEN)
    ends = [None if end is None else units * end for end in (row.low, row.high)]
    low, high = sorted(ends) if None not in ends else (None, None)  # type: ignore[type-var]
    value = units * row.term.coefficient
    note = _factor(value) if table.rule.log_odds else f"{value:+.4g}"
    return PlotRow(label, value, low, high, note)


def _meaning(term: Term, told: Mapping[str, str]) -> str:
    """Say what differs, with the title of its field where that says more than the unit."""
    words = told.get(term.field, "")
    says_more = words and words != f"in {term.unit}" and term.kind != INTERCEPT
    return f"{term.meaning} ({words})" if says_more else term.meaning


def _reading(table: CoefficientTable, row: CoefficientRow) -> str:
    if row.is_open or row.term.kind == INTERCEPT:
        return "could be any number" if row.is_open else ""
    if row.low is not None and row.high is not None and row.low <= 0.0 <= row.high:
        return "direction not known"
    higher, lower = ("odds higher", "odds lower") if table.rule.log_odds else ("higher", "lower")
    certain = row.low is not None or row.term.coefficient == 0.0
    sign = row.low if row.low is not None else row.term.coefficient
    words = higher if sign > 0.0 else lower if sign < 0.0 else "the same"
    return words if certain else f"{words}; no interval"


def _factor(log_odds: float) -> str:
    try:
        return f"×{in_digits(math.exp(log_odds), 4)}"
    except OverflowError:
        return "×∞"


def unit_of_target(model: ModelRelease) -> str:
    """Write the unit of the target as the end of a phrase; "" for classes and unknown units."""
    if model.table is None or model.classes is not None:
        return ""
    for entry in model.table.schema.content["fields"]:
        if entry["name"] == model.table.target and (unit := one_line(entry.get("unit"))):
            return f", in {unit}"
    return ""


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
