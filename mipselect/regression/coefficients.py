"""Coefficients of a released model as rows: for its summary, frame, picture and report."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from mipselect.errors import InvalidInput
from mipselect.pictures import COLOURS, require_matplotlib
from mipselect.privacy.guarantee import ROW
from mipselect.regression.intervals import CoefficientIntervals, confidence_intervals
from mipselect.regression.release import ModelRelease
from mipselect.regression.smooth_losses import HUBER
from mipselect.tables.equation import CATEGORY, INTERCEPT, PER_STEP, PER_UNIT, TableEquation, Term
from mipselect.validation import checked_share

LEVEL = 0.95

TARGET = "y"
"""Name of the target where the model is one of arrays."""

OPEN = "open"
"""Stands in place of a number that says nothing."""


@dataclass(frozen=True)
class CoefficientRow:
    """One coefficient with its interval.

    Attributes
    ----------
    term : Term
    low, high : float or None
        None where the mechanism gives no interval.
    """

    term: Term
    low: float | None
    high: float | None

    @property
    def is_open(self) -> bool:
        """True where noise leaves everything open, so that the coefficient says nothing."""
        return self.low == -math.inf and self.high == math.inf


@dataclass(frozen=True)
class CoefficientTable:
    """All coefficients of a release in the units of its user; released numbers only.

    Attributes
    ----------
    release : ModelRelease
    rule : TableEquation
    rows : tuple of CoefficientRow
        The intercept first, where there is one.
    intervals : CoefficientIntervals or None
    reason : str
        Why there are no intervals, as a sentence; "" if there are.
    """

    release: ModelRelease
    rule: TableEquation
    rows: tuple[CoefficientRow, ...]
    intervals: CoefficientIntervals | None
    reason: str

    @classmethod
    def of(cls, release: ModelRelease, level: float = LEVEL) -> CoefficientTable:
        """Read the rows from a release.

        Raises
        ------
        InvalidInput
            If no model was released, or the level is not between 0 and 1.
        """
        checked_share(level, "level", closed=False)
        rule = rule_of(release)
        terms = list(rule.terms)
        if release.table is not None or release.rows.fit_intercept:
            terms.append(Term(INTERCEPT, INTERCEPT, rule.intercept))
        intervals, reason = None, ""
        ends: Any = repeat((None, None), len(terms))
        try:
            intervals = confidence_intervals(release, level)
            ends = zip(intervals.lower, intervals.upper, strict=True)
        except InvalidInput as error:
            reason = f"{str(error)[:1].upper()}{str(error)[1:]}."
        rows = [CoefficientRow(term, *pair) for term, pair in zip(terms, ends, strict=True)]
        first = [row for row in rows if row.term.kind == INTERCEPT]
        rest = [row for row in rows if row.term.kind != INTERCEPT]
        return cls(release, rule, (*first, *rest), intervals, reason)

    @property
    def of_shares(self) -> bool:
        """True for least squares on two classes, whose means are their shares."""
        scored = self.rule.classes is not None and not self.rule.log_odds
        return scored and HUBER not in self.release.mechanism

    def listed(self) -> list[tuple[CoefficientRow, tuple[str, ...]]]:
        """Return rows with their cells: coefficient, interval, odds, and what it is per.

        Terms that say nothing where no row has such a value are left out, and so are the numbers of
        coefficients that are open.
        """
        return [(row, self._cells(row)) for row in self.rows if not row.term.aside]

    def _cells(self, row: CoefficientRow) -> tuple[str, ...]:
        term, interval = row.term, ""
        if row.is_open:
            return OPEN, "", "", term.meaning
        if row.low is not None and row.high is not None:
            interval = f"[{row.low:.6g}, {row.high:.6g}]"
        if term.kind == INTERCEPT:
            return f"{term.coefficient:.6g}", interval, "", term.meaning
        return (
            f"{term.coefficient:+.6g}",
            interval,
            self.rule.odds_of(term).removeprefix(": "),
            term.meaning,
        )

    @property
    def head(self) -> str:
        """Words for the sum of the rows."""
        return f"{self.rule.aim} = the sum of:"

    def lines(self) -> list[str]:
        """Write the model as a sum, with a line for each row that is listed."""
        rows = [cells for _, cells in self.listed()]
        # What it is per is not padded: names may be of any letters.
        value, *others = (max((len(cells[k]) for cells in rows), default=0) for k in range(3))
        lines = [self.head]
        for first, *middle, meaning in rows:
            padded = [text.ljust(n) for text, n in zip(middle, others, strict=True) if n]
            lines.append("  ".join(["", first.rjust(value), *padded, meaning]))
        return lines

    def to_frame(self) -> Any:
        """Return all rows as a frame of pandas; see `ModelRelease.to_frame`."""
        try:
            import pandas as pd
        except ImportError as error:
            raise InvalidInput("pandas is missing; install it with: pip install pandas") from error
        columns: dict[str, list[Any]] = {
            "field": [row.term.field for row in self.rows],
            "kind": [row.term.kind for row in self.rows],
            "category": [row.term.category for row in self.rows],
            "reference": [row.term.reference for row in self.rows],
            "coefficient": [row.term.coefficient for row in self.rows],
            "low": [math.nan if row.low is None else row.low for row in self.rows],
            "high": [math.nan if row.high is None else row.high for row in self.rows],
        }
        if self.rule.log_odds:
            columns["odds_ratio"] = [_odds_ratio(row.term) for row in self.rows]
        return pd.DataFrame({**columns, "aside": [row.term.aside for row in self.rows]})


def rule_of(release: ModelRelease) -> TableEquation:
    """Return the linear rule of a release: in units of its table, or per unit of each column."""
    if release.table is not None:
        return release.in_units
    names = zip(release.column_names, release._released(), strict=True)
    classes = release.classes
    return TableEquation(
        target=TARGET,
        classes=None if classes is None else (str(classes[0]), str(classes[1])),
        intercept=release.intercept,
        terms=tuple(Term(name, PER_UNIT, beta) for name, beta in names),
        log_odds=release.has_probabilities,
    )


def _odds_ratio(term: Term) -> float:
    """Return the factor by which a term multiplies the odds.

    It is ``inf`` beyond all doubles, and NaN for the intercept.
    """
    if term.kind == INTERCEPT:
        return math.nan
    return math.inf if term.odds_ratio is None else term.odds_ratio


def reading_notes(table: CoefficientTable, elsewhere: str) -> list[str]:
    """Write sentences that say once how to read the rows, and what is left out of them.

    Parameters
    ----------
    table : CoefficientTable
    elsewhere : str
        Where what is left out can be found, in words.
    """
    release, rule = table.release, table.rule
    notes = [f"{_of_a_coefficient(table)}."]
    if HUBER in release.mechanism:
        notes.append(
            "Large errors count by their size and not by its square: where the target has a long "
            "tail, predictions lie between its median and its mean. For means take the squared "
            "loss."
        )
    if any(row.term.kind == CATEGORY for row in table.rows):
        notes.append("The coefficient of a category that few rows have, or none, is mostly noise.")
    if release.table is not None and release.table.weight is not None:
        notes.append(f"Rows counted by the survey weight {release.table.weight}.")
    if release.table is not None and (ranges := release.table.ranges):
        told = [f"{name} {low:.6g} to {high:.6g}" for name, (low, high) in ranges.items()]
        notes.append(
            "Numbers count within their ranges, or the parts that were found to hold most values, "
            f"and as the middle where they are missing: {', '.join(told)}."
        )
    if table.intervals is None:
        notes.append(table.reason)
    else:
        notes.append(
            f"Brackets are {100.0 * table.intervals.level:.6g} % intervals, each on its own. The "
            "ridge draws a coefficient towards 0 and not its interval, so that it may lie outside."
        )
        notes.append("They hold neither the choice of the features nor what the ranges cut off.")
    if any(row.is_open and not row.term.aside for row in table.rows):
        notes.append(f"What is {OPEN} could be any number, by its interval; {elsewhere}.")
    if rule.left_out:
        notes.append(f"Not listed: {rule.left_out}; {elsewhere}.")
    return notes


def _of_a_coefficient(table: CoefficientTable) -> str:
    """Say what a coefficient is in units of, or what it is added to."""
    rule, noise = table.rule, "with noise for privacy beside the error of any sample"
    if rule.step:
        return f"A coefficient is in steps of {rule.target}, {noise}: {rule.step}"
    if rule.log_odds:
        return (
            "A coefficient is added to the logarithm of the odds of the class, which it multiplies "
            f"by the number shown, {noise}"
        )
    if rule.classes is None:
        column = table.release.table is None
        per = "per unit of its column" if column else "in units of the target"
        return f"A coefficient is {per}, {noise}"
    first, second = rule.classes
    if not table.of_shares:
        score = f"below 0 for {first} and above 0 for {second}"
        return f"A coefficient is added to a score, {score}, {noise}"
    return (
        f"The score is -1 for {first} and +1 for {second}, so half of a coefficient, and of its "
        f"interval, is a difference of the share of {rule.target}={second}, {noise}"
    )


WIDTH, ROW_HEIGHT, MARGINS = 7.0, 0.32, 1.4
"""Inches."""

LARGEST_HEIGHT = 40.0
TITLE_LETTERS = 76
RED = "#B00000"


def coefficient_plot(release: ModelRelease, axes: Any, level: float) -> Any:
    """Draw the rows of a model on axes of matplotlib; see `ModelRelease.plot`."""
    table = CoefficientTable.of(release, level)
    require_matplotlib()
    rows = [row for row, _ in table.listed() if row.term.kind != INTERCEPT]
    if axes is None:
        from matplotlib import pyplot

        height = min(MARGINS + ROW_HEIGHT * len(rows), LARGEST_HEIGHT)
        axes = pyplot.subplots(figsize=(WIDTH, height), layout="constrained")[1]
    axes.axvline(0.0, color="0.8", zorder=0)
    labels = []
    for place, row in enumerate(rows):
        label, units = whole_range(release, row.term)
        labels.append(f"{label}: {OPEN}" if row.is_open else label)
        if row.is_open:
            continue
        if row.low is not None and row.high is not None:
            axes.hlines(place, units * row.low, units * row.high, color=COLOURS[0])
        axes.plot(units * row.term.coefficient, place, "o", color=COLOURS[0], markersize=5)
    # A dollar sign in a name is no mathematics.
    axes.set_yticks(range(len(rows)), labels=labels, parse_math=False)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    shown = "no intervals" if table.intervals is None else f"{100.0 * level:g} % intervals"
    axes.set_xlabel(f"change of {table.rule.aim}; {shown}", parse_math=False)
    before, guarantee = release._said(ROW if release.table is None else release.table.unit)
    lines = [*before, f"{release.mechanism}.", guarantee]
    title = "\n".join(textwrap.fill(line, TITLE_LETTERS) for line in lines)
    colour = "black" if release.private else RED
    axes.set_title(title, fontsize="small", loc="left", color=colour, parse_math=False)
    return axes


def whole_range(release: ModelRelease, term: Term) -> tuple[str, float]:
    """Return what a coefficient is drawn for, and its units: the whole range of a number."""
    if release.table is None or term.kind not in (PER_UNIT, PER_STEP):
        return term.meaning, 1.0
    (encoder,) = (one for one in release.table.public.encoders if one.field.name == term.field)
    column = encoder.columns()[0]
    ends = [f"{column.offset + sign * column.scale:g}" for sign in (-1.0, 1.0)]
    if term.kind == PER_STEP:
        ends = [encoder.field.category_words[k] for k in (0, -1)]
    return f"{term.field} from {ends[0]} to {ends[1]}", 2.0 * column.scale


ELSEWHERE = "to_frame() has them"


def summary_text(release: ModelRelease, level: float, elsewhere: str = ELSEWHERE) -> str:
    """Write the model in words; see `ModelRelease.summary`, and `reading_notes` of `elsewhere`."""
    checked_share(level, "level", closed=False)
    table = release.table
    lines, guarantee = release._said(ROW if table is None else table.unit)
    drawn = "" if release.has_model else ": no model, for the private test failed"
    features = ", ".join(release.feature_names or map(str, release.support))
    always = "" if table is None or not table.always else f"; always in: {', '.join(table.always)}"
    lines += [f"Model: {release.mechanism}{drawn}", f"Features: {features}{always}"]
    if release.has_model:
        coefficients = CoefficientTable.of(release, level)
        lines += [*coefficients.lines(), *reading_notes(coefficients, elsewhere)]
    if release.quality is not None:
        lines += release.quality.lines
    return "\n".join([*lines, guarantee, *(f"Note: {note}." for note in release.footnotes)])
