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
from mipselect.tables.encoders import INTERCEPT, Term, in_digits
from mipselect.validation import plural

ELSEWHERE = "the file of the release has them"


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
