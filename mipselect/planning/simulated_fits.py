"""`SimulatedFits`: models of simulated tables, each scored on fresh rows of the same law."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa
from sklearn.base import clone
from sklearn.metrics import r2_score, roc_auc_score

from mipselect.arrays import FloatArray
from mipselect.mechanisms.base import Support
from mipselect.planning.forecasts import AUC, LEVELS, R_SQUARED
from mipselect.planning.guesses import Guesses
from mipselect.planning.question import Question
from mipselect.planning.simulation import Simulation
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.instance import Instance
from mipselect.quality import Quality
from mipselect.quality.draw import size_held_out
from mipselect.regression import ModelRelease, SelectThenRegress
from mipselect.regression.coefficients import CoefficientTable
from mipselect.regression.evaluation import HeldOut
from mipselect.regression.pair import columns_of
from mipselect.regression.table_pair import TablePair
from mipselect.regression.table_plan import TablePlan
from mipselect.tables.chosen_rows import chosen_rows
from mipselect.tables.equation import CATEGORY, PER_UNIT
from mipselect.tables.mapping import open_table
from mipselect.tables.sources import read_again

FRESH_ROWS = 2_000
"""Rows that no model was fitted to, on which it is scored."""

DRAWS = 2
"""Models of each simulated table: the same law, drawn so many times."""

RATIO = 1.5
"""Ratio of the strengths of an effect and the next. It was chosen on six real tables: forecasts of
R² were 0.10 from what `fit` reached on average, and 0.13 with effects of one strength. Rarely
do all fields matter alike, and a field that is missed is seldom the strongest."""


@dataclass(frozen=True, eq=False)
class Simulated:
    """A simulated table as a model sees it, and fresh rows.

    Attributes
    ----------
    table, apart, fresh_table : pyarrow.Table
        The rows of n that a model is fitted to, those that are kept apart, and fresh ones.
    fitted, fresh : Instance
        The first and the last of these, mapped into [-1, 1].
    right : tuple of int
        The features that matter.
    of_classes : bool
        Whether the target has two classes, -1 and +1.
    """

    table: pa.Table
    apart: pa.Table
    fresh_table: pa.Table
    fitted: Instance
    fresh: Instance
    right: Support
    of_classes: bool

    def score(self, predictors: FloatArray) -> float:
        """Compute R² of predictors of the fresh rows, shape (n,), or the AUC for two classes."""
        truth = self.fresh.y
        if not self.of_classes:
            return float(r2_score(truth, predictors))
        return float(roc_auc_score(truth > 0.0, predictors))

    @cached_property
    def without_privacy(self) -> float:
        """Score of least squares on the right features."""
        columns = columns_of(self.fitted.layout, self.right)
        rows, fresh = (
            np.column_stack([one.X[:, columns], np.ones(len(one.X))])
            for one in (self.fitted, self.fresh)
        )
        return self.score(fresh @ np.linalg.lstsq(rows, self.fitted.y, rcond=None)[0])


@dataclass(frozen=True)
class ScoredModel:
    """Score of a model on fresh rows, and what is released of its quality.

    Attributes
    ----------
    score : float
        That of a prediction without any knowledge of the row, where no model is released.
    released : bool
        False where a private test failed.
    quality : Quality or None
        None where no rows are kept apart, and without a model.
    half_widths : tuple of float
        See `effect_half_widths`.
    """

    score: float
    released: bool
    quality: Quality | None
    half_widths: tuple[float, ...] = ()


class SimulatedFits:
    """Models that a selection and a regression make of simulated tables; see `plan_fit`.

    Parameters
    ----------
    model : SelectThenRegress
        Not fitted; ε is set by `models`.
    question : Question
        A question about a schema with ranges and without a privacy unit.
    guesses : Guesses
    seed : int
    """

    def __init__(
        self, model: SelectThenRegress, question: Question, guesses: Guesses, seed: int
    ) -> None:
        self.model, self.question, self.guesses, self.seed = model, question, guesses, seed
        given = question.public, guesses, question.support_size, seed
        self._simulation = Simulation(*given, ratio=RATIO)
        self._made = lru_cache(maxsize=1)(self._simulated)

    def with_share(self, quality_share: float) -> SimulatedFits:
        """Return the same with another share of the rows that is kept apart."""
        model = clone(self.model).set_params(quality_share=quality_share)
        return SimulatedFits(model, self.question, self.guesses, self.seed)

    def fitted(self, rows: int) -> int:
        """Return how many of n rows a model is fitted to, for others say how good it is."""
        share = self.model.quality_share
        return rows if share is None else rows - size_held_out(rows, share)

    def without_privacy(self, number: int, rows: int) -> float:
        """Score least squares on the right features of a table."""
        return self._made(number, rows).without_privacy

    def models(
        self, number: int, rows: int, epsilon: float, time_limit: float
    ) -> list[ScoredModel]:
        """Release `DRAWS` models of a table at ε, features and coefficients together.

        Raises
        ------
        NotCertified
            If the draws of features take too long.
        """
        made, fitted = self._made(number, rows), self.fitted(rows)
        plan = self._plan(fitted, epsilon)
        promise = replace(plan.promise, private=False)
        words = f"{self.seed} {number} {rows} {epsilon}"
        seeded, of_quality = random.Random(words), random.Random(f"{words} quality")
        in_time, scored = self._in_time(plan, fitted, time_limit), self._scored(plan, number, rows)
        pair = TablePair.of(in_time, made.fitted, seeded, private=False, scored=scored)
        releases = [pair.release(None, (seeded, seeded)) for _ in range(DRAWS)]
        return [
            ScoredModel(
                self._score(one, made),
                one.has_model,
                self._quality(replace(one, guarantee=promise), made.apart, of_quality),
                effect_half_widths(one),
            )
            for one in releases
        ]

    def _quality(
        self, release: ModelRelease, table: pa.Table, source: random.Random
    ) -> Quality | None:
        """Measure a model on the rows that were kept apart, as its release does."""
        share, public = self.model.quality_share, self.question.public
        if share is None:
            return None
        parts = open_table(read_again(table), public)
        apart = chosen_rows(parts, public, lambda units: np.ones(units, dtype=bool))
        held_out = HeldOut(self.question.of_the_table, share, apart, source)
        return held_out.measured(release).quality

    def _score(self, release: ModelRelease, made: Simulated) -> float:
        if not release.has_model:
            return LEVELS[AUC if made.of_classes else R_SQUARED]
        return made.score(self._predictor(release, made.fresh_table))

    def _predictor(self, release: ModelRelease, table: pa.Table) -> FloatArray:
        """Predict the rows of a table, in halves of the range of the target, or as log-odds."""
        if release.classes is not None:
            return release.decision(table)
        target = self.question.public.target
        return np.asarray((release.predict(table) - target.offset) / target.scale)

    def _plan(self, rows: int, epsilon: float) -> TablePlan:
        """Divide ε as a release does; blocks are those of so many rows."""
        model = clone(self.model).set_params(epsilon=epsilon)
        plan: TablePlan = model._plan_of_table(self.question.of_the_table, None, random.Random(0))
        if plan.blocks is None:
            return plan
        return replace(plan, blocks=self.question.blocks(rows, plan.method.epsilon))

    def _in_time(self, plan: TablePlan, rows: int, time_limit: float) -> TablePlan:
        """Give a draw so much time at most; from the scores of fewer rows it has more of ε."""
        method = clone(plan.method)
        if plan.blocks is not None:
            more = rows / self.question.rows_scored(rows, plan.blocks)
            method.set_params(epsilon=method.epsilon * more)
        if "time_limit" in method.get_params(deep=False):
            method.set_params(time_limit=time_limit)
        return replace(plan, method=method)

    def _scored(self, plan: TablePlan, number: int, rows: int) -> Instance | BlockScores | None:
        """Return what features are drawn from; None for the loss of all rows."""
        if plan.blocks is None:
            return None
        question, made = self.question, self._made(number, rows)
        seed = self._simulation.partition_seed(number, rows)
        part = made.table.slice(0, question.rows_scored(made.table.num_rows, plan.blocks))
        return question.in_blocks(part, plan.blocks, seed)

    def _simulated(self, number: int, rows: int) -> Simulated:
        table = self._simulation.table(number, rows + FRESH_ROWS)
        count, question = self.fitted(rows), self.question
        parts = table.slice(0, count), table.slice(count, rows - count), table.slice(rows)
        fitted, fresh = (
            question.instance(one, question.bound, question.penalty) for one in parts[::2]
        )
        right = tuple(int(one[0]) for one in self._simulation.right(number))
        return Simulated(*parts, fitted, fresh, right, question.public.units.classes is not None)


def effect_half_widths(release: ModelRelease) -> tuple[float, ...]:
    """Return half of the widths of the 95 % intervals of effects, in units of the target.

    The effect of a number is that from one end of its range in the model to the other; that of a
    category is beside the first one. Two classes have differences of the share. It is empty where
    the mechanism has no intervals.
    """
    if not release.has_model:
        return ()
    table = CoefficientTable.of(release)
    in_shares = 0.5 if table.of_shares else 1.0
    ranges = {} if release.table is None else release.table.ranges
    found = []
    for row in table.rows:
        term, span = row.term, 1.0
        if row.low is None or row.high is None or term.aside:
            continue
        if term.kind == PER_UNIT and term.field in ranges:
            low, high = ranges[term.field]
            span = high - low
        elif term.kind != CATEGORY:
            continue
        found.append(0.5 * (row.high - row.low) * span * in_shares)
    return tuple(found)
