"""Fields that are no features: weights, ignored ones, persons; how a question is made of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mipselect import Instance
from mipselect.errors import InvalidInput
from mipselect.regression import ObjectivePerturbationRegressor, SelectThenRegress
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables import SchemaEncoder, TableSchema, check_table
from mipselect.tables.described import described, looks_ignored
from mipselect.tables.moments import Moments
from mipselect.tables.public_map import TableQuestion
from mipselect.validation import did_you_mean
from tests.support.fields import Entry, listed, numeric, schema_of
from tests.support.mapped_tables import map_table, public_map

OF_WEIGHTS = {"mipselect:role": "weight"}
W: Entry = {"name": "w", "type": "number", "constraints": {"maximum": 4}, **OF_WEIGHTS}
A, Y = numeric("a", -1, 1), numeric("y", -1, 1)
WEIGHTED = schema_of(A, W, Y)
SHARES = {
    **{"0": 0.0, "4": 1.0, "1": 0.25, " 3 ": 0.75, "4.0000001": 1.0, "1e999": 1.0, "inf": 1.0},
    **{"1e300": 1.0, "-1": 0.0, "-inf": 0.0, "-1e-300": 0.0, "5e-324": 0.0, "1e-300": 2.5e-301},
    **{"": 0.0, "nan": 0.0, "much": 0.0, "NA": 0.0, "true": 0.25},
}
"""What the texts of a weight of at most 4 count."""


def weights_of(texts: list[Any], schema: TableSchema = WEIGHTED) -> list[float]:
    rows = pa.table({"a": [0.0] * len(texts), "w": texts, "y": [0.5] * len(texts)})
    found: list[float] = map_table(rows, schema, target="y").weights.tolist()
    return found


def test_values_one_by_one() -> None:
    assert weights_of(list(SHARES)) == list(SHARES.values())
    for text, share in SHARES.items():
        assert weights_of([text]) == [share]
    german = {**W, "missingValues": ["-9", "3,5"], "decimalChar": ","}
    texts = ["1,5", "-9", "3,5", "2"]
    assert weights_of(texts, schema_of(A, german, Y)) == [0.375, 0.0, 0.0, 0.5]
    # A weight below its minimum counts as it is, and one that is missing 0.
    above = {**W, "constraints": {"minimum": 1, "maximum": 4}}
    assert weights_of([0.5, None, 8.0], schema_of(A, above, Y)) == [0.125, 0.0, 1.0]


def test_nothing_else_of_a_row_and_no_other_row_depends_on_a_weight() -> None:
    texts = list(SHARES)
    base = pa.table({"a": [0.1] * len(texts), "w": texts, "y": [0.5] * len(texts)})
    before = map_table(base, WEIGHTED, target="y")
    assert (before.column_names, before.public.weight_name) == (("a", "a=missing"), "w")
    for k in range(len(texts)):
        for odd in (None, "1e999", "x", "2"):
            changed = base.set_column(1, "w", pa.array([*texts[:k], odd, *texts[k + 1 :]]))
            after = map_table(changed, WEIGHTED, target="y")
            assert (before.X == after.X).all()
            assert (before.y == after.y).all()
            others = np.arange(len(texts)) != k
            assert (before.weights[others] == after.weights[others]).all()


@pytest.mark.parametrize(
    ("rule", "expected"),
    [("first", [0.25, 0.0, 0.5]), ("last", [0.75, 0.5, 1.0]), ("mean", [0.5, 1.0, 0.5])],
)
def test_a_rule_of_people_takes_a_weight_as_a_number(rule: str, expected: list[float]) -> None:
    """The mean is over the rows where there is a weight, clipped before."""
    person = {"name": "who", "type": "string"}
    known = schema_of(person, A, W, Y, **{"csvw-eo:privacyUnit": "who"})
    who, weights = ["p", "q", "p", "r", "q"], ["1", "NA", "3", "2", "9"]
    rows = pa.table({"who": who, "a": [0.1, 0.2, 0.3, 0.4, 0.5], "w": weights, "y": [0.0] * 5})
    found = map_table(rows, known, target="y", unit_rule=rule)
    assert (found.weights.tolist(), len(found.X)) == (expected, 3)


def test_an_encoder_leaves_a_weight_out() -> None:
    encoder = SchemaEncoder(WEIGHTED, target="y")
    assert encoder.get_feature_names_out().tolist() == ["a", "a=missing"]
    assert encoder.transform(pd.DataFrame({"a": [0.5]})).tolist() == [[0.5, 0.0]]


@pytest.mark.parametrize(
    "question", [{"target": "w"}, {"target": "y", "always": ["w"]}, {"target": "y", "never": ["w"]}]
)
def test_a_weight_is_nothing_else(question: dict[str, Any]) -> None:
    asked = TableQuestion(WEIGHTED, **question)
    for made in (lambda: asked.public, lambda: asked.without_ranges):
        with pytest.raises(InvalidInput, match="'w' is the survey weight"):
            made()
    with pytest.raises(InvalidInput, match="ranges: 'w' is the survey weight"):
        public_map(WEIGHTED, target="y", ranges={"w": (0, 9)})
    rows = pa.table({"a": [0.0, 0.5], "w": [1.0, 2.0], "y": [0.0, 0.5]})
    with pytest.raises(InvalidInput, match="score 'blocks', which is the default then"):
        Instance.from_table(rows, WEIGHTED, target="y", support_size=1, score="block-r2")


FIELDS = [numeric("a", 0, 9), listed("b", "x", "z"), numeric("y", 0, 9)]
IGNORED: list[Entry] = [
    {**field, "mipselect:role": "ignored"}
    for field in (
        *({"name": "who", "type": "string"}, {"name": "when", "type": "date"}, {"name": "kind"}),
        numeric("size", 0, 9),
    )
]
WITHOUT, WITH = schema_of(*FIELDS), schema_of(IGNORED[0], *FIELDS, *IGNORED[1:])
RNG = np.random.default_rng(3)
TABLE = pa.table(
    {
        "a": RNG.uniform(-1, 10, 60),
        "b": RNG.choice(["x", "z", "?"], 60).tolist(),
        "y": RNG.uniform(0, 9, 60),
        **{"who": [f"p{k}" for k in range(60)], "when": ["2020-01-01"] * 60, "kind": [None] * 60},
        "size": RNG.uniform(0, 9, 60),
    }
)


def test_the_map_is_that_of_a_schema_without_ignored_fields() -> None:
    one, other = (map_table(TABLE, schema, target="y") for schema in (WITH, WITHOUT))
    assert np.array_equal(one.X, other.X)
    assert np.array_equal(one.y, other.y)
    assert (one.public.columns, one.feature_names) == (other.public.columns, other.feature_names)
    assert WITH.ignored == ("who", "when", "kind", "size")
    assert public_map(WITH, target="y").names == public_map(WITHOUT, target="y").names
    assert map_table(TABLE, WITH, target="y", never=["who", "b"]).feature_names == ("a",)
    names = SchemaEncoder(WITH, target="y").fit(TABLE).get_feature_names_out().tolist()
    assert names == ["a", "a=missing", "b=z", "b=missing"]


USES: dict[str, Callable[[pa.Table], Any]] = {
    "map": lambda table: map_table(table, WITH, target="y"),
    "instance": lambda table: Instance.from_table(table, WITH, target="y", support_size=1),
    "moments": lambda table: Moments.of(table, schema=WITH, target="y"),
    "check": lambda table: check_table(table, WITH),
}


@pytest.mark.parametrize("use", USES)
def test_no_value_of_ignored_fields_is_read(use: str) -> None:
    odd = pa.array([{"k": [1]}] * 60)
    names = TABLE.column_names
    assert USES[use](pa.table({n: TABLE[n] if n in "aby" else odd for n in names})) is not None
    assert USES[use](TABLE.select(["a", "b", "y"])) is not None


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"target": "size"}, "target: 'size' is ignored by the schema (mipselect:role)"),
        ({"target": "y", "always": ["who"]}, "always: 'who' is ignored by the schema"),
        ({"target": "y", "ranges": {"size": (0, 1)}}, "ranges: 'size' is ignored by the schema"),
    ],
)
def test_what_ignored_fields_cannot_be(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        map_table(TABLE, WITH, **asked)
    assert message in str(caught.value)


OF_TEXTS = ("name", "last_name", "Email", "comments", "patientname")
OF_IDENTIFIERS = (
    *("id", "ID", "patient_id", "PatientID", "patientid", "id visit", "uuid", "provnum"),
    *("Provider_Number", "rownames", "row.names", "row_number", "patient_nbr", "index"),
    *("respondent", "Patient"),
)
OF_FEATURES = (
    *("age", "paid", "covid", "steroid", "hospital_name", "ideal", "sex", "ward", "", "7"),
    *("num_visits", "visit_number", "body_index", "provnumber_of_beds", "rows", "arrow"),
    *("patients", "person years", "subject", "free text notes"),
)


def test_names_of_identifiers_of_texts_and_of_features() -> None:
    for name in (*OF_TEXTS, *OF_IDENTIFIERS, *OF_FEATURES):
        assert looks_ignored(name, {"type": "string"}) == (name not in OF_FEATURES), name
        assert looks_ignored(name, {"type": "integer"}) == (name in OF_IDENTIFIERS), name
        for known in ({"categories": ["x"]}, {"constraints": {"minimum": 0}}, {"unit": "mm"}):
            assert not looks_ignored(name, {"type": "string", **known}), name


def test_what_is_ignored_is_named_with_a_question() -> None:
    fields = ({"name": "patient_id"}, {"name": "b"})
    table = pa.table({"patient_id": ["a"], "b": [1]})
    found = described(table, schema_of(*fields))
    assert found.schema.ignored == ("patient_id",)
    (note, question) = found.notes
    assert 'mipselect:role "ignored": patient_id.' in note
    assert question.startswith("may a person have several rows? Then name the field")
    assert "csvw-eo:privacyUnit" in question
    assert described(TABLE).schema.ignored == ()
    person = described(table, schema_of(*fields, **{"csvw-eo:privacyUnit": "patient_id"}))
    assert (person.schema.ignored, person.notes) == ((), ())


OF_STAYS: list[Entry] = [
    {"name": "who", "type": "string"},
    numeric("age", 0, 10),
    listed("ward", "J", "K", "L"),
    *(numeric(name, 0, 10) for name in ("dose", "crp", "days")),
]
PEOPLE = schema_of(*OF_STAYS, **{"csvw-eo:privacyUnit": "who"})
ROWS = schema_of(*OF_STAYS[1:])
ASKED = TableQuestion(PEOPLE, "days", ["age"], ["crp"], {"dose": (1.0, 5.0)}, "last")


def stays(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    numbers = {name: rng.uniform(0, 10, n).round(2) for name in ("age", "dose", "crp", "days")}
    return pd.DataFrame({"ward": rng.choice(["J", "K", "L"], n), **numbers})


def test_about_some_fields_it_says_the_same_of_them_and_keeps_whose_row_it_is() -> None:
    narrow = replace(ASKED, ranges={"dose": (1.0, 5.0), "age": (0.0, 5.0)}).about({"age", "days"})
    with pytest.raises(InvalidInput, match="no field to choose from"):
        _ = narrow.public
    narrow = ASKED.about({"age", "days", "ward"})
    assert (narrow.never, narrow.ranges) == (("dose", "crp"), {})
    assert narrow.public.unit == ASKED.public.unit
    assert narrow.public.features == ASKED.public.features[:1]
    assert narrow.public.always == ASKED.public.always


def test_what_is_left_out_of_moments_says_nothing() -> None:
    """One name alone is a list of one here."""
    moments = Moments.of(stays(), ROWS, target="days", never="crp")
    assert moments.columns.question.never == ("crp",)
    instance = Instance.from_moments(moments, support_size=1, always="age")
    assert instance.feature_names == ("ward", "dose")
    asked = {"target": "days", "support_size": 1, "never": "crp", "score": "block-r2"}
    with pytest.raises(InvalidInput, match="never must be a list of field names, got 'crp'"):
        Instance.from_table(stays(), ROWS, **asked)
    out: dict[str, Any] = {"target": "days", "never": ["crp"], "ranges": {"crp": (0.0, 1.0)}}
    assert Moments.of(stays(), ROWS, **out).matrix.tolist() == moments.matrix.tolist()
    with pytest.raises(InvalidInput, match="ranges: fields that are not used: crp"):
        map_table(stays(), ROWS, **out)


@pytest.mark.parametrize("asked", [{"target": "who"}, {"target": "days", "always": ["who"]}])
def test_the_person_column_is_no_target_and_no_feature(asked: dict[str, Any]) -> None:
    fields = [numeric(name, 0, 9) | {"type": "integer"} for name in ("who", "days", "a")]
    schema = schema_of(*fields, **{"csvw-eo:privacyUnit": "who"})
    with pytest.raises(InvalidInput, match="'who' is the person column"):
        _ = TableQuestion(schema, **asked).public


BODY = TableSchema.of_numbers({"height_cm": (0, 300), "weight_kg": (0, 300), "y": (0, 1)})


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises(InvalidInput) as error:
        act()
    return str(error.value)


def test_the_hint_of_a_column_that_is_not_there_is_right() -> None:
    """One that is meant by its own name is no hint; the beginning of a name finds it."""
    plain = pa.table({"weight_kg": [1.0], "y": [1.0]})
    assert "did you mean" not in refusal(lambda: map_table(plain, BODY, target="y"))
    other = plain.append_column("height_m", pa.array([1.0]))
    assert "did you mean 'height_m'?" in refusal(lambda: map_table(other, BODY, target="y"))
    names = ["ward", "los_days", "Los_days_before"]
    for word, hint in (("los", "los_days"), ("LOS", "los_days"), ("wart", "ward")):
        assert did_you_mean(word, names) == f"; did you mean '{hint}'?"
    assert did_you_mean("l", names) == did_you_mean("", names) == did_you_mean("pulse", names) == ""


def test_repeated_names_of_a_frame_are_one_clear_line() -> None:
    numbers = np.random.default_rng(0).uniform(0, 1, (60, 3))
    frame = pd.DataFrame(numbers, columns=["height_cm", "weight_kg", "height_cm"])
    arrow = pa.Table.from_arrays(list(map(pa.array, numbers.T)), names=list(frame.columns))
    y = pd.Series(numbers[:, 0], name="y")
    model = ObjectivePerturbationRegressor(loss="huber(0.25)", x_bound=1.0, y_bound=1.0)
    pair = SelectThenRegress(PermuteAndFlipSelector(1), ObjectivePerturbationRegressor())
    for estimator in (PermuteAndFlipSelector(1), model, pair):
        for X in (frame, arrow):
            told = refusal(lambda estimator=estimator, X=X: estimator.fit(X, y))  # type: ignore[misc]
            assert told == "X: several columns are called height_cm; names must differ"
    model.fit(numbers, y)
    assert "several columns" in refusal(lambda: model.predict(frame))
