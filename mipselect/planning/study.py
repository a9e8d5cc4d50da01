"""`StudyPlan`: what a plan expects, as a table, a figure and a JSON object. No data is in it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from mipselect.blocks.scores import BlockOptions
from mipselect.documents.pictures import SUFFIXES, Picture, Series, drawn, require_matplotlib
from mipselect.planning.simulation import Question
from mipselect.quality.measures import LEVEL
from mipselect.regression.plan import SHARE_OF_BLOCKS
from mipselect.tables.encoders import Scaled, Unscaled
from mipselect.validation import checked_choice, joined, listed, plural

R_SQUARED, AUC = "R²", "AUC"
LEVELS = {R_SQUARED: 0.0, AUC: 0.5}
"""Scores of the mean, and of a coin."""

ENOUGH = 5
"""Tables from which on means are no mere guess."""

BY_CHANCE = "found by chance"
LATE = "Left out, for no time was left (--time-limit)"
SIMULATED = "Simulated tables; no row of yours was read. A plan guarantees nothing."
UNWEIGHTED = (
    "Weights are not simulated: all rows count the same here. Weighted by {}, a model is at best "
    "that of Σw/W rows, W the maximum of the weight, and a draw of fields from blocks of two rows "
    "finds about what (Σw/W)²/n rows find; plan with so many --rows."
)


@dataclass(frozen=True)
class Found:
    """Expected result of a draw at one ε, the mean over simulated tables.

    Attributes
    ----------
    found : float
        Expected share of the columns that matter.
    standard_error : float or None
        Error of `found`; None for a single table.
    all_found : float
        Probability of all columns that matter.

    Examples
    --------
    >>> from mipselect.planning import Found
    >>> Found(found=0.75, standard_error=None, all_found=0.5).found
    0.75
    """

    found: float
    standard_error: float | None
    all_found: float


@dataclass(frozen=True)
class ModelForecast:
    """Models at one ε, of features and coefficients together.

    Attributes
    ----------
    epsilon : float
    expected : float
        Mean score on fresh rows.
    standard_error : float or None
        Error of `expected`; None for a single table.
    low, high : float
        The scores that one model in ten is below, and one in ten above.
    half_width : float or None
        Half of the width of the interval of the quality that would be released, the median;
        ``inf`` where the noise leaves no lower end to more than half of the intervals, None where
        no rows are kept apart.
    above_chance : float or None
        Share of the models whose interval lies above what needs no model.

    Examples
    --------
    >>> from mipselect.planning import ModelForecast
    >>> ModelForecast(1.0, 0.2, None, low=0.2, high=0.2).expected
    0.2
    """

    epsilon: float
    expected: float
    standard_error: float | None
    low: float
    high: float
    half_width: float | None = None
    above_chance: float | None = None

    @property
    def width(self) -> str:
        """Half of the width of the interval in words, in brackets how many lie above chance."""
        if self.half_width is None:
            return "none"
        width = "open" if math.isinf(self.half_width) else f"±{self.half_width:.2f}"
        return f"{width} ({self.above_chance:.0%})"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON, those of the quality as one object."""
        found, half = asdict(self), self.half_width
        del found["half_width"]
        quality = {"above_chance": found.pop("above_chance")}
        quality["half_width"] = None if half is None or math.isinf(half) else half
        return {**found, "quality": None if half is None else quality}


@dataclass(frozen=True, kw_only=True)
class StudyPlan:
    """Expected results of a selection and of a model. No data is in it.

    Attributes
    ----------
    question : Question
    blocks : tuple of BlockOptions
        Score of the selection from blocks of n rows, for every ε.
    selections : int
        How many tables were simulated for the selection.
    drawn, best : tuple of Found
        Draws by permute-and-flip, and the best support itself, which is not private: one of each
        for every ε; empty where no table was done in time.
    quality_share : float or None
        Share of the rows that is kept apart, to say how good the model is.
    models : int
        How many tables were simulated for models, with one at every ε.
    without_privacy : float or None
        Mean score of least squares on the right fields; None without a table.
    forecasts : tuple of ModelForecast
        One for every ε; empty where no table was done in time, or a field has no range.

    Examples
    --------
    >>> from mipselect.planning import Question, plan_study
    >>> from mipselect.tables import TableSchema
    >>> schema = TableSchema.of_numbers({"dose": None, "weight": None, "days": None})
    >>> question = Question(schema=schema, target="days", rows=500, support_size=1)
    >>> plan = plan_study(question, tables=1)
    >>> plan.chance_level, plan.forecasts
    (0.5, ())
    """

    question: Question
    blocks: tuple[BlockOptions, ...]
    selections: int
    drawn: tuple[Found, ...]
    best: tuple[Found, ...]
    quality_share: float | None
    models: int
    without_privacy: float | None
    forecasts: tuple[ModelForecast, ...]

    @property
    def features(self) -> int:
        """Number of fields to choose from."""
        return len(self.question.public.features)

    @property
    def chance_level(self) -> float:
        """Expected share of the right columns found without looking: s/p."""
        return self.question.support_size / self.features

    @property
    def measure(self) -> str:
        """What models are scored by: R², or the AUC for two classes."""
        return R_SQUARED if self.question.public.target.classes is None else AUC

    @property
    def level(self) -> float:
        """Score of the mean of the target, or of a coin for two classes."""
        return LEVELS[self.measure]

    @property
    def title(self) -> str:
        """What is planned, in a line."""
        asked, fields = self.question, f"{self.features} fields"
        return f"{asked.target} by {asked.support_size} of {fields}, {asked.rows:,} rows"

    @property
    def notes(self) -> list[str]:
        """Sentences on what the numbers are, and on which ranges to take."""
        question, weight = self.question, self.question.schema.weight
        found = [_of_the_tables("what a selection finds", self.selections)]
        if lacking := listed(question.without_range):
            found.append(f"A model of fit is left out: its coefficients need a range of {lacking}.")
        else:
            found.append(_of_the_tables("the model of fit", self.models))
        found += filter(None, [range_advice(question)])
        found += [] if weight is None else [UNWEIGHTED.format(weight.name)]
        return [*found, SIMULATED]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The table: a name, and a cell for every ε."""
        rows = [(line.name, *cells) for line, cells in self._lines]
        if self.quality_share is not None and self.forecasts:
            widths = [one.width for one in self.forecasts]
            rows.append((f"{LEVEL:.0%} interval of {self.measure}", *widths))
        return rows

    def plot(self, suffix: str = ".svg") -> bytes:
        """Return the table as a figure by ε, in a file with this suffix; needs matplotlib.

        Raises
        ------
        InvalidInput
            If matplotlib is missing, or the suffix is none of .svg, .png and .pdf.
        """
        checked_choice(suffix, "suffix", SUFFIXES)
        require_matplotlib()
        lines = tuple(line for line, _ in self._lines)
        picture = Picture(
            title=self.title,
            x_label="ε, under replace-one",
            y_label=f"share of the right columns, or {self.measure}",
            panels={"": lines},
            names=tuple(line.name for line in lines),
            yardstick=BY_CHANCE,
            log_x=True,
            notes=(SIMULATED,),
        )
        return drawn(picture, suffix)

    def to_dict(self) -> dict[str, Any]:
        """Return question, guesses and numbers, ready for JSON; what is infinite is None."""
        question, weight = self.question, self.question.schema.weight
        # With as many fields as are picked nothing is drawn.
        drawn_by = SHARE_OF_BLOCKS if question.support_size < self.features else 0.0
        model = {
            "measure": self.measure,
            "level": self.level,
            "quality_share": self.quality_share,
            "without_privacy": self.without_privacy,
            "tables": self.models,
            "cells": [one.to_dict() for one in self.forecasts],
            "selection_share": drawn_by,
        }
        return {
            "target": question.target,
            "rows": question.rows,
            "support_size": question.support_size,
            "features": self.features,
            "epsilons": list(question.epsilons),
            "relation": "replace-one",
            "blocks": [
                {"score": one.score, "block_rows": one.block_rows, "partitions": one.partitions}
                for one in self.blocks
            ],
            "without_range": list(question.without_range),
            "guesses": {"effect": question.effect, "target_rate": question.target_rate},
            "seed": question.seed,
            "chance_level": self.chance_level,
            "lines": [
                {"method": name, "cells": list(map(asdict, cells)), "tables": self.selections}
                for name, cells in self._found.items()
            ],
            "model": None if question.without_range else model,
            "ranges": range_advice(question) or None,
            **({} if weight is None else {"not_simulated": [weight.name]}),
        }

    @property
    def _found(self) -> dict[str, tuple[Found, ...]]:
        """What the draw finds, and what could be found, by name."""
        return {"permute-and-flip": self.drawn, "without privacy": self.best}

    @property
    def _lines(self) -> list[tuple[Series, list[str]]]:
        """What would be found, and how good a model would be, with a cell for every ε."""
        epsilons, made = tuple(self.question.epsilons), list[tuple[Series, list[str]]]()

        def add(name: str, points: Iterable[tuple[float, float | None]], cells: list[str]) -> None:
            means, errors = zip(*points, strict=True)
            made.append((Series(name, epsilons, means, errors), cells))

        def level(name: str, value: float, form: str) -> None:
            count = len(epsilons)
            add(name, [(value, None)] * count, [f"{value:{form}}"] * count)

        for method, found in self._found.items():
            if found:
                name = f"found {'by ' * (found is self.drawn)}{method}"
                cells = [f"{one.found:.0%} ({one.all_found:.0%})" for one in found]
                add(name, ((one.found, one.standard_error) for one in found), cells)
        level(BY_CHANCE, self.chance_level, ".0%")
        if self.without_privacy is not None:
            models = self.forecasts
            tenths = [f" ({one.low:.2f} to {one.high:.2f})" * (self.models > 1) for one in models]
            cells = [f"{one.expected:.2f}{ends}" for one, ends in zip(models, tenths, strict=True)]
            scores = ((one.expected, one.standard_error) for one in models)
            add(f"{self.measure} of fit", scores, cells)
            level(f"{self.measure} without privacy", self.without_privacy, ".2f")
        return made


def _of_the_tables(what: str, tables: int) -> str:
    """Say of how many tables numbers are means; of less than `ENOUGH` they are a guess."""
    if not tables:
        return f"{LATE}: {what}."
    mean = "means of" if tables >= ENOUGH else "a rough guess from"
    return f"{what[:1].upper()}{what[1:]}: {mean} {plural(tables, 'simulated table')}."


TIE = 5_000
"""Rows times ε from which private ranges come near stated ones, as measured in
docs/regression.md: of five tables with 1,500, 2,000 and 5,000 private ones have 0.68, 0.77 and 0.91
of the R² of ranges twice the span of the data."""


def range_advice(question: Question) -> str:
    """Say at which ε private ranges are worth a thought; nothing for a table without numbers."""
    public, rows = question.public, question.rows
    encoders = (*public.encoders, public.target.encoder)
    if not any(isinstance(encoder, Scaled | Unscaled) for encoder in encoders):
        return ""
    enough = [f"{epsilon:g}" for epsilon in question.epsilons if rows * epsilon >= TIE]
    few = [f"{epsilon:g}" for epsilon in question.epsilons if rows * epsilon < TIE]
    parts = []
    if enough:
        parts.append(
            f"at ε = {joined(enough)} private ranges (--ranges private of fit) are for those who "
            "can state none: they are no better than ranges twenty times the span of the data, and "
            "far worse where a number has a long tail"
        )
    if few:
        parts.append(
            f"at ε = {joined(few)} do not draw them: with less than {TIE:,} rows times ε private "
            "ranges lose a tenth of the R² of ranges twice the span, a third with 1,500, or more"
        )
    return f"Which ranges? Typical ones, if anyone can state them; {'; '.join(parts)}."
