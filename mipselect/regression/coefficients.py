"""Coefficients of a released model as rows: for its summary, frame, picture and report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from mipselect.errors import InvalidInput
from mipselect.regression.intervals import CoefficientIntervals, confidence_intervals
from mipselect.regression.release import ModelRelease
from mipselect.regression.smooth_losses import HINGE, HUBER
from mipselect.tables.equation import INTERCEPT, PER_UNIT, TableEquation, Term
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
