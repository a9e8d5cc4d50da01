"""Plans of a selection and of a model on what it draws: one relation, one charge, one release."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from mipselect.blocks.scores import LOSS, BlockOptions
from mipselect.errors import InvalidInput, RelationMismatch
from mipselect.losses.classes import Classes
from mipselect.mechanisms.base import Mechanism, Support
from mipselect.privacy.decimals import exact, round_down
from mipselect.privacy.guarantee import Guarantee, compose
from mipselect.privacy.ledger import Ledger, paid
from mipselect.problem.block_scores import BlockScores
from mipselect.problem.data import ClippedRows
from mipselect.problem.instance import Instance
from mipselect.problem.layout import Layout
from mipselect.regression.base import PrivateLinearModel
from mipselect.regression.ranges import (
    OF_TARGET,
    PrivateRanges,
    RangedNumbers,
    drawn_parts,
    may_be_narrowed,
    narrowed,
    within_parts,
)
from mipselect.regression.release import ModelRelease
from mipselect.regression.rows import ModelRows, TargetPart
from mipselect.search.progress import ProgressCallback
from mipselect.selectors.base import PrivateSelector
from mipselect.selectors.problem import ProblemSelector
from mipselect.tables.encoders import Encoder, places_of_columns
from mipselect.tables.instances import ScoredTable, instance_of_table, layout_of_table
from mipselect.tables.public_map import ModelTable, PublicMap, Ranges, TableQuestion
from mipselect.validation import set_fields

ModelOf = Callable[[Support, random.Random], tuple[PrivateLinearModel, ModelRows]]
"""Function from a support to the estimator of its coefficients and the rows for it. It may draw."""


SHARE_OF_BLOCKS = 0.3
SHARE_OF_OTHERS = 0.5
"""Shares of ε for a selection from scores from blocks of rows, and for another; by experiment."""

SHARE_OF_PRIVATE_RANGES = 0.2
"""Share of the whole ε for ranges that nobody stated."""

SHARE_OF_A_RANGE = 0.04
SHARE_OF_ALL_RANGES = 0.16
"""Share of the ε of a model for all numbers together at most; one costs `SHARE_OF_A_RANGE`, or more
where rows are few."""

LEAST_OF_A_RANGE = 16.0
"""Least n times the ε of a range that is looked for by default. With 300 values in all of their
range the part that is drawn holds less than half of them in 2 % of draws at 32, 19 % at 20, 68 % at
10, and with values in a tenth of it in 0, 1 and 23 %; on real tables of some hundred rows models
are better for it from 16 on."""

SHARE_OF_A_TARGET = 0.08
MOST_OF_A_TARGET = 0.25
"""Share of the ε of a model for the range of its target: the first, or up to the second where rows
are few."""

ENOUGH_FOR_A_TARGET = 32.0
LEAST_OF_A_TARGET = 24.0
"""n times the ε of that range: what is asked for, and the least with which it is looked for. In
simulations of 300 rows less than half of the values are in the part that is drawn in less than one
of a thousand draws at 32, up to 1 % at 24 and 3 % at 20."""

LEAST_OF_A_MODEL = LEAST_OF_A_TARGET / MOST_OF_A_TARGET
"""n times the ε of a model below which one is hardly ever of use (docs/regression.md); there the
range of its target is not looked for either."""


def default_range_share(numbers: int, product: float | None, *, pure: bool) -> float:
    """Return the part of a model's ε that finds where most values of its numbers lie.

    For each 0.04, or of a pure model as much as makes `LEAST_OF_A_RANGE` of n rows, and 0.16
    together at most; 0 where that is too little.

    Parameters
    ----------
    numbers : int
        How many fields of the model are numbers with a range.
    product : float or None
        n times the ε of the model, where n is public.
    pure : bool
        True if the model is pure: the ρ of another one is stated for any n, so of 0.04 or nothing.
    """
    plain = min(SHARE_OF_A_RANGE * numbers, SHARE_OF_ALL_RANGES)
    if product is None:
        return plain
    most = SHARE_OF_ALL_RANGES if pure else plain
    if most * product < LEAST_OF_A_RANGE * numbers:
        return 0.0
    return min(max(plain, LEAST_OF_A_RANGE * numbers / product), most)


def target_share(product: float) -> float:
    """Return the part of a model's ε that finds where nearly all values of its target lie.

    As much as makes `ENOUGH_FOR_A_TARGET` of n rows, within 0.08 and 0.25; 0 where that is less
    than `LEAST_OF_A_TARGET`.

    Parameters
    ----------
    product : float
        n times the ε of the model.
    """
    if MOST_OF_A_TARGET * product < LEAST_OF_A_TARGET:
        return 0.0
    return min(max(SHARE_OF_A_TARGET, ENOUGH_FOR_A_TARGET / product), MOST_OF_A_TARGET)


@dataclass(frozen=True, eq=False)
class Plan:
    """Plan of what is drawn from X and y, before a row is read; all of it is public.

    Parameters of the model may hold one number for each column of X.

    Attributes
    ----------
    layout : Layout
        Which columns make a feature, and which are always in.
    method : PrivateSelector
        How features are selected.
    regressor : PrivateLinearModel
        Not fitted.
    """

    layout: Layout
    method: PrivateSelector
    regressor: PrivateLinearModel

    @property
    def classes(self) -> Classes | None:
        """The two classes, of a classifier."""
        return self.regressor._classes()

    @property
    def size(self) -> int:
        """The most features that may be selected."""
        sizes = self.method.sizes
        return int(self.method.n_features_to_select) if sizes is None else max(map(int, sizes))

    @property
    def widest(self) -> Support:
        """As many features as may be selected, with the most columns; of equal ones the first."""
        widths = [len(group) for group in self.layout.groups]
        return tuple(sorted(sorted(range(len(widths)), key=lambda j: -widths[j])[: self.size]))

    def model_on(self, support: Support) -> PrivateLinearModel:
        """Make the estimator of the coefficients for some features."""
        columns = self.columns_of(support)
        return self.regressor.for_columns(columns, len(self.layout.column_names))

    @property
    def model_promise(self) -> Guarantee:
        """Guarantee of the model, whatever features were drawn.

        Its parameters are checked for every column of X: after the draw it would be too late.
        """
        size, width = len(self.layout.column_names), len(self.columns_of(self.widest))
        for start in range(0, size, width):
            columns = tuple(range(min(start, size - width), min(start + width, size)))
            promised = self.regressor.for_columns(columns, size).promise(width)
            if not self.regressor.per_column(size):
                break
        return promised

    def promised(self, stated: Mapping[str, Guarantee], *more: Guarantee) -> Guarantee:
        """Add up the guarantees of a draw of features and a model on them, by the model's relation.

        Parameters
        ----------
        stated : mapping of str to Guarantee
            Guarantees of the selection, by relation.
        *more : Guarantee
            Of what else is drawn.

        Raises
        ------
        RelationMismatch
            If the selection is not stated under the relation of the model.

        Notes
        -----
        The support is a release, and the model is one for every support: ε, δ and ρ add up.
        Released is the pair; columns that differ between the supports of two neighbours make no
        difference, for the sum holds given any support.
        """
        model = self.model_promise
        selection = stated.get(model.relation)
        if selection is None:
            raise RelationMismatch(
                f"the regressor is private under {model.relation}, the selector under "
                f"{', '.join(stated)} only: give both the same relation"
            )
        return compose([selection, *more, model], model.relation)

    def columns_of(self, support: Support) -> tuple[int, ...]:
        """Return the columns of some features, and those that are always in."""
        parts = (*(self.layout.groups[j] for j in support), *self.layout.always)
        return tuple(c for part in parts for c in part)

    def draw(
        self,
        selection: Mechanism[Any],
        model_of: ModelOf,
        ledger: Ledger | None,
        sources: tuple[random.Random, random.Random],
        *,
        private: bool,
    ) -> ModelRelease:
        """Charge the ledger once, draw the features, then the coefficients.

        Parameters
        ----------
        selection : Mechanism
            The law of the features.
        model_of : callable
        ledger : Ledger or None
        sources : (random.Random, random.Random)
            For the selection and for the model.
        private : bool
            Whether they are the operating system's.
        """
        source, model_source = sources
        guarantee = replace(self.promised(selection.guarantees), private=private)
        selection.prepare()
        what = f"{selection.name}, then {type(self.regressor).__name__}"
        # A warning would tell about the data. NumPy's state is that of the thread.
        with paid(ledger, guarantee, what), np.errstate(all="ignore"):
            outcome = selection.sample(source)
            support = (outcome,) if isinstance(outcome, int) else tuple(sorted(outcome))
            model, rows = model_of(support, model_source)
            drawn = model._draw(rows, model_source, private).in_units_of(rows)
        layout = self.layout
        plain = not layout.always and all(len(group) == 1 for group in layout.groups)
        named = () if plain and rows.table is None else self.columns_of(support)
        return ModelRelease.of(
            drawn,
            guarantee,
            mechanism=f"{selection.name}, then {drawn.mechanism}",
            support=support,
            feature_names=tuple(layout.feature_names[j] for j in support),
            classes=self.classes,
            columns=tuple(layout.column_names[c] for c in named),
            table=rows.table,
        )


@dataclass(frozen=True, eq=False)
class TablePlan(Plan):
    """Plan of what is drawn from a table, before a row of it is read; all of it is public.

    Attributes
    ----------
    question : TableQuestion
        With placeholders for ranges that are to be drawn. Bounds of the regressor follow from its
        schema where they are None.
    blocks : BlockOptions or None
        Scores from blocks of rows that fields are drawn from; None for the loss of rows within
        the ranges of the schema.
    ranges : PrivateRanges or None
        Ranges that are drawn after the fields, from blocks alone.
    rows : int or None
        Number of rows, or people, where it is known and public.
    of_loss : mapping
        Settings of the loss that fields are selected by: what was given of coef_bound, ridge and
        loss.
    """

    layout: Layout = field(init=False)
    question: TableQuestion
    blocks: BlockOptions | None = None
    ranges: PrivateRanges | None = None
    rows: int | None = None
    of_loss: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        set_fields(self, layout=layout_of_table(self.public, intercept=False, bound=None))
        if self.ranges is not None and self.blocks is None:
            raise InvalidInput(
                "private ranges are drawn after the fields, which must be drawn from blocks of "
                "rows: give the selection no loss, bound or ridge, and a method that knows blocks"
            )
        of_classes = self.public.target.classes is not None
        if is_classifier(self.regressor) != of_classes:
            kind, need = ("two classes", "classifier") if of_classes else ("a number", "regressor")
            raise InvalidInput(
                f"the target {self.public.target_name!r} is {kind}, for which a {need} is needed; "
                f"{type(self.regressor).__name__} is none"
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

    def doubt(self, n: int | None) -> str:
        """Say why a model of few rows may be of little use, before a draw; "" for many.

        Parameters
        ----------
        n : int or None
            Number of rows; None where it is private.
        """
        epsilon = float(self.regressor.epsilon)
        if n is None or not self.regressor.noise_grows_with_ranges:
            return ""
        if n * epsilon >= LEAST_OF_A_MODEL:
            return ""
        constant = "the mean of the target" if self.classes is None else "the shares of the classes"
        rows = math.ceil(LEAST_OF_A_MODEL / epsilon)
        enough = math.ceil(100.0 * self.promise.epsilon * rows / n) / 100.0
        return (
            f"{n:,} rows are few for a model at ε = {epsilon:g}. Where rows times ε are below "
            f"{LEAST_OF_A_MODEL:g}, models of tables mostly predict worse than {constant}, "
            f"unless ranges are tight: {rows:,} rows, or ε = {enough:g} in all, are the least"
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
        found, numbers = [whole.rho], self.ranged_numbers(tuple(range(len(self.public.features))))
        most = min(len(numbers), self.size + len(self.public.always))
        for count in range(1, most + 1):
            each = Guarantee(self._epsilon_each(count), relation=model.relation)
            rest = self._within_the_rest(clone(model), count).promise(sum(widths))
            found.append(compose([each.times(count), rest], model.relation).rho)
        known = [rho for rho in found if rho is not None]
        return replace(whole, rho=max(known) if len(known) == len(found) else None)

    @property
    def promise(self) -> Guarantee:
        """Guarantee of selection and model together; raises what `promised` does."""
        return self.promised(self.method.guarantees)

    def promised(self, stated: Mapping[str, Guarantee], *more: Guarantee) -> Guarantee:
        """Add the guarantees of ranges and model to those of a selection; see `Plan.promised`."""
        ranges = () if self.ranges is None else (self.ranges.guarantee,)
        return super().promised(stated, *ranges, *more)

    def model_on(self, support: Support) -> PrivateLinearModel:
        """Make the estimator of the coefficients for some selected fields."""
        model = self.regressor.for_features(self._widths(support))
        return self._within_the_rest(model, len(self.ranged_numbers(support)))

    def _within_the_rest(self, model: PrivateLinearModel, numbers: int) -> PrivateLinearModel:
        """Give the model the ε that the ranges of so many numbers leave."""
        ranges = exact(self._epsilon_each(numbers)) * numbers + exact(self.epsilon_of_target)
        model.set_params(epsilon=round_down(exact(model.epsilon) - ranges))
        return model

    @property
    def epsilon_of_target(self) -> float:
        """Cost of the part of its range where nearly all values of the target lie; 0 for none.

        It is looked for where n is public and its range is stated.
        """
        rule = self.regressor.noise_grows_with_target
        target = self.public.target.encoder
        if not rule or self.rows is None or not self._may_be_narrowed(target):
            return 0.0
        share = target_share(self.rows * float(self.regressor.epsilon))
        return round_down(exact(self.regressor.epsilon) * exact(share))

    def epsilon_of_a_range(self, support: Support) -> float:
        """Return what the range of each number costs; 0 where none is looked for."""
        return self._epsilon_each(len(self.ranged_numbers(support)))

    def _epsilon_each(self, numbers: int) -> float:
        """Return what each of so many ranges costs."""
        if numbers == 0:
            return 0.0
        product = None if self.rows is None else self.rows * float(self.regressor.epsilon)
        share = default_range_share(numbers, product, pure=not hasattr(self.regressor, "delta"))
        return round_down(exact(self.regressor.epsilon) * exact(share) / numbers)

    def _encoders(self, support: Support) -> list[Encoder]:
        return [*(self.public.features[j] for j in support), *self.public.always]

    def _widths(self, support: Support) -> list[int]:
        return [len(encoder.columns()) for encoder in self._encoders(support)]

    def ranged_numbers(self, support: Support) -> RangedNumbers:
        """Return the numbers of a model on some selected fields whose ranges are looked for."""
        encoders = self._encoders(support) if self.regressor.noise_grows_with_ranges else []
        places = zip(encoders, places_of_columns(encoders), strict=True)
        return {one.field.name: (one, at) for one, at in places if self._may_be_narrowed(one)}

    def _may_be_narrowed(self, encoder: Encoder) -> bool:
        """Return False where the whole range is drawn too, which is no wider than it need be."""
        is_drawn = self.ranges is not None and encoder.field.name in self.ranges.open
        return not is_drawn and may_be_narrowed(encoder)

    def table_within(self, support: Support, ranges: Ranges) -> ModelTable:
        """Return what a model remembers of the table, with narrower ranges."""
        public = self.public
        within = replace(
            public,
            features=tuple(narrowed(encoder, ranges) for encoder in public.features),
            always=tuple(narrowed(encoder, ranges) for encoder in public.always),
        )
        return ModelTable.of(self.question.schema, within, support)

    @property
    def classes(self) -> Classes | None:
        """See `Plan`: as the table has them."""
        return self.whole.classes

    def scored(self, source: Any) -> ScoredTable:
        """Return what fields are drawn from: blocks of rows, or the loss of rows within ranges."""
        settings = {"intercept": self.regressor.fit_intercept, **self.of_loss}
        return ScoredTable(source, self.question, self.size, settings, self.blocks)

    def law(
        self,
        scored: Instance | BlockScores,
        source: random.Random,
        progress: ProgressCallback | None = None,
    ) -> Mechanism[Support]:
        """Make the law of selections; nothing is drawn. Sensitive.

        Parameters
        ----------
        scored : Instance or BlockScores
            What fields are drawn from.
        source : random.Random
            For choices that do not depend on the data and are not part of the law.
        progress : callable, optional
            See `top_supports`.

        Raises
        ------
        InvalidInput
            If there are too few rows for ranges that are to be drawn.
        """
        if self.ranges is not None:
            self.ranges.require_rows(scored.n, self.size)
        method: Any = self.method
        made: Mechanism[Support] = method.on(scored, source, progress)
        return made

    def model_of(self, source: Any, scored: Instance | BlockScores) -> ModelOf:
        """Read the rows that the model is fitted to, and return how it is made of them.

        Parameters
        ----------
        source : path or table
            Read once more where ranges are drawn between the fields and the coefficients.
        scored : Instance or BlockScores
            What fields are drawn from; of a loss these are the rows.
        """
        known = self.regressor.relation == "replace-one"
        plan = replace(self, rows=scored.n) if known else self
        instance: Any = scored
        if self.ranges is None and self.blocks is not None:
            instance = instance_of_table(
                source,
                self.question,
                support_size=self.size,
                intercept=self.regressor.fit_intercept,
            )

        def made(
            support: Support, generator: random.Random
        ) -> tuple[PrivateLinearModel, ModelRows]:
            placed, spent = plan, dict[str, float]()
            if plan.ranges is None:
                rows = _mapped(instance, plan.columns_of(support))
            else:
                rows, question, spent = plan.ranges.rows(source, support, generator)
                placed = replace(plan, question=question)
            numbers, each = placed.ranged_numbers(support), plan.epsilon_of_a_range(support)
            parts = drawn_parts(numbers, rows, each, generator)
            table = replace(placed.table_within(support, parts), private_ranges=spent)
            rows = replace(rows, X=within_parts(numbers, rows.X, parts), table=table)
            if (epsilon := plan.epsilon_of_target) > 0.0:
                ends = OF_TARGET.drawn(rows.counted(rows.y), epsilon, generator)
                part = TargetPart(*ends, epsilon)
                rows = replace(rows, y=part.units(rows.y), part=part)
            return plan.model_on(support), rows

        return made


def _mapped(instance: Instance, columns: tuple[int, ...]) -> ModelRows:
    """Return some columns of an instance, its target, and how much its rows count."""
    data = instance.data
    assert isinstance(data, ClippedRows)
    y, shares, targeted = data.y, data.weights, data.targeted
    if targeted is not None:
        y, shares = np.where(targeted, y, 0.0), targeted * (1.0 if shares is None else shares)
    return ModelRows(instance.X[:, list(columns)], y, shares=shares)


def scores_blocks(selector: PrivateSelector, *, unasked: bool = True) -> bool:
    """Return whether it draws from scores from blocks of rows; `unasked` where no score is."""
    if not isinstance(selector, ProblemSelector):
        return False
    return unasked if selector.asked_score is None else selector.asked_score != LOSS
