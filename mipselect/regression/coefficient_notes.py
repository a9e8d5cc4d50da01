"""Sentences on how to read the coefficients of a release, said once behind its rows."""

from __future__ import annotations

import math
from collections.abc import Mapping

from mipselect.regression.coefficients import OPEN, CoefficientTable
from mipselect.regression.release import ModelRelease
from mipselect.regression.smooth_losses import HUBER
from mipselect.tables.equation import CATEGORY

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


def reading_notes(
    table: CoefficientTable, elsewhere: str = "", *, all_terms: bool = False
) -> list[str]:
    """Write sentences that say once how to read the rows, and what is left out of them.

    Parameters
    ----------
    table : CoefficientTable
    elsewhere : str
        Where what is left out can be found, in words.
    all_terms : bool
        As for `CoefficientTable.listed`.
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
    if not all_terms:
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
