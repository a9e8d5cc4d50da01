"""Each question that is made of a `TableQuestion` is the one by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mipselect import Instance
from mipselect.errors import InvalidInput
from mipselect.tables import TableSchema
from mipselect.tables.moments import Moments
from mipselect.tables.public_map import TableQuestion
from tests.support.mapped_tables import map_table

NUMBER = {"type": "number", "constraints": {"minimum": 0, "maximum": 10}}
FIELDS: list[dict[str, Any]] = [
    {"name": "who", "type": "string"},
    {"name": "age", **NUMBER},
    {"name": "ward", "type": "string", "categories": ["J", "K", "L"]},
    {"name": "dose", **NUMBER},
    {"name": "crp", **NUMBER},
    {"name": "days", **NUMBER},
]
PEOPLE = TableSchema.of({"csvw-eo:privacyUnit": "who", "fields": FIELDS})
ROWS = TableSchema.of({"fields": FIELDS[1:]})
ASKED = TableQuestion(PEOPLE, "days", ["age"], ["crp"], {"dose": (1.0, 5.0)}, "last")


def frame(n: int = 60, people: int = 20) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    numbers = {name: rng.uniform(0, 10, n).round(2) for name in ("age", "dose", "crp", "days")}
    who = [f"p{k}" for k in rng.integers(0, people, n)]
    return pd.DataFrame({"who": who, "ward": rng.choice(["J", "K", "L"], n), **numbers})


def test_about_some_fields_it_says_the_same_of_them_and_keeps_whose_row_it_is() -> None:
    narrow = replace(ASKED, ranges={"dose": (1.0, 5.0), "age": (0.0, 5.0)}).about({"age", "days"})
    with pytest.raises(InvalidInput, match="no field to choose from"):
        _ = narrow.public
    narrow = ASKED.about({"age", "days", "ward"})
    assert narrow.never == ("dose", "crp")
    assert narrow.ranges == {}
    assert narrow.public.unit == ASKED.public.unit
    assert narrow.public.features == ASKED.public.features[:1]
    assert narrow.public.always == ASKED.public.always


def test_one_name_alone_is_a_list_of_one_where_it_was_so() -> None:
    rows = frame().drop(columns="who")
    moments = Moments.of(rows, ROWS, target="days", never="crp")
    assert moments.columns.question.never == ("crp",)
    instance = Instance.from_moments(moments, support_size=1, always="age")
    assert instance.feature_names == ("ward", "dose")
    with pytest.raises(InvalidInput, match="never must be a list of field names, got 'crp'"):
        Instance.from_table(
            rows, ROWS, target="days", support_size=1, never="crp", score="block-r2"
        )


def test_a_range_of_a_field_that_is_left_out_of_moments_says_nothing() -> None:
    rows = frame().drop(columns="who")
    out: dict[str, Any] = {"target": "days", "never": ["crp"]}
    one, other = (Moments.of(rows, ROWS, ranges=r, **out) for r in ({"crp": (0.0, 1.0)}, None))
    assert one.matrix.tolist() == other.matrix.tolist()
    with pytest.raises(InvalidInput, match="ranges: fields that are not used: crp"):
        map_table(rows, ROWS, ranges={"crp": (0.0, 1.0)}, **out)


@pytest.mark.parametrize("asked", [{"target": "who"}, {"target": "days", "always": ["who"]}])
def test_the_person_column_is_no_target_and_no_feature(asked: dict[str, Any]) -> None:
    limits = {"minimum": 0, "maximum": 9}
    fields = [
        {"name": name, "type": "integer", "constraints": limits} for name in ("who", "days", "a")
    ]
    schema = TableSchema.of({"csvw-eo:privacyUnit": "who", "fields": fields})
    with pytest.raises(InvalidInput, match="the person column 'who' says whose row it is"):
        _ = TableQuestion(schema, **asked).public
