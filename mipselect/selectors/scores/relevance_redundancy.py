"""Rank correlations with the target, less those with the columns that were chosen before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Protocol

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.mechanisms.base import Support
from mipselect.problem.layout import Layout
from mipselect.selectors.scores.kendall_tau import GRID, IntArray, Rankings


def mean_on_grid(strengths: list[FloatArray], axis: int) -> FloatArray:
    """Average multiples of `GRID`, cut to such a multiple, in integers."""
    units = (np.array(strengths) / GRID).astype(np.int64)
    mean: FloatArray = np.floor_divide(units.sum(axis=axis), units.shape[axis]) * GRID
    return mean


REDUNDANCIES: dict[str, Callable[..., FloatArray]] = {"max": np.max, "mean": mean_on_grid}
"""Functions from the strengths of the chosen columns to what is subtracted."""


class Correlations(Protocol):
    """Rank correlations of p columns."""

    @property
    def size(self) -> int:
        """p."""
        ...

    def with_target(self) -> FloatArray:
        """Return τ̂ of every column with the target, shape (p,); multiples of `GRID`."""
        ...

    def with_column(self, c: int) -> FloatArray:
        """Return τ̂ of every column with column c, shape (p,); multiples of `GRID`."""
        ...


@dataclass(frozen=True, eq=False)
class OfAllRows:
    """Rank correlations of a table that is in memory, by all its rows.

    Parameters
    ----------
    columns : Rankings
    target : int array, shape (n,)
        The ranks of the rows in Y.
    """

    columns: Rankings
    target: IntArray = field(repr=False)

    @property
    def size(self) -> int:
        """p."""
        return len(self.columns.ranks)

    def with_target(self) -> FloatArray:
        """See `Correlations`."""
        return self.columns.correlations(self.target)

    def with_column(self, c: int) -> FloatArray:
        """See `Correlations`."""
        return self.columns.correlations(self.columns.ranks[c])


@dataclass(frozen=True, eq=False)
class RelevanceLessRedundancy:
    """|τ̂(X_j, Y)| less the largest or the mean |τ̂(X_j, X_j')| over j' chosen or always in.

    For every feature j. Strengths are multiples of `GRID` and the mean is cut to one, so that
    scores are exact: see docs/mathematics/score-mechanisms.md, (12).

    The correlations with a chosen column are computed once and kept.

    Parameters
    ----------
    columns : Correlations
        Correlations of the columns of the features, one after another, then those always in.
    redundancy : {"max", "mean"}
    layout : Layout, optional
        Default: every column is a feature.
    """

    columns: Correlations
    redundancy: str = "max"
    layout: Layout | None = field(default=None, kw_only=True)
    _kept: dict[int, FloatArray] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, chosen: Support) -> FloatArray:
        """Score the features after `chosen`, shape (p,)."""
        relevance = self._strengths(-1)
        starts = self._starts
        parts = [range(starts[j], starts[j + 1]) for j in (*self._always, *chosen)]
        if not parts:
            return relevance
        each = [np.max([self._strengths(c) for c in part], axis=0) for part in parts]
        return relevance - REDUNDANCIES[self.redundancy](each, axis=0)

    def _strengths(self, c: int) -> FloatArray:
        """Return |τ̂| of every feature with column c, or with the target for -1."""
        if c not in self._kept:
            found = np.abs(self.columns.with_target() if c < 0 else self.columns.with_column(c))
            each = np.maximum.reduceat(found, self._starts[:-1])
            self._kept[c] = each[: len(each) - len(self._always)]
        return self._kept[c]

    @cached_property
    def _starts(self) -> list[int]:
        """The first column of every feature and then of every part that is always in; the end."""
        if self.layout is None:
            return list(range(self.columns.size + 1))
        widths = map(len, (*self.layout.groups, *self.layout.always))
        return list(accumulate(widths, initial=0))

    @cached_property
    def _always(self) -> range:
        """The places of the parts that are always in, behind the features."""
        end = len(self._starts) - 1
        return range(end - (0 if self.layout is None else len(self.layout.always)), end)
