"""Rows that count less than others, or not at all for want of a target, in models of tables."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mipselect.errors import InvalidInput
from mipselect.regression import (
    AdaSSPRegressor,
    BoostedAdaSSPRegressor,
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    TukeyRegressor,
    evaluate_model,
)
from mipselect.regression.perturbed_objective import (
    Huber,
    LogisticLoss,
    SmoothLoss,
    perturbed_minimiser,
)
from mipselect.regression.ranges import PrivateRanges
from mipselect.regression.rows import ModelRows
from mipselect.selectors import ExponentialSelector, PermuteAndFlipSelector, SISSelector
from mipselect.tables import TableSchema
from mipselect.tables.public_map import TableQuestion
from tests.support.all_regressors import stored_again
from tests.support.perturbed_laws import PerturbedMinimiser

SQUARES = Huber(np.inf)
LOSSES: list[SmoothLoss] = [SQUARES, Huber(0.4), LogisticLoss()]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
@pytest.mark.parametrize("radius", [0.3, 5.0])
def test_a_weight_is_how_often_a_row_stands_there(loss: SmoothLoss, radius: float) -> None:
    rng = np.random.default_rng(0)
    rows, noise = rng.uniform(-1, 1, (40, 3)), rng.normal(size=3)
    y = np.where(rows[:, 0] > 0, 1.0, -1.0)
    counts = rng.integers(0, 5, 40)
    weighted = perturbed_minimiser(loss, rows, y, 0.7, noise, radius, counts / 4.0)
    again = np.repeat(np.arange(40), counts)
    repeated = perturbed_minimiser(loss, rows[again], y[again], 2.8, 4.0 * noise, radius)
    np.testing.assert_allclose(weighted, repeated, atol=2e-6)
    alike = perturbed_minimiser(loss, rows, y, 0.7, noise, radius, np.ones(40))
    np.testing.assert_array_equal(alike, perturbed_minimiser(loss, rows, y, 0.7, noise, radius))


def log_densities(
    model: Any, table: np.ndarray, weights: np.ndarray, betas: np.ndarray
) -> np.ndarray:
    """Exact log densities of a model's coefficients inside of the ball."""
    size = table.shape[1] - 1
    rows, chosen = model._rows(size)(table[:, :-1]), model._perturbation(size, len(table))
    balls, radius = model._change(size)[0], model._radius(size)
    law = PerturbedMinimiser(
        model._loss(), rows, table[:, -1], chosen, radius, balls, shares=weights
    )
    return law.log_density(betas)


def largest_loss(model: Any, most: float) -> float:
    """Over hostile neighbours whose weights are at 0, at `most` and in between."""
    rng = np.random.default_rng(1)
    radius = model._radius(2)
    betas = rng.normal(size=(10, 3))
    betas *= 0.999 * min(radius, 3.0) / np.linalg.norm(betas, axis=1)[:, None]
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    worst = 0.0
    for n in (0, 1, 6):
        rest = corners[rng.integers(8, size=n)]
        shares = rng.choice([0.0, 1.0, 0.3], n)
        changed = [(row, w) for row in corners for w in (0.0, 0.5, most)]
        logs = [
            log_densities(
                model, np.vstack([rest, row]), np.append(shares, min(w, most)), betas
            )
            for row, w in changed
        ]  # fmt: skip
        worst = max(
            worst, *(float(np.abs(a - b).max()) for a, b in itertools.combinations(logs, 2))
        )
    return worst


MODELS = [
    ObjectivePerturbationRegressor(epsilon=0.8, loss="huber(0.25)", x_bound=1.0, y_bound=1.0),
    ObjectivePerturbationRegressor(epsilon=0.8, x_bound=1.0, y_bound=1.0, coef_bound=1.0),
    ObjectivePerturbationClassifier(epsilon=0.8, x_bound=1.0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.loss)
def test_exact_densities_keep_epsilon_and_not_above_the_maximum(model: Any) -> None:
    within = largest_loss(model, 1.0)
    assert 0.5 * 0.8 < within <= 0.8 * (1.0 + 1e-9)
    assert largest_loss(model, 3.0) > 0.8


FIELDS: list[dict[str, Any]] = [
    *(
        {"name": name, "type": "number",
         "constraints": {"minimum": -1, "maximum": 1, "required": True}}
        for name in ("a", "b", "c", "y")
    ),
    {"name": "ill", "type": "string", "categories": ["no", "yes"]},
]  # fmt: skip
WEIGHT = {"name": "w", "type": "number", "mipselect:role": "weight", "constraints": {"maximum": 8}}
WEIGHTED, PLAIN = (TableSchema.of({"fields": f}) for f in ([*FIELDS, WEIGHT], FIELDS))
NUMBERS: dict[str, Any] = {"target": "y", "never": ["ill"]}
CLASSES: dict[str, Any] = {"target": "ill", "never": ["y"]}


def sample(n: int, seed: int = 0) -> pd.DataFrame:
    """Two strata: in the one, of full weight, y follows a; in the other, of none, it follows b."""
    rng = np.random.default_rng(seed)
    X, full = rng.uniform(-1, 1, (n, 3)), rng.random(n) < 0.5
    y = 0.6 * np.where(full, X[:, 0], -X[:, 1]) + np.where(full, 0.2, -0.2)
    y += 0.05 * rng.normal(size=n)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y.clip(-1, 1))
    ill = y > np.where(full, 0.2, -0.2)
    return frame.assign(ill=np.where(ill, "yes", "no"), w=np.where(full, 8.0, 0.0))


REGRESSORS = {
    "huber": ObjectivePerturbationRegressor(loss="huber(0.25)"),
    "squared": ObjectivePerturbationRegressor(),
    "logistic": ObjectivePerturbationClassifier(),
    "adassp": AdaSSPRegressor(delta=1e-6),
    "boosted": BoostedAdaSSPRegressor(delta=1e-6, rounds=5, residual_bound=1.0),
}


def fitted(name: str, frame: pd.DataFrame, schema: TableSchema, **more: Any) -> SelectThenRegress:
    asked = CLASSES if name == "logistic" else NUMBERS
    model = SelectThenRegress(
        ExponentialSelector(1, random_state=1),
        REGRESSORS[name].set_params(random_state=2),
        **{"epsilon": 40.0, **more},
    )
    return model.fit_table(frame, schema, **asked)


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_model_is_that_of_the_rows_that_count(name: str) -> None:
    release = fitted(name, sample(6000), WEIGHTED).release_
    assert release.feature_names == ("a",)
    if name != "logistic":
        assert release.coefficients == pytest.approx([0.6], abs=0.05)
        assert release.intercept == pytest.approx(0.2, abs=0.05)
    assert release.table is not None
    assert release.table.weight == "w"
    assert "Rows counted by the survey weight w." in release.summary()
    stored = stored_again(release)
    assert stored.table is not None
    assert stored.table.weight == "w"
    assert stored.table.column_names == ("a",)


@pytest.mark.parametrize("name", ["squared", "adassp", "boosted"])
def test_coefficients_are_those_of_weighted_least_squares(name: str) -> None:
    frame = sample(6000)
    frame["w"] = np.where(frame["w"] == 8.0, 8.0, 2.0)
    release = fitted(name, frame, WEIGHTED, epsilon=4000.0).release_
    X, w = np.column_stack([frame["a"], np.ones(6000)]), frame["w"].to_numpy()
    expected = np.linalg.solve(X.T @ (w[:, None] * X), X.T @ (w * frame["y"]))
    assert release.feature_names == ("a",)
    assert [*(release.coefficients or ()), release.intercept] == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("name", ["huber", "squared", "logistic"])
@pytest.mark.parametrize("score", [None, "loss"])
def test_weights_at_their_maximum_change_no_bit(name: str, score: str | None) -> None:
    frame = sample(900).assign(w=8.0)
    found = []
    for schema in (WEIGHTED, PLAIN):
        model = SelectThenRegress(
            ExponentialSelector(1, random_state=1, score=score or "blocks"),
            REGRESSORS[name].set_params(random_state=2),
            epsilon=2.0,
        )
        found.append(model.fit_table(frame, schema, **(CLASSES if name == "logistic" else NUMBERS)))
    one, other = (model.release_ for model in found)
    assert one.support == other.support
    assert one.coefficients == other.coefficients
    assert one.intercept == other.intercept


def test_ranges_that_are_drawn_first() -> None:
    fields = [{"name": f["name"], "type": f["type"]} for f in FIELDS[:4]]
    open_ = TableSchema.of({"fields": [*fields, WEIGHT]})
    model = SelectThenRegress(
        ExponentialSelector(1, random_state=1), REGRESSORS["huber"], epsilon=40.0, ranges="private"
    )
    release = model.fit_table(sample(6000), open_, target="y").release_
    assert release.feature_names == ("a",)
    assert release.in_units.terms[0].coefficient == pytest.approx(0.6, abs=0.1)


def test_what_takes_no_weights_refuses() -> None:
    frame = sample(200)
    with pytest.raises(InvalidInput, match="TukeyRegressor takes no survey weights"):
        SelectThenRegress(ExponentialSelector(1), TukeyRegressor(delta=1e-6)).fit_table(
            frame, WEIGHTED, **NUMBERS
        )
    with pytest.raises(InvalidInput, match="scores of rows that all count the same"):
        SelectThenRegress(
            SISSelector(1, relation="replace-one"), REGRESSORS["huber"]
        ).fit_table(frame, WEIGHTED, **NUMBERS)  # fmt: skip
    with pytest.raises(InvalidInput, match="takes none"):
        SelectThenRegress(
            ExponentialSelector(1, loss="hinge"), REGRESSORS["logistic"]
        ).fit_table(frame, WEIGHTED, **CLASSES)  # fmt: skip


@pytest.mark.parametrize("name", ["huber", "logistic"])
def test_quality_is_that_in_the_population(name: str, tmp_path: Path) -> None:
    """Of rows that count it is good, and of all of them it would not be."""
    model = fitted(name, sample(9000), WEIGHTED, quality_share=0.3)
    quality = model.quality_
    assert quality is not None
    assert quality.rows == 2700
    best = quality.measures[0]
    assert best.value is not None
    assert best.value > 0.95
    fresh = sample(4000, seed=5)
    found = evaluate_model(model.release_, fresh, epsilon=20.0, schema=WEIGHTED)
    assert found.measures[0].value == pytest.approx(best.value, abs=0.05)
    other = fresh.assign(w=8.0 - fresh["w"])
    assert evaluate_model(model.release_, other, epsilon=20.0, schema=WEIGHTED).measures[0].high < (
        0.7
    )
    with pytest.raises(InvalidInput, match="was fitted with the survey weight w: give a schema"):
        evaluate_model(model.release_, fresh, epsilon=1.0)
    with pytest.raises(InvalidInput, match="was fitted with the survey weight w"):
        evaluate_model(model.release_, fresh, epsilon=1.0, schema=PLAIN)
    path = tmp_path / "fresh.csv"
    fresh.to_csv(path, index=False)
    again = evaluate_model(model.release_, path, epsilon=1.0, schema=WEIGHTED, random_state=3)
    same = evaluate_model(model.release_, fresh, epsilon=1.0, schema=WEIGHTED, random_state=3)
    assert again.measures == same.measures


def test_a_weight_of_an_evaluation_is_no_field_of_the_model() -> None:
    release = fitted("huber", sample(900), PLAIN).release_
    odd = [{**f, "mipselect:role": "weight"} if f["name"] == release.feature_names[0] else f
           for f in FIELDS]  # fmt: skip
    odd = [{**f, "constraints": {"maximum": 1}} if "mipselect:role" in f else f for f in odd]
    with pytest.raises(
        InvalidInput, match=r"what it counts, beside the fields of the model: .* names must differ"
    ):
        evaluate_model(
            release, sample(50), epsilon=1.0, schema=TableSchema.of({"fields": odd})
        )  # fmt: skip


N = 1500
NUMBER = {"type": "number", "constraints": {"minimum": -1, "maximum": 1, "required": True}}
FIELDS_OF_MISSING = [{"name": name, **NUMBER} for name in ("a", "b")]
TARGET = {"name": "y", "type": "number", "constraints": {"minimum": 0, "maximum": 100}}
CLASSES_OF_MISSING = {"name": "y", "type": "string", "categories": ["no", "yes"]}
WEIGHT_OF_MISSING = {"name": "w", "type": "number", "mipselect:role": "weight"}
WEIGHT_OF_MISSING["constraints"] = {"minimum": 0, "maximum": 2}
LEFT = np.arange(N) % 7 == 3


def table(of_those_left: float, target: Any) -> pa.Table:
    """Make rows that differ, between two calls, only where there is no target."""
    rng = np.random.default_rng(0)
    a, b, w = rng.uniform(-1.0, 1.0, N), rng.uniform(-1.0, 1.0, N), rng.uniform(0.0, 2.0, N)
    y = 10.0 + 3.0 * a + rng.normal(0.0, 1.0, N)
    a[LEFT] = b[LEFT] = of_those_left
    w[LEFT] = 1.0 + of_those_left
    values = y.tolist() if target is TARGET else np.where(y > 10.0, "yes", "no").tolist()
    absent = None if target is TARGET else "neither"
    values = [absent if left else value for value, left in zip(values, LEFT, strict=True)]
    return pa.table({"a": a, "b": b, "y": values, "w": w})


SEED = {"random_state": 5}
MODELS_OF_MISSING = {
    "huber": (ObjectivePerturbationRegressor(loss="huber", **SEED), TARGET),
    "squared": (ObjectivePerturbationRegressor(loss="squared", **SEED), TARGET),
    "adassp": (AdaSSPRegressor(delta=1e-6, **SEED), TARGET),
    "boosted": (BoostedAdaSSPRegressor(delta=1e-6, rounds=5, **SEED), TARGET),
    "logistic": (ObjectivePerturbationClassifier(**SEED), CLASSES_OF_MISSING),
}


def coefficients(regressor: Any, target: Any, of_those_left: float, *more: Any) -> list[float]:
    schema = TableSchema.of({"fields": [*FIELDS_OF_MISSING, target, *more]})
    never = () if more else ("w",)
    model = SelectThenRegress(PermuteAndFlipSelector(2, **SEED), regressor, epsilon=20.0)
    kept = table(of_those_left, target)
    kept = kept if more else kept.drop_columns(["w"])
    release = model.fit_table(kept, schema, target="y", never=never if more else ()).release_
    return [*(release.coefficients or ()), release.intercept]


WITH_A_WEIGHT = [(name, [WEIGHT_OF_MISSING]) for name in ("huber", "squared", "adassp")]


@pytest.mark.parametrize(
    ("name", "more"), [*((name, []) for name in MODELS_OF_MISSING), *WITH_A_WEIGHT]
)
def test_a_row_without_a_target_teaches_nothing(name: str, more: list[Any]) -> None:
    """Whatever else the row has: the columns, their intercept, and where most values lie."""
    one, other = (coefficients(*MODELS_OF_MISSING[name], value, *more) for value in (-1.0, 0.9))
    assert one == pytest.approx(other, rel=1e-9)
    assert any(one)


def test_nor_in_the_blocks_of_tukey() -> None:
    rng = np.random.default_rng(0)
    X, left = rng.uniform(-1.0, 1.0, (4000, 2)), np.arange(4000) % 7 == 3
    y = np.where(left, 0.0, 0.5 + X[:, 0])
    thetas = []
    for of_those_left in (-1.0, 0.9):
        X[left] = of_those_left
        rows = ModelRows(X, y, shares=1.0 - left)
        model = TukeyRegressor(epsilon=5.0, delta=1e-4)
        thetas.append(model._draw(rows, random.Random(1), False).theta)
    np.testing.assert_array_equal(*thetas)
    np.testing.assert_allclose(thetas[0], [1.0, 0.0, 0.5], atol=0.1)


def test_a_mean_far_from_the_middle_of_the_range_is_found() -> None:
    schema = TableSchema.of({"fields": [*FIELDS_OF_MISSING, TARGET]})
    model = SelectThenRegress(
        PermuteAndFlipSelector(2, **SEED), MODELS_OF_MISSING["squared"][0], epsilon=1000.0
    )
    rows = table(0.0, TARGET).drop_columns(["w"])
    found = model.fit_table(rows, schema, target="y").predict(pa.table({"a": [0.0], "b": [0.0]}))
    assert found[0] == pytest.approx(10.0, abs=0.5)  # 15.7 with 50 in a seventh of the rows


@pytest.mark.parametrize("target", [TARGET, CLASSES_OF_MISSING])
def test_private_ranges_leave_such_rows_out_of_the_model(target: Any) -> None:
    free = [{"name": "a", "type": "number"}, {"name": "b", "type": "number"}, target]
    question = TableQuestion(TableSchema.of({"fields": free}), "y")
    ranges = PrivateRanges(question, 10.0)
    rows, *_ = ranges.rows(table(0.0, target), (0, 1), random.Random(0))
    np.testing.assert_array_equal(rows.shares, ~LEFT)
