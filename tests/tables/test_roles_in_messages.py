"""Errors about a column with a role name the role."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from mipselect import Instance
from mipselect.errors import InvalidInput
from mipselect.tables import TableSchema, check_table
from mipselect.tables.moments import Moments
from tests.support.mapped_tables import map_table

LIMITS = {"minimum": 0, "maximum": 9}
SCHEMA = TableSchema.of(
    {
        "csvw-eo:privacyUnit": "who",
        "fields": [
            {"name": "who", "type": "string"},
            {"name": "a", "type": "number", "constraints": LIMITS},
            {"name": "b", "type": "number", "constraints": LIMITS},
            {"name": "y", "type": "number", "constraints": LIMITS},
            {"name": "w", "type": "number", "constraints": LIMITS, "mipselect:role": "weight"},
        ],
    }
)
TABLE = pa.table({name: [1.0, 2.0, 3.0] for name in "abyw"} | {"who": ["p", "q", "r"]})
USES: dict[str, Callable[[pa.Table], Any]] = {
    "map": lambda table: map_table(table, SCHEMA, target="y"),
    "instance": lambda table: Instance.from_table(table, SCHEMA, target="y", support_size=1),
    "moments": lambda table: Moments.of(table, schema=SCHEMA, target="y"),
    "check": lambda table: check_table(table, SCHEMA, target="y"),
}


@pytest.mark.parametrize(
    ("absent", "message"),
    [
        (["who"], "there is no person column who; columns: a, b, y, w"),
        (["w"], "there is no weight column w; columns: a, b, y, who"),
        (["b"], "there is no column b; columns: a, y, w, who"),
        (["b", "who"], "there is no column b and no person column who; columns: a, y, w"),
    ],
)
@pytest.mark.parametrize("use", USES)
def test_a_column_that_is_not_there(use: str, absent: list[str], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        USES[use](TABLE.drop_columns(absent))
    assert message in str(caught.value)


def test_a_column_that_is_there_twice() -> None:
    twice = pa.Table.from_arrays([*TABLE.columns, TABLE["who"]], [*TABLE.column_names, "who"])
    with pytest.raises(InvalidInput, match=r"two columns are called who \(for the person column\)"):
        map_table(twice, SCHEMA, target="y")


@pytest.mark.parametrize("asked", [{"target": "who"}, {"target": "y", "always": ["who"]}])
def test_the_person_column_is_no_target_and_no_feature(asked: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="the person column 'who' says whose row it is"):
        map_table(TABLE, TableSchema.of(no_gap()), **asked)


def no_gap() -> dict[str, Any]:
    content = SCHEMA.content
    content["fields"][0] |= {"type": "integer", "constraints": LIMITS}
    return content
