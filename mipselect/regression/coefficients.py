"""Coefficients of a released model as rows: for its summary, frame, picture and card."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from mipselect.errors import InvalidInput
from mipselect.regression.intervals import CoefficientIntervals, confidence_intervals
from mipselect.regression.release import ModelRelease
from mipselect.regression.smooth_losses import HINGE, HUBER
from mipselect.tables.equation import TableEquation
from mipselect.tables.input_map import Ranges
from mipselect.tables.terms import CATEGORY, INTERCEPT, PER_UNIT, Term
from mipselect.validation import checked_share

LEVEL = 0.95

TARGET = "y"
"""Name of the target where the model is one of arrays."""

OPEN = "open"
"""Stands in place of a number that says nothing."""

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
    rule : TableEquation
    rows : tuple of CoefficientRow
        The intercept first, where there is one.
    intervals : CoefficientIntervals or None
    reason : str
        Why there are no intervals, in words; "" if there are.
    of_fields : bool
        Whether it is a model of a table with a schema.
    rare, shrunk : int or None
        See `rows_below_noise` and `rows_of_ridge`.
    of_means : bool
        False for a loss that does not estimate means of numbers.
    ranges : mapping of str to (float, float)
        Those of the numbers of the model.
    weight : str or None
        The field that said how much a row counts.
    of_shares : bool
        True for least squares on two classes, whose means are their shares.
    """

    rule: TableEquation
    rows: tuple[CoefficientRow, ...]
    intervals: CoefficientIntervals | None
    reason: str
    of_fields: bool
    rare: int | None
    shrunk: int | None
    of_means: bool
    ranges: Ranges
    weight: str | None = None
    of_shares: bool = False

    @classmethod
    def of(cls, release: ModelRelease, level: float = LEVEL) -> CoefficientTable:
        """Read the rows from a release.

        Raises
        ------
        InvalidInput
            If no model was released, or the level is not between 0 and 1.
        """
        checked_share(level, "level", closed=False)
        rule, of_fields = rule_of(release), release.table is not None
        terms = list(rule.terms)
        if of_fields or release.rows.fit_intercept:
            terms.append(Term(INTERCEPT, INTERCEPT, rule.intercept))
        intervals, reason = None, ""
        ends: Any = repeat((None, None), len(terms))
        try:
            intervals = confidence_intervals(release, level)
            ends = zip(intervals.lower, intervals.upper, strict=True)
        except InvalidInput as error:
            reason = str(error)
        rows = [CoefficientRow(term, *pair) for term, pair in zip(terms, ends, strict=True)]
        first = [row for row in rows if row.term.kind == INTERCEPT]
        rest = [row for row in rows if row.term.kind != INTERCEPT]
        return cls(
            rule,
            (*first, *rest),
            intervals,
            reason,
            of_fields,
            rows_below_noise(release),
            rows_of_ridge(release),
            HUBER not in release.mechanism,
            {} if release.table is None else release.table.ranges,
            None if release.table is None else release.table.weight,
            rule.classes is not None
            and not rule.log_odds
            and not any(loss in release.mechanism for loss in (HUBER, HINGE)),
        )

    def listed(self, *, all_terms: bool = False) -> list[tuple[CoefficientRow, tuple[str, ...]]]:
        """Return rows with their cells: coefficient, interval, odds, and what it is per.

        Terms that say nothing where no row has such a value are listed with `all_terms` only, and
        so are the numbers of coefficients that are open.
        """
        rows = [row for row in self.rows if all_terms or not row.term.aside]
        return [(row, self._cells(row, hidden=row.is_open and not all_terms)) for row in rows]

    def _cells(self, row: CoefficientRow, *, hidden: bool) -> tuple[str, ...]:
        term, interval = row.term, ""
        if hidden:
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

    def lines(self, *, all_terms: bool = False) -> list[str]:
        """Write the model as a sum, with a line for each row that is listed."""
        rows = [cells for _, cells in self.listed(all_terms=all_terms)]
        # What it is per is not padded: names may be of any letters.
        value, *others = (max((len(cells[k]) for cells in rows), default=0) for k in range(3))
        lines = [self.head]
        for first, *middle, meaning in rows:
            padded = [text.ljust(n) for text, n in zip(middle, others, strict=True) if n]
            lines.append("  ".join(["", first.rjust(value), *padded, meaning]))
        return lines

    def notes(self, elsewhere: str = "", *, all_terms: bool = False) -> list[str]:
        """Write sentences that say once how to read the rows, and what is left out of them.

        Parameters
        ----------
        elsewhere : str
            Where what is left out can be found, in words.
        all_terms : bool
            As for `listed`.
        """
        per = OF_NUMBERS if self.of_fields else OF_COLUMNS
        if self.of_shares:
            per = self._of_shares()
        elif self.rule.classes is not None:
            first, second = self.rule.classes
            per = f"A coefficient is added to a score, below 0 for {first} and above 0 for {second}"
        notes = [f"{OF_ODDS if self.rule.log_odds else per}, {OF_NOISE}."]
        if self.rule.step:
            notes = [f"{OF_STEPS} of {self.rule.target}, {OF_NOISE}: {self.rule.step}."]
        if not self.of_means:
            notes.append(f"{OF_HUBER}.")
        if any(row.term.kind == CATEGORY for row in self.rows):
            notes.append(self._of_rare_categories())
        if self.weight is not None:
            notes.append(f"{OF_WEIGHTS} {self.weight}.")
        if self.ranges:
            told = [f"{name} {low:.6g} to {high:.6g}" for name, (low, high) in self.ranges.items()]
            notes.append(f"{OF_RANGES}: {', '.join(told)}.")
        if self.intervals is None:
            notes.append(f"{self.reason[:1].upper()}{self.reason[1:]}.")
        else:
            level = f"{100.0 * self.intervals.level:.6g} %"
            notes.append(f"Brackets are {level} intervals, each on its own. {OF_RIDGE}.")
            notes.append(f"{OF_INTERVALS}.")
        found = f"; {elsewhere}" if elsewhere else ""
        if not all_terms:
            if any(row.is_open and not row.term.aside for row in self.rows):
                notes.append(f"What is {OPEN} could be any number, by its interval{found}.")
            if self.rule.left_out:
                notes.append(f"Not listed: {self.rule.left_out}{found}.")
        return notes

    def _of_shares(self) -> str:
        """Write the sentence on coefficients of a score that least squares fitted to classes."""
        assert self.rule.classes is not None
        first, second = self.rule.classes
        return (
            f"The score is -1 for {first} and +1 for {second}, so half of a coefficient, and of "
            f"its interval, is a difference of the share of {self.rule.target}={second}"
        )

    def _of_rare_categories(self) -> str:
        """Write the sentence on categories that few rows have, or none."""
        rows = max(self.rare or 0, self.shrunk or 0)
        few = f"In a category that fewer than some {rows} rows have, or none,"
        if self.shrunk is not None and self.shrunk == rows:
            return (
                f"{few} the ridge takes half of the coefficient or more, and leaves mostly noise."
            )
        if self.rare is None:
            return "The coefficient of a category that few rows have, or none, is mostly noise."
        noise = (
            "changes the odds by a factor of 1.5"
            if self.rule.log_odds
            else "is a twentieth of the range of the target"
        )
        rarer = f"; {OF_RARE_CLASSES}" if self.rule.log_odds else ""
        return f"{few} noise alone {noise} or more{rarer}."

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


def _odds_ratio(term: Term) -> float:
    """Return the factor by which a term multiplies the odds.

    It is ``inf`` beyond all doubles, and NaN for the intercept.
    """
    if term.kind == INTERCEPT:
        return math.nan
    return math.inf if term.odds_ratio is None else term.odds_ratio
