"""Several rows of one person: one row stays, and one changed person changes one row."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mipselect.tables import mapping
from mipselect.tables.mapping import open_table, read_rows
from mipselect.tables.public_map import TableQuestion
from tests.support.fields import listed, numeric, schema_of
from tests.support.mapped_tables import map_table

FIELDS = [
    numeric("dose", -1, 1), numeric("weight", 0, 2, required=True), listed("ward", "a", "b", "c"),
    numeric("y", -1, 1),
]  # fmt: skip
SCHEMA = schema_of({"name": "id", "type": "string"}, *FIELDS, **{"csvw-eo:privacyUnit": "id"})
RULES = ("first", "last", "mean")

VISITS = [
    *(("p", 0.5, 2.0, "a", 1.0), ("q", None, 1.0, "b", 0.0), ("p", None, 0.0, "c", None)),
    *((None, 1.0, 1.0, None, 1.0), ("p", -1.0, None, "b", 0.0), ("q", None, 1.0, "?", 0.5)),
    *((None, 0.0, 2.0, "c", 0.0), ("r", 9.0, 1.0, "c", -1.0)),
]


def arrow(rows: list[Any]) -> pa.Table:
    names = [field.name for field in SCHEMA.fields]
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


BY_HAND: dict[str, list[list[float]]] = {
    # Features and the target.
    "first": [[0.5, 0, 1, 1, 0, 0, 0, 1], [0, 1, 0, 0, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0, 1, 1],
              [1, 0, 0, 0, 0, 1, 0, -1]],
    "last": [[-1, 0, 0, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 0.5], [0, 0, 1, 0, 0, 1, 0, 0],
             [1, 0, 0, 0, 0, 1, 0, -1]],
    "mean": [[-0.25, 0, 0, 1, 0, 0, 0, 0.5], [0, 1, 0, 0, 1, 0, 0, 0.25],
             [0.5, 0, 0.5, 0, 0, 0, 1, 0.5], [1, 0, 0, 0, 0, 1, 0, -1]],
}  # fmt: skip


@pytest.mark.parametrize("rule", BY_HAND)
def test_rules_by_hand(rule: str) -> None:
    table = map_table(arrow(VISITS), SCHEMA, target="y", unit_rule=rule)
    np.testing.assert_array_equal(np.column_stack([table.X, table.y]), BY_HAND[rule])
    assert table.public.protected_unit == "id"
    assert "id" not in table.feature_names


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for two rows at first where nobody knows how many there are."""
    monkeypatch.setattr(mapping, "FIRST_ROWS", 2)


def of_people(rows: list[Any], rule: str, rows_at_once: int) -> Counter[Any]:
    """Mapped rows, from a stream of unknown length with so many rows in a batch."""
    public = TableQuestion(SCHEMA, "y", unit_rule=rule).public
    source = arrow(rows).to_reader(max_chunksize=rows_at_once)
    X, y, _ = read_rows(open_table(source, public), public)
    targets = np.nan_to_num(y).tolist()
    return Counter((tuple(x), target) for x, target in zip(X.tolist(), targets, strict=True))


@pytest.mark.usefixtures("little_room")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("rows_at_once", [1, 3, 1 << 16])
def test_one_changed_person_changes_one_row(rule: str, rows_at_once: int) -> None:
    draw = random.Random(rows_at_once)

    def visit(who: str | None) -> Any:
        number = [None, 0.0, -1.0, 1.0, 1e300, float("nan"), float("-inf"), 0.3]
        ward = draw.choice(["a", "b", "c", "?", None])
        return (who, draw.choice(number), draw.choice(number), ward, draw.choice(number))

    others: list[str | None] = [None, *(f"p{k}" for k in range(12))]
    for _ in range(20):
        rest = [visit(draw.choice(others)) for _ in range(50)]
        tables = []
        for _ in range(2):
            rows = list(rest)
            for _ in range(draw.randint(1, 9)):
                rows.insert(draw.randint(0, len(rows)), visit("changed"))
            tables.append(of_people(rows, rule, rows_at_once))
        before, after = tables
        assert before.total() == after.total() == len({row[0] for row in rest}) + 1
        assert (before - after).total() <= 1
        assert (after - before).total() <= 1


def test_without_a_unit_nothing_is_grouped() -> None:
    rows = pa.table({"dose": [1.0] * 3, "weight": [1.0] * 3, "ward": ["a"] * 3, "y": [0.0] * 3})
    table = map_table(rows, schema_of(*FIELDS), target="y")
    assert (len(table.y), table.public.protected_unit) == (3, "row")


def test_how_identities_are_stored_decides_nothing() -> None:
    for ids in (
        pa.array([7, 8, 7, None]),
        pa.array([7.0, 8.0, 7.0, None]),
        pa.array(["7", "8", " 7", None]),
        pa.array(["7", "8", "7", None]).dictionary_encode(),
        pa.array([b"\xff", b"\xfe", b"\xff", None]),
    ):
        rest = {"dose": [0.1, 0.2, 0.3, 0.4], "weight": [1.0] * 4, "ward": ["a"] * 4}
        source = pa.table({"id": ids, **rest, "y": [0.0] * 4})
        table = map_table(source, SCHEMA, target="y", unit_rule="last")
        np.testing.assert_allclose(table.X[:, 0], [0.2, 0.3, 0.4], rtol=1e-6)
