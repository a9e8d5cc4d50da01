"""Parts of an experiment of a paper, and what is found by it. Nothing here runs anything."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING, Any

from .sources import DataKind, DataSource

if TYPE_CHECKING:
    from .claims import Claim

Support = tuple[int, ...]
"""Chosen features, sorted."""

MIP = "Differentially Private High-dimensional Variable Selection via Integer Programming"
DP_SIS = "Feature Selection from Differentially Private Correlations"
CANONICAL = "Differentially Private Top-k Selection via Canonical Lipschitz Mechanism"
HETEROGENEOUS = "Private Selection with Heterogeneous Sensitivities"
KENDALL = "Better Private Linear Regression Through Better Private Feature Selection"
PAPERS = (MIP, DP_SIS, CANONICAL, HETEROGENEOUS, KENDALL)


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


@dataclass(frozen=True)
class Reading:
    """One number at one place of a figure.

    Attributes
    ----------
    panel, method : str
    x : float
        Where on the horizontal axis.
    metric : str
        The key of a `Metric`.
    value : float or None
        None if there was no answer, which counts as the worst.
    """

    panel: str
    method: str
    x: float
    metric: str
    value: float | None

    @property
    def stored(self) -> list[Any]:
        """The reading as a line of a file has it."""
        value = None if self.value is None else float(self.value)
        return [self.panel, self.method, float(self.x), self.metric, value]


NUMBERS = 1_000_000
"""Data sets that belong to one seed of the data."""


@dataclass(frozen=True)
class DataSeed:
    """The data that a repeat generates, or the split that it makes of a table.

    Attributes
    ----------
    base : int
        Seed of the whole run; 0 or more.
    repeat : int
        From 1.
    """

    base: int
    repeat: int

    @property
    def number(self) -> int:
        """The seed of what is generated: 1, 2, ... for the base 0, so that recipes share data."""
        return self.base * NUMBERS + self.repeat


@dataclass(frozen=True)
class Recipe:
    """Subject of a measurement, whose ``repr`` names all of its settings.

    One with the setting `table` is run on every table of a kind that there is.
    """

    @property
    def title(self) -> str:
        """Name of what is measured, for the progress line."""
        settings = {one.name: getattr(self, one.name) for one in fields(self)}
        shown = {name: f"{each:,}" for name, each in settings.items() if isinstance(each, int)}
        shown |= {name: f"{each:g}" for name, each in settings.items() if isinstance(each, float)}
        words = [each for each in settings.values() if isinstance(each, str) and each]
        return ", ".join([*words, *(f"{name} = {each}" for name, each in shown.items())])

    def on(self, table: str) -> Recipe:
        """Return the recipe for the table of this name."""
        return replace(self, **{"table": table})

    def measure(
        self, data: DataSeed, seed: int, source: DataSource | None
    ) -> Iterable[Reading | dict[str, Any]]:
        """Run it once.

        Parameters
        ----------
        data : DataSeed
            Seed of generated data and of splits; recipes are compared on the same data.
        seed : int
            Seed of every draw; another one for every recipe and repeat, the same for all data.
        source : DataSource or None
            Where the data are, for an experiment that needs some.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Scale:
    """Extent to which an experiment is run.

    Attributes
    ----------
    recipes : tuple of Recipe
        One with a table is run on every table.
    repeats : int
        Runs of each recipe.
    minutes : float
        What all of it took on one core; for tables, those of ``shared/data``.
    """

    recipes: tuple[Recipe, ...]
    repeats: int
    minutes: float


@dataclass(frozen=True)
class Metric:
    """Quantity that is measured.

    Attributes
    ----------
    key, words : str
    median : bool
        Whether repeats are summed up by their median; else by mean and standard error.
    """

    key: str
    words: str
    median: bool = False


@dataclass(frozen=True)
class LineFigure:
    """A line for every method, a panel for every panel.

    Attributes
    ----------
    metric : Metric
        On the vertical axis.
    x_label : str
    log_x, log_y, fraction : bool
        Scales of the axes; a fraction lies between 0 and 1.
    suffix : str
        Added to the name of the file.
    """

    metric: Metric
    x_label: str
    log_x: bool = False
    log_y: bool = False
    fraction: bool = True
    suffix: str = ""


@dataclass(frozen=True)
class Experiment:
    """A figure, or several of one kind, of a paper.

    Attributes
    ----------
    name : str
        What the command is called with.
    paper : str
        One of `PAPERS`.
    row : str
        What the list of experiments calls it.
    title : str
    figures : tuple of LineFigure
    claims : tuple of Claim
        What was published, and our own expectations; judged as measured.
    full, quick : Scale
    needs : DataKind or None
        Which tables it is run on.
    also : tuple of Metric
        Are in the tables only.
    derive : callable or None
        From what was measured to further numbers, such as ranks.
    notes : tuple of str
        What differs from the paper, and what is ours.
    """

    name: str
    paper: str
    row: str
    title: str
    figures: tuple[LineFigure, ...]
    claims: tuple[Claim, ...]
    full: Scale
    quick: Scale
    needs: DataKind | None = None
    also: tuple[Metric, ...] = ()
    derive: Callable[[Results], Mapping[Place, Middle]] | None = None
    notes: tuple[str, ...] = ()

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Every metric that is in a figure or a table, each once."""
        drawn = (figure.metric for figure in self.figures)
        return tuple(dict.fromkeys((*drawn, *self.also)))

    def scale(self, *, quick: bool) -> Scale:
        """Return what is run."""
        return self.quick if quick else self.full

    def recipes(self, tables: Sequence[str], *, quick: bool) -> tuple[Recipe, ...]:
        """Return what is run on these tables."""
        found: list[Recipe] = []
        for recipe in self.scale(quick=quick).recipes:
            if hasattr(recipe, "table"):
                found += [recipe.on(table) for table in tables]
            else:
                found.append(recipe)
        return tuple(found)

    def results(self, rows: Iterable[Mapping[str, Any]]) -> Results:
        """Sum up the rows of trials, in this order."""
        readings = (
            (Place(panel, method, metric, x), value)
            for row in rows
            for panel, method, x, metric, value in row["readings"]
        )
        found = Results.of(readings, [metric.key for metric in self.metrics if metric.median])
        return found if self.derive is None else Results({**found.middles, **self.derive(found)})
