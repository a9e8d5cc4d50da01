"""A support, a range and a coefficient: exact densities from raw rows, on hostile neighbours.

One field, no intercept: the coefficient is one number β, minimiser of a loss plus bβ, and b has the
density ∝ exp(-η|b|). So log P(S) + log P(range | S) + log f(β | S, range) is known for every
support, every range of its number and every β. Ranges are halved twice at most here.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mipselect import Instance
from mipselect.blocks.scores import BlockOptions
from mipselect.losses import HingeLoss
from mipselect.regression import (
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
)
from mipselect.regression import plan as planning
from mipselect.regression.plan import TablePlan
from mipselect.regression.ranges import Parts, within_parts
from mipselect.regression.rows import Drawn, ModelRows
from mipselect.selectors import ExponentialSelector, KendallSelector, SISSelector, TopRSelector
from mipselect.selectors.base import PrivateSelector
from mipselect.tables import TableSchema
from mipselect.tables.public_map import TableQuestion
from tests.support.perturbed_laws import PerturbedMinimiser

RANGE = {"minimum": 0, "maximum": 10}
SCHEMA = TableSchema.of(
    {
        "missingValues": ["NA"],
        "fields": [
            {"name": "a", "type": "number", "constraints": {**RANGE, "required": True}},
            {"name": "b", "type": "number", "constraints": {**RANGE, "required": True}},
            {"name": "c", "type": "boolean", "constraints": {"required": True}},
            {"name": "y", "type": "number", "constraints": RANGE},
            {"name": "ill", "type": "string", "categories": ["no", "yes"]},
        ],
    }
)
NAMES = [field.name for field in SCHEMA.fields]
Row = tuple[str, ...]
BASE: list[Row] = [
    ("10", "0", "true", "10", "yes"),
    ("0", "3", "false", "0", "no"),
    ("7", "5", "true", "8", "yes"),
]
HOSTILE: list[Row] = [
    ("10", "10", "true", "10", "yes"),
    ("10", "10", "true", "0", "no"),
    ("0", "10", "false", "10", "no"),
    ("-1e999", "1e300", "?", "1e999", "?"),
    ("NA", "x", "", "NA", "NA"),
    ("5", "10", "true", "9.9", "yes"),
]
EPSILON, RADIUS = 1.0, 0.8


FEW = Parts((16, 11))


@pytest.fixture(autouse=True)
def _ranges_cost_much(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SHARE_OF_A_RANGE", "SHARE_OF_ALL_RANGES"):
        monkeypatch.setattr(planning, name, 0.4)


def plan(
    method: PrivateSelector, loss: str, relation: str, blocks: BlockOptions | None = None
) -> TablePlan:
    classes = loss == "logistic"
    kind: Any = ObjectivePerturbationClassifier if classes else ObjectivePerturbationRegressor
    given = {} if classes else {"loss": loss}
    regressor = kind(
        epsilon=EPSILON, coef_bound=RADIUS, fit_intercept=False, relation=relation, **given
    )
    target, other = ("ill", "y") if classes else ("y", "ill")
    question = TableQuestion(SCHEMA, target, never=[other])
    return TablePlan(method.set_params(n_features_to_select=1), regressor, question, blocks)


def law(planned: TablePlan, rows: list[Row], grid: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
    """By support and range: log densities on the grid, and the logs of the chances of both ends."""
    target = planned.public.target_name
    asked = {"target": target, "never": ["y" if target == "ill" else "ill"]}
    # A selection by the hinge loss leaves nothing of rows without a class.
    of_classes = planned.classes is not None
    loss = "hinge" if of_classes and isinstance(planned.method, TopRSelector) else "squared"
    table = pa.table(dict(zip(NAMES, zip(*rows, strict=True), strict=True)))
    instance = Instance.from_table(
        table, SCHEMA, support_size=1, intercept=False, loss=loss, **asked
    )
    # A row without a target has no part in ranges and coefficients, and is one of n.
    there = instance.data.targeted
    assert there is not None
    y = np.where(there, instance.y, 0.0)
    # Ties are broken in the same way on both tables, for the law is given how.
    scored = instance if planned.blocks is None else planned.scored(table).made()
    drawn = planned.law(scored, random.Random(0))
    known = len(rows) if planned.promise.relation == "replace-one" else None
    result = {}
    for j in range(3):
        model = planned.model_on((j,))
        chosen, map_ = model._perturbation(1, known), model._rows(1)
        columns = instance.X[:, [j]].astype(float)
        known_columns = np.where(there[:, None], columns, np.nan)
        for index, part, log_range in ranges(planned, (j,), known_columns):
            within = {} if part is None else {NAMES[j]: part}
            x = map_(within_parts(planned.ranged_numbers((j,)), columns, within))
            minimiser = PerturbedMinimiser(
                model._loss(), x, y, chosen, RADIUS, shares=there.astype(float)
            )
            ends = [minimiser.log_of_end(sign) for sign in (1.0, -1.0)]
            values = np.append(minimiser.log_density(grid[:, None]), ends)
            result[j, index] = values + drawn.log_probability((j,)) + log_range
    return result


def ranges(
    planned: TablePlan, support: tuple[int, ...], columns: np.ndarray
) -> list[tuple[int, tuple[float, float] | None, float]]:
    """All ranges that may be drawn for the field, with the logs of their probabilities."""
    epsilon = planned.epsilon_of_a_range(support)
    if epsilon == 0.0:
        return [(0, None, 0.0)]
    law = FEW.law(columns[:, 0], epsilon)
    return [(k, FEW.wider(k), law.log_probability(k)) for k in range(len(FEW.ends))]


def neighbours(relation: str, bases: Sequence[list[Row]]) -> list[tuple[list[Row], list[Row]]]:
    pairs = []
    for kept in bases:
        if relation == "add-remove":
            pairs += [(kept, [*kept, row]) for row in HOSTILE]
        else:
            pairs += [
                ([*kept, one], [*kept, other]) for one, other in itertools.combinations(HOSTILE, 2)
            ]
    return pairs


def worst(
    planned: TablePlan, relation: str, bases: Sequence[list[Row]] = (BASE[:1], BASE)
) -> float:
    grid = np.linspace(-RADIUS, RADIUS, 41)[1:-1]
    largest = 0.0
    for one, other in neighbours(relation, bases):
        first, second = law(planned, one, grid), law(planned, other, grid)
        for drawn in first:
            largest = max(largest, float(np.abs(first[drawn] - second[drawn]).max()))
    return largest


METHODS: dict[str, dict[str, PrivateSelector]] = {
    "replace-one": {
        "exponential": ExponentialSelector(epsilon=EPSILON),
        "top-r": TopRSelector(epsilon=EPSILON),
        "sis": SISSelector(epsilon=EPSILON, relation="replace-one", top_k="joint"),
        "kendall": KendallSelector(epsilon=EPSILON, relation="replace-one"),
    },
    "add-remove": {
        "exponential": ExponentialSelector(epsilon=EPSILON),
        "sis": SISSelector(epsilon=EPSILON, relation="add-remove", top_k="joint"),
    },
}
LOSSES = ["squared", "huber(0.25)", "logistic"]
CASES = [
    (relation, name, loss)
    for relation, known in METHODS.items()
    for name in known
    for loss in (LOSSES if name == "exponential" else LOSSES[:1])
]


@pytest.mark.parametrize(("relation", "name", "loss"), CASES)
def test_a_pair_keeps_its_epsilon(relation: str, name: str, loss: str) -> None:
    planned = plan(METHODS[relation][name], loss, relation)
    found = worst(planned, relation)
    assert 0.1 * planned.promise.epsilon < found <= planned.promise.epsilon * (1.0 + 1e-9)


@pytest.mark.deep
def test_a_range_that_is_not_paid_for_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where coefficients get all of the ε of the model."""
    planned = plan(ExponentialSelector(epsilon=0.01), "huber(0.25)", "replace-one")
    honest = TablePlan.model_on

    def whole(planned: TablePlan, support: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(planning, "SHARE_OF_ALL_RANGES", 0.0)
            return honest(planned, support)

    found = worst(planned, "replace-one")
    monkeypatch.setattr(TablePlan, "model_on", whole)
    assert worst(planned, "replace-one") > 1.2 * found


@pytest.mark.parametrize("loss", ["huber(0.25)", "logistic"])
@pytest.mark.parametrize("score", ["blocks", "block-r2"])
def test_a_pair_from_blocks_keeps_its_epsilon(score: str, loss: str) -> None:
    blocks = BlockOptions(score=score, block_rows=2 if score == "blocks" else 4, partitions=2)
    fixed = replace(blocks, partition_seed=0, epsilon=EPSILON)
    planned = plan(ExponentialSelector(epsilon=EPSILON), loss, "replace-one", fixed)
    found = worst(planned, "replace-one", [[*BASE, *BASE, *BASE]])
    assert 0.1 * planned.promise.epsilon < found <= planned.promise.epsilon * (1.0 + 1e-9)


class RoundedHinge(HingeLoss):
    """Of classes, and under another name than the hinge."""

    name = "rounded-hinge"


@pytest.mark.parametrize("loss", [HingeLoss(), RoundedHinge()])
def test_rows_without_a_class_count_for_no_model_after_any_loss_of_classes(
    loss: HingeLoss, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [*BASE, ("7", "5", "true", "8", "NA")]
    instance = Instance.from_table(
        pa.table(dict(zip(NAMES, zip(*rows, strict=True), strict=True))), SCHEMA,
        target="ill", never=["y"], support_size=1, intercept=False, loss=loss,
    )  # fmt: skip
    fitted: list[np.ndarray] = []

    honest = ObjectivePerturbationClassifier._draw

    def seen(model: Any, rows: ModelRows, *given: Any) -> Drawn:
        fitted.append(rows.y)
        return honest(model, rows, *given)

    monkeypatch.setattr(ObjectivePerturbationClassifier, "_draw", seen)
    planned = plan(TopRSelector(epsilon=1.0), "logistic", "replace-one")
    drawn, sources = planned.law(instance, random.Random(0)), (random.Random(1), random.Random(2))
    planned.draw(drawn, planned.model_of(None, instance), None, sources, private=False)
    assert [y.tolist() for y in fitted] == [[1.0, -1.0, 1.0, 0.0]]


@pytest.mark.deep
def test_densities_add_up_to_one() -> None:
    planned = plan(ExponentialSelector(epsilon=EPSILON), "squared", "replace-one")
    grid = np.linspace(-RADIUS, RADIUS, 40_001)
    total = 0.0
    for values in law(planned, [*BASE, HOSTILE[0]], grid).values():
        inside = np.exp(values[:-2])
        total += float(np.trapezoid(inside, grid) + np.exp(values[-2:]).sum())
    assert total == pytest.approx(1.0, abs=1e-6)


def test_the_audit_finds_a_fifth_of_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plan(ExponentialSelector(epsilon=EPSILON), "squared", "replace-one")
    honest = ObjectivePerturbationRegressor._perturbation

    def cut_down(model: Any, size: int, count: int | None = None) -> Any:
        chosen = honest(model, size, count)
        return replace(chosen, noise_scale=0.2 * chosen.noise_scale)

    monkeypatch.setattr(ObjectivePerturbationRegressor, "_perturbation", cut_down)
    assert worst(planned, "replace-one") > planned.promise.epsilon
