"""A selection and a regression on a table, by the public map of its schema."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mipselect.errors import InvalidInput
from mipselect.mechanisms.base import Mechanism, Support
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.ledger import Ledger
from mipselect.problem.block_options import BlockOptions
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.instance import Instance
from mipselect.regression.base import PrivateLinearModel
from mipselect.regression.objective_perturbation import ObjectivePerturbationClassifier
from mipselect.regression.pair import Pair, counted, promised_together
from mipselect.regression.private_ranges import PrivateRanges
from mipselect.regression.release import ModelRelease
from mipselect.search.progress import ProgressCallback
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.problem import ProblemSelector
from mipselect.tables.model_table import ModelTable
from mipselect.tables.public_map import PublicMap
from mipselect.tables.schema import TableSchema


@dataclass(frozen=True, eq=False)
class TablePlan:
    """Plan of what is drawn from a table, before a row of it is read; all of it is public.

    Attributes
    ----------
    schema : TableSchema
    public : PublicMap
        Of the schema and the question.
    method : PrivateSelector
        How fields are selected.
    regressor : PrivateLinearModel
        Not fitted; its bounds follow from the schema where they are None.
    size : int
        The most fields that may be selected.
    blocks : BlockOptions or None
        Scores from blocks of rows that fields are drawn from; None for the loss of rows within
        the ranges of the schema.
    ranges : PrivateRanges or None
        Ranges that are drawn after the fields, from blocks alone; `public` has placeholders then.
    """

    schema: TableSchema
    public: PublicMap
    method: PrivateSelector
    regressor: PrivateLinearModel
    size: int
    blocks: BlockOptions | None = None
    ranges: PrivateRanges | None = None

    def __post_init__(self) -> None:
        if self.ranges is not None and self.blocks is None:
            raise InvalidInput(
                "private ranges are drawn after the fields, which must be drawn from blocks of "
                "rows: no loss, bound or ridge of the selection, and a method that knows blocks"
            )
        if self.classifies and self.public.units.classes is None:
            raise InvalidInput(
                f"a classifier needs a target of two classes; {self.public.units.target_name!r} is "
                "a number"
            )
        # After the draw it would be too late to find that a model cannot be written down.
        if self.whole.public.columns != self.public.columns:
            raise InvalidInput("the schema cannot be cut down to the fields that are used")

    @property
    def whole(self) -> ModelTable:
        """Part of the table that a model on all fields would remember."""
        return ModelTable.of(self.schema, self.public, range(len(self.public.features)))

    @property
    def classifies(self) -> bool:
        """True if the model predicts classes."""
        return isinstance(self.regressor, ObjectivePerturbationClassifier)

    @property
    def model_promise(self) -> Guarantee:
        """Guarantee of the model, whatever fields were selected."""
        return self.model_on(self.widest).promise(sum(self._widths(self.widest)))

    @property
    def promise(self) -> Guarantee:
        """Guarantee of selection and model together; raises what `promised_together` does."""
        return self.promised(self.method.guarantees)

    def promised(self, stated: Mapping[str, Guarantee]) -> Guarantee:
        """Add the guarantees of ranges and model to those of a selection, by relation."""
        ranges = () if self.ranges is None else (self.ranges.guarantee,)
        return promised_together(stated, self.model_promise, *ranges)

    @property
    def widest(self) -> Support:
        """As many features as may be selected, those with the most columns."""
        features = self.public.features
        by_width = sorted(range(len(features)), key=lambda j: -len(features[j].columns()))
        return tuple(sorted(by_width[: self.size]))

    def model_on(self, support: Support) -> PrivateLinearModel:
        """The estimator for some selected fields."""
        return self.regressor.for_features(self._widths(support))

    def _widths(self, support: Support) -> list[int]:
        encoders = [*(self.public.features[j] for j in support), *self.public.always]
        return [len(encoder.columns()) for encoder in encoders]

    @property
    def asked(self) -> dict[str, Any]:
        """The question about the fields, as arguments of `BlockOptions.of_table`."""
        public = self.public
        target, always = public.target.encoder.field.name, [e.field.name for e in public.always]
        used = {encoder.field.name for encoder in public.encoders}
        kept = {*used, target, self.schema.privacy_unit}
        return {
            "target": target,
            "support_size": self.size,
            "always": always,
            "never": [field.name for field in self.schema.fields if field.name not in kept],
        }

    def scored(self, source: Any, unit_rule: str) -> Instance | BlockScores:
        """Return the scores that fields are drawn from, where these are of blocks of rows.

        Parameters
        ----------
        source : path or table
        unit_rule : str
            See `Instance.from_table`.
        """
        assert self.blocks is not None
        return self.blocks.of_table(source, self.schema, **self.asked, unit_rule=unit_rule)

    def pair(
        self,
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
        instance : Instance
            Made of the table by `Instance.from_table`, with an intercept if the model has one; None
            where ranges are to be drawn.
        source : random.Random
            For choices that do not depend on the data and are not part of the law.
        private : bool
            Whether the draws will come from the operating system's generator.
        scored : Instance or BlockScores, optional
            What fields are drawn from; default the instance.
        progress : callable, optional
            See `top_supports`.
        """
        drawn_from = instance if scored is None else scored
        assert drawn_from is not None
        selection = self._law(drawn_from, source, progress)
        guarantee = self.promised(selection.guarantees)
        pair = Pair(
            selection,
            (drawn_from if instance is None else instance).problem.layout,
            lambda support, _: self.model_on(support),
            replace(guarantee, private=private),
            type(self.regressor).__name__,
        )
        return TablePair(self, instance, pair)

    def _law(
        self,
        scored: Instance | BlockScores,
        source: random.Random,
        progress: ProgressCallback | None,
    ) -> Mechanism[Support]:
        method = self.method
        if isinstance(method, ProblemSelector):
            return method.on(scored, source, progress)
        assert isinstance(scored, Instance)
        return method.on(scored, source, progress)


@dataclass(frozen=True, eq=False)
class TablePair:
    """A law of selections from a table, and what is fitted to what it draws; sensitive."""

    plan: TablePlan
    instance: Instance | None
    pair: Pair

    def release(
        self,
        ledger: Ledger | None,
        sources: tuple[random.Random, random.Random],
        source: Any = None,
    ) -> ModelRelease:
        """Charge the ledger once, draw the fields, then the coefficients; see `Pair.release`.

        `source` is the table, where ranges are drawn from it in between.
        """
        instance, plan = self.instance, self.plan
        classes = plan.whole.classes if plan.classifies else None
        ranges = plan.ranges
        if ranges is not None:
            none = np.empty((0, 0))
            return self.pair.release(
                none,
                none.ravel(),
                ledger,
                sources,
                classes,
                ranged=lambda support: ranges.rows(source, support, sources[1]),
            )[0]
        assert instance is not None

        def table(support: Support) -> ModelTable:
            return ModelTable.of(plan.schema, plan.public, support)

        y = counted(instance.X, instance.y) if instance.of_classes else instance.y
        return self.pair.release(instance.X, y, ledger, sources, classes, table)[0]
