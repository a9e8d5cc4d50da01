"""Models in words: titles of fields, coefficients as a plot and a table, and the quality."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from mipselect.documents.blocks import (
    Alert,
    Block,
    BulletList,
    IntervalPlot,
    Paragraph,
    PlotRow,
    TextTable,
)
from mipselect.errors import InvalidInput
from mipselect.quality import Measure, Quality
from mipselect.quality.measures import (
    ACCURACY,
    AUC,
    CHANCE,
    PREDICTED,
    R2,
    SECOND,
    SHARE,
    in_percent,
)
from mipselect.regression import ModelRelease
from mipselect.regression.coefficients import (
    OPEN,
    CoefficientRow,
    CoefficientTable,
    reading_notes,
    whole_range,
)
from mipselect.tables.equation import INTERCEPT, in_digits
from mipselect.validation import checked_name, plural, printable, shown

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


def coefficient_blocks(model: ModelRelease) -> Iterator[Block]:
    """Describe the fields of a model, then its coefficients."""
    told = field_words(model)
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
    yield Paragraph(f"{NOT_A_CAUSE} {BY_CHANCE}" if _was_drawn(model) else NOT_A_CAUSE)
    notes = [note for note in reading_notes(table, ELSEWHERE) if note != table.reason]
    notes += [
        f"The range of {each['field']}, {each['minimum']:.4g} to {each['maximum']:.4g}, was found "
        f"privately, with ε = {each['epsilon']:.6g} of this release."
        for each in model.drawn_ranges
    ]
    yield BulletList(tuple(notes))


def _was_drawn(model: ModelRelease) -> bool:
    """Tell whether a mechanism chose the fields, before another released their coefficients."""
    return ", then " in model.mechanism and not model.mechanism.startswith("all features")


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


def quality_blocks(quality: Quality, target: str) -> Iterator[Block]:
    """Describe what was measured on rows that the model was not fitted to."""
    if not quality.beats_chance:
        yield Alert(f"{quality.verdict}.")
    yield Paragraph(f"{_about(quality)} {_first(quality, target)}")
    if accuracy := _named(quality, ACCURACY):
        yield Paragraph(_accuracy(quality, accuracy))
    yield TextTable(
        ("measure", "estimate", f"{100.0 * quality.level:g} % interval"),
        tuple((quality.name_of(one), _estimate(one), _interval(one)) for one in quality.measures),
        numbers=("estimate", f"{100.0 * quality.level:g} % interval"),
    )
    yield Paragraph(
        f"A {100.0 * quality.level:g} % interval covers the true value in "
        f"{100.0 * quality.level:g} % of repetitions, with other rows and other noise."
    )
    if quality.clip is not None:
        yield Paragraph(
            f"Errors and distances from the mean count up to ±{quality.clip:.4g}, so that no "
            "single row can decide the result. Where a few rows are far off, R² without that limit "
            "is another number, which the interval need not hold."
        )
    second = quality.second_class or f"of {SECOND} of {target}"
    if quality.matching_threshold is not None:
        yield Paragraph(
            f"About as many rows as are {second} have a probability above "
            f"{quality.matching_threshold:.3g}: the threshold for predictions of the right number."
        )
    if quality.bins:
        yield Paragraph(
            "Do predicted probabilities mean what they say? Of the rows with a prediction in the "
            f"first column, so many were {second}:"
        )
        yield TextTable(
            ("predicted", "true share", f"{100.0 * quality.level:g} % interval"),
            tuple(
                (
                    one.probabilities,
                    "unknown" if one.share.value is None else f"{in_percent(one.share.value)} %",
                    f"{in_percent(one.share.low)} to {in_percent(one.share.high)} %",
                )
                for one in quality.bins
            ),
            numbers=("true share", f"{100.0 * quality.level:g} % interval"),
        )


def _about(quality: Quality) -> str:
    rows = "rows" if quality.rows is None else f"{quality.rows:,} rows"
    if quality.share is None:
        return f"Measured on {rows} of a table that was given for it."
    return f"Measured on {rows} that were kept apart from the fit ({_percent(quality.share)})."


def _first(quality: Quality, target: str) -> str:
    """Say in plain words what the first measure means."""
    one, value = quality.first, quality.first.estimate
    its = f"the {100.0 * quality.level:g} % interval"
    if value is None:
        return f"The noise leaves no estimate of {one.name}; it is at most {one.high:.2f}."
    if one.name == R2:
        if value <= 0.0:
            return (
                f"By the estimate the model does worse than the mean, R² {value:.2f}; {its} of "
                f"R² is {one.low:.2f} to {one.high:.2f}."
            )
        if not quality.beats_chance:
            return (
                f"The estimate is that it explains {_percent(value)} of the variation of "
                f"{target}, but {its}, {_whole(one.low)} to {_percent(one.high)}, does not rule "
                "out that it explains nothing."
            )
        return (
            f"The model explains {_percent(value)} of the variation of {target}; {its} is "
            f"{_whole(one.low)} to {_percent(one.high)}."
        )
    if one.name == AUC:
        pair = "Of two rows, one of each class, the model finds out which is which"
    else:
        pair = f"Of two rows, the model finds out which has more of {target}"
    by = "" if quality.beats_chance else ", by the estimate,"
    held = one.low <= CHANCE[one.name] <= one.high
    return (
        f"{pair}{by} in {_whole(value)} of 100 cases; {its} is {_whole(one.low)} to "
        f"{_whole(one.high)}. Guessing would find it in 50"
        f"{f', which {its} does not rule out' if held else ''}."
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


def _named(quality: Quality, name: str) -> Measure | None:
    return next((one for one in quality.measures if one.name == name), None)


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


def field_words(model: ModelRelease) -> dict[str, str]:
    """Return title and unit of the fields of a model, in words; "" where its schema has none."""
    if model.table is None:
        return {}
    return {entry["name"]: words_of(entry) for entry in model.table.schema.content["fields"]}


def unit_of_target(model: ModelRelease) -> str:
    """Write the unit of the target as the end of a phrase; "" for classes and unknown units."""
    if model.table is None or model.classes is not None:
        return ""
    for entry in model.table.schema.content["fields"]:
        if entry["name"] == model.table.target and (unit := _line(entry.get("unit"))):
            return f", in {unit}"
    return ""


def words_of(entry: Mapping[str, object]) -> str:
    """Write title and unit of a field of a schema; "" where it has none."""
    title, unit = _line(entry.get("title")), _line(entry.get("unit"))
    return f"{title}, in {unit}" if title and unit else title or (unit and f"in {unit}")


def titles_in_words(report: Mapping[str, Any]) -> dict[str, str]:
    """Read titles and units by field from the JSON object of a release.

    Raises
    ------
    InvalidInput
        If it is none.
    """
    titles = report.get("titles") or {}
    if not isinstance(titles, dict) or not all(isinstance(e, dict) for e in titles.values()):
        raise InvalidInput(f"titles must be objects by field, got {shown(titles)}")
    return {checked_name(name, "titles"): words_of(entry) for name, entry in titles.items()}


def _line(text: object) -> str:
    """Write a text of a schema as one printable line; "" for anything else."""
    return printable(" ".join(text.split())) if isinstance(text, str) else ""
