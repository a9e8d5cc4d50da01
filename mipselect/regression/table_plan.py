"""`TablePlan`: a selection and a regression on a table, before a row of it is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from sklearn.base import clone, is_classifier

from mipselect.errors import InvalidInput
from mipselect.mechanisms.base import Support
from mipselect.privacy.decimals import exact, round_down
from mipselect.privacy.guarantee import Guarantee, compose
from mipselect.problem.block_scores import BlockOptions, BlockScores
from mipselect.problem.instance import Instance
from mipselect.problem.scores import LOSS
from mipselect.regression.base import PrivateLinearModel
from mipselect.regression.pair import promised_together
from mipselect.regression.ranges import PrivateRanges, RangedNumbers, may_be_narrowed, narrowed
from mipselect.regression.shares import LEAST_OF_A_MODEL, default_range_share, target_share
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.exact_draws import asked_sizes
from mipselect.selectors.problem import ProblemSelector
from mipselect.tables.encoders import Encoder, two_numbers
from mipselect.tables.fields import as_two_classes
from mipselect.tables.instances import ScoredTable, instance_of_table
from mipselect.tables.model_table import ModelTable
from mipselect.tables.public_map import PublicMap, Ranges, TableQuestion


@dataclass(frozen=True, eq=False)
class TablePlan:
    """Plan of what is drawn from a table, before a row of it is read; all of it is public.

    Attributes
    ----------
    question : TableQuestion
        With placeholders for ranges that are to be drawn.
    method : PrivateSelector
        How fields are selected.
    regressor : PrivateLinearModel
        Not fitted; its bounds follow from the schema where they are None.
    size : int
        The most fields that may be selected.
    blocks : BlockOptions or None
        Scores from blocks of rows that fields are drawn from; None for the loss of rows within
        the ranges of the schema.
    range_share : float or None
        The part of the regressor's ε that first finds where most values of the numbers lie within
        their ranges; None for that of a public rule, which finds none where rows are too few.
    ranges : PrivateRanges or None
        Ranges that are drawn after the fields, from blocks alone.
    rows : int or None
        Number of rows, or people, where it is known and public.
    of_loss : mapping
        Settings of the loss that fields are selected by: what was given of coef_bound, ridge and
        loss.
    """

    question: TableQuestion
    method: PrivateSelector
    regressor: PrivateLinearModel
    size: int
    blocks: BlockOptions | None = None
    range_share: float | None = None
    ranges: PrivateRanges | None = None
    rows: int | None = None
    of_loss: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.ranges is not None and self.blocks is None:
            raise InvalidInput(
                "private ranges are drawn after the fields, which must be drawn from blocks of "
                "rows: give the selection no loss, bound or ridge, and a method that knows blocks"
            )
        if self.classifies and self.public.target.classes is None:
            raise InvalidInput(
                f"a classifier needs a target of two classes; {self.public.target_name!r} is "
                "a number"
            )
        if self.public.weight is not None:
            self.regressor.require_weights()
        # After the draw it would be too late to find that a model cannot be written down.
        if self.whole.public.columns != self.public.columns:
            raise InvalidInput("the schema cannot be cut down to the fields that are used")

    @property
    def public(self) -> PublicMap:
        """Public map of the question."""
        return self.question.public

    @property
    def whole(self) -> ModelTable:
        """Part of the table that a model on all fields would remember."""
        return ModelTable.of(self.question.schema, self.public, range(len(self.public.features)))

    @property
    def classifies(self) -> bool:
        """True if the model predicts classes."""
        return bool(is_classifier(self.regressor))

    @property
    def doubt_of_the_target(self) -> str:
        """Say that a target of two values is fitted by a loss that has no means; "" if not so."""
        target = self.public.target
        name = target.encoder.field.name
        if self.classifies or self.regressor.estimates_means:
            return ""
        by_most_rows = "and Huber's loss goes by what most rows have, so that a model of it says"
        if target.classes is not None:
            return (
                f"{name} has two classes, {by_most_rows} little of a rare class: take the logistic "
                "loss for probabilities, or the squared loss for differences of shares"
            )
        two = two_numbers(target.encoder)
        if two is None:
            return ""
        return (
            f"{name} is a number here, {two[0]} or {two[1]}, {by_most_rows} little of a rare "
            f"value: for probabilities {as_two_classes(*two)}, for differences of shares take the "
            "squared loss"
        )

    def doubts(self, n: int | None) -> tuple[str, ...]:
        """Say why a model may be of little use, before a draw and from public numbers alone.

        Parameters
        ----------
        n : int or None
            Number of rows; None where it is private.
        """
        return tuple(filter(None, (self.doubt_of_the_target, self._doubt_of_few_rows(n))))

    def _doubt_of_few_rows(self, n: int | None) -> str:
        """Say that no model is better than a constant with so few rows for its ε; "" if not so."""
        epsilon = float(self.regressor.epsilon)
        if n is None or not self.regressor.noise_grows_with_ranges:
            return ""
        if n * epsilon >= LEAST_OF_A_MODEL:
            return ""
        constant = "the shares of the classes" if self.classifies else "the mean of the target"
        rows = math.ceil(LEAST_OF_A_MODEL / epsilon)
        enough = math.ceil(100.0 * self.promise.epsilon * rows / n) / 100.0
        return (
            f"{n:,} rows are few for a model at ε = {epsilon:g}. Where rows times ε are below "
            f"{LEAST_OF_A_MODEL:g}, models of tables mostly predict worse than {constant}, unless "
            f"ranges are tight: {rows:,} rows, or ε = {enough:g} in all, are the least"
        )

    @property
    def model_promise(self) -> Guarantee:
        """Guarantee of ranges and coefficients together, whatever fields were selected.

        ε and δ are the same for any number of ranges; ρ is the largest. Few rows may have dearer
        ranges, and one of the target, in pure models only, whose ρ is largest undivided.
        """
        widths = self._widths(self.widest)
        model = self.regressor.for_features(widths)
        whole = model.promise(sum(widths))
        found = [whole.rho]
        for numbers in range(1, self._most_ranges + 1):
            each = Guarantee(self._epsilon_each(numbers), relation=model.relation)
            rest = self._within_the_rest(clone(model), numbers).promise(sum(widths))
            found.append(compose([each.times(numbers), rest], model.relation).rho)
        known = [rho for rho in found if rho is not None]
        return replace(whole, rho=max(known) if len(known) == len(found) else None)

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
        """Largest support that may be selected, of the features with the most columns."""
        return tuple(sorted(self._by_width[: self.size]))

    @property
    def narrowest(self) -> Support:
        """Smallest support that may be selected, of the features with the fewest columns."""
        least = min(asked_sizes(self.method) or (self.size,))
        return tuple(sorted(self._by_width[-least:]))

    @property
    def _by_width(self) -> list[int]:
        """All features, from those with the most columns to those with the fewest."""
        features = self.public.features
        return sorted(range(len(features)), key=lambda j: -len(features[j].columns()))

    def columns_of(self, support: Support) -> int:
        """Return how many columns a model on some selected fields has, without an intercept."""
        return sum(self._widths(support))

    def model_on(self, support: Support) -> PrivateLinearModel:
        """Make the estimator of the coefficients for some selected fields."""
        model = self.regressor.for_features(self._widths(support))
        return self._within_the_rest(model, len(self.ranged_numbers(support)))

    def _within_the_rest(self, model: PrivateLinearModel, numbers: int) -> PrivateLinearModel:
        """Give the model the ε that the ranges of so many numbers leave."""
        ranges = exact(self._epsilon_each(numbers)) * numbers + exact(self.epsilon_of_target)
        model.set_params(epsilon=round_down(exact(model.epsilon) - ranges))
        return model

    @cached_property
    def _pure(self) -> bool:
        """True if the model has no δ."""
        widths = self._widths(self.widest)
        return self.regressor.for_features(widths).promise(sum(widths)).delta == 0.0

    @property
    def epsilon_of_target(self) -> float:
        """Cost of the part of its range where nearly all values of the target lie; 0 for none.

        It is looked for by the default rule only, where n is public and its range is stated.
        """
        rule = self.range_share is None and self.regressor.noise_grows_with_target
        drawn = () if self.ranges is None else self.ranges.open
        target = self.public.target.encoder
        if not rule or self.rows is None or target.field.name in drawn:
            return 0.0
        if not may_be_narrowed(target):
            return 0.0
        share = target_share(self.rows * float(self.regressor.epsilon))
        return round_down(exact(self.regressor.epsilon) * exact(share))

    @property
    def looks_for_ranges(self) -> bool:
        """True if ranges are drawn for some selected fields."""
        return self.regressor.noise_grows_with_ranges and self.range_share != 0.0

    def epsilon_of_a_range(self, support: Support) -> float:
        """Return what the range of each number costs; 0 where none is looked for."""
        return self._epsilon_each(len(self.ranged_numbers(support)))

    def _epsilon_each(self, numbers: int) -> float:
        """Return what each of so many ranges costs."""
        share = self.range_share
        if share is None:
            product = None if self.rows is None else self.rows * float(self.regressor.epsilon)
            share = default_range_share(numbers, product, pure=self._pure)
        if numbers == 0 or share == 0.0:
            return 0.0
        return round_down(exact(self.regressor.epsilon) * exact(share) / numbers)

    @property
    def _most_ranges(self) -> int:
        """Number of ranges that may be drawn at most."""
        if not self.looks_for_ranges:
            return 0
        free, fixed = (
            sum(may_be_narrowed(encoder) for encoder in encoders)
            for encoders in (self.public.features, self.public.always)
        )
        return min(free, self.size) + fixed

    def _encoders(self, support: Support) -> list[Encoder]:
        return [*(self.public.features[j] for j in support), *self.public.always]

    def _widths(self, support: Support) -> list[int]:
        return [len(encoder.columns()) for encoder in self._encoders(support)]

    def ranged_numbers(self, support: Support) -> RangedNumbers:
        """Return the numbers of a model on some selected fields whose ranges are looked for."""
        return RangedNumbers.of(self._encoders(support) if self.looks_for_ranges else ())

    def table_within(self, support: Support, ranges: Ranges) -> ModelTable:
        """Return what a model remembers of the table, with narrower ranges."""
        public = self.public
        within = replace(
            public,
            features=tuple(narrowed(encoder, ranges) for encoder in public.features),
            always=tuple(narrowed(encoder, ranges) for encoder in public.always),
        )
        return ModelTable.of(self.question.schema, within, support, stated=public)

    @property
    def intercept(self) -> bool:
        """True if the model has an intercept."""
        return bool(self.regressor.fit_intercept)

    def scored(self, source: Any) -> ScoredTable:
        """Return what fields are drawn from: blocks of rows, or the loss of rows within ranges."""
        settings = {"intercept": self.intercept, **self.of_loss}
        return ScoredTable(source, self.question, self.size, settings, self.blocks)

    def rows_of_model(self, source: Any, scored: Instance | BlockScores) -> Instance | None:
        """Return the rows that the model is fitted to; None where ranges are to be drawn first.

        Parameters
        ----------
        source : path or table
        scored : Instance or BlockScores
            What fields are drawn from; of a loss these are the rows.
        """
        if self.ranges is not None:
            return None
        if self.blocks is None:
            assert isinstance(scored, Instance)
            return scored
        size, intercept = self.size, self.intercept
        return instance_of_table(source, self.question, support_size=size, intercept=intercept)


def scores_blocks(selector: PrivateSelector) -> bool:
    """Return whether it draws from scores from blocks of rows of X and y."""
    return isinstance(selector, ProblemSelector) and selector.asked_score != LOSS


def scores_blocks_of_table(
    selector: PrivateSelector, regressor: PrivateLinearModel, *, ranged: bool
) -> bool:
    """Return the same for a table, where by default all but a draw under add-remove does.

    Where ranges are to be drawn there is nothing else.
    """
    if not isinstance(selector, ProblemSelector) or selector.asked_score is not None:
        return scores_blocks(selector)
    return ranged or regressor.relation == "replace-one"
