"""DPKendall: peeling by rank correlations, relevance less redundancy."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.layout import Layout
from mipselect.mechanisms.base import Mechanism, Support
from mipselect.mechanisms.scores.adaptive_peeling import AdaptivePeeling
from mipselect.methods.base import Rows, ScoreMethod
from mipselect.methods.kendall_tau import IntArray, Rankings
from mipselect.validation import checked_choice

SENSITIVITIES = {"add-remove": 1.5, "replace-one": 2.0}
"""How far τ̂ can move between neighbours, and so the largest |τ̂| of several columns."""

SEED_BITS = 256

REDUNDANCIES: dict[str, Callable[..., FloatArray]] = {"max": np.max, "mean": np.mean}
"""From the strengths of the chosen columns to what is subtracted."""


@dataclass(frozen=True, kw_only=True)
class KendallMethod(ScoreMethod):
    """See `KendallSelector`; ties are broken once for all draws from one mechanism.

    The |τ̂| of a feature of several columns is the largest of theirs; each of them moves by at
    most Δ between neighbours, so their maximum does. Columns that are always in count as chosen
    before the first round, which then has a redundancy and the sensitivity 2Δ of later rounds.

    Parameters
    ----------
    epsilon : float
        ε of one draw, under `relation`.
    relation : {"replace-one", "add-remove"}
    redundancy : {"max", "mean"}
        What is subtracted of the correlations with what is chosen or always in.
    """

    redundancy: str = "max"

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_choice(self.redundancy, "redundancy", REDUNDANCIES)

    def _mechanism(self, rows: Rows, source: random.Random) -> Mechanism[Support]:
        one, k = SENSITIVITIES[self.relation], rows.support_size
        target = Rankings.of(rows.y[:, None], source.getrandbits(SEED_BITS)).ranks[0]
        columns = Rankings.of(rows.columns, source.getrandbits(SEED_BITS))
        first = 2.0 * one if rows.layout.always else one
        return AdaptivePeeling(
            RelevanceLessRedundancy(columns, target, self.redundancy, layout=rows.layout),
            k,
            self.epsilon,
            sensitivities=[first] + [2.0 * one] * (k - 1),
            relation=self.relation,
        )


@dataclass(frozen=True, eq=False)
class RelevanceLessRedundancy:
    """|τ̂(X_j, Y)| less the largest or the mean |τ̂(X_j, X_j')| over j' chosen or always in.

    For every feature j.

    The correlations with a chosen column are computed once and kept.

    Parameters
    ----------
    columns : Rankings
        Of the columns of the features, one after another, then those always in.
    target : int array, shape (n,)
        The ranks of the rows in Y.
    redundancy : {"max", "mean"}
    layout : Layout, optional
        Default: every column is a feature.
    """

    columns: Rankings
    target: IntArray = field(repr=False)
    redundancy: str = "max"
    layout: Layout | None = field(default=None, kw_only=True)
    _kept: dict[int, FloatArray] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, chosen: Support) -> FloatArray:
        """Scores after `chosen`, shape (p,)."""
        relevance = self._strengths(-1)
        starts = self._starts
        parts = [range(starts[j], starts[j + 1]) for j in (*self._always, *chosen)]
        if not parts:
            return relevance
        each = [np.max([self._strengths(c) for c in part], axis=0) for part in parts]
        return relevance - REDUNDANCIES[self.redundancy](each, axis=0)

    def _strengths(self, c: int) -> FloatArray:
        """|τ̂| of every feature with column c, or with the target for -1."""
        if c not in self._kept:
            target = self.target if c < 0 else self.columns.ranks[c]
            found = np.abs(self.columns.correlations(target))
            each = np.maximum.reduceat(found, self._starts[:-1])
            self._kept[c] = each[: len(each) - len(self._always)]
        return self._kept[c]

    @cached_property
    def _starts(self) -> list[int]:
        """The first column of every feature and then of every part that is always in; the end."""
        if self.layout is None:
            return list(range(len(self.columns.ranks) + 1))
        widths = map(len, (*self.layout.groups, *self.layout.always))
        return list(accumulate(widths, initial=0))

    @cached_property
    def _always(self) -> range:
        """The places of the parts that are always in, behind the features."""
        end = len(self._starts) - 1
        return range(end - (0 if self.layout is None else len(self.layout.always)), end)
