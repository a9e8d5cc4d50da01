"""Contents of a plan: settings, what each would find, and how many rows would do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from mipselect.planning.chances import (
    OF_SUPPORTS,
    Chance,
    Chances,
    mean_of,
    standard_error,
)
from mipselect.planning.guesses import Guesses
from mipselect.planning.rows import crossing
from mipselect.problem.block_scores import BlockOptions
from mipselect.problem.scores import LOSS

METHOD, COEF_BOUND, REPEATED, RIDGE = "method", "coef_bound", "repeated", "ridge"
ROWS, REFERENCE = "rows", "reference"
"""Subjects that a line can have."""

TOO_SLOW = "left out, for no time was left"


@dataclass(frozen=True)
class Setting:
    """One problem of a plan, with everything that is public about it.

    Attributes
    ----------
    about : str
        "method", "coef_bound", "repeated" (coef_bound where fields repeat each other), "ridge",
        "rows" or "reference".
    method : str
    rows : int
    score : {"blocks", "loss"}
        From blocks of rows, whose score may differ by ε and number of rows (`Question.blocks`); or
        from rows that are clipped to ranges, be it of a loss or the method's own.
    coef_bound, ridge : float, optional
        Bound of the coefficients and ridge of the loss.

    Examples
    --------
    >>> from mipselect.planning import Setting
    >>> Setting("method", "exponential", 2000, "loss", coef_bound=1.25, ridge=48.0).name
    'exponential, loss'
    """

    about: str
    method: str
    rows: int
    score: str
    coef_bound: float | None = None
    ridge: float | None = None

    @property
    def name(self) -> str:
        """Method with its score, or what else the setting is about."""
        if self.about == COEF_BOUND:
            return f"coef_bound {self.coef_bound:.3g}"
        if self.about == REPEATED:
            return f"repeats, coef_bound {self.coef_bound:.3g}"
        if self.about == RIDGE:
            return f"ridge {self.ridge:.3g}"
        if self.about == ROWS:
            return f"{self.rows:,} rows"
        return f"{self.method}, {self.score}" if self.method in OF_SUPPORTS else self.method


@dataclass(frozen=True)
class Line:
    """Setting of a plan, and what it would find.

    Attributes
    ----------
    setting : Setting
    tables : tuple of tuple of Chance
        By table, and in each by ε; fewer where time was short. Empty where no table was done.
    remark : str
        Why it is empty, or "".

    Examples
    --------
    >>> from mipselect.planning import Line, Setting
    >>> late = Line(Setting("method", "permute-and-flip", 2000, "blocks"), (), "too slow")
    >>> late.chance(0) is None
    True
    """

    setting: Setting
    tables: tuple[Chances, ...]
    remark: str = ""

    def chance(self, k: int) -> Chance | None:
        """Return the mean over tables at the k-th ε; None where there are none."""
        return mean_of(self.at(k)) if self.tables else None

    def at(self, k: int) -> list[Chance]:
        """Return the chances of every table at the k-th ε."""
        return [chances[k] for chances in self.tables]

    def error(self, k: int) -> float | None:
        """Return the standard error of `found` at the k-th ε; None for a single table."""
        return standard_error([chance.found for chance in self.at(k)])

    def gain(self, other: Line, k: int) -> tuple[float, float | None]:
        """Return the mean gain in `found` over another line at the k-th ε, and its standard error.

        On the tables that both have; the error is None for a single table.
        """
        pairs = zip(self.tables, other.tables, strict=False)
        gains = [mine[k].found - theirs[k].found for mine, theirs in pairs]
        return float(np.mean(gains)), standard_error(gains)


@dataclass(frozen=True)
class SelectionPlan:
    """Expected results of a selection. No data is in it.

    Attributes
    ----------
    rows, support_size, features : int
        n, s, and how many features there are to choose from.
    epsilons : tuple of float
    blocks : tuple of BlockOptions
        Score from blocks of n rows for every ε; empty where the score in question is the loss.
    without_range : tuple of str
        Fields that the loss needs a range of; where there are any, no line is about the loss.
    coef_bound, ridge : float
        Those of the loss; the defaults, unless others were given.
    goal : float
        The share of the right columns that is wanted.
    guesses : Guesses
    repeated : int
        How many fields repeat each other in the tables of the lines about it; 0 if there are none.
    seed : int
    lines : tuple of Line
        First what `select` does, permute-and-flip by the score in question; the same by the loss
        and other methods; then other `coef_bound` of the loss, the same where fields repeat each
        other, other `ridge`; more rows, and what could be found without privacy, by the score in
        question.

    Examples
    --------
    >>> from mipselect.planning import Guesses, SelectionPlan
    >>> of_two = {"rows": 500, "support_size": 1, "features": 2, "repeated": 0, "seed": 0}
    >>> bounds = {"epsilons": (1.0,), "coef_bound": 0.9, "ridge": 1.0, "goal": 0.8}
    >>> of_the_loss = {"blocks": (), "without_range": (), **bounds}
    >>> SelectionPlan(**of_two, **of_the_loss, guesses=Guesses(), lines=()).blind
    0.5
    """

    rows: int
    support_size: int
    features: int
    epsilons: tuple[float, ...]
    blocks: tuple[BlockOptions, ...]
    without_range: tuple[str, ...]
    coef_bound: float
    ridge: float
    goal: float
    guesses: Guesses
    repeated: int
    seed: int
    lines: tuple[Line, ...]

    @property
    def blind(self) -> float:
        """Expected share of the right columns found without looking: s/p."""
        return self.support_size / self.features

    def about(self, *what: str) -> tuple[Line, ...]:
        """Return the lines about something."""
        return tuple(line for line in self.lines if line.setting.about in what)

    @property
    def of_select(self) -> Line:
        """The line of what `select` does."""
        return self.about(METHOD)[0]

    @property
    def of_loss(self) -> Line | None:
        """The line that other bounds of the loss are compared with; None if there is none."""
        lines = self.about(METHOD)
        return next((line for line in lines if line.setting.score == LOSS), None)

    @property
    def by_rows(self) -> tuple[Line, ...]:
        """Lines of what `select` does, by rising number of rows."""
        return (self.of_select, *self.about(ROWS))

    def rows_needed(self, k: int) -> float | None:
        """Estimate how many rows reach the goal at the k-th ε; None if more than were tried.

        Between two numbers that were tried, linear in their logarithms. The first number of rows
        is returned where fewer may do.
        """
        done = takewhile(lambda line: line.tables, self.by_rows)
        shares = [(float(line.setting.rows), mean_of(line.at(k)).found) for line in done]
        return crossing([(rows, found, found >= self.goal) for rows, found in shares], self.goal)


@dataclass(frozen=True)
class Step:
    """Progress of a plan: what is done, and what comes next.

    Attributes
    ----------
    done, total : int
        Cases, a setting on a table each; and how many there are at most.
    tables : int
        How many tables are done.
    what : str
        What comes next.

    Examples
    --------
    >>> from mipselect.planning import Step
    >>> Step(done=3, total=40, tables=0, what="sis").done
    3
    """

    done: int
    total: int
    tables: int
    what: str


Progress = Callable[[Step], None]
"""Receives a `Step` before each case."""
