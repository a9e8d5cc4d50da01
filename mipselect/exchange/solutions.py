"""Solution of a model as a solver states it: a text, checked for its form alone."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from mipselect.errors import InvalidInput
from mipselect.validation import shown

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Solution:
    """Values of columns, and what the solver says about them; sensitive.

    Attributes
    ----------
    solver : str
        By the format of the file.
    status : str
        The solver's own words; empty where the file has none.
    optimal : bool
        True if these words claim that nothing is better.
    objective : float or None
        In units of the model.
    values : mapping of str to float
        By the names of columns.
    complete : bool
        True if a column that is missing is an error; else it is zero.
    objective_error : float
        How far the objective is off because it was written with few digits.
    """

    solver: str
    status: str
    optimal: bool
    objective: float | None
    values: Mapping[str, float]
    complete: bool
    objective_error: float = 0.0


class Unreadable(InvalidInput):
    """A line of a solution file is not what its format says; line 0 stands for none."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def number(word: str, line: int) -> float:
    """Return a finite number that is written in decimals; raise `Unreadable` for all else."""
    value = float(word) if NUMBER.fullmatch(word) else math.nan
    if not math.isfinite(value):
        raise Unreadable("has a word where a finite number was expected", line)
    return value


def add_column(values: dict[str, float], line: int, name: str, value: str) -> None:
    """Take the value of a column; raise `Unreadable` if it is none, or had one."""
    if name in values:
        raise Unreadable(f"has the column {shown(name)} a second time", line)
    values[name] = number(value, line)
