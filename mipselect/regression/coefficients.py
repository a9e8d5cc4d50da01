"""Coefficients of a released model with their intervals: for summary, frame, picture and report.

Intervals are computed from released numbers only: they cost no further ε.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.special import chdtri, stdtrit  # chi2.isf and t.ppf, without all of scipy.stats

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput
from mipselect.pictures import COLOURS, require_matplotlib
from mipselect.privacy.guarantee import ROW
from mipselect.regression.perturbed_objective import HUBER
from mipselect.regression.release import ModelRelease
from mipselect.tables.encoders import CATEGORY, INTERCEPT, PER_STEP, PER_UNIT, TableEquation, Term
from mipselect.validation import checked_share

LEVEL = 0.95

OPEN = "open"
"""Stands in place of a number that says nothing."""

ELSEWHERE = "to_frame() and the file of the release have them"


def all_terms(release: ModelRelease, rule: TableEquation) -> list[Term]:
    """Return the intercept of a rule, where there is one, and its terms."""
    intercept = Term(INTERCEPT, INTERCEPT, rule.intercept, meaning=INTERCEPT)
    there = release.table is not None or release.rows.fit_intercept
    return [intercept, *rule.terms] if there else [*rule.terms]


TURNED = 1e-4
"""Probability that noise turns a function out of what is seen of it by more than is allowed for."""

UNSEEN = 0.02
"""The largest part of a function, squared, that may be allowed for in this way."""


@dataclass(frozen=True)
class NoisyNormalEquations:
    """G̃θ ≈ g̃ with noise of known size on both sides, and intervals for linear functions of θ.

    Attributes
    ----------
    gram, gradient : float arrays, shapes (d, d) and (d,)
        G̃ = ZᵀZ + E and g̃ = Zᵀy + e.
    gram_deviation, gradient_deviation : float
        σ_G and σ_r: E has variance σ_G² on the diagonal and σ_G²/2 beside it, e has σ_r².
    squares, rows : float
        yᵀy and n, with or without noise.
    target_bound : float
        B_y.

    Notes
    -----
    At the true θ the difference w = g̃ - G̃θ = Zᵀr + e - Eθ has mean zero and the covariance
    Σ(θ) = σ²G + σ_r²I + (σ_G²/2)(‖θ‖²I + θθᵀ), where r are the residuals of least squares in the
    population, σ² their variance: sampling error and privacy noise together. So the law of all
    that is released is known, up to θ and σ², and quantiles need no draws; the ridge of the
    released coefficients plays no part, nor does its bias.

    Directions in which G̃ is below √d σ_G, about its noise, are left out: columns that depend on
    each other, such as those of a category beside an intercept, and ones that are zero. With U the
    eigenvectors of all others UᵀG̃V = 0, so Uᵀw = Uᵀ(Zᵀr + e - Eθ) as before, for every θ; where
    GV = 0 the one with Vᵀθ = 0 may be taken. G̃⁻¹ stands for U(UᵀG̃U)⁻¹Uᵀ. A function that has a
    part in V, more than what noise turns of it, has the whole line.

    For a function cᵀθ let θ̂ = G̃⁻¹g̃, a = G̃⁻¹c, C = G̃⁻¹Σ(θ̂)G̃⁻¹, and θ(x) = θ̂ + x Cc/cᵀCc, of
    all θ with cᵀθ = cᵀθ̂ + x the nearest. The interval has the x with x² ≤ t² aᵀΣ(θ(x))a
    (Fieller's): the noise Eθ grows with θ, and where it grows as fast as x no x can be excluded
    and the interval is the whole line. No bounded interval would do there (Gleser and Hwang
    1987: none keeps its level where G̃ may be noise alone).

    σ² is what g̃ᵀθ̂ leaves of yᵀy, plus what noise in θ̂ took away; between 0 and yᵀy/n.

    References
    ----------
    Fieller, "Some problems in interval estimation", 1954; Fuller, "Measurement error models",
    1987, section 1.2; Gleser and Hwang, "The nonexistence of 100(1-α)% confidence sets of finite
    expected diameter in errors-in-variables and related models", 1987.
    """

    gram: FloatArray = field(repr=False)
    gradient: FloatArray = field(repr=False)
    gram_deviation: float
    gradient_deviation: float
    squares: float
    rows: float
    target_bound: float

    @classmethod
    def of(cls, release: ModelRelease) -> NoisyNormalEquations:
        """Read the equations from a release; raise `InvalidInput` with the reason if it has none.

        Not covered are clipping, which changes what is estimated, residuals whose size depends on
        the columns, and a selection from the same rows, which prefers columns that happen to look
        strong.
        """
        statistics, bounds = release.statistics, release.bounds
        if release.table is not None and release.table.weight is not None:
            raise InvalidInput(
                "no intervals: they take all rows to count the same, and these count by the "
                f"survey weight {release.table.weight}"
            )
        if "squares" not in statistics:
            raise InvalidInput(
                "no intervals: what their widths depend on is not released by "
                f"{release.regression}; AdaSSPRegressor has intervals"
            )
        rows = bounds["rows"] if "rows" in bounds else statistics["rows"][0]
        return cls(
            gram=np.array(statistics["gram"]),
            gradient=np.array(statistics["gradients"][0]),
            gram_deviation=bounds["gram_deviation"],
            gradient_deviation=bounds["gradient_deviation"],
            squares=statistics["squares"][0],
            rows=rows,
            target_bound=bounds["y_bound"],
        )

    def ends(self, functions: FloatArray, level: float) -> FloatArray:
        """Compute intervals for the linear functions cᵀθ; shapes (m, d) to (m, 2)."""
        size = len(self.gradient)
        whole = np.tile([-math.inf, math.inf], (len(functions), 1))
        with np.errstate(all="ignore"):
            values, vectors = eigh(self.gram)
            seen = np.abs(values) > math.sqrt(size) * self.gram_deviation
            seen &= values != 0.0
            unseen, vectors, values = vectors[:, ~seen], vectors[:, seen], values[seen]
            inverse = (vectors / values) @ vectors.T
            theta = inverse @ self.gradient
            variance = self._residual_variance(inverse, theta, len(values))
            sampling = variance * (vectors * np.maximum(values, 0.0)) @ vectors.T
            constant = sampling + self.gradient_deviation**2 * np.eye(size)
            half = 0.5 * self.gram_deviation**2
            sigma = constant + half * (theta @ theta * np.eye(size) + np.outer(theta, theta))
            quantile = float(stdtrit(max(1.0, self.rows - size), 0.5 + 0.5 * level))
            found = whole.copy()
            for k, c in enumerate(functions):
                a = inverse @ c
                turned = half * (a @ a) * chdtri(max(1, unseen.shape[1]), TURNED)
                if np.square(unseen.T @ c).sum() > min(turned, UNSEEN * (c @ c)):
                    continue
                towards = inverse @ (sigma @ a)
                variance_now = float(a @ sigma @ a)
                if variance_now == 0.0:
                    found[k] = c @ theta
                    continue
                direction = towards / variance_now
                square = half * (direction @ direction * (a @ a) + (a @ direction) ** 2)
                linear = half * (theta @ direction * (a @ a) + (a @ theta) * (a @ direction))
                found[k] = c @ theta + fieller(quantile**2, square, linear, variance_now)
        return np.where(np.isfinite(found).all(axis=1, keepdims=True), found, whole)

    def _residual_variance(self, inverse: FloatArray, theta: FloatArray, rank: int) -> float:
        """Estimate σ² from yᵀy, n and θ̂; B_y² where there are no more rows than coefficients."""
        degrees = self.rows - rank
        if degrees < 1.0:
            return self.target_bound**2
        noise = self.gradient_deviation**2 * np.trace(inverse) + 0.5 * self.gram_deviation**2 * (
            theta @ theta * np.trace(inverse) + theta @ inverse @ theta
        )
        left = float(self.squares - self.gradient @ theta + noise)
        most = min(max(self.squares, 0.0) / degrees, self.target_bound**2)
        return min(max(left / degrees, 0.0), most) if math.isfinite(left) else most


def fieller(quantile: float, square: float, linear: float, constant: float) -> FloatArray:
    """Solve x² ≤ q(s x² + 2l x + c), c > 0, for x; shape (2,). The whole line unless q s < 1."""
    leading = 1.0 - quantile * square
    if not leading > 0.0:
        return np.array([-math.inf, math.inf])
    middle = quantile * linear / leading
    root = math.sqrt(middle**2 + quantile * constant / leading)
    return np.array([middle - root, middle + root])


def interval_ends(release: ModelRelease, level: float) -> FloatArray:
    """Compute intervals of all terms of a release, shape (m, 2); raises what it has none for."""
    equations, size = NoisyNormalEquations.of(release), release.rows.size
    # In units of the mapped columns, which row_norm has made shorter.
    units = np.full(release.rows.columns, release.bounds["row_norm"])
    if release.rows.unit is not None:
        units[:size] *= release.rows.unit

    def values(theta: FloatArray) -> FloatArray:
        """Compute the terms, which are affine functions of the coefficients and the intercept."""
        found = release.rule(theta[:size].tolist(), float(theta[size:].sum()))
        return np.array([term.coefficient for term in all_terms(release, found)])

    constants = values(np.zeros(len(units)))
    functions = np.column_stack([values(one) - constants for one in np.eye(len(units))])
    return equations.ends(functions / units, level) + constants[:, None]


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
    level : float
        With this probability an interval holds its coefficient, each on its own.
    rule : TableEquation
    rows : tuple of CoefficientRow
        The intercept first, where there is one.
    reason : str
        Why there are no intervals, as a sentence; "" if there are.
    """

    release: ModelRelease
    level: float
    rule: TableEquation
    rows: tuple[CoefficientRow, ...]
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
        rule, reason, ends = release.in_units, "", list[Any]()
        try:
            ends = interval_ends(release, level).tolist()
        except InvalidInput as error:
            reason = f"{str(error)[:1].upper()}{str(error)[1:]}."
        terms = all_terms(release, rule)
        pairs = [(None, None)] * len(terms) if reason else ends
        rows = (CoefficientRow(term, *pair) for term, pair in zip(terms, pairs, strict=True))
        return cls(release, level, rule, tuple(rows), reason)

    def __str__(self) -> str:
        return "\n".join(self.lines())

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

    def lines(self) -> list[str]:
        """Write the model as a sum, with a line for each row that is listed."""
        rows = [cells for _, cells in self.listed()]
        # What it is per is not padded: names may be of any letters.
        value, *others = (max((len(cells[k]) for cells in rows), default=0) for k in range(3))
        lines = [f"{self.rule.aim} = the sum of:"]
        for first, *middle, meaning in rows:
            padded = [text.ljust(n) for text, n in zip(middle, others, strict=True) if n]
            lines.append("  ".join(["", first.rjust(value), *padded, meaning]))
        return lines

    def to_frame(self) -> Any:
        """Return all rows as a frame of pandas; see `ModelRelease.to_frame`."""
        import pandas as pd

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


def _odds_ratio(term: Term) -> float:
    """Return the factor by which a term multiplies the odds.

    It is ``inf`` beyond all doubles, and NaN for the intercept.
    """
    if term.kind == INTERCEPT:
        return math.nan
    return math.inf if term.odds_ratio is None else term.odds_ratio


def reading_notes(table: CoefficientTable) -> list[str]:
    """Write sentences that say once how to read the rows, and what is left out of them."""
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
    notes += [
        f"The range of {drawn['field']}, {drawn['minimum']:.4g} to {drawn['maximum']:.4g}, was "
        f"found privately, with ε = {drawn['epsilon']:.6g} of this release."
        for drawn in release.drawn_ranges
    ]
    if table.reason:
        notes.append(table.reason)
    else:
        notes.append(
            f"Brackets are {100.0 * table.level:.6g} % intervals, each on its own. The "
            "ridge draws a coefficient towards 0 and not its interval, so that it may lie outside."
        )
        notes.append("They hold neither the choice of the features nor what the ranges cut off.")
    if any(row.is_open and not row.term.aside for row in table.rows):
        notes.append(f"What is {OPEN} could be any number, by its interval; {ELSEWHERE}.")
    if rule.left_out:
        notes.append(f"Not listed: {rule.left_out}; {ELSEWHERE}.")
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
    shown = "no intervals" if table.reason else f"{100.0 * level:g} % intervals"
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


def summary_text(release: ModelRelease, level: float) -> str:
    """Write the model in words; see `ModelRelease.summary`."""
    checked_share(level, "level", closed=False)
    table = release.table
    lines, guarantee = release._said(ROW if table is None else table.unit)
    drawn = "" if release.has_model else ": no model, for the private test failed"
    features = ", ".join(release.feature_names or map(str, release.support))
    always = "" if table is None or not table.always else f"; always in: {', '.join(table.always)}"
    lines += [f"Model: {release.mechanism}{drawn}", f"Features: {features}{always}"]
    if release.has_model:
        coefficients = CoefficientTable.of(release, level)
        lines += [*coefficients.lines(), *reading_notes(coefficients)]
    if release.quality is not None:
        lines += release.quality.lines
    return "\n".join([*lines, guarantee, *(f"Note: {note}." for note in release.footnotes)])
