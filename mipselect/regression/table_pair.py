"""`TablePair`: a selection and a regression on a table, by the public map of its schema."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mipselect.mechanisms.base import Mechanism, Support
from mipselect.privacy.ledger import Ledger
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.instance import Instance
from mipselect.regression.drawn import ModelRows, TargetPart
from mipselect.regression.pair import Pair
from mipselect.regression.release import ModelRelease
from mipselect.regression.table_plan import TablePlan
from mipselect.regression.typical_intervals import OF_TARGET, part_of
from mipselect.search.progress import ProgressCallback
from mipselect.selectors.all_features import AllFeaturesSelector
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.problem import ProblemSelector


@dataclass(frozen=True, eq=False)
class TablePair:
    """A law of selections from a table, and what is fitted to what it draws; sensitive."""

    plan: TablePlan
    instance: Instance | None
    pair: Pair

    @classmethod
    def of(
        cls,
        plan: TablePlan,
        instance: Instance | None,
        source: random.Random,
        *,
        private: bool,
        scored: Instance | BlockScores | None = None,
        progress: ProgressCallback | None = None,
    ) -> TablePair:
        """Make the law of selections from the rows; nothing is drawn.

        Parameters
        ----------
        plan : TablePlan
        instance : Instance or None
            Rows that the model is fitted to, as `TablePlan.rows_of_model` makes them.
        source : random.Random
            For choices that do not depend on the data and are not part of the law.
        private : bool
            Whether the draws will come from the operating system's generator.
        scored : Instance or BlockScores, optional
            What fields are drawn from; default the instance.
        progress : callable, optional
            See `top_supports`.

        Raises
        ------
        InvalidInput
            If there are too few rows for ranges that are to be drawn.
        """
        drawn_from = instance if scored is None else scored
        assert drawn_from is not None
        if plan.ranges is not None:
            plan.ranges.require_rows(drawn_from.n, plan.size)
        selection = _law(plan.method, drawn_from, source, progress)
        guarantee = plan.promised(selection.guarantees)
        if plan.regressor.relation == "replace-one":
            plan = replace(plan, rows=drawn_from.n)
        pair = Pair(
            selection,
            (drawn_from if instance is None else instance).problem.layout,
            lambda support, _: plan.model_on(support),
            replace(guarantee, private=private),
            type(plan.regressor).__name__,
        )
        return cls(plan, instance, pair)

    def release(
        self,
        ledger: Ledger | None,
        sources: tuple[random.Random, random.Random],
        source: Any = None,
    ) -> ModelRelease:
        """Charge the ledger once, draw the fields, then the coefficients; see `Pair.release`.

        `source` is the table, where ranges are drawn from it in between.
        """
        classes = self.plan.whole.classes if self.plan.classifies else None

        def rows_of(
            support: Support, columns: tuple[int, ...], generator: random.Random
        ) -> ModelRows:
            plan = self.plan
            spent: Mapping[str, float] = {}
            if plan.ranges is None:
                rows = self._mapped(columns)
            else:
                rows, question, spent = plan.ranges.rows(source, support, generator)
                plan = replace(plan, question=question)
            # Where ranges were drawn, of two whole numbers too, fewer numbers may be left than were
            # foreseen by the plan that the model was paid by.
            each = self.plan.epsilon_of_a_range(support)
            numbers, relation = plan.ranged_numbers(support), plan.regressor.relation
            parts = numbers.drawn(rows, each, relation, generator)
            table = plan.table_within(support, parts)
            stated = {name: e for name, e in table.stated_ranges.items() if name not in spent}
            table = replace(table, private_ranges=spent, stated_ranges=stated)
            part = self._drawn_target(rows, generator)
            y = rows.y if part is None else part.units(rows.y)
            X = numbers.within(rows.X, parts)
            return replace(rows, X=X, y=y, table=table, part=part)

        return self.pair.release(rows_of, ledger, sources, classes)[0]

    def _drawn_target(self, rows: ModelRows, source: random.Random) -> TargetPart | None:
        """Draw the part of [-1, 1] where nearly all targets lie; None for all of it."""
        epsilon = self.plan.epsilon_of_target
        if epsilon == 0.0:
            return None
        part = part_of(rows.with_target(rows.y), epsilon, OF_TARGET, source)
        return TargetPart(*part, epsilon)

    def _mapped(self, columns: tuple[int, ...]) -> ModelRows:
        """Return some columns of the instance, its target, and how much its rows count."""
        instance = self.instance
        assert instance is not None
        targeted = instance.targeted
        y = instance.y if targeted is None else np.where(targeted, instance.y, 0.0)
        return ModelRows(
            instance.X[:, list(columns)], y, weights=instance.weights, targeted=targeted
        )


def _law(
    method: PrivateSelector,
    scored: Instance | BlockScores,
    source: random.Random,
    progress: ProgressCallback | None,
) -> Mechanism[Support]:
    if isinstance(method, ProblemSelector | AllFeaturesSelector):
        return method.on(scored, source, progress)
    assert isinstance(scored, Instance)
    return method.on(scored, source, progress)
