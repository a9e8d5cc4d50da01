"""Parts of an experiment of a paper. Nothing here runs anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from .claims import Claim
from .results import Middle, Place, Results
from .sources import DataKind, DataSource

MIP = "Differentially Private High-dimensional Variable Selection via Integer Programming"
DP_SIS = "Feature Selection from Differentially Private Correlations"
CANONICAL = "Differentially Private Top-k Selection via Canonical Lipschitz Mechanism"
HETEROGENEOUS = "Private Selection with Heterogeneous Sensitivities"
KENDALL = "Better Private Linear Regression Through Better Private Feature Selection"
PAPERS = (MIP, DP_SIS, CANONICAL, HETEROGENEOUS, KENDALL)


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


class Recipe(Protocol):
    """Subject of a measurement: a frozen dataclass, whose ``repr`` names all of its settings."""

    @property
    def title(self) -> str:
        """Name of what is measured, for the progress line."""

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterable[Reading]:
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


@runtime_checkable
class TableRecipe(Recipe, Protocol):
    """A recipe for every table of a kind that there is."""

    def on(self, table: str) -> Recipe:
        """Return the recipe for the table of this name."""


@dataclass(frozen=True)
class Scale:
    """Extent to which an experiment is run.

    Attributes
    ----------
    recipes : tuple of Recipe
        A `TableRecipe` is run on every table.
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
class DifferenceMap:
    """A heat map: one method less another, by panel (down) and x (across)."""

    metric: Metric
    first: str
    second: str
    x_label: str
    suffix: str = "-map"


Figure = LineFigure | DifferenceMap


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
    figures : tuple of Figure
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
    figures: tuple[Figure, ...]
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
            if isinstance(recipe, TableRecipe):
                found += [recipe.on(table) for table in tables]
            else:
                found.append(recipe)
        return tuple(found)
