"""`SchemaEncoder`: the public map as a scikit-learn transformer, which learns nothing."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from mipselect.errors import InvalidInput
from mipselect.regression import AdaSSPRegressor
from mipselect.selectors import SISSelector
from mipselect.tables import SchemaEncoder, TableSchema
from tests.support.fields import schema_of
from tests.support.mapped_tables import map_table
from tests.support.patients import SCHEMA, patients

NAMES = [
    *("age", "age=missing", "sex=m", "sex=missing"),
    *("ward=a", "ward=b", "ward=c", "ward=d", "ward=missing", "dose"),
]


def encoder(**more: Any) -> SchemaEncoder:
    return SchemaEncoder(SCHEMA, **{"target": "stay", "never": ["died"], **more})


def same_bits(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> None:
    assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())


def test_it_is_the_map_of_tables() -> None:
    frame = patients(500)
    table = map_table(frame, SCHEMA, target="stay", never=["died"])
    X = encoder().fit_transform(frame)
    same_bits(X, table.X)
    assert encoder().get_feature_names_out().tolist() == list(table.column_names) == NAMES
    assert list(encoder().groups.values()) == list(table.groups)
    assert list(encoder().groups) == list(table.feature_names)


HOSTILE = pd.DataFrame(
    {
        "age": [41.5, "x", None, np.inf, "-1e400", True, 10**30],
        "sex": ["f", 3, None, "NA", " m ", b"\xff", pd.NA],
        "ward": ["b", ["a"], 7.0, "", "d", np.nan, "missing"],
        "dose": [0.25, "NaN", "0,5", 1e308, -0.0, None, "1"],
    },
    dtype=object,
)


def test_every_row_is_mapped_by_itself_to_the_last_bit() -> None:
    frame = pd.concat([patients(40), HOSTILE], ignore_index=True)
    whole = encoder().fit(frame).transform(frame)
    for k in range(len(frame)):
        one = frame.iloc[[k]]
        same_bits(encoder().fit(one).transform(one), whole[[k]])
        # As pandas stores a row that comes alone: as numbers, where it can.
        same_bits(encoder().transform(one.infer_objects()), whole[[k]])


def test_what_it_was_fitted_on_makes_no_difference() -> None:
    frame = patients(50)
    one = encoder().fit(HOSTILE).transform(frame)
    same_bits(one, encoder().fit(frame.iloc[:0]).transform(frame))
    same_bits(one, encoder().transform(frame))


def test_in_a_pipeline_with_names_and_groups() -> None:
    frame = patients(4000).drop(columns="other")
    y = frame.pop("stay").astype(float)
    names = encoder().set_output(transform="pandas")
    assert names.fit_transform(frame.iloc[5:9]).index.tolist() == [5, 6, 7, 8]
    groups = encoder().groups
    always = [groups.pop("sex")]
    bounds = {"x_bound": 1.0, "y_bound": 60.0}
    selector = SISSelector(1, epsilon=50.0, groups=groups, always=always, **bounds)
    model = AdaSSPRegressor(epsilon=50.0, y_bound=60.0).for_features((2, 5))
    pipe = make_pipeline(encoder(), selector, model)
    pipe.fit(frame, y)
    assert pipe[:-1].get_feature_names_out().tolist() == NAMES[2:9]
    assert pipe.score(frame, y) > 0.5
    assert "SchemaEncoder" in pipe._repr_html_()


def test_clones_pickles_and_parameters() -> None:
    narrow = encoder()
    again = pickle.loads(pickle.dumps(clone(narrow)))
    assert again.get_params() == narrow.get_params()
    frame = patients(20)
    same_bits(again.transform(frame), narrow.transform(frame))
    fewer = clone(narrow).set_params(never=["died", "age"])
    assert fewer.transform(frame).shape[1] == len(NAMES) - 2
    every = SchemaEncoder(SCHEMA).get_feature_names_out().tolist()
    assert every == [*NAMES, "stay", "stay=missing", "died", "died=missing"]


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: SchemaEncoder("schema.json"), "schema must be a TableSchema"),
        (lambda: encoder(target="stey"), "did you mean 'stay'"),
        (lambda: encoder(never=["stay"]), "the target 'stay' cannot be in never"),
        (lambda: encoder(never="died"), "never must be a list of field names"),
        (lambda: encoder(never=["age", "sex", "ward", "dose", "died"]), "no field to choose from"),
        (
            lambda: SchemaEncoder(schema_of({"name": "a", "type": "number"})),
            "'a' needs constraints.minimum and constraints.maximum",
        ),
        (
            lambda: SchemaEncoder(
                TableSchema.of({**SCHEMA.content, "csvw-eo:privacyUnit": "ward"}), never=["ward"]
            ),
            "makes one row of a person's",
        ),
    ],
)  # fmt: skip
def test_refusals_name_what_would_be_right(made: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        made().fit(patients(5))
    with pytest.raises(InvalidInput, match=says):
        made().transform(patients(5))


@pytest.mark.parametrize("X", [np.zeros((3, 4)), [[1, 2]]], ids=["array", "lists"])
def test_arrays_have_no_names(X: Any) -> None:
    with pytest.raises(InvalidInput, match=r"a table must be a path.*got a (ndarray|list)"):
        encoder().fit(X)


def test_the_checks_of_scikit_learn_that_apply() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        schema = TableSchema.of_numbers({"x0": (-10.0, 10.0)})
        found: list[dict[str, Any]] = check_estimator(SchemaEncoder(schema), on_fail=None)
    assert {one["status"] for one in found} == {"passed"}
