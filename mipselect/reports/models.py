"""Models in words: their fields, and their coefficients as a plot and a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mipselect.documents.markdown import PlotRow
from mipselect.regression import ModelRelease
from mipselect.regression.coefficients import (
    OPEN,
    CoefficientRow,
    CoefficientTable,
    reading_notes,
    whole_range,
)
from mipselect.reports.released import one_line
from mipselect.tables.equation import INTERCEPT, in_digits
from mipselect.validation import plural

ELSEWHERE = "the file of the release has them"


def model_in_words(model: ModelRelease, told: Mapping[str, str]) -> dict[str, Any]:
    """Describe the fields of a model, whose titles are `told`, and its coefficients.

    Returns
    -------
    dict
        By the names in the template: fields with their meaning and role, or `names` in a sentence
        where none has a meaning; a plot of all but the intercept, with its axis; the reason why
        there are no intervals; the table of coefficients; notes on how to read it.
    """
    names = model.feature_names or tuple(map(str, model.support))
    always = () if model.table is None else model.table.always
    role = dict.fromkeys(names, "in the model") | dict.fromkeys(always, "always in")
    if model.table is not None:
        role[model.table.target] = "target"
    fields = [(name, told.get(name, ""), role[name]) for name in role if any(told.values())]
    kept = f"; always in: {', '.join(always)}" if always else ""
    listed = f"{plural(len(names), 'field')} in the model: {', '.join(names)}{kept}."
    found = {"fields": fields, "names": listed}
    if not model.has_model:
        return found
    table = CoefficientTable.of(model)
    unit, level = unit_of_target(model), ""
    if table.intervals is not None:
        level = f"{100.0 * table.intervals.level:g} % interval"
    what = f"points with {level}s" if level else "points without intervals"
    axis = f"difference of {table.rule.aim}{unit}; {what}"
    if table.rule.log_odds and table.rule.classes is not None:
        axis = f"factor of the odds of {table.rule.target}={table.rule.classes[1]}; {what}"
    rows = [_cells(table, row, told) for row, _ in table.listed()]
    titles = ("what differs", f"estimate{unit}", level, "odds", "reading")
    there = [k for k, title in enumerate(titles) if title and any(row[k] for row in rows)]
    notes = [note for note in reading_notes(table, ELSEWHERE) if note != table.reason]
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
    label, units = whole_range(model, row.term)
    if row.is_open:
        return PlotRow(label, None, note=OPEN)
    ends = [None if end is None else units * end for end in (row.low, row.high)]
    low, high = sorted(ends) if None not in ends else (None, None)  # type: ignore[type-var]
    value = units * row.term.coefficient
    note = _factor(value) if table.rule.log_odds else f"{value:+.4g}"
    return PlotRow(label, value, low, high, note)


def _cells(
    table: CoefficientTable, row: CoefficientRow, told: Mapping[str, str]
) -> tuple[str, ...]:
    term, words = row.term, told.get(row.term.field, "")
    says_more = words and words != f"in {term.unit}" and term.kind != INTERCEPT
    meaning = f"{term.meaning} ({words})" if says_more else term.meaning
    if row.is_open:
        return meaning, OPEN, "", "", "could be any number"
    interval = ""
    if row.low is not None and row.high is not None:
        interval = f"[{row.low:.4g}, {row.high:.4g}]"
    if term.kind == INTERCEPT:
        return meaning, f"{term.coefficient:.4g}", interval, "", ""
    odds = _factor(term.coefficient) if table.rule.log_odds else ""
    return meaning, f"{term.coefficient:+.4g}", interval, odds, _reading(table, row)


def _reading(table: CoefficientTable, row: CoefficientRow) -> str:
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
