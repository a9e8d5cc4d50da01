"""One odd value changes its row alone, however stored; one changed person changes one row."""

from __future__ import annotations

import datetime
import math
import random
import warnings
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from mipselect.errors import InferredTypesWarning
from mipselect.tables import TableSchema, mapping
from mipselect.tables.fields import field_of
from mipselect.tables.mapping import open_table, read_rows
from mipselect.tables.public_map import TableQuestion
from mipselect.tables.values import MISSING, UNLISTED, codes, identities, numbers, written
from tests.soak.hostile_pairs import failures
from tests.support.fields import listed, numeric, schema_of
from tests.support.mapped_tables import map_table

CODE, LONG = 12345678901, 10**18 + 1
Columns = dict[str, list[Any]]


@pytest.mark.parametrize("seed", range(16))
def test_one_odd_row_moves_alone_in_every_storage(seed: int) -> None:
    assert failures(seed) == []


def field(kind: str, **properties: Any) -> Any:
    return field_of({"name": "a", "type": kind, **properties}, ("",), "fields[0]")


def schema(*fields: dict[str, Any], unit: str | None = None) -> TableSchema:
    y = numeric("y", 0, 1)
    people = {} if unit is None else {"csvw-eo:privacyUnit": unit}
    return TableSchema.of({"fields": [*fields, y], **people})


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame, lambda columns: pl.DataFrame(columns, strict=False), pa.table],
    ids=["pandas", "Polars", "Arrow"],
)
@pytest.mark.parametrize("odd", [None, 0.5])
def test_an_empty_cell_leaves_codes_of_eleven_digits(
    odd: float | None, frame: Callable[[Columns], Any], tmp_path: Path
) -> None:
    drugs = {"name": "drug", "type": "string", "categories": [str(CODE + k) for k in range(5)]}
    cells: list[Any] = [CODE + k % 5 for k in range(50)]
    y = [0.5] * 50
    before = map_table(frame({"drug": cells, "y": y}), schema(drugs), target="y").X
    cells[7] = odd
    source = frame({"drug": cells, "y": y})
    if isinstance(source, pd.DataFrame):
        source.to_parquet(tmp_path / "t.parquet")
        source = tmp_path / "t.parquet"
    after = map_table(source, schema(drugs), target="y").X
    others = np.arange(50) != 7
    assert before[:, :5].sum() == 50
    np.testing.assert_array_equal(before[others], after[others])
    assert after[7, -1] == float(odd is None)


@pytest.mark.parametrize("kind", ["string", "integer"])
def test_an_identity_is_the_same_in_two_files(kind: str, tmp_path: Path) -> None:
    for number, ids in enumerate([range(CODE, CODE + 1000), [*range(CODE, CODE + 999), None]]):
        frame = pd.DataFrame({"id": list(ids), "dose": 0.5, "y": 0.5})
        frame.to_parquet(tmp_path / f"{number}.parquet")
    dose = numeric("dose", 0, 1)
    public = schema({"name": "id", "type": kind}, dose, unit="id")
    assert len(map_table(tmp_path, public, target="y").y) == 1001


def test_a_number_that_may_have_lost_digits_is_no_identity_and_no_text() -> None:
    text = field("string", categories=[str(2**53 - 1), str(LONG)])
    whole = field("integer", categories=[1])
    for cells in ([LONG, LONG + 1, 2**53, 2**53 - 1], [LONG, LONG + 1, 2**53, 2**53 - 1, None]):
        for column in (
            pa.array(pd.Series(cells)),
            pa.array([Decimal(cell) if cell else None for cell in cells]),
        ):
            assert codes(column, text)[:4].tolist() == [UNLISTED] * 3 + [0]
            for unit in (text, whole):
                who = identities(column, unit).to_pylist()
                assert who[:4] == [None, None, None, str(2**53 - 1)]
    texts = pa.array([str(LONG), str(LONG + 1), "07", "7.0"])
    assert codes(texts, text).tolist() == [1, UNLISTED, UNLISTED, UNLISTED]
    assert identities(texts, text).to_pylist() == texts.to_pylist()
    assert identities(texts, whole).to_pylist() == [None, None, "7", "7"]
    assert identities(pa.array(["NaN", "a7"]), whole).to_pylist() == [None, "a7"]


def test_numbers_are_written_in_one_way() -> None:
    ways = {7.0: "7", -0.0: "0", 1e-05: "1e-05", 0.1: "0.1", float(CODE): str(CODE)}
    ways |= {-7.0: "-7", 1.5: "1.5", 2.0**53 - 1: "9007199254740991"}
    for number, text in ways.items():
        assert written(number) == text
        listed = field("string", categories=[text, "other"])
        for cells in ([number], [number, None], [number, 0.25]):
            for column in (pa.array(cells), pa.array(pd.Series(cells, dtype=object))):
                assert codes(column, listed)[0] == 0, (number, column.type)
                assert identities(column, listed)[0].as_py() == text
    assert [written(v) for v in (2.0**53, -(2.0**53), math.inf, math.nan)] == [None] * 4


def test_single_precision_stands_for_the_fraction_that_was_rounded_to_it() -> None:
    column = pa.array([0.1, 0.5, 16777216.0, 1e-30, 0.2], pa.float32())
    for known in (
        field("string", categories=["0.1", "0.5", "16777217", "1e-60"], missingValues=["0.2"]),
        field("number", categories=[0.1, 0.5, 16777217, 1e-60], missingValues=["0.2"]),
    ):
        for stored in (column, column.cast(pa.float64())):
            assert codes(stored, known).tolist() == [0, 1, UNLISTED, UNLISTED, MISSING]
    exact = field("string", categories=["0.1", repr(float(np.float32(0.1)))])
    assert codes(column, exact)[0] == 1
    assert codes(pa.array([12345678848]), field("integer", categories=[CODE]))[0] == UNLISTED


def test_a_decimal_is_rounded_once_at_every_scale() -> None:
    draw = np.random.default_rng(0)
    cells = [Decimal(int(k)).scaleb(-2) for k in draw.integers(-(10**9), 10**9, 500)]
    for kind in (pa.decimal128(12, 2), pa.decimal128(38, 20), pa.decimal256(60, 30)):
        found = numbers(pa.array(cells, kind), field("number"))
        assert found.tolist() == [float(cell) for cell in cells]


ODD_CELLS: dict[str, Any] = {
    "complex": 1 + 2j,
    "beyond 64 bits": 2**70,
    "beyond 128 bits": 2**130,
    "beyond all floats": -(10**400),
    "a list": [1],
    "a date": datetime.date(2020, 1, 1),
    "a time that is not": np.timedelta64("NaT"),
    "a text": "x",
    "a signalling NaN": Decimal("sNaN"),
}


@pytest.mark.parametrize("odd", ODD_CELLS)
def test_an_odd_cell_leaves_the_numbers_of_its_column(odd: str) -> None:
    dose = numeric("dose", 0, 4, decimalChar=",", groupChar=".")
    cells = [0.5, 1, ODD_CELLS[odd], 3.25]
    frames: list[Any] = [pd.DataFrame({"dose": pd.Series(cells, dtype=object), "y": 0.5})]
    if odd in {"complex", "beyond 64 bits", "beyond all floats", "a list"}:
        # Beside the rest Polars has no place, or makes texts.
        frames.append(pl.DataFrame({"dose": pl.Series(cells, strict=False), "y": [0.5] * 4}))
        frames.append(frames[-1].lazy())
    for frame in frames:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", InferredTypesWarning)  # It is of types.
            X = map_table(frame, schema(dose), target="y").X
        assert X[[0, 1, 3], 0].tolist() == [-0.75, -0.5, 0.625]
        assert X[[0, 1, 3], 1].tolist() == [0, 0, 0]


def test_integers_of_polars_and_duckdb_that_arrow_does_not_know() -> None:
    known = field("string", categories=["7", str(2**70)])
    frame = pl.DataFrame({"a": pl.Series([7, 2**70, None], dtype=pl.Int128)})
    assert TableSchema.skeleton(frame.lazy()).fields[0].type == "number"
    nested = pl.DataFrame({"a": pl.Series([[7], [2**70]], dtype=pl.List(pl.Int128)), "y": [0, 1]})
    limits = {"minimum": 0, "maximum": 9}
    dose = {"name": "a", "type": "number", "constraints": limits}
    assert map_table(nested, schema(dose), target="y").X.tolist() == [[0, 1], [0, 1]]
    values = [7, -7, 2**70, 10**400, -(10**400), 2**53 - 1, None]
    listed = ", ".join(f"({'null' if v is None else repr(str(v))}::bignum)" for v in values)
    relation = duckdb.sql(f"select * from (values {listed}) t(a)")
    column = pa.RecordBatchReader.from_stream(relation).read_all().column(0).combine_chunks()
    found = numbers(column, field("number"))
    expected = [7, -7, 2.0**70, math.inf, -math.inf, 2**53 - 1, math.nan]
    np.testing.assert_array_equal(found, expected)
    assert codes(column, known)[:3].tolist() == [0, UNLISTED, UNLISTED]


def test_days_and_times_are_written_in_one_way() -> None:
    day, noon = datetime.datetime(2020, 1, 31), datetime.datetime(2020, 1, 31, 12, 30)
    aware = datetime.datetime(2020, 1, 31, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    unit = field("string")
    for column in (
        pa.array([day, noon, None], pa.timestamp("s")),
        pa.array([day, noon, None], pa.timestamp("ns", "UTC")),
    ):
        assert identities(column, unit).to_pylist() == ["2020-01-31", "2020-01-31T12:30", None]
    assert identities(pa.array([day.date()]), unit).to_pylist() == ["2020-01-31"]
    when = listed("when", "2020-01-31", "2020-01-31T12:30")
    cells = [day, day.date(), pd.Timestamp(day), np.datetime64(day, "ns"), aware, noon, "x", pd.NaT]
    table = map_table(pd.DataFrame({"when": cells, "y": 0.5}), schema(when), target="y")
    assert table.X[:, 0].tolist() == [-1, -1, -1, -1, -1, 1, 0, 0]
    assert table.X[:, 1].tolist() == [0, 0, 0, 0, 0, 0, 0, 1]


def test_missing_texts_are_no_identity(tmp_path: Path) -> None:
    content = {"name": "id", "type": "string", "missingValues": ["", "-9"]}
    public = schema(content, {"name": "flag", "type": "boolean"}, unit="id")
    ids = ["7", "-9", "", " ", "8"]
    (tmp_path / "t.csv").write_text("id,flag,y\n" + "".join(f"{i},true,0.5\n" for i in ids))
    assert len(map_table(tmp_path / "t.csv", public, target="y").y) == 3
    stored = {"id": [7.0, -9.0, None, math.nan, 8.0], "flag": [True] * 5, "y": [0.5] * 5}
    parquet.write_table(pa.table(stored), tmp_path / "t.parquet")
    assert len(map_table(tmp_path / "t.parquet", public, target="y").y) == 3


OF_VISITS = [
    numeric("dose", -1, 1), numeric("weight", 0, 2, required=True), listed("ward", "a", "b", "c"),
    numeric("y", -1, 1),
]  # fmt: skip
OF_PEOPLE = schema_of({"name": "id", "type": "string"}, *OF_VISITS, **{"csvw-eo:privacyUnit": "id"})
RULES = ("first", "last", "mean")

VISITS = [
    *(("p", 0.5, 2.0, "a", 1.0), ("q", None, 1.0, "b", 0.0), ("p", None, 0.0, "c", None)),
    *((None, 1.0, 1.0, None, 1.0), ("p", -1.0, None, "b", 0.0), ("q", None, 1.0, "?", 0.5)),
    *((None, 0.0, 2.0, "c", 0.0), ("r", 9.0, 1.0, "c", -1.0)),
]


def arrow(rows: list[Any]) -> pa.Table:
    names = [field.name for field in OF_PEOPLE.fields]
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
    table = map_table(arrow(VISITS), OF_PEOPLE, target="y", unit_rule=rule)
    np.testing.assert_array_equal(np.column_stack([table.X, table.y]), BY_HAND[rule])
    assert table.public.protected_unit == "id"
    assert "id" not in table.feature_names


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for two rows at first where nobody knows how many there are."""
    monkeypatch.setattr(mapping, "FIRST_ROWS", 2)


def of_people(rows: list[Any], rule: str, rows_at_once: int) -> Counter[Any]:
    """Mapped rows, from a stream of unknown length with so many rows in a batch."""
    public = TableQuestion(OF_PEOPLE, "y", unit_rule=rule).public
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
    table = map_table(rows, schema_of(*OF_VISITS), target="y")
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
        table = map_table(source, OF_PEOPLE, target="y", unit_rule="last")
        np.testing.assert_allclose(table.X[:, 0], [0.2, 0.3, 0.4], rtol=1e-6)
