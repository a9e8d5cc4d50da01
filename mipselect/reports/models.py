"""Models in words: their fields, and their coefficients as a plot and a table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from mipselect.documents.blocks import (
    Block,
    BulletList,
    IntervalPlot,
    Paragraph,
    PlotRow,
    TextTable,
)
from mipselect.regression import ModelRelease
from mipselect.regression.coefficients import (
    OPEN,
    CoefficientRow,
    CoefficientTable,
    reading_notes,
    whole_range,
)
from mipselect.reports.released import ReportedRelease, one_line
from mipselect.tables.equation import INTERCEPT, in_digits
from mipselect.validation import plural

CHANGES, ESTIMATE, ODDS, READING = "what differs", "estimate", "odds", "reading"
NOT_A_CAUSE = (
    "Each estimate compares two rows that are alike in all other fields of the model. It says what "
    "goes with what, not what would happen if somebody changed a field."
)
BY_CHANCE = (
    "The fields were drawn at random: one whose estimate changes next to nothing may be there by "
    "chance."
)
ELSEWHERE = "the file of the release has them"
NO_MODEL = (
    "No coefficients were released: a private test found too little in the data for a model that "
    "keeps the guarantee. The test was paid for all the same."
)


def coefficient_blocks(one: ReportedRelease, model: ModelRelease) -> Iterator[Block]:
    """Describe the fields of the model of a release, then its coefficients."""
    told = one.titles
    names = model.feature_names or tuple(map(str, model.support))
    always = () if model.table is None else model.table.always
    role = dict.fromkeys(names, "in the model") | dict.fromkeys(always, "always in")
    if model.table is not None:
        role[model.table.target] = "target"
    if any(told.values()):
        yield TextTable(
            ("field", "meaning", "role"),
            tuple((name, told.get(name, ""), role[name]) for name in role),
        )
    else:
        kept = f"; always in: {', '.join(always)}" if always else ""
        yield Paragraph(f"{plural(len(names), 'field')} in the model: {', '.join(names)}{kept}.")
    if not model.has_model:
        yield Paragraph(NO_MODEL)
        return
    table = CoefficientTable.of(model)
    unit = unit_of_target(model)
    yield from _plot(model, table, unit)
    yield _table(table, told, unit)
    yield Paragraph(f"{NOT_A_CAUSE} {BY_CHANCE}" if one.draws_fields else NOT_A_CAUSE)
    notes = [note for note in reading_notes(table, ELSEWHERE) if note != table.reason]
    notes += [
        f"The range of {each['field']}, {each['minimum']:.4g} to {each['maximum']:.4g}, was found "
        f"privately, with ε = {each['epsilon']:.6g} of this release."
        for each in model.drawn_ranges
    ]
    yield BulletList(tuple(notes))


def _plot(model: ModelRelease, table: CoefficientTable, unit: str) -> Iterator[Block]:
    """Draw all that is listed but the intercept: a number over the whole of its range."""
    shown = [row for row, _ in table.listed() if row.term.kind != INTERCEPT]
    rows = tuple(_plot_row(model, table, row) for row in shown)
    if not rows:
        return
    if table.intervals is None:
        what = "points without intervals"
    else:
        what = f"points with {100.0 * table.intervals.level:g} % intervals"
    if table.rule.log_odds and table.rule.classes is not None:
        odds = f"{table.rule.target}={table.rule.classes[1]}"
        yield IntervalPlot(rows, f"factor of the odds of {odds}; {what}", ratios=True)
    else:
        yield IntervalPlot(rows, f"difference of {table.rule.aim}{unit}; {what}")
    if table.intervals is None:
        yield Paragraph(table.reason)


def _plot_row(model: ModelRelease, table: CoefficientTable, row: CoefficientRow) -> PlotRow:
    label, units = whole_range(model, row.term)
    if row.is_open:
        return PlotRow(label, None, note=OPEN)
    ends = [None if end is None else units * end for end in (row.low, row.high)]
    low, high = sorted(ends) if None not in ends else (None, None)  # type: ignore[type-var]
    value = units * row.term.coefficient
    note = _factor(value) if table.rule.log_odds else f"{value:+.4g}"
    return PlotRow(label, value, low, high, note)


def _table(table: CoefficientTable, told: Mapping[str, str], unit: str) -> TextTable:
    level = "" if table.intervals is None else f"{100.0 * table.intervals.level:g} % interval"
    estimate = f"{ESTIMATE}{unit}"
    titles = (CHANGES, estimate, level, ODDS, READING)
    rows = [_cells(table, row, told) for row, _ in table.listed()]
    kept = [k for k, title in enumerate(titles) if title and any(row[k] for row in rows)]
    return TextTable(
        tuple(titles[k] for k in kept),
        tuple(tuple(row[k] for k in kept) for row in rows),
        numbers=(estimate, ODDS, level),
    )


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
