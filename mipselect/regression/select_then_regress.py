"""Selection and regression as one private release."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin, clone, is_classifier
from sklearn.utils import ClassifierTags, _safe_indexing

from mipselect.errors import InvalidInput, warn_of_little_use
from mipselect.losses import HingeLoss, checked_loss
from mipselect.losses.classes import SIGNS
from mipselect.mechanisms.base import Support
from mipselect.parameters import Check, estimator, parameter
from mipselect.privacy.decimals import exact, round_down
from mipselect.privacy.ledger import Ledger, checked_ledger
from mipselect.privacy.randomness import source_of
from mipselect.regression import plan as plans
from mipselect.regression.base import NumberPredictor, PrivateLinearModel
from mipselect.regression.evaluation import kept_apart_of_arrays, kept_apart_of_table
from mipselect.regression.ranges import PRIVATE, PUBLIC, WAYS, PrivateRanges
from mipselect.regression.release import ModelRelease
from mipselect.regression.rows import ModelRows
from mipselect.selectors import MCMCSelector
from mipselect.selectors.all_features import in_place_of
from mipselect.selectors.base import PrivateSelector
from mipselect.tables.public_map import Ranges, TableQuestion
from mipselect.tables.schema import TableSchema
from mipselect.tables.sources import read_again
from mipselect.validation import checked_budget, checked_choice


def checked_part(kind: type[Any]) -> Check:
    """Return the check of an estimator of this kind, which must have no ledger of its own."""

    def check(part: Any, name: str) -> None:
        if not isinstance(part, kind):
            raise InvalidInput(f"{name} must be a {kind.__name__}, got {part!r}")
        if part.ledger is not None:
            raise InvalidInput(f"the {name} has a ledger; give it to SelectThenRegress")
        if getattr(part, "quality_share", None) is not None:
            raise InvalidInput(f"the {name} has a quality_share; give it to SelectThenRegress")

    return check


@estimator
class SelectThenRegress(NumberPredictor):
    """Draw features with one estimator, then a model on them with another: one release.

    Attributes
    ----------
    support_ : ndarray of bool, shape (p,)
        True for the columns of the model: those of the features that were drawn, and those that
        the selector has always in.
    coef_ : ndarray of shape (p,)
        Zeros for the other columns. After `fit_table` those of the columns of the model.
    classes_ : ndarray of shape (2,)
        Only of a classifier.

    Raises
    ------
    RelationMismatch
        If the selector does not state its guarantee under the relation of the regressor; nothing
        is charged or drawn.

    Notes
    -----
    The features are a private release, and the model on them one more for any features: ε and δ
    add up (basic composition, both under one relation). The intercept is no column and is never
    drawn. The draws are seeded if one of the two estimators has a `random_state`.

    Examples
    --------
    >>> import numpy as np
    >>> from mipselect import Ledger
    >>> from mipselect.regression import AdaSSPRegressor, SelectThenRegress
    >>> from mipselect.selectors import SISSelector
    >>> X = np.random.default_rng(0).uniform(-1, 1, (20_000, 10))
    >>> selector = SISSelector(1, x_bound=1.0, y_bound=1.0, relation="replace-one")
    >>> ledger = Ledger(4.0, delta=1e-6)
    >>> model = SelectThenRegress(
    ...     selector, AdaSSPRegressor(x_bound=1.0, y_bound=1.0), epsilon=4.0, ledger=ledger
    ... )
    >>> model.fit(X, 0.8 * X[:, 6]).support_.nonzero()[0].tolist()
    [6]
    >>> ledger.remaining.epsilon
    0.0
    """

    selector: PrivateSelector = parameter(
        "PrivateSelector",
        "With its own ε, bounds and options.",
        kw_only=False,
        check=checked_part(PrivateSelector),
    )
    regressor: PrivateLinearModel = parameter(
        "PrivateLinearModel",
        "With its own ε, δ, bounds and options. A parameter with one number for each column of X "
        "is cut to the columns that were drawn.",
        kw_only=False,
        check=checked_part(PrivateLinearModel),
    )
    epsilon: float | None = parameter(
        "float, optional",
        "ε of both together. It takes the place of their own: 0.3 of it goes to the selector's "
        "`epsilon` where features are drawn from blocks of rows, else half, and what that does not "
        "cost to the regressor's. A selector of all features costs nothing.",
        default=None,
        check=checked_budget,
    )
    ranges: str = parameter(
        '{"public", "private"}',
        "Private: of a table, the ranges that its schema does not state are drawn for the fields "
        "that were selected and the target, and released with the model; needs `epsilon`, of which "
        "they cost a fifth, and fields that are drawn from blocks of rows.",
        default=PUBLIC,
        check=lambda ranges, name: checked_choice(ranges, name, WAYS),
    )
    ledger: Ledger | None = parameter(
        "Ledger, optional",
        "Pays for each fit, once for both. Those of the two estimators must be None.",
        default=None,
        check=checked_ledger,
        last=True,
    )

    def _fit(self, X: ArrayLike, y: ArrayLike) -> None:
        if self.ranges != PUBLIC:
            raise InvalidInput("private ranges are of a table: fit_table draws them")
        selector, regressor = self._parts()
        sources, private = self._sources()
        table, given = self._validated(X, y)
        if getattr(regressor, "classes", None) is not None:
            y = given
            _take_signs(selector)
        target, size = regressor._encoded(given), table.shape[1]
        selector.n_features_in_, selector.feature_names_in_ = size, self._names()
        layout = selector._layout()
        selector._check_number(len(layout.groups))
        method = in_place_of(selector, len(layout.groups))
        self._divide(method, regressor, plans.scores_blocks(self.selector))
        plan = plans.Plan(layout, method, regressor)
        # Before the search for a law, which may take long.
        _ = plan.model_promise
        fitted, measuring = kept_apart_of_arrays(
            table, target, self.quality_share, regressor, sources[1], plan.columns_of
        )
        if self.quality_share is not None:
            X, y = (_safe_indexing(each, np.flatnonzero(fitted)) for each in (X, y))
        selection = plan.method._silent_mechanism(X, y, sources[0])
        if regressor.relation == "replace-one":
            plan.method._warn_near_chance(n := int(fitted.sum()))
            regressor.warn_of_few(n, len(plan.columns_of(plan.widest)))

        def model_of(
            support: Support, generator: random.Random
        ) -> tuple[PrivateLinearModel, ModelRows]:
            rows = table[fitted][:, list(plan.columns_of(support))]
            return plan.model_on(support), ModelRows(rows, target[fitted])

        release = measuring(plan.draw(selection, model_of, self.ledger, sources, private=private))
        self._keep(release, plan.columns_of(release.support), size)

    def _keep(self, release: ModelRelease, columns: Sequence[int], size: int) -> None:
        """Keep which columns it is of too, and the classes."""
        super()._keep(release, columns, size)
        if release.classes is not None:
            self.classes_ = np.array(release.classes)
        self.support_ = np.zeros(size, dtype=bool)
        self.support_[self._columns] = True

    def fit_table(
        self,
        source: Any,
        schema: TableSchema,
        *,
        target: str,
        always: Sequence[str] = (),
        never: Sequence[str] = (),
        ranges: Ranges | None = None,
        unit_rule: str = "first",
    ) -> Self:
        """Draw features and coefficients of a table, by the public map of its schema.

        Bounds of the two estimators follow from the schema where they are None; `release_` has
        the coefficients in the units of the table too, and `predict` takes a table.

        Parameters
        ----------
        source : path or table
            See `mipselect.tables.sources.open_source`.
        schema, target, always, never, ranges, unit_rule
            See `Instance.from_table`.

        Raises
        ------
        InvalidInput
            For what is wrong with a parameter, the schema or a header; nothing is raised because
            of the rows, but for a table without any.
        BudgetExceeded, RelationMismatch
            From the ledger, before anything is drawn.
        """
        question = TableQuestion(schema, target, always, never, ranges or {}, unit_rule)
        sources, private = self.check()._sources()
        plan = self.plan_of_table(question, sources[0])
        source, measuring = kept_apart_of_table(
            source, plan.question, self.quality_share, plan.promise.relation, sources[1]
        )
        # Scores from blocks are of rows as they are, and the model is of rows within ranges.
        table = source if plan.blocks is None else read_again(source)
        scored = plan.scored(table).made()
        n = scored.n if plan.regressor.relation == "replace-one" else None
        if n is not None:
            plan.method.warn_near_chance(scored.problem, n)
            plan.regressor.warn_of_few(n, len(plan.columns_of(plan.widest)))
        if told := plan.doubt(n):
            warn_of_little_use(told)
        model_of, selection = plan.model_of(table, scored), plan.law(scored, sources[0])
        release = measuring(plan.draw(selection, model_of, self.ledger, sources, private=private))
        size = len(release.columns)
        self._keep(release, range(size), size)
        return self

    def plan_of_table(self, question: TableQuestion, source: random.Random) -> plans.TablePlan:
        """Divide ε between copies of the estimators; no row is read.

        Parameters
        ----------
        question : TableQuestion
        source : random.Random
            For partitions into blocks.
        """
        ranges: PrivateRanges | None = None
        if self.ranges == PRIVATE:
            if self.epsilon is None:
                raise InvalidInput("private ranges need epsilon, of which they cost a part")
            price = round_down(exact(self.epsilon) * exact(plans.SHARE_OF_PRIVATE_RANGES))
            ranges = PrivateRanges(question, price)
            question = ranges.placed
        ranged, p = ranges is not None, len(question.public.features)
        # By default all but a draw under add-remove does, and all where ranges are to be drawn.
        unasked = ranged or self.regressor.relation == "replace-one"
        in_blocks = plans.scores_blocks(self.selector, unasked=unasked)
        selector, regressor = self._parts()
        selector._check_number(p)
        of_loss = _of_the_loss(selector)
        kept = in_place_of(selector, p)
        self._divide(kept, regressor, in_blocks, ranges)
        in_blocks = in_blocks and (kept is selector or ranged)
        return plans.TablePlan(
            kept.check(),
            regressor,
            question,
            selector.block_options(source) if in_blocks else None,
            ranges,
            of_loss=of_loss,
        )

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return R² of the predictions, or the share of classes that are right; not private."""
        scores: Any = ClassifierMixin if is_classifier(self.regressor) else RegressorMixin
        return float(scores.score(self, X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        seeds = self.selector.random_state, self.regressor.random_state
        tags.non_deterministic = any(seed is None for seed in seeds)
        if is_classifier(self.regressor):
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(poor_score=True, multi_class=False)
            tags.regressor_tags = None
        return tags

    def _labelled(self, y: ArrayLike) -> ArrayLike:
        return self.regressor._labelled(y)

    def _parts(self) -> tuple[Any, Any]:
        """Copy the two estimators."""
        selector, regressor = clone(self.selector), clone(self.regressor)
        # A clone copies a generator, and so would draw the same again at each fit.
        selector.random_state = self.selector.random_state
        regressor.random_state = self.regressor.random_state
        return selector, regressor

    def _sources(self) -> tuple[tuple[random.Random, random.Random], bool]:
        """Return the sources of random integers of both, and whether they may be called private."""
        source, of_columns = source_of(self.selector.random_state)
        model_source, of_model = source_of(self.regressor.random_state)
        return (source, model_source), of_columns and of_model

    def _divide(
        self,
        selector: PrivateSelector,
        regressor: PrivateLinearModel,
        in_blocks: bool,
        ranges: PrivateRanges | None = None,
    ) -> None:
        """Give a selector its share of ε, a regressor what it and private ranges do not cost."""
        if self.epsilon is None:
            return
        share = plans.SHARE_OF_BLOCKS if in_blocks else plans.SHARE_OF_OTHERS
        first = round_down(exact(self.epsilon) * exact(share))
        tested = getattr(selector, "test_epsilon", None) or 0.0
        if tested >= first:
            raise InvalidInput(
                f"test_epsilon must be below what the selection may cost, {first:.15g}; got "
                f"{tested:.15g}"
            )
        selector.set_params(epsilon=round_down(exact(first) - exact(tested)))
        # Under add-remove an exact draw costs half of its ε.
        stated = selector.guarantees.get(regressor.relation)
        spent = first if stated is None else stated.epsilon
        rest = exact(self.epsilon) - exact(spent)
        if ranges is not None:
            rest -= exact(ranges.epsilon)
        regressor.set_params(epsilon=round_down(rest))


def _take_signs(selector: PrivateSelector) -> None:
    """Let a loss of classes take them as -1 and +1, and 0 for a row without one."""
    loss = getattr(selector, "loss", None)
    if loss is not None and isinstance(known := checked_loss(loss), HingeLoss):
        selector.set_params(loss=replace(known, classes=SIGNS))


def _of_the_loss(selector: PrivateSelector) -> dict[str, Any]:
    """Return what a selector says of the loss of a table, as arguments of `Instance.from_table`.

    Raises
    ------
    InvalidInput
        For what the schema says already.
    """
    told = [
        name
        for name in ("x_bound", "y_bound", "groups", "always")
        if getattr(selector, name, None) is not None
    ]
    if told:
        raise InvalidInput(
            f"the selector must not have {', '.join(told)} for a table: its schema has the "
            "ranges, and fit_table takes always"
        )
    given = {name: getattr(selector, name, None) for name in ("coef_bound", "ridge", "loss")}
    if isinstance(selector, MCMCSelector):
        del given["coef_bound"]  # That of a chain is about another norm.
    return {name: value for name, value in given.items() if value is not None}
