"""`SelectThenRegress.fit_table`: features, derived ones too, and coefficients of a real table."""

from __future__ import annotations

import json
import random
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier

from mipselect import Instance, Ledger
from mipselect.errors import InvalidInput, RelationMismatch
from mipselect.regression import (
    AdaSSPRegressor,
    BoostedAdaSSPRegressor,
    ModelRelease,
    ObjectivePerturbationClassifier,
    ObjectivePerturbationRegressor,
    SelectThenRegress,
    TukeyRegressor,
    evaluate_model,
    evaluation,
)
from mipselect.regression import plan as planning
from mipselect.regression.evaluation import kept_apart_of_table
from mipselect.regression.plan import TablePlan, default_range_share
from mipselect.regression.ranges import PrivateRanges, drawn_parts, within_parts
from mipselect.regression.rows import ModelRows
from mipselect.selectors import (
    ExponentialSelector,
    KendallSelector,
    MCMCSelector,
    MistakesSelector,
    PermuteAndFlipSelector,
    SampleAggregateSelector,
    SISSelector,
    TopRSelector,
)
from mipselect.tables import TableSchema
from mipselect.tables.mapping import mapped_batches, read_rows
from mipselect.tables.public_map import TableQuestion
from mipselect.tables.sources import read_again
from tests.support.all_regressors import public_part, stored_again
from tests.support.clinic import CONTENT, clinic
from tests.support.mapped_tables import map_table
from tests.support.patients import SCHEMA, patients

HUBER = ObjectivePerturbationRegressor(loss="huber(0.25)")
REPLACE = {"relation": "replace-one"}
REGRESSORS = {
    "objective": HUBER,
    "adassp": AdaSSPRegressor(delta=1e-6),
    "boosted": BoostedAdaSSPRegressor(delta=1e-6, rounds=8, residual_bound=0.25),
    "tukey": TukeyRegressor(delta=1e-6),
}
SELECTORS = {
    "exponential": ExponentialSelector(1),
    "sizes": ExponentialSelector(sizes=[1, 2]),
    "top-r": TopRSelector(1),
    "mistakes": MistakesSelector(1),
    "sis": SISSelector(1, **REPLACE),
    "kendall": KendallSelector(1, **REPLACE),
    "sample-aggregate": SampleAggregateSelector(1, n_blocks=20, **REPLACE),
    "mcmc": MCMCSelector(1, delta=1e-6, n_steps=300),
}


def pair(selector: Any = SELECTORS["exponential"], regressor: Any = HUBER, **more: Any) -> Any:
    return SelectThenRegress(selector, regressor, **{"epsilon": 20.0, **more})


@pytest.mark.parametrize("name", REGRESSORS)
def test_every_regressor_on_columns_of_the_public_map(name: str) -> None:
    frame = patients()
    ledger = Ledger(20.0, 1e-3)
    model = pair(regressor=REGRESSORS[name], ledger=ledger)
    model.fit_table(frame, SCHEMA, target="stay", always=["sex"], never=["died"])
    release = model.release_
    assert release.private
    assert release.feature_names == ("ward",)
    assert release.columns == (
        *("ward=a", "ward=b", "ward=c", "ward=d", "ward=missing"), "sex=m", "sex=missing"
    )  # fmt: skip
    (entry,) = ledger.entries
    assert entry.guarantee == release.guarantee == model.guarantee_
    assert (release.guarantee.epsilon, release.guarantee.relation) == (20.0, "replace-one")
    # By hand: the columns of the map, times the coefficients.
    table = map_table(frame, SCHEMA, target="stay", always=["sex"], never=["died"])
    columns = [table.column_names.index(column) for column in release.columns]
    scaled = table.X[:, columns].astype(float) @ model.coef_ + model.intercept_
    np.testing.assert_allclose(model.predict(frame), 30.0 + 30.0 * scaled, rtol=1e-9)
    read = stored_again(release)
    np.testing.assert_array_equal(read.predict(frame), model.predict(frame))
    without = frame.drop(columns=["stay", "died"])
    np.testing.assert_array_equal(read.predict(without), model.predict(frame))
    assert model.score(frame, frame["stay"].astype(float)) > 0.8
    assert "ward is b and not a" in str(release)


@pytest.mark.parametrize("name", SELECTORS)
def test_every_selector_draws_fields(name: str) -> None:
    frame = patients()
    model = pair(SELECTORS[name], epsilon=30.0)
    model.fit_table(frame, SCHEMA, target="stay", never=["died"])
    assert "ward" in model.release_.feature_names
    assert model.guarantee_.epsilon == 30.0


NUMBER, CLASSES = {"target": "stay"}, {"target": "died"}
LOGISTIC = ObjectivePerturbationClassifier()
ADD_REMOVE = ObjectivePerturbationRegressor(loss="huber(0.25)", relation="add-remove")


@pytest.mark.parametrize(
    ("selector", "regressor", "question", "score"),
    [
        (PermuteAndFlipSelector(1), HUBER, NUMBER, "block-r2"),
        (ExponentialSelector(sizes=[1, 2]), HUBER, NUMBER, "blocks"),
        (TopRSelector(1), HUBER, NUMBER, "blocks"),
        (ExponentialSelector(1, score="blocks", coef_bound=0.4), HUBER, NUMBER, "blocks"),
        (ExponentialSelector(1, score="block-r2"), LOGISTIC, CLASSES, "block-r2"),
        (ExponentialSelector(1, score="loss"), HUBER, NUMBER, "loss"),
        (ExponentialSelector(1, ridge=2.0), HUBER, NUMBER, "loss"),
        (ExponentialSelector(1), LOGISTIC, CLASSES, "block-r2"),
        (ExponentialSelector(1), ADD_REMOVE, NUMBER, "loss"),
        (SISSelector(1, **REPLACE), HUBER, NUMBER, "loss"),
    ],
)
def test_features_are_drawn_from_blocks_unless_something_asks_for_the_loss(
    selector: Any, regressor: Any, question: Any, score: str, monkeypatch: Any
) -> None:
    seen: list[tuple[str, float]] = []
    make = TablePlan.law

    def noted(plan: TablePlan, scored: Any, *given: Any) -> Any:
        seen.append((scored.problem.score, plan.method.epsilon))
        return make(plan, scored, *given)

    monkeypatch.setattr(TablePlan, "law", noted)
    pair(selector, regressor).fit_table(patients(300), SCHEMA, **question)
    share = 10.0 if score == "loss" else 6.0
    assert seen == [(score, share)]


def test_a_stream_is_read_once_and_used_twice() -> None:
    table = pa.Table.from_pandas(patients(400))
    seeded = ExponentialSelector(2, random_state=1), clone(HUBER).set_params(random_state=2)
    drawn = [
        pair(*seeded).fit_table(source, SCHEMA, **NUMBER).release_
        for source in (table, table.to_reader(max_chunksize=100))
    ]
    assert drawn[0] == drawn[1]


def test_blocks_are_refused_under_add_remove() -> None:
    with pytest.raises(RelationMismatch, match="private under add-remove"):
        pair(ExponentialSelector(1, score="blocks"), ADD_REMOVE).fit_table(
            patients(300), SCHEMA, **NUMBER
        )


def test_rows_are_bounded_by_fields_and_not_by_columns() -> None:
    model = pair(ExponentialSelector(2)).fit_table(
        patients(400), SCHEMA, target="stay", always=["sex"]
    )
    rows = model.release_.rows
    assert rows.norm == pytest.approx(2.0)  # two fields, one that is always in, and the intercept
    assert set(rows.x_bound) == {1.0}
    assert model.release_.bounds["coef_bound"] == pytest.approx(30.0)
    assert model.release_.bounds["y_bound"] == 1.0
    no_intercept = ObjectivePerturbationRegressor(fit_intercept=False, coef_bound=0.7)
    model = pair(regressor=no_intercept).fit_table(patients(400), SCHEMA, target="stay")
    assert model.release_.rows.norm == pytest.approx(1.0)
    assert (model.release_.bounds["coef_bound"], model.intercept_) == (0.7, 0.0)


def aged(n: int, seed: int = 0) -> tuple[pd.DataFrame, TableSchema]:
    """Days that grow with age, which a tenth does not tell; of a range that is far too wide."""
    rng = np.random.default_rng(seed)
    age = rng.normal(60.0, 12.0, n)
    stay = 10.0 + 0.4 * age + rng.normal(0.0, 2.0, n)
    frame = pd.DataFrame({"age": np.where(rng.random(n) < 0.1, np.nan, age), "stay": stay})
    frame["sex"] = rng.choice(["f", "m"], n)
    number = {"type": "number"}
    fields = [
        {"name": "age", **number, "constraints": {"minimum": -900, "maximum": 1100}},
        {"name": "stay", **number, "constraints": {"minimum": 0, "maximum": 60}},
        {"name": "sex", "type": "string", "categories": ["f", "m"]},
    ]
    return frame, TableSchema.of({"fields": fields})


def test_numbers_keep_to_where_most_of_their_values_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, schema = aged(4000)
    found = []
    for least in (planning.LEAST_OF_A_RANGE, np.inf):  # As it is, and with ranges as they are.
        monkeypatch.setattr(planning, "LEAST_OF_A_RANGE", least)
        seeded = ExponentialSelector(1, random_state=0), clone(HUBER).set_params(random_state=1)
        found.append(pair(*seeded, epsilon=1.0).fit_table(frame, schema, target="stay"))
        assert found[-1].guarantee_.epsilon <= 1.0
        assert found[-1].release_.feature_names == ("age",)
    narrow, wide = (model.release_.table.ranges for model in found)
    assert wide == {"age": (-900.0, 1100.0)}
    low, high = narrow["age"]
    assert -100.0 < low < 40.0
    assert 80.0 < high < 250.0
    scores = [model.score(frame, frame["stay"]) for model in found]
    assert scores[0] > 0.5 > 0.3 > scores[1]
    assert f"age {low:.6g} to {high:.6g}" in str(found[0].release_)
    stored_again(found[0].release_)


def test_a_model_is_fitted_to_the_rows_that_it_predicts() -> None:
    """Columns are mapped again by arithmetic; an encoder of the narrower range does the same."""
    frame, schema = aged(300)
    question = TableQuestion(schema, "stay")
    planned = TablePlan(ExponentialSelector(2), HUBER, question)
    support = (0, 1)
    wide = map_table(frame, schema, target="stay")
    mapped = ModelRows(wide.X.astype(float), wide.y)
    each = planned.epsilon_of_a_range(support)
    numbers = planned.ranged_numbers(support)
    ranges = drawn_parts(numbers, mapped, each, random.Random(0))
    assert set(ranges) == {"age"}
    rows = within_parts(numbers, mapped.X, ranges)
    table = planned.table_within(support, ranges)
    again = np.concatenate(list(mapped_batches(frame, table.public)))
    np.testing.assert_allclose(rows, again, atol=2e-5)
    missing = frame["age"].isna().to_numpy()
    assert missing.any()
    assert not rows[missing, 0].any()
    assert np.linalg.norm(rows[:, :2], axis=1).max() <= 1.0


def test_ranges_cost_a_part_of_the_model() -> None:
    frame, schema = aged(50)
    del frame
    question = TableQuestion(schema, "stay")
    # From too few rows a part of a range would be noise.
    for rows, spent in ((None, 0.04), (99, 0.0), (200, 0.08)):
        planned = TablePlan(ExponentialSelector(1), HUBER, question, rows=rows)
        assert planned.promise.epsilon == pytest.approx(2.0)
        for support, part in (((0,), spent), ((1,), 0.0)):
            assert planned.epsilon_of_a_range(support) == pytest.approx(part)
            assert planned.model_on(support).epsilon == pytest.approx(1.0 - part)
    # A regression whose noise does not follow from ranges takes them as they are.
    planned = TablePlan(ExponentialSelector(1), REGRESSORS["tukey"], question)
    assert planned.epsilon_of_a_range((0,)) == 0.0


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 40.0])
@pytest.mark.parametrize("share", [0.04, 0.9])
def test_rho_is_that_of_any_number_of_ranges(
    epsilon: float, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model of the whole ε has more than one of the rest, but for much spent on ranges."""
    _, schema = aged(20)
    question = TableQuestion(schema, "stay")
    regressor = AdaSSPRegressor(epsilon=epsilon, delta=1e-6)
    for name in ("SHARE_OF_A_RANGE", "SHARE_OF_ALL_RANGES"):
        monkeypatch.setattr(planning, name, share)
    planned = TablePlan(ExponentialSelector(1), regressor, question)
    stated = planned.model_promise
    assert (stated.epsilon, stated.delta) == (epsilon, 1e-6)
    rhos = []
    for support in ((0,), (1,)):
        ranges = planned.epsilon_of_a_range(support)
        rest = planned.model_on(support).promise(2)
        assert ranges + rest.epsilon <= epsilon * (1.0 + 1e-12)
        rhos.append(0.5 * ranges**2 + rest.rho)
    assert stated.rho == pytest.approx(max(rhos), rel=1e-9)


def test_the_share_of_ranges() -> None:
    for product, numbers, share in (
        (None, 1, 0.04), (None, 9, 0.16), (99.0, 1, 0.0), (101.0, 1, 16 / 101), (299.0, 3, 0.0),
        (310.0, 3, 48 / 310), (401.0, 4, 0.16), (401.0, 1, 0.04), (1e6, 3, 0.12),
    ):  # fmt: skip
        assert default_range_share(numbers, product, pure=True) == pytest.approx(share)
    assert default_range_share(1, 399.0, pure=False) == 0.0
    assert default_range_share(1, 401.0, pure=False) == 0.04


@pytest.mark.parametrize("n", [40, 3000])
def test_no_part_of_a_range_is_drawn_from_few_rows(n: int) -> None:
    frame, schema = aged(n)
    made = SelectThenRegress(ExponentialSelector(1), HUBER, epsilon=2.0)
    text = str(made.fit_table(frame, schema, target="stay", always=["age"]).release_)
    assert ("age -900 to 1100" in text) is (n == 40)


def test_a_range_that_doubles_cannot_divide_stays_as_it_is() -> None:
    schema = TableSchema.of_numbers({"x": (1e15, 1e15 + 4), "y": (0, 1)})
    frame = pd.DataFrame({"x": np.full(100, 1e15 + 1), "y": np.linspace(0, 1, 100)})
    model = pair().fit_table(frame, schema, target="y")
    assert model.release_.table.ranges == {"x": (1e15, 1e15 + 4)}


def test_private_ranges_are_of_a_table() -> None:
    with pytest.raises(InvalidInput, match="private ranges are of a table"):
        pair(ranges="private").fit(np.zeros((10, 2)), np.zeros(10))


@pytest.mark.parametrize(
    ("selector", "regressor", "asked", "words"),
    [
        (ExponentialSelector(9), HUBER, {}, "n_features_to_select must be an integer in 1..5"),
        (ExponentialSelector(1, x_bound=1.0), HUBER, {}, "must not have x_bound for a table"),
        (ExponentialSelector(1, always=["sex"]), HUBER, {}, "must not have always"),
        (ExponentialSelector(1), AdaSSPRegressor(x_bound=1.0), {}, "x_bound must not be given"),
        (ExponentialSelector(1), HUBER, {"target": "ward"}, "categories without an order"),
        (ExponentialSelector(1), HUBER, {"never": ["who"]}, "never: the schema has no field"),
        (ExponentialSelector(1), AdaSSPRegressor(delta=2.0), {}, "delta must be"),
        (ExponentialSelector(1), ObjectivePerturbationClassifier(), {}, "'stay' is a number"),
        (ExponentialSelector(1), HUBER, {"target": "died"}, "'died' is two classes"),
        (MistakesSelector(1, test_epsilon=9.0, delta=1e-6), HUBER, {}, "test_epsilon must be"),
    ],
)
def test_bad_questions_are_refused_before_a_row_is_read(
    selector: Any, regressor: Any, asked: dict[str, Any], words: str
) -> None:
    class Unread:
        @property
        def __arrow_c_stream__(self) -> Any:
            return pytest.fail("the table was looked at")

    with pytest.raises(InvalidInput, match=words):
        pair(selector, regressor).fit_table(Unread(), SCHEMA, **{"target": "stay", **asked})


@pytest.mark.parametrize("loss", ["squared", "hinge"])
def test_classes(loss: str) -> None:
    frame = patients(1500)
    frame.loc[:400, "died"] = "unknown"
    selector = ExponentialSelector(1, loss=loss)
    model = pair(selector, ObjectivePerturbationClassifier(), epsilon=60.0)
    assert is_classifier(model)
    model.fit_table(frame, SCHEMA, target="died", never=["stay", "sex"])
    assert model.release_.feature_names == ("age",)
    assert model.release_.classes == tuple(model.classes_) == (False, True)
    predicted = model.predict(frame)
    assert predicted.shape == (1500,)
    old = frame["age"].astype(int) > 65
    assert predicted[old].mean() > 0.9
    # Rows without a class do not count: with them as the first class nobody would be in the other.
    known = frame.loc[401:]
    assert model.score(known, known["died"] == "True") > 0.75
    read = stored_again(model.release_)
    np.testing.assert_array_equal(read.predict(frame), predicted)
    assert str(read.in_units).startswith("log-odds of died=true = ")


def test_features_of_several_columns_on_arrays() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (2000, 6))
    y = 0.5 * X[:, 0] - 0.4 * X[:, 3] + 0.3 * X[:, 5]
    selector = ExponentialSelector(
        1, groups=[[0, 3], [1, 2], [4]], always=[5],
        x_bound=1.5, y_bound=1.0, coef_bound=1.5, ridge=1.0,
    )  # fmt: skip
    regressor = AdaSSPRegressor(x_bound=1.0, y_bound=1.0, delta=1e-6)
    model = pair(selector, regressor, epsilon=60.0).fit(X, y)
    assert model.release_.support == (0,)
    assert model.release_.columns == ("x0", "x3", "x5")
    assert np.flatnonzero(model.support_).tolist() == [0, 3, 5]
    np.testing.assert_allclose(model.coef_, [0.5, 0, 0, -0.4, 0, 0.3], atol=0.05)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_)


def test_no_field_of_a_release_depends_on_hostile_rows() -> None:
    """Nothing is raised because of the rows, and what is public stays as it was."""
    hostile = ["", "NA", "x", "1e999", "-inf", "\x00", "nan", "true", "9" * 400]
    frame = patients(60)
    noise: dict[tuple[str, ...], Any] = {}

    def public(table: Any) -> Any:
        model = pair(epsilon=1.0).fit_table(table, SCHEMA, target="stay", never=["ward"])
        return public_part(model.release_, table, noise)

    expected = public(frame)
    for value in hostile:
        changed = frame.copy()
        changed.loc[3] = value
        assert public(changed) == expected
    everywhere = frame.copy()
    everywhere.loc[:] = "?"
    assert public(everywhere) == expected


def test_files_are_written_and_read_again(tmp_path: Path) -> None:
    model = pair().fit_table(patients(300), SCHEMA, target="stay")
    path = tmp_path / "model.json"
    model.release_.save(path)
    assert ModelRelease.load(path) == model.release_
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InvalidInput, match="no such file"):
        ModelRelease.load(tmp_path / "none.json")


def test_the_promise_is_known_before_a_row_is_read_and_is_that_of_the_draw() -> None:
    question = TableQuestion(SCHEMA, "stay")
    for relation, epsilon in (("replace-one", 3.0), ("add-remove", 2.5)):
        regressor = AdaSSPRegressor(epsilon=2.0, delta=1e-6, relation=relation)
        plan = TablePlan(ExponentialSelector(2, epsilon=1.0), regressor, question)
        assert (plan.promise.epsilon, plan.promise.delta) == (epsilon, 1e-6)
        assert plan.promise.relation == relation
        instance = Instance.from_table(patients(50), SCHEMA, target="stay", support_size=2)
        drawn = plan.law(instance, random.SystemRandom())
        assert plan.promised(drawn.guarantees) == plan.promise
        assert plan.promised(drawn.guarantees).rho == plan.promise.rho is not None


def test_a_model_remembers_the_part_of_a_range_that_was_drawn() -> None:
    rng = np.random.default_rng(0)
    dose = rng.uniform(40, 45, 2000)
    frame = pd.DataFrame({"dose": dose, "effect": dose / 100})
    schema = TableSchema.of_numbers({"dose": (0, 100), "effect": (0, 1)})
    model = pair().fit_table(frame, schema, target="effect")
    low, high = model.release_.table.ranges["dose"]
    assert 0.0 < low < high < 60.0
    unstated = TableSchema.of_numbers({"dose": None, "effect": (0, 1)})
    drawn = pair(ranges="private").fit_table(frame, unstated, target="effect").release_.table
    assert set(drawn.private_ranges) == {"dose"}


# A lazy frame may give its rows in another order each time; a fit that reads it twice must not.

ROWS = 400
STATED = {"constraints": {"minimum": 0, "maximum": ROWS}}


def shuffled() -> pl.LazyFrame:
    """Rows in another order each time, as Polars gives them after a join or a group."""
    frame = pl.DataFrame({"a": np.arange(ROWS), "b": np.arange(ROWS) % 7, "y": np.arange(ROWS)})
    turns = count()
    return frame.lazy().map_batches(lambda df: df.sample(ROWS, shuffle=True, seed=next(turns)))


def question_of(**constraints: object) -> TableQuestion:
    fields = [{"name": name, "type": "number", **constraints} for name in "aby"]
    return TableQuestion(TableSchema.of({"fields": fields}), "y", (), (), {}, "first")


def values_of(parts: object, asked: TableQuestion) -> list[int]:
    X, _, _ = read_rows(parts, asked.public)  # type: ignore[arg-type]
    found: list[int] = np.rint((X[:, 0] + 1.0) * ROWS / 2.0).astype(int).tolist()
    return found


def test_no_row_is_both_in_a_fit_and_in_its_quality(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the two would cost ε each, and not together."""
    asked, seen = question_of(**STATED), list[Any]()
    choose = evaluation.chosen_rows
    monkeypatch.setattr(
        evaluation, "chosen_rows", lambda *given: seen.append(choose(*given)) or seen[-1]
    )
    held, _ = kept_apart_of_table(shuffled(), asked, 0.3, "replace-one", random.Random(1))
    ((apart, others),) = seen
    assert held is others
    assert sorted(values_of(apart, asked) + values_of(others, asked)) == list(range(ROWS))


def test_private_ranges_keep_a_row_with_its_target() -> None:
    """Else one person would be in two rows of the fit."""
    drawn = PrivateRanges(question_of(), 400.0)
    rows, *_ = drawn.rows(read_again(shuffled()), (0,), random.Random(2))
    assert abs(np.corrcoef(rows.X[:, 0], rows.y)[0, 1]) > 0.9


def test_a_lazy_frame_that_fails_says_nothing_of_a_row() -> None:
    def fails(frame: pl.DataFrame) -> pl.DataFrame:
        raise pl.exceptions.ComputeError("the value SECRET")

    with pytest.raises(InvalidInput, match="could not be computed") as told:
        read_again(shuffled().map_batches(fails))
    assert "SECRET" not in str(told.value)


CLINIC = TableSchema.of(CONTENT)
ASKED: dict[str, Any] = {"target": "stay", "never": ["age", "income", "died"]}


def fitted(frame: Any, size: int = 3, regressor: Any = HUBER, **more: Any) -> ModelRelease:
    options = {"epsilon": 30.0, **more}
    schema = options.pop("schema", CLINIC)
    asked = {**ASKED, **options.pop("asked", {})}
    model = SelectThenRegress(ExponentialSelector(size), regressor, **options)
    return model.fit_table(frame, schema, **asked).release_


def test_a_model_finds_what_the_rows_were_made_of_and_predicts_by_it() -> None:
    frame = clinic()
    release = fitted(frame)
    assert release.feature_names == ("log income", "month", "root of age")
    assert release.table is not None
    assert release.table.sources == ("age", "income", "admitted")
    by_meaning = {term.meaning: term.coefficient for term in release.in_units.terms}
    assert by_meaning["per doubling of income"] == pytest.approx(2.0, abs=0.2)
    assert by_meaning["month is July and not January"] == pytest.approx(-6.0, abs=1.5)
    assert by_meaning["per unit of √age"] == pytest.approx(2.5, abs=0.3)
    read = stored_again(release)
    # A table with what the features are made of is enough.
    given = frame[["income", "admitted", "age"]]
    np.testing.assert_array_equal(read.predict(given), release.predict(frame))
    with pytest.raises(InvalidInput, match="there is no column admitted"):
        read.predict(frame[["income", "age"]])
    # In words, by a reader who has the row and the rule.
    row = frame.iloc[0]
    income = np.exp(np.clip(np.log(row["income"]), *release.table.ranges["log income"]))
    month = pd.Timestamp(row["admitted"]).strftime("%B")
    by_hand = release.in_units.intercept
    by_hand += by_meaning["per doubling of income"] * np.log2(income)
    by_hand += by_meaning.get(f"month is {month} and not January", 0.0)
    by_hand += by_meaning["per unit of √age"] * np.sqrt(row["age"])
    assert read.predict(given)[0] == pytest.approx(by_hand, abs=1e-4)


def test_the_target_may_be_derived() -> None:
    frame = clinic()
    asked = {"target": "log income", "never": ["age", "died", "smoker"]}
    release = fitted(frame, 1, asked=asked)
    assert release.feature_names == ("stay",)
    assert "log income = the sum of" in str(release.summary())
    predicted = release.predict(frame)
    assert np.corrcoef(predicted, np.log(frame["income"]))[0, 1] > 0.4
    found = evaluate_model(release, frame, epsilon=20.0)
    assert found.beats_chance


def test_quality_and_people_and_private_ranges() -> None:
    content = json.loads(json.dumps(CONTENT))
    content["csvw-eo:privacyUnit"] = "who"
    content["fields"].append({"name": "who", "type": "integer"})
    del content["fields"][1]["constraints"]
    schema = TableSchema.of(content)
    frame = clinic()
    frame["who"] = np.arange(len(frame)) // 2
    release = fitted(frame, schema=schema, ranges="private", epsilon=60.0)
    assert release.table is not None
    assert set(release.table.private_ranges) == {"log income"}
    low, high = release.table.ranges["log income"]
    assert low < 10 < high
    stored_again(release)
    quality = evaluate_model(release, frame, epsilon=20.0, schema=schema)
    assert quality.rows == len(frame) // 2
    assert quality.beats_chance
    held = fitted(frame, schema=schema, ranges="private", epsilon=60.0, quality_share=0.3)
    assert held.quality is not None


def test_classes_and_other_models() -> None:
    release = fitted(clinic(), 2, AdaSSPRegressor(delta=1e-6))
    assert release.feature_names == ("log income", "root of age")
    assert len(release.to_frame()) == len(release.in_units.terms) + 1
    table = map_table(clinic(50), CLINIC, **ASKED)
    assert set(release.columns) <= set(table.column_names)


def test_nothing_public_depends_on_hostile_rows() -> None:
    hostile = ["", "x", "1e999", "-1", "31.02.2020", "10000-01-01", "nan", "\x00", "9" * 400]
    frame = clinic(60).astype(str)
    noise: dict[tuple[str, ...], Any] = {}

    def public(table: Any) -> Any:
        return public_part(fitted(table, 1, epsilon=1.0), table, noise)

    expected = public(frame)
    for value in hostile:
        changed = frame.copy()
        changed.loc[3] = value
        assert public(changed) == expected
    days = pa.array([None] * 59 + [2**31 - 1], pa.int32()).cast(pa.date32())
    odd = pa.Table.from_pandas(frame, preserve_index=False)
    assert public(odd.set_column(3, "admitted", days)) == expected
