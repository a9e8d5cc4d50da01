"""DPKendall: peeling by rank correlations, relevance less redundancy."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.mechanisms.base import Mechanism, Support
from mipselect.mechanisms.scores.adaptive_peeling import AdaptivePeeling
from mipselect.methods.base import Rows, ScoreMethod
from mipselect.methods.kendall_tau import IntArray, Rankings
from mipselect.validation import checked_choice

SENSITIVITIES = {"add-remove": 1.5, "replace-one": 2.0}
"""How far τ̂ can move between neighbours."""

SEED_BITS = 256

REDUNDANCIES: dict[str, Callable[..., FloatArray]] = {"max": np.max, "mean": np.mean}
"""From the strengths of the chosen columns to what is subtracted."""


@dataclass(frozen=True, kw_only=True)
class KendallMethod(ScoreMethod):
    """See `KendallSelector`; ties are broken once for all draws from one mechanism.

    Parameters
    ----------
    epsilon : float
        ε of one draw, under `relation`.
    relation : {"replace-one", "add-remove"}
    redundancy : {"max", "mean"}
        What is subtracted of the correlations with chosen columns.
    """

    redundancy: str = "max"

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_choice(self.redundancy, "redundancy", REDUNDANCIES)

    def _mechanism(self, rows: Rows, source: random.Random) -> Mechanism[Support]:
        one, k = SENSITIVITIES[self.relation], rows.support_size
        target = Rankings.of(rows.y[:, None], source.getrandbits(SEED_BITS)).ranks[0]
        columns = Rankings.of(rows.X, source.getrandbits(SEED_BITS))
        return AdaptivePeeling(
            RelevanceLessRedundancy(columns, target, self.redundancy),
            k,
            self.epsilon,
            sensitivities=[one] + [2.0 * one] * (k - 1),
            relation=self.relation,
        )


@dataclass(frozen=True, eq=False)
class RelevanceLessRedundancy:
    """|τ̂(X_j, Y)| - maximum or mean of |τ̂(X_j, X_j')| over chosen j', for every column j.

    The correlations with a chosen column are computed once and kept.

    Parameters
    ----------
    columns : Rankings
        Of X.
    target : int array, shape (n,)
        The ranks of the rows in Y.
    redundancy : {"max", "mean"}
    """

    columns: Rankings
    target: IntArray = field(repr=False)
    redundancy: str = "max"
    _kept: dict[int, FloatArray] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, chosen: Support) -> FloatArray:
        """Scores after `chosen`, shape (p,)."""
        relevance = self._strengths(-1)
        if not chosen:
            return relevance
        common = REDUNDANCIES[self.redundancy]([self._strengths(j) for j in chosen], axis=0)
        return relevance - common

    def _strengths(self, j: int) -> FloatArray:
        """|τ̂| of every column with column j, or with the target for -1."""
        if j not in self._kept:
            target = self.target if j < 0 else self.columns.ranks[j]
            self._kept[j] = np.abs(self.columns.correlations(target))
        return self._kept[j]
