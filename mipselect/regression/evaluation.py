"""Private quality of a released model on rows that it has not seen."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from mipselect.arrays import FloatArray
from mipselect.errors import InvalidInput, about
from mipselect.privacy.guarantee import Guarantee
from mipselect.privacy.ledger import Ledger, paid
from mipselect.privacy.randomness import source_of
from mipselect.quality.draw import Predictions, held_out, quality_of, require_measurable, within
from mipselect.quality.measures import Quality
from mipselect.regression.release import ModelRelease
from mipselect.tables.fields import ROLE
from mipselect.tables.mapping import chosen_rows, open_table, read_rows
from mipselect.tables.parts import Part, total_rows
from mipselect.tables.public_map import ModelTable, PublicMap, TableQuestion, checked_schema
from mipselect.tables.schema import PRIVACY_UNIT, TableSchema
from mipselect.tables.sources import read_again
from mipselect.validation import checked_budget, printable

EVALUATION = "quality of a model"
"""Entry of a ledger."""

Measuring = Callable[[ModelRelease], ModelRelease]
"""Function from a model to the same with its quality, where rows were kept apart for that."""


def evaluate_model(
    model: ModelRelease,
    source: Any,
    *,
    epsilon: float,
    schema: TableSchema | None = None,
    relation: str = "replace-one",
    unit_rule: str = "first",
    ledger: Ledger | None = None,
    random_state: Any = None,
) -> Quality:
    """Release how good a model of a table is on rows that it was not fitted to.

    Parameters
    ----------
    model : ModelRelease
        A model of a table.
    source : path or table
        See `mipselect.tables.sources.open_source`; with the fields of the model and its target.
        Rows that the model was fitted to make it look better than it is.
    epsilon : float
        ε > 0.
    schema : TableSchema, optional
        Says whose row it is, for a table with several rows of one person, and how much a row
        counts. Default: one row of the table is one row, and all count the same, which is refused
        where the model was fitted to people, or with survey weights.
    relation : {"replace-one", "add-remove"}
    unit_rule : {"first", "last", "mean"}
        See `Instance.from_table`.
    ledger : Ledger, optional
        Charged before a row is read.
    random_state : optional
        None for the operating system's generator; a seed takes the privacy away.

    Raises
    ------
    InvalidInput
        For what is wrong with the model, the schema or a header.
    BudgetExceeded, RelationMismatch
        From the ledger, before a row is read.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from mipselect.regression import AdaSSPRegressor, SelectThenRegress, evaluate_model
    >>> from mipselect.selectors import ExponentialSelector
    >>> from mipselect.tables import TableSchema
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"dose": rng.uniform(0, 9, 9000), "age": rng.uniform(0, 90, 9000)})
    >>> frame["effect"] = 2 * frame["dose"] + rng.normal(size=9000)
    >>> schema = TableSchema.of_numbers({"dose": (0, 9), "age": (0, 90), "effect": (0, 20)})
    >>> selector = ExponentialSelector(1)
    >>> model = SelectThenRegress(selector, AdaSSPRegressor(delta=1e-6), epsilon=4.0)
    >>> release = model.fit_table(frame[:6000], schema, target="effect").release_
    >>> found = evaluate_model(release, frame[6000:], epsilon=1.0)
    >>> found.beats_chance, found.rows
    (True, 3000)
    """
    source_of_integers, private = source_of(random_state)
    guarantee = Guarantee(checked_budget(epsilon, "epsilon"), relation=relation, private=private)
    public = evaluation_map(measurable_table(model), schema, unit_rule)
    parts = open_table(source, public)
    with paid(ledger, guarantee, EVALUATION):
        predictions = predictions_of(model, parts, public)
        return quality_of(predictions, guarantee, source_of_integers)


def kept_apart_of_arrays(
    X: FloatArray,
    target: FloatArray,
    share: float | None,
    estimator: Any,
    source: random.Random,
    columns_of: Callable[[tuple[int, ...]], tuple[int, ...]] = tuple,
) -> tuple[NDArray[np.bool_], Measuring]:
    """Draw which rows of X and y are kept apart from a fit; no row has a say in it.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    target : ndarray of shape (n,)
        Numbers, or classes as -1 and +1.
    share : float or None
        None for no rows: then nothing is measured.
    estimator : PrivateLinearModel
        Has the relation, and the bound of a target of numbers.
    source : random.Random
    columns_of : callable
        Function from the features of the model to its columns.

    Returns
    -------
    fitted : bool array of shape (n,)
        True for the other rows.
    measuring : callable

    Raises
    ------
    InvalidInput
        For numbers without a bound.
    """
    if share is None:
        return np.ones(len(X), dtype=bool), _unmeasured
    of_classes, bound = is_classifier(estimator), getattr(estimator, "y_bound", None)
    require_measurable(of_classes, bound)
    mask = held_out(len(X), share, estimator.relation, source)

    def predictions(model: ModelRelease) -> Predictions:
        # By chance there may be none, which must be no error: whether there are is private.
        columns = list(columns_of(model.support))
        found = model.decision(X[mask][:, columns]) if mask.any() else np.empty(0)
        return Predictions(target[mask], found, of_classes, bound, complete=True)

    return ~mask, _measuring(predictions, share, source)


def kept_apart_of_table(
    table: Any, question: TableQuestion, share: float | None, relation: str, source: random.Random
) -> tuple[Any, Measuring]:
    """Draw which rows, or people, of a table that can be read again are kept apart from a fit.

    Parameters
    ----------
    table : path or table
    question : TableQuestion
        Its schema may say whose row it is.
    share : float or None
        None for no rows: then nothing is measured.
    relation : {"replace-one", "add-remove"}
    source : random.Random

    Returns
    -------
    fitted : path or table
        The other rows.
    measuring : callable
    """
    if share is None:
        return table, _unmeasured

    def choose(units: int) -> NDArray[np.bool_]:
        return held_out(units, share, relation, source)

    public = question.public
    apart, others = chosen_rows(open_table(read_again(table), public), public, choose)

    def predictions(model: ModelRelease) -> Predictions:
        known = evaluation_map(measurable_table(model), question.schema, question.unit_rule)
        return predictions_of(model, apart if total_rows(p.rows for p in apart) else (), known)

    return others, _measuring(predictions, share, source)


def _unmeasured(model: ModelRelease) -> ModelRelease:
    return model


def _measuring(
    predictions: Callable[[ModelRelease], Predictions], share: float, source: random.Random
) -> Measuring:
    """Return a function that adds the quality on the rows that `predictions` are of.

    It costs nothing on top: the quality is as private for these rows as the model is for the
    others. Without a model there is no quality.
    """

    def measured(model: ModelRelease) -> ModelRelease:
        if not model.has_model:
            return model
        unseen, guarantee = predictions(model), within(model.guarantee)
        return replace(model, quality=quality_of(unseen, guarantee, source, share))

    return measured


def measurable_table(model: ModelRelease) -> ModelTable:
    """Return the table of a model; raise `InvalidInput` for one of arrays, or one without any."""
    if model.table is None:
        raise InvalidInput(
            "the model is one of arrays, and this needs one of a table with a schema; in Python "
            "ModelRelease.load predicts from its columns"
        )
    if not model.has_model:
        raise InvalidInput("no model was released, for the private test failed")
    return model.table


def evaluation_map(table: ModelTable, schema: TableSchema | None, unit_rule: str) -> PublicMap:
    """Return the map of a model with the fields that say whose row it is and how much it counts.

    Raises
    ------
    InvalidInput
        If the model was fitted to people, and it is not known whose row is whose; or with survey
        weights, and there are none; or if the field that says it is one of the model.
    """
    content = table.schema.content
    unit = None if schema is None else checked_schema(schema).privacy_unit
    weight = None if schema is None else schema.weight_name
    if unit is None and table.unit != "row":
        raise InvalidInput(
            f"the model is of people, one row for each {table.unit}: give a schema with "
            f"{PRIVACY_UNIT}, which says whose row it is"
        )
    if weight is None and table.weight is not None:
        raise InvalidInput(
            f"the model was fitted with the survey weight {table.weight}: give a schema in which a "
            f'field has {ROLE} "weight", so that its quality is that in the population too'
        )
    if schema is None:
        return table.question(table.schema, unit_rule).public
    missing = {"missingValues": schema.content.get("missingValues", [""])}
    entries = [
        {**missing, **field}
        for field in schema.content["fields"]
        if field["name"] in (unit, weight)
    ]
    of_people = {} if unit is None else {PRIVACY_UNIT: unit}
    widened = {**content, **of_people, "fields": [*content["fields"], *entries]}
    with about("who a row is of and what it counts, beside the fields of the model"):
        return table.question(TableSchema.of(widened), unit_rule).public


def predictions_of(model: ModelRelease, parts: Sequence[Part], public: PublicMap) -> Predictions:
    """Read the rows of a table, one for each person, with their targets; sensitive.

    Without parts there are no rows.
    """
    none: FloatArray = np.empty(0)
    y, decisions, weights = none, none, none if public.weight else None
    if parts:
        X, y, weights = read_rows(parts, public)
        decisions = model.decision(X)
    classes, field = public.target.classes, public.target.encoder.field
    of_classes = classes is not None
    second = None if classes is None else printable(f"{field.name}={classes[1]}")
    # A required target that is missing counts as the middle of its range: n rows count.
    everyone = of_classes or field.required
    return Predictions(
        target=np.nan_to_num(y) if everyone else y,
        decisions=decisions,
        of_classes=of_classes,
        bound=None if of_classes else 1.0,
        complete=field.required,
        scale=public.target.scale,
        weights=weights,
        second_class=second,
    )
