"""Coefficients of a released model as rows: for its summary, frame, picture and report."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from mipselect.documents.blocks import TextTable
from mipselect.documents.pages import html_part
from mipselect.errors import InvalidInput
from mipselect.pictures import COLOURS, require_matplotlib
from mipselect.privacy.guarantee import ROW
from mipselect.privacy.release import line_block
from mipselect.regression.intervals import CoefficientIntervals, confidence_intervals
from mipselect.regression.release import ModelRelease
from mipselect.regression.smooth_losses import HINGE, HUBER
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
        return scored and not any(loss in self.release.mechanism for loss in (HUBER, HINGE))

    def listed(self) -> list[tuple[CoefficientRow, tuple[str, ...]]]:
        """Return rows with their cells: coefficient, interval, odds, and what it is per.

        Terms that say nothing where no row has such a value are left out, as are the numbers of
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


TELLING, TELLING_ODDS = 0.1, math.log(1.5)
"""Noise worth telling: in halves of the range of the target, and in log-odds."""

MOST_ROWS = 1e15

OF_NUMBERS = "A coefficient is in units of the target"
OF_STEPS = "A coefficient is in steps"
OF_COLUMNS = "A coefficient is per unit of its column"
OF_ODDS = (
    "A coefficient is added to the logarithm of the odds of the class, which it multiplies by the "
    "number shown"
)
OF_NOISE = "with noise for privacy beside the error of any sample"
OF_RANGES = (
    "Numbers count within their ranges, or the parts that were found to hold most values, and as "
    "the middle where they are missing"
)
OF_HUBER = (
    "Large errors count by their size and not by its square: where the target has a long tail, "
    "predictions lie between its median and its mean. For means take the squared loss"
)
OF_RARE_CLASSES = (
    "that is so where both classes are as frequent, and in about three times as many rows where "
    "one in ten is of the rarer class, in eight times as many where one in thirty is"
)
"""A row of probability p weighs p(1-p), a quarter at most: 2.8 and 7.8 times less."""

OF_WEIGHTS = "Rows counted by the survey weight"
OF_INTERVALS = "They hold neither the choice of the features nor what the ranges cut off"
OF_RIDGE = (
    "The ridge draws a coefficient towards 0 and not its interval, so that it may lie outside"
)


def reading_notes(table: CoefficientTable, elsewhere: str = "") -> list[str]:
    """Write sentences that say once how to read the rows, and what is left out of them.

    Parameters
    ----------
    table : CoefficientTable
    elsewhere : str
        Where what is left out can be found, in words.
    """
    release, rule = table.release, table.rule
    notes = [_of_a_coefficient(table)]
    if HUBER in release.mechanism:
        notes.append(f"{OF_HUBER}.")
    if any(row.term.kind == CATEGORY for row in table.rows):
        notes.append(_of_rare_categories(table))
    if release.table is not None and release.table.weight is not None:
        notes.append(f"{OF_WEIGHTS} {release.table.weight}.")
    if release.table is not None and (ranges := release.table.ranges):
        told = [f"{name} {low:.6g} to {high:.6g}" for name, (low, high) in ranges.items()]
        notes.append(f"{OF_RANGES}: {', '.join(told)}.")
    if table.intervals is None:
        notes.append(table.reason)
    else:
        level = f"{100.0 * table.intervals.level:.6g} %"
        notes.append(f"Brackets are {level} intervals, each on its own. {OF_RIDGE}.")
        notes.append(f"{OF_INTERVALS}.")
    found = f"; {elsewhere}" if elsewhere else ""
    if any(row.is_open and not row.term.aside for row in table.rows):
        notes.append(f"What is {OPEN} could be any number, by its interval{found}.")
    if rule.left_out:
        notes.append(f"Not listed: {rule.left_out}{found}.")
    return notes


def _of_a_coefficient(table: CoefficientTable) -> str:
    """Say what a coefficient is in units of, or what it is added to."""
    rule = table.rule
    if rule.step:
        return f"{OF_STEPS} of {rule.target}, {OF_NOISE}: {rule.step}."
    if rule.log_odds:
        return f"{OF_ODDS}, {OF_NOISE}."
    per = OF_COLUMNS if table.release.table is None else OF_NUMBERS
    if rule.classes is not None:
        first, second = rule.classes
        per = f"A coefficient is added to a score, below 0 for {first} and above 0 for {second}"
        if table.of_shares:
            per = (
                f"The score is -1 for {first} and +1 for {second}, so half of a coefficient, and "
                f"of its interval, is a difference of the share of {rule.target}={second}"
            )
    return f"{per}, {OF_NOISE}."


def _of_rare_categories(table: CoefficientTable) -> str:
    """Write the sentence on categories that few rows have, or none."""
    log_odds = table.rule.log_odds
    rare, shrunk = rows_below_noise(table.release), rows_of_ridge(table.release)
    rows = max(rare or 0, shrunk or 0)
    few = f"In a category that fewer than some {rows} rows have, or none,"
    if shrunk is not None and shrunk == rows:
        return f"{few} the ridge takes half of the coefficient or more, and leaves mostly noise."
    if rare is None:
        return "The coefficient of a category that few rows have, or none, is mostly noise."
    noise = (
        "changes the odds by a factor of 1.5"
        if log_odds
        else "is a twentieth of the range of the target"
    )
    rarer = f"; {OF_RARE_CLASSES}" if log_odds else ""
    return f"{few} noise alone {noise} or more{rarer}."


def rows_below_noise(release: ModelRelease) -> int | None:
    """Compute the rows of a category up to which noise alone matters: (σ/t - c)/h, in two digits.

    Noise of deviation σ in the gradient moves the coefficient of a column by σ/(H + c) or more, c
    the ridge, and m rows with a one in it add hm to H at most, h the curvature of the loss. All of
    it is public. None where it is not known, and for scores, which have no unit.
    """
    bounds = release.bounds
    if release.classes is not None and not release.has_probabilities:
        return None
    if not {"noise_deviation", "curvature", "ridge"} <= set(bounds):
        return None
    telling = TELLING if release.classes is None else TELLING_ODDS
    return _rows_that_weigh(bounds["noise_deviation"] / telling - bounds["ridge"], bounds)


def rows_of_ridge(release: ModelRelease) -> int | None:
    """Compute how many rows with a one in a column weigh as much as the ridge: c/h, in two digits.

    Up to so many the ridge takes half of its coefficient or more. None where it is not known.
    """
    bounds = release.bounds
    if not {"curvature", "ridge"} <= set(bounds):
        return None
    return _rows_that_weigh(bounds["ridge"], bounds)


def _rows_that_weigh(weight: float, bounds: Mapping[str, float]) -> int | None:
    """Return the rows whose curvature is this, in two digits; None for one row or fewer."""
    # A file may hold any numbers.
    if not bounds["curvature"] > 0.0 or not 2.0 <= weight / bounds["curvature"] <= MOST_ROWS:
        return None
    return int(float(f"{weight / bounds['curvature']:.2g}"))


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
HEADINGS = ("coefficient", f"{100.0 * LEVEL:g} % interval", "odds", "")


def summary_text(release: ModelRelease, level: float) -> str:
    """Write the model in words; see `ModelRelease.summary`."""
    checked_share(level, "level", closed=False)
    before, after = _around(release)
    if release.has_model:
        table = CoefficientTable.of(release, level)
        before += [*table.lines(), *reading_notes(table, ELSEWHERE)]
    return "\n".join([*before, *after])


def summary_html(release: ModelRelease) -> str:
    """Write the summary with a table of the coefficients: escaped, without scripts and styles."""
    before, after = _around(release)
    if not release.has_model:
        return html_part(map(line_block, [*before, *after]))
    table = CoefficientTable.of(release, LEVEL)
    rows = [cells for _, cells in table.listed()]
    kept = [k for k in range(len(HEADINGS)) if any(cells[k] for cells in rows)]
    made = TextTable(
        tuple(HEADINGS[k] for k in kept), tuple(tuple(cells[k] for k in kept) for cells in rows)
    )
    lines = [*before, table.head], [*reading_notes(table, ELSEWHERE), *after]
    return html_part([*map(line_block, lines[0]), made, *map(line_block, lines[1])])


def _around(release: ModelRelease) -> tuple[list[str], list[str]]:
    """Write the lines before the coefficients, and those behind them."""
    table = release.table
    before, guarantee = release._said(ROW if table is None else table.unit)
    drawn = "" if release.has_model else ": no model, for the private test failed"
    before.append(f"Model: {release.mechanism}{drawn}")
    features = release.feature_names or tuple(map(str, release.support))
    always = "" if table is None or not table.always else f"; always in: {', '.join(table.always)}"
    before.append(f"Features: {', '.join(features)}{always}")
    quality = [] if release.quality is None else [*release.quality.lines]
    return before, [*quality, guarantee, *(f"Note: {note}." for note in release.footnotes)]
