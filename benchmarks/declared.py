"""What a benchmark is: a function that measures one cell, and the axes whose cells are measured."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from mipselect.errors import InvalidInput
from mipselect_papers.experiment import DataSeed, Recipe
from mipselect_papers.sources import DataSource

MODULES = ("searches", "draws", "genes", "ablation", "peers", "moments", "tables", "models")
MODULES += ("coverage", "selectors", "devices")

Record = dict[str, Any]
"""A flat object: its values are texts, numbers, or lists of numbers, such as those of repeats."""

Measure = Callable[..., Iterable[Record]]


@dataclass(frozen=True)
class Benchmark:
    """A function with its declaration.

    Attributes
    ----------
    measure : callable
        From a value of each axis, and settings, to records. What it says of itself begins with one
        sentence. A setting `data` is the folder of --data.
    axes : mapping of str to sequence
        The values of which each combination is a cell, measured in a process of its own.
    quick : mapping of str to value
        Other values of axes and settings.
    seeds : str
        The seeds, in words.
    summary : callable
        From the records of all cells to those that are printed and stored.
    """

    measure: Measure
    axes: Mapping[str, Sequence[Any]]
    quick: Mapping[str, Any]
    seeds: str
    summary: Callable[[list[Record]], list[Record]]

    @property
    def name(self) -> str:
        return self.measure.__name__.replace("_", "-")

    @property
    def settings(self) -> dict[str, Any]:
        """All but the axes, with their defaults."""
        parameters = inspect.signature(self.measure).parameters
        return {name: one.default for name, one in parameters.items() if name not in self.axes}

    def cells(self, given: Mapping[str, str], *, quick: bool, data: Path | None) -> list[Cell]:
        """All cells, with what was given as texts in place of what is declared."""
        axes, settings = dict(self.axes), self.settings
        if "data" in settings:
            settings["data"] = None if data is None else str(data)
            if settings["data"] is None:
                raise InvalidInput(f"{self.name} needs --data FOLDER")
        for name, value in self.quick.items() if quick else ():
            (axes if name in axes else settings)[name] = value
        for name, text in given.items():
            if name in self.axes:
                axes[name] = [_of_axis(self.axes[name], each) for each in text.split(",")]
            elif name in settings:
                settings[name] = _parsed(text, settings[name])
            else:
                known = ", ".join((*axes, *settings))
                raise InvalidInput(f"{self.name} has no setting {name!r}; it has {known}")
        module = self.measure.__module__
        return [
            Cell(
                module, self.measure.__name__, (*zip(axes, values, strict=True), *settings.items())
            )
            for values in product(*axes.values())
        ]


@dataclass(frozen=True)
class Cell(Recipe):
    """One call of the function of a benchmark."""

    module: str
    function: str
    settings: tuple[tuple[str, Any], ...]

    @property
    def title(self) -> str:
        return ", ".join(f"{name} = {value}" for name, value in self.settings if name != "data")

    def measure(self, data: DataSeed, seed: int, source: DataSource | None) -> Iterable[Record]:
        found = getattr(importlib.import_module(self.module), self.function)
        return found.measure(**dict(self.settings))  # type: ignore[no-any-return]


def benchmark(
    axes: Mapping[str, Sequence[Any]],
    *,
    seeds: str,
    quick: Mapping[str, Any] | None = None,
    summary: Callable[[list[Record]], list[Record]] = list,
) -> Callable[[Measure], Benchmark]:
    """Declare the function below as a benchmark; see `Benchmark`."""
    return lambda measure: Benchmark(measure, axes, quick or {}, seeds, summary)


def benchmarks() -> Iterator[Benchmark]:
    """Every benchmark, in the order of `MODULES`."""
    for name in MODULES:
        module = importlib.import_module(f"benchmarks.{name}")
        yield from (each for each in vars(module).values() if isinstance(each, Benchmark))


def _of_axis(values: Sequence[Any], text: str) -> Any:
    """A value of an axis: a number or a word, or else one of those declared by its place from 0."""
    if isinstance(values[0], str | int | float):
        return _parsed(text, values[0])
    return values[_parsed(text, 0)]


def _parsed(text: str, like: Any) -> Any:
    """A text as a value of the same kind; of None as a word."""
    if isinstance(like, bool):
        return text in ("yes", "true", "1")
    try:
        return text if like is None else type(like)(text)
    except ValueError:
        raise InvalidInput(f"{text!r} is no {type(like).__name__}") from None
