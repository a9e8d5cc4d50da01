"""Summaries of readings: a mean with its error, or a median with an interval, at every place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean, median, stdev

CONFIDENCE = 0.95
"""Confidence of the interval of a median."""

CLEARLY = 2.0
"""Standard errors of a difference of means beyond which it counts."""


@dataclass(frozen=True, order=True)
class Place:
    """Place that a number belongs to.

    Attributes
    ----------
    panel, method, metric : str
    x : float
    """

    panel: str
    method: str
    metric: str
    x: float


@dataclass(frozen=True)
class Middle:
    """Result at a place.

    Attributes
    ----------
    value : float
        Mean or median; ``-inf`` for a median of no answers.
    error : float or None
        The standard error of a mean of several repeats.
    count : int
        Repeats.
    interval : (float, float) or None
        Where the truth is, for a median or what is counted from medians.
    """

    value: float
    error: float | None
    count: int
    interval: tuple[float, float] | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """The interval, or two standard errors below and above."""
        error = CLEARLY * (self.error or 0.0)
        return self.interval or (self.value - error, self.value + error)

    def __str__(self) -> str:
        shown = _shown(self.value)
        if self.interval is not None:
            low, high = self.interval
            if high == math.inf:
                return f"{shown} [?]"
            return shown if low == high else f"{shown} [{_shown(low)}, {_shown(high)}]"
        if self.error is None:
            return shown
        # What is left of equal numbers is rounding.
        error = 0.0 if self.error < 1e-12 * max(1.0, abs(self.value)) else self.error
        return f"{shown} ± {error:.2g}"


def _shown(value: float) -> str:
    return "none" if value == -math.inf else f"{value:.4g}"


def clearly_above(first: Middle, second: Middle, margin: float = 0.0) -> bool:
    """Tell whether the first is larger by more than errors, rounding and a margin.

    Means by two standard errors of the difference, as if they were independent; intervals by not
    overlapping.
    """
    if first.interval is not None and second.interval is not None:
        return first.interval[0] > second.interval[1] + margin
    if first.value == second.value:
        return False
    error = math.hypot(first.error or 0.0, second.error or 0.0)
    rounding = 1e-9 * abs(second.value)
    return first.value - second.value > max(CLEARLY * error, margin, rounding)


def mean_of(values: list[float | None]) -> Middle | None:
    """Compute the mean of what was answered, and its standard error."""
    answers = [value for value in values if value is not None]
    if not answers:
        return None
    several = len(answers) > 1
    error = stdev(answers) / math.sqrt(len(answers)) if several else None
    return Middle(fmean(answers), error, len(answers))


def median_of(values: list[float | None]) -> Middle | None:
    """Compute the median and its interval, in which no answer is worse than any other."""
    if not values:
        return None
    answers = sorted(-math.inf if value is None else value for value in values)
    middle = -math.inf
    if answers[(len(answers) - 1) // 2] > -math.inf:
        middle = median(answers)
    return Middle(middle, None, len(answers), _interval(answers))


def _interval(ordered: list[float]) -> tuple[float, float]:
    """Choose two values with the median between them, with a probability of at least 95 %.

    Whatever the distribution is: the number of values below the median is binomial. Below six
    values there is no such pair, and nothing is known.
    """
    count, tail, below = len(ordered), 0.0, 0
    while tail + math.comb(count, below) / 2**count <= (1.0 - CONFIDENCE) / 2.0:
        tail += math.comb(count, below) / 2**count
        below += 1
    return (ordered[below - 1], ordered[-below]) if below else (-math.inf, math.inf)


@dataclass(frozen=True)
class Results:
    """All numbers of an experiment, in the order in which they came.

    Attributes
    ----------
    middles : mapping of Place to Middle
    """

    middles: Mapping[Place, Middle] = field(repr=False)

    @classmethod
    def of(cls, readings: Iterable[tuple[Place, float | None]], medians: Iterable[str]) -> Results:
        """Sum up readings; `medians` are the keys of metrics that are summed up by a median."""
        by_median = set(medians)
        values: dict[Place, list[float | None]] = {}
        for place, value in readings:
            values.setdefault(place, []).append(value)
        middles = {
            place: (median_of if place.metric in by_median else mean_of)(all_of_it)
            for place, all_of_it in values.items()
        }
        return cls({place: middle for place, middle in middles.items() if middle is not None})

    def panels(self, metric: str) -> list[str]:
        """List every panel with this metric."""
        return list(dict.fromkeys(p.panel for p in self.middles if p.metric == metric))

    def methods(self, metric: str, panel: str | None = None) -> list[str]:
        """List every method with this metric, in one panel or in any."""
        return list(
            dict.fromkeys(
                p.method for p in self.middles if p.metric == metric and panel in (None, p.panel)
            )
        )

    def line(self, panel: str, method: str, metric: str) -> dict[float, Middle]:
        """Map x to what was found there, from left to right."""
        found = {
            p.x: middle
            for p, middle in self.middles.items()
            if (p.panel, p.method, p.metric) == (panel, method, metric)
        }
        return dict(sorted(found.items()))
