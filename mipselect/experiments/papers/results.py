"""What readings amount to: a mean with its error, or a median, at every place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean, median, stdev


@dataclass(frozen=True, order=True)
class Place:
    """Where a number belongs.

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
    """What was found at a place.

    Attributes
    ----------
    value : float
        Mean or median; ``-inf`` for a median of no answers.
    error : float or None
        The standard error of a mean of several repeats.
    count : int
        Repeats.
    """

    value: float
    error: float | None
    count: int

    def __str__(self) -> str:
        if self.value == -math.inf:
            return "none"
        shown = f"{self.value:.4g}"
        if self.error is None:
            return shown
        # What is left of equal numbers is rounding.
        error = 0.0 if self.error < 1e-12 * max(1.0, abs(self.value)) else self.error
        return f"{shown} ± {error:.2g}"


def mean_of(values: list[float | None]) -> Middle | None:
    """The mean of what was answered, and its standard error."""
    answers = [value for value in values if value is not None]
    if not answers:
        return None
    several = len(answers) > 1
    error = stdev(answers) / math.sqrt(len(answers)) if several else None
    return Middle(fmean(answers), error, len(answers))


def median_of(values: list[float | None]) -> Middle | None:
    """The median, in which no answer is worse than any other."""
    if not values:
        return None
    answers = sorted(-math.inf if value is None else value for value in values)
    if answers[(len(answers) - 1) // 2] == -math.inf:
        return Middle(-math.inf, None, len(values))
    return Middle(median(answers), None, len(values))


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
        """Every panel with this metric."""
        return list(dict.fromkeys(p.panel for p in self.middles if p.metric == metric))

    def methods(self, metric: str, panel: str | None = None) -> list[str]:
        """Every method with this metric, in one panel or in any."""
        return list(
            dict.fromkeys(
                p.method for p in self.middles if p.metric == metric and panel in (None, p.panel)
            )
        )

    def line(self, panel: str, method: str, metric: str) -> dict[float, Middle]:
        """From x to what was found there, from left to right."""
        found = {
            p.x: middle
            for p, middle in self.middles.items()
            if (p.panel, p.method, p.metric) == (panel, method, metric)
        }
        return dict(sorted(found.items()))
