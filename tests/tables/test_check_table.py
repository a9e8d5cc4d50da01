"""`check_table`: counts, constants, repeats, people and bounds against brute force."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from mipselect import Instance
from mipselect.errors import InvalidInput
from mipselect.tables import TableCheck, TableSchema, check_table
from mipselect.tables.check import counts
from tests.support.patients import SCHEMA, between, patients


def texts(check: TableCheck) -> list[str]:
    return [str(finding) for finding in check.findings]


def schema_of(*fields: dict[str, Any], **more: Any) -> TableSchema:
    return TableSchema.of({"missingValues": [""], "fields": list(fields), **more})


def test_counts_of_every_field_add_up_to_the_rows() -> None:
    frame = patients(2000)
    check = check_table(frame, SCHEMA, target="stay")
    assert check.rows == 2000
    assert check.ignored == ("other",)
    by_name = {field.name: field for field in check.fields}
    for field in check.fields:
        assert sum(field.kinds.values()) == field.rows == 2000
    assert by_name["sex"].kinds["missing"] == int((frame["sex"] == "NA").sum())
    assert by_name["sex"].categories == {"f": int((frame["sex"] == "f").sum()),
                                         "m": int((frame["sex"] == "m").sum())}  # fmt: skip
    stay = frame["stay"].astype(float)
    assert by_name["stay"].kinds["below"] == int((stay < 0).sum())
    assert by_name["stay"].kinds["above"] == int((stay > 60).sum())
    json.dumps(check.to_dict(), allow_nan=False)


def number(name: str, low: float, high: float) -> dict[str, Any]:
    return {"name": name, **between(low, high)}


def of_stays(rows: int = 400) -> pd.DataFrame:
    """Stays with a bill, which follows from them, and a date of death, which only some have."""
    rng = np.random.default_rng(0)
    age, days = rng.integers(18, 90, rows), rng.uniform(0, 30, rows)
    died = rng.random(rows) < 0.3
    return pd.DataFrame(
        {
            "age": age,
            "days": days + 0.05 * age,
            "bill": 800.0 * days + rng.normal(0, 400, rows),
            "month of death": np.where(died, rng.integers(1, 13, rows), np.nan),
            "died": np.where(died, "yes", "no"),
            "group": [f"g{k % 40}" for k in range(rows)],
        }
    )


def test_a_field_that_is_known_only_after_the_target_is_named() -> None:
    table = of_stays()
    schema = schema_of(
        number("age", 18, 90),
        number("days", 0, 40),
        number("bill", 0, 30_000),
        number("month of death", 1, 12),
        {"name": "died", "type": "string", "categories": ["no", "yes"]},
        {"name": "group", "type": "string", "categories": [f"g{k}" for k in range(40)]},
    )
    check = check_table(table, schema, target="days")
    ((name, share),) = check.telling
    r2 = np.corrcoef(table["bill"].clip(0, 30_000), table["days"])[0, 1] ** 2
    assert (name, share) == ("bill", pytest.approx(1.0 - (1.0 - r2) * 399 / 398, abs=2e-4))
    (line,) = [text for text in texts(check) if "tells the target" in text]
    assert line.startswith("bill: tells the target days nearly alone (R² 0.9")
    assert "leave it out, --never bill" in line
    assert check.to_dict()["telling"] == [{"field": "bill", "r2": share}]
    # Whether a value is missing may tell it as well.
    assert [name for name, _ in check_table(table, schema, target="died").telling] == [
        "month of death"
    ]
    assert check_table(table, schema, target="days", never=["bill"]).telling == ()
    assert check_table(table, schema).telling == ()
    # 40 groups of two rows would tell any target without the adjustment.
    assert "group" not in dict(check_table(table[:80], schema, target="age").telling)


def test_what_only_one_of_two_classes_has_is_named() -> None:
    """Of a default what was recovered is small in many rows: R² is far below 1."""
    rng = np.random.default_rng(0)
    failed, dti = rng.random(4000) < 0.2, rng.uniform(0, 50, 4000)
    amount = np.where(failed, rng.lognormal(7, 0.8, 4000), 0.0)
    table = pd.DataFrame({"recovered": amount, "dti": dti, "failed": failed.astype(int)})
    classes = {"name": "failed", "type": "integer", "categories": [0, 1]}
    schema = schema_of(number("recovered", 0, 10_000), number("dti", 0, 50), classes)
    check = check_table(table, schema, target="failed")
    ((name, share),) = check.telling
    assert name == "recovered"
    assert 0.4 < share < 0.8
    (line,) = texts(check)
    assert line.startswith("recovered: tells much of the target failed alone (R² 0.")


def test_a_copy_of_the_target_is_said_once() -> None:
    table = of_stays().assign(copy=lambda t: t["days"])
    schema = schema_of(number("days", 0, 40), number("copy", 0, 40), number("age", 18, 90))
    (line,) = texts(check_table(table, schema, target="days"))
    assert line.startswith("copy: tells the target days nearly alone (R² 0.999)")
    assert texts(check_table(table, schema))[0].startswith("days and copy: say the same")


def test_weights_above_the_maximum_may_be_meant() -> None:
    weight = {**number("w", 0, 4), "mipselect:role": "weight"}
    table = pd.DataFrame({"days": np.arange(20.0), "w": [9.0, *[1.0] * 19]})
    (line,) = texts(check_table(table, schema_of(number("days", 0, 40), weight)))
    assert line.startswith("w: 5.0 % of weights are above the maximum 4, and count as it; right ")


@pytest.mark.parametrize(("largest", "found"), [(31.0, False), (29.0, True)])
def test_a_maximum_far_above_all_weights_is_told(largest: float, found: bool) -> None:
    schema = schema_of(number("days", 0, 40), {**number("w", 0, 300), "mipselect:role": "weight"})
    table = pd.DataFrame({"days": np.arange(400.0) % 40, "w": np.linspace(1.0, largest, 400)})
    table.loc[0, "w"] = 290.0
    told = "w: all but 0.5 % of weights are at most 9.7 % of the maximum 300; a row counts as its "
    check = check_table(table, schema)
    assert [line[: len(told)] for line in texts(check)] == [told] * found
    weight = check.fields[-1]
    assert weight.worth == pytest.approx(table["w"].sum() / 300, abs=0.5)
    assert weight.to_dict()["rows_of_the_largest_weight"] == weight.worth
    assert check.fields[0].worth is None


def test_a_range_asks_for_the_loss_as_in_select() -> None:
    table, schema = of_stays(), schema_of(number("days", 0, 40), number("bill", 0, 30_000))
    assert not check_table(table, schema, target="days").of_loss
    assert not check_table(table, schema, target="days", ranges={}).of_loss
    assert check_table(table, schema, target="days", ranges={"bill": (0, 20_000)}).of_loss


def test_a_table_that_fits_has_no_findings() -> None:
    frame = pd.DataFrame({"a": np.linspace(0, 1, 500), "b": np.linspace(0, 1, 500) ** 2})
    frame["b"] = np.random.default_rng(0).permutation(frame["b"])
    schema = TableSchema.of_numbers({"a": (0, 1), "b": (0, 1)})
    assert texts(check_table(frame, schema)) == []


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (("a", [1.0, 2.0, 4.0]), ("b", [2.0, 4.0, 8.0]), True),
        (("a", [1.0, 2.0, 4.0]), ("b", [-2.0, -4.0, -8.0]), True),
        (("a", [1.0, 2.0, 4.0]), ("b", [1.0, 4.0, 2.0]), False),
        (("a", [1.0, None, 4.0]), ("b", [4.0, None, 3.0]), False),
        (("c", ["x", "y", "z"]), ("d", ["q", "r", "p"]), True),
        (("c", ["x", "y", "z"]), ("d", ["q", "q", "p"]), False),
        (("a", [5.0, 5.0, 5.0]), ("b", [5.0, 5.0, 5.0]), False),
        (("u", [1e6, 2e9, 4e3]), ("v", [1e6, 2e9, 4e3]), True),
        # Missing where the other one is in the middle.
        (("a", [1.0, 5.0, 4.0]), ("e", [1.0, None, 4.0]), True),
    ],
)
def test_fields_that_say_the_same(
    one: tuple[str, Sequence[Any]], other: tuple[str, Sequence[Any]], said: bool
) -> None:
    known = {
        "a": {"name": "a", **between(0, 10)},
        "b": {"name": "b", **between(-10, 10)},
        "c": {"name": "c", "type": "string", "categories": ["x", "y", "z"]},
        "d": {"name": "d", "type": "string", "categories": ["p", "q", "r"]},
        "e": {"name": "e", **between(0, 10)},
        "u": {"name": "u", "type": "number"},
        "v": {"name": "v", "type": "number"},
    }
    rows = {name: list(values) * 50 for name, values in (one, other)}
    check = check_table(pa.table(rows), schema_of(known[one[0]], known[other[0]]))
    assert check.repeats == (((one[0], other[0]),) if said else ())


def test_many_fields_are_compared_as_by_brute_force() -> None:
    rng = np.random.default_rng(3)
    base = rng.uniform(-1, 1, (400, 12))
    base[:, 5] = -base[:, 2]
    base[:, 9] = base[:, 0] + 1e-3 * rng.normal(size=400)
    names = [f"x{j}" for j in range(12)]
    frame = pd.DataFrame(np.clip(base, -1, 1), columns=names)
    check = check_table(frame, TableSchema.of_numbers(dict.fromkeys(names, (-1, 1))))
    wanted = np.abs(np.corrcoef(frame.to_numpy().T)) > 0.999
    pairs = {(names[a], names[b]) for a, b in np.argwhere(np.triu(wanted, 1))}
    assert set(check.repeats) == pairs == {("x2", "x5"), ("x0", "x9")}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("ridge", [1.0, 200.0])
def test_the_bound_binds_where_the_fit_of_an_instance_has_a_multiplier(
    seed: int, intercept: bool, ridge: float
) -> None:
    """The judge is the certified solver of restricted problems, at bounds on both sides."""
    frame = patients(300, seed)
    question: dict[str, Any] = {"target": "stay", "intercept": intercept, "ridge": ridge}
    for size, bound in ((2, 0.3), (2, 0.7), (2, 1.5), (3, None), (5, 0.9), (5, None)):
        check = check_table(frame, SCHEMA, support_size=size, coef_bound=bound, **question)
        for fit in check.fits:
            chosen = len(fit.fields)
            instance = Instance.from_table(
                frame, SCHEMA, support_size=chosen, coef_bound=bound, **question
            )
            support = [instance.feature_names.index(name) for name in fit.fields]
            assert fit.is_bound == (instance.fit(support).multiplier > 0.0)
            U = instance.coef_bound * np.sqrt(chosen + intercept)
            assert fit.reach == pytest.approx(U)
            free = Instance.from_table(
                frame, SCHEMA, support_size=chosen, coef_bound=1e6, **question
            )
            beta = free.fit(support)
            columns = [c for j in support for c in free.groups[j]]
            predicted = free.X[:, columns] @ beta.coef
            predicted = predicted + (beta.always[-1] if intercept else 0.0)
            share = float(np.mean(np.abs(predicted) >= U))
            assert fit.beyond == pytest.approx(share, abs=1e-9)
            errors = [_squares(one, support, intercept) for one in (instance, free)]
            spread = free.y - (free.y.mean() if intercept else 0.0)
            explained = float(spread @ spread) - errors[1]
            assert fit.lost == pytest.approx((errors[0] - errors[1]) / explained, abs=1e-6)
            assert (fit.lost > 0.0) == fit.is_bound


def _squares(instance: Instance, support: list[int], intercept: bool) -> float:
    """Σ(y - xβ)² at the coefficients that the restricted solver proves."""
    found = instance.fit(support)
    columns = [c for j in support for c in instance.groups[j]]
    errors = instance.y - instance.X[:, columns] @ found.coef
    errors = errors - (found.always[-1] if intercept else 0.0)
    return float(errors @ errors)


def test_the_greedy_search_finds_what_explains_the_target() -> None:
    check = check_table(patients(2000), SCHEMA, target="stay", support_size=2)
    assert set(check.fits[-1].fields) == {"ward", "sex"}
    kept = check_table(patients(2000), SCHEMA, target="stay", support_size=1, always=["age"])
    assert kept.fits[-1].fields == ("age", "ward")


def test_people_are_counted_by_their_identities() -> None:
    schema = schema_of(
        {"name": "id", "type": "string"}, {"name": "x", **between(0, 1)},
        **{"csvw-eo:privacyUnit": "id"},
    )  # fmt: skip
    who = [f"p{k}" for k in range(300)] + ["p0"] * 4 + ["p1"] + [None] * 3
    table = pa.table({"id": who, "x": [0.5] * len(who)})
    for source in (table, pa.Table.from_batches(table.to_batches(max_chunksize=7))):
        people = check_table(source, schema).people
        assert people is not None
        assert (people.people, people.rows, people.most_rows) == (301, 308, 5)
        assert (people.repeated, people.rows_without) == (3, 3)
        assert people.findings == ()
    few = pa.table({"id": ["f", "m"] * 200, "x": [0.5] * 400})
    assert any("only 2 different people in 400 rows" in text for text in texts(
        check_table(few, schema)))  # fmt: skip
    absent = pa.table({"id": [None] * 250 + [f"p{k}" for k in range(150)], "x": [0.5] * 400})
    assert any("62 % of rows have no identity" in text for text in texts(
        check_table(absent, schema)))  # fmt: skip
    alone = pa.table({"id": [f"p{k}" for k in range(400)], "x": [0.5] * 400})
    assert not check_table(alone, schema).people.findings  # type: ignore[union-attr]


def test_records_of_another_length_are_told(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,2\n3\n4,5,6\n\xff,7\n" + b"8,9\n" * 16)
    schema = TableSchema.of_numbers({"a": (0, 10), "b": (0, 10)})
    check = check_table(path, schema)
    assert (check.rows, check.rows_without_values) == (20, 2)
    assert check.fields[0].kinds["unreadable"] == 1
    assert "2 rows (10 %) have no value in any field" in texts(check)[0]


def test_odd_values_are_the_most_frequent_ones_and_printable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counts, "MOST_REMEMBERED", 50)
    ward = {"name": "ward", "type": "string", "categories": ["a", "b"]}
    cells = ["\x1b[31mred"] * 900 + [f"x{k}" for k in range(900)] + ["y" * 500] * 300
    (field,) = check_table(pa.table({"ward": cells}), schema_of(ward)).fields
    assert field.odd[0] == ("\\x1b[31mred", 900)
    assert field.odd[1] == ("y" * 80 + "...", 300)
    assert len(field.odd) == 5
    assert "\x1b" not in str(field.findings[0])


def test_a_stream_that_can_be_read_once_is_enough() -> None:
    frame = patients(500)
    reader = pa.table(frame).to_reader()
    again = check_table(reader, SCHEMA, target="stay").to_dict()
    assert again == check_table(frame, SCHEMA, target="stay").to_dict()


@pytest.mark.parametrize("kind", ["polars", "lazy", "duckdb", "csv", "csv.gz", "folder", "arrow"])
def test_every_source_gives_the_same(kind: str, tmp_path: Path) -> None:
    frame = patients(400)
    frame.loc[3:9, "sex"], frame.loc[20:40, "stay"] = "x", "1,5"
    wanted = check_table(frame, SCHEMA, target="stay")
    source: Any = tmp_path / f"t.{kind}"
    match kind:
        case "polars" | "lazy":
            source = pl.DataFrame(frame.to_dict(orient="list"))
            source = source.lazy() if kind == "lazy" else source
        case "duckdb":
            source = duckdb.from_arrow(pa.table(frame))
        case "folder":
            source.mkdir()
            for k in range(4):
                frame[100 * k : 100 * k + 100].to_parquet(source / f"{k}.parquet")
        case "arrow":
            with pa.ipc.new_file(source, pa.table(frame).schema) as writer:
                writer.write_table(pa.table(frame))
        case _:
            frame.to_csv(source, index=False)
    found = check_table(source, SCHEMA, target="stay")
    assert found.findings == wanted.findings
    assert [field.kinds for field in found.fields] == [field.kinds for field in wanted.fields]
    assert found.rows == 400


def test_how_many_rows_are_in_memory_together_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from mipselect.tables.check import sums

    schema = schema_of(
        {"name": "id", "type": "string"},
        *SCHEMA.content["fields"],
        **{"csvw-eo:privacyUnit": "id"},
    )
    people = pa.table(patients(500).assign(id=[f"p{k % 350}" for k in range(500)]))
    frame = pa.Table.from_batches(people.to_batches(max_chunksize=90))
    whole = check_table(frame, schema, target="stay")
    monkeypatch.setattr(sums, "MOST_ENTRIES", 200)
    encoded = sums.ColumnSums.encoded

    def few(self: sums.ColumnSums, columns: Sequence[Any]) -> Any:
        assert len(columns[0]) <= self.rows_at_a_time < 20
        return encoded(self, columns)

    monkeypatch.setattr(sums.ColumnSums, "encoded", few)
    parts = check_table(frame, schema, target="stay")
    assert [field.to_dict() for field in parts.fields] == [f.to_dict() for f in whole.fields]
    assert (parts.rows, parts.people, parts.repeats) == (whole.rows, whole.people, whole.repeats)
    for one, other in zip(parts.fits, whole.fits, strict=True):
        assert (one.fields, one.is_bound, one.beyond) == (
            other.fields,
            other.is_bound,
            other.beyond,
        )
        np.testing.assert_allclose(one.coef, other.coef, atol=1e-9)
    assert whole.fits[0].beyond is not None
    monkeypatch.undo()
    # Only in the fits a person counts once, by the first row.
    once = check_table(people.slice(0, 350), schema, target="stay")
    assert [fit.is_bound for fit in once.fits] == [fit.is_bound for fit in whole.fits]
    np.testing.assert_allclose(once.fits[0].coef, whole.fits[0].coef, atol=1e-9)


def test_a_field_with_too_many_columns_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    from mipselect.tables.check import sums

    monkeypatch.setattr(sums, "MOST_COLUMNS", 8)
    check = check_table(patients(200), SCHEMA, target="stay")
    assert check.not_compared == ("ward", "died")
    assert sum(check.fields[2].kinds.values()) == 200


def test_a_table_without_rows_is_told() -> None:
    check = check_table(patients(10)[:0], SCHEMA, target="stay")
    assert texts(check) == ["the table: has no rows"]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"target": "say"}, "did you mean 'stay'"),
        ({"target": "stay", "never": ["stay"]}, "cannot be in never"),
        ({"target": "ward"}, "without an order"),
        ({"never": ["sax"]}, "did you mean 'sex'"),
        ({"ranges": {"sex": (0, 1)}}, "must be one of numbers"),
        ({"support_size": 0}, "support_size must be an integer"),
        ({"coef_bound": -1}, "coef_bound"),
        ({"ridge": -1}, "ridge"),
    ],
)
def test_wrong_arguments_are_one_clear_line(question: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        check_table(patients(10), SCHEMA, **question)


def test_a_table_larger_than_memory_streams(tmp_path: Path) -> None:
    """Twenty times the rows take no more memory of Python and NumPy."""
    path, rng = tmp_path / "t.parquet", np.random.default_rng(0)
    schema = TableSchema.of_numbers(dict.fromkeys("abcdef", (0, 1)))
    peaks = []
    for groups in (2, 40):
        fields = pa.schema([(name, pa.float64()) for name in "abcdef"])
        with parquet.ParquetWriter(path, fields) as writer:
            for _ in range(groups):
                rows = {name: rng.uniform(0, 1.1, 1 << 16) for name in "abcdef"}
                writer.write_table(pa.table(rows))
        tracemalloc.start()
        allocated = pa.total_allocated_bytes()
        check = check_table(path, schema, target="f")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert check.rows == groups << 16
        assert pa.total_allocated_bytes() <= allocated + (1 << 24)
        assert 0.08 < check.fields[0].share("above") < 0.1
    assert peaks[1] < 1.5 * peaks[0]
