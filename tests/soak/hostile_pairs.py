"""Hostile pairs of tables: one row is changed to something odd, and only that row may move.

A pair is a table and its neighbour in one storage (pandas, Polars, Arrow, Parquet, CSV, DuckDB,
Excel, SPSS, Stata),
with integers, floats, truth values, texts, dates, decimals or a mixture in each column; the odd
value often changes how the storage keeps the whole column. Everything that the map delivers is
compared: the columns, the target, the identities and the number of people; and nothing may be
raised or warned. Every storage that holds a table must give the same, too. Prints what fails, and
how many pairs there were.
"""

from __future__ import annotations

import csv
import datetime
import io
import math
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
from pyarrow import parquet

from mipselect.errors import InferredTypesWarning
from mipselect.tables import TableSchema
from mipselect.tables.mapping import open_table
from mipselect.tables.values import identities
from tests.support.mapped_tables import map_table, public_map

Cells = list[Any]
Table = dict[str, Cells]

CODE, LONG = 12345678901, 10**18 + 1
TEXTS = ["a", "7", "-99", str(CODE), "0", "0.5", "1e-05", "0.1", str(LONG), "true", "2020-01-01"]
LIMITS = {"minimum": -100, "maximum": 2e10}
FIELDS: list[dict[str, Any]] = [
    {"name": "code", "type": "string", "categories": TEXTS, "missingValues": ["", "NA", "-9"]},
    {"name": "amount", "type": "number", "constraints": LIMITS, "groupChar": "'"},
    {"name": "level", "type": "integer", "categories": [0, 1, 2, 7, CODE], "missingValues": ["-9"]},
    {"name": "part", "type": "number", "categories": [0.1, 0.5, 1, 1e-05]},
    {"name": "flag", "type": "boolean"},
    {"name": "since", "type": "datetime", "missingValues": ["", "2020-02-29"]},
    {"name": "born", "type": "date"},
    {"name": "y", "type": "number", "constraints": {"minimum": -1, "maximum": 1}},
]
MADE: list[dict[str, Any]] = [
    {"name": "log amount", "from": "amount", "transform": "log", "minimum": 0, "maximum": 20},
    {"name": "root", "from": "amount", "transform": "sqrt", "minimum": 0, "maximum": 1e5},
    {"name": "year", "from": "since", "part": "year", "minimum": 1, "maximum": 10000},
    *({"name": part, "from": "since", "part": part} for part in ("weekday", "hour")),
    {"name": "month", "from": "born", "part": "month"},
]
SOURCES = {made["name"]: made["from"] for made in MADE}
"""What each derived feature is made of."""

NAMES = [*(field["name"] for field in FIELDS), "id"]
PLAIN: dict[str, list[Any]] = {
    "small": [0, 1, 2, 7, -99, -9, 200],
    "codes": [CODE, CODE + 1, CODE + 2, 7],
    "edge": [2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 1 - 2**53, -(2**53)],
    "long": [LONG, LONG + 1, LONG + 2, -LONG],
    "wide": [2**63, 2**64 - 1, 2**63 + 1, 5],
    "floats": [0.5, 0.1, 1e-05, -0.0, 0.0, 7.0, 1.0, float(CODE), 1e16, math.inf, math.nan],
    "truths": [True, False],
    "texts": ["a", "7", " 7 ", "7.0", "", "NA", "-9", str(CODE), str(LONG), "1e-05", "true", "é"],
    "dates": [datetime.date(2020, 1, 1), datetime.date(1, 1, 1)],
    "times": [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, 12, 30, 1)],
    "points": ["2020-01-01", "2020-02-29", "2021-07-04T12:30", "2021-07-04 23:59:59.5Z", "x"],
    "zones": ["2021-12-31T23:30-01:00", "2022-01-01T00:30+01:00", "2021-02-30", "0000-01-01"],
    "written": ["1999-12-31", "2003-02-01", "2000-01-32", "07:30", "24:00", "7:30"],
    "day": [datetime.time(0), datetime.time(7, 30), datetime.time(23, 59, 59, 5)],
    "decimals": [Decimal("0.10"), Decimal("7.00"), Decimal("0.5"), Decimal("1234.57")],
    "nothing": [None],
}
"""What may stand in a column together."""

ODD: list[Any] = [
    *(value for values in PLAIN.values() for value in values),
    *[2**70, -(2**70), 2**130, 10**400, -(10**400), 1 + 2j, 7 + 0j, complex(math.nan, 0)],
    *[np.float32(0.1), np.float16(0.1), np.longdouble(7), np.int8(7), np.uint64(2**63)],
    *[np.datetime64("2020-01-01", "ns"), np.timedelta64(5, "ns"), np.datetime64("NaT")],
    *[pd.NA, pd.NaT, pd.Timestamp("2020-01-01", tz="Europe/Zurich"), pd.Timedelta(1)],
    *[Decimal("NaN"), Decimal("sNaN"), Decimal("1E+400"), Decimal("1E-400"), Decimal("7.5")],
    *[
        b"7",
        b"\xff",
        "\udce9",
        "\0",
        "x" * 300,
        [1],
        (7,),
        {"a": 1},
        {7},
        object(),
        datetime.time(7),
    ],
    *[datetime.date(9999, 12, 31), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)],
    *[np.datetime64("10000-01-01", "s"), np.datetime64("-0001-01-01", "D"), pd.Timestamp.max],
    *[datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=14)))],
    *["10000-01-01", "-0001-01-01", "2020-01-01T00:00+99:99", "1.1.0000", "99.99.9999"],
    *["nan", "inf", "1e5", "12345678901.0", "1'000", "True", "0x10", "-99.0", "1" * 400],
]


class CannotHold(Exception):
    """A storage has no place for a table."""


@dataclass(frozen=True)
class Storage:
    """A way to keep a table.

    Attributes
    ----------
    name : str
    keep : callable
        Raises what it will if it has no place for a table.
    rewrites : callable or None
        Of the cells of a column, and of whether it is read as numbers: whether they are turned
        into others before they arrive. A text is what it is, and so is a number.
    """

    name: str
    keep: Callable[[Table, Path], Any]
    rewrites: Callable[[Cells, bool], bool] | None = None


def mixed(cells: Cells, numbers: bool) -> bool:
    """Beside a text all becomes text; a truth value, and in Polars a date, may become a number."""
    kinds = {_kind(value) for value in cells} - {None}
    return len(kinds) > 1 and not (numbers and kinds <= {"number", "text", "truth"})


def several_types(cells: Cells, numbers: bool) -> bool:
    """SQL casts a text beside numbers to their type, and may round it."""
    return mixed(cells, numbers=False)


def truths_with_numbers(cells: Cells, numbers: bool) -> bool:
    """A category that is 1 takes in true, and one that is true takes in 1."""
    return not numbers and any(isinstance(v, bool | np.bool_) for v in cells)


def all_texts(cells: Cells, numbers: bool) -> bool:
    """By the one who wrote the file: numbers with points, dates with times."""
    return not numbers or not {_kind(value) for value in cells} <= {"number", "text", "truth", None}


def all_texts_but_numbers(cells: Cells, numbers: bool) -> bool:
    """Beside anything else numbers are written as texts."""
    return mixed(cells, numbers)


def _kind(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, str):
        return "text"
    plain = isinstance(value, int | float | Decimal) and not isinstance(value, np.number)
    return "number" if plain else type(value).__name__


def of_pandas(table: Table) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(cells) for name, cells in table.items()})


def in_single(table: Table, folder: Path) -> pd.DataFrame:
    """Where a column of floats has single precision, until another value changes that."""
    return pd.DataFrame({name: _single(cells) for name, cells in table.items()})


def _single(cells: Cells) -> pd.Series:
    cells = [np.float32(v) if isinstance(v, float) else v for v in cells]
    floats = all(v is None or isinstance(v, np.float32) for v in cells)
    return pd.Series(cells, dtype=np.float32) if floats else pd.Series(cells)


def of_polars(table: Table, folder: Path) -> pl.DataFrame:
    return pl.DataFrame({name: pl.Series(cells, strict=False) for name, cells in table.items()})


def of_arrow(table: Table, folder: Path) -> pa.Table:
    return pa.table({name: pa.array(cells) for name, cells in table.items()})


def in_parquet(keep: Callable[[Table, Path], Any]) -> Callable[[Table, Path], Path]:
    def written(table: Table, folder: Path) -> Path:
        kept, path = keep(table, folder), folder / "t.parquet"
        if isinstance(kept, pd.DataFrame):
            kept.to_parquet(path)
        elif isinstance(kept, pa.Table):
            parquet.write_table(kept, path)
        else:
            if any(kind == pl.Object or "Int128" in str(kind) for kind in kept.dtypes):
                raise CannotHold
            kept.write_parquet(path)
        return path

    return written


def as_csv(table: Table, folder: Path) -> Path:
    """Every value as a text by itself."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(table)
    writer.writerows(zip(*([plainly(v) for v in cells] for cells in table.values()), strict=True))
    (folder / "t.csv").write_bytes(text.getvalue().encode("utf-8", "surrogateescape"))
    return folder / "t.csv"


def plainly(value: Any) -> str:
    """A value as a person would write it."""
    if value is None or value is pd.NA or value is pd.NaT or value != value:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, float | Decimal) and abs(value) < 2**53:
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    if isinstance(value, datetime.date):
        return str(np.datetime_as_string(np.datetime64(value), unit="auto"))
    return str(value)


def in_excel(table: Table, folder: Path) -> Path:
    """Every value in a cell of its own kind."""
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for column, (name, cells) in enumerate(table.items(), 1):
        sheet.cell(1, column, name)
        for row, value in enumerate(cells, 2):
            endless = isinstance(value, float) and math.isinf(value)
            if endless or (isinstance(value, str) and not value.isprintable()):
                raise CannotHold
            cell = sheet.cell(row, column, value)
            if isinstance(value, str):
                cell.data_type = "s"  # Neither a formula nor an error.
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


def in_statistics(write: Callable[[pd.DataFrame, Path], None], ending: str) -> Any:
    def written(table: Table, folder: Path) -> Path:
        write(_typed(table), folder / f"t.{ending}")
        return folder / f"t.{ending}"

    return written


def _typed(table: Table) -> pd.DataFrame:
    """Columns of numbers or of texts: there is nothing else in such a file."""
    columns = {}
    for name, cells in table.items():
        if {_kind(value) for value in cells} <= {"number", None}:
            columns[name] = pd.Series([np.nan if v is None else float(v) for v in cells])
        else:
            columns[name] = pd.Series([plainly(value) for value in cells], dtype=object)
    return pd.DataFrame(columns)


def csv_of_pandas(table: Table, folder: Path) -> Path:
    of_pandas(table).to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def of_duckdb(table: Table, folder: Path) -> Any:
    """As SQL would store the values together, each column by itself."""
    columns = ", ".join(
        f"(select list(v order by k) from (values {listing(cells)}) t(k, v)) as {name}"
        for name, cells in table.items()
    )
    unnested = ", ".join(f"unnest({name}) as {name}" for name in table)
    relation = duckdb.sql(f"select {unnested} from (select {columns})")
    relation.fetchall()  # Whether it can be computed.
    return relation


def listing(cells: Cells) -> str:
    return ", ".join(f"({k}, {literal(value)})" for k, value in enumerate(cells))


def literal(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value)
        case int() | Decimal():
            return str(value)
        case float():
            return f"'{value!r}'::double"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime.datetime():
            return f"timestamp '{value}'"
        case datetime.date():
            return f"date '{value}'"
        case _:
            raise CannotHold


def frame(table: Table, folder: Path) -> pd.DataFrame:
    return of_pandas(table)


STORAGES = [
    Storage("pandas", frame),
    Storage("pandas objects", lambda table, _: of_pandas(table).astype(object)),
    Storage("pandas nullable", lambda table, _: of_pandas(table).convert_dtypes()),
    Storage(
        "pandas by Arrow", lambda table, _: of_pandas(table).convert_dtypes(dtype_backend="pyarrow")
    ),
    Storage(
        "pandas categories", lambda table, _: of_pandas(table).astype("category"),
        truths_with_numbers,
    ),
    Storage("pandas single", in_single),
    Storage("Polars", of_polars, mixed),
    Storage("Polars lazy", lambda table, folder: of_polars(table, folder).lazy(), mixed),
    Storage("Arrow", of_arrow, mixed),
    Storage(
        "Arrow dictionaries",
        lambda table, _: pa.table({n: pa.array(v).dictionary_encode() for n, v in table.items()}),
        mixed,
    ),
    *(Storage(f"Parquet of {name}", in_parquet(keep), mixed)
      for name, keep in (("pandas", frame), ("Polars", of_polars), ("Arrow", of_arrow))),
    Storage("CSV", as_csv),
    Storage("CSV of pandas", csv_of_pandas, all_texts),
    Storage("Excel", in_excel),
    Storage("SPSS", in_statistics(pyreadstat.write_sav, "sav"), all_texts_but_numbers),
    Storage("Stata", in_statistics(pyreadstat.write_dta, "dta"), all_texts_but_numbers),
    Storage("DuckDB", of_duckdb, several_types),
    Storage(
        "DuckDB of Arrow", lambda table, folder: duckdb.from_arrow(of_arrow(table, folder)), mixed
    ),
]  # fmt: skip

SINGLE = "pandas single"
ANYTHING = (Exception, pl.exceptions.PanicException)
ORDINARY = (type(None), bool, int, float, str, Decimal, datetime.date, datetime.datetime)


@dataclass(frozen=True)
class Delivered:
    """All that the map makes of a table: by field and row, whose rows they are, how many people."""

    fields: dict[str, np.ndarray[Any, Any]]
    people: int


def schema_of(kind: str) -> TableSchema:
    fields = [*FIELDS, {"name": "id", "type": kind}]
    return TableSchema.of(
        {"fields": fields, "csvw-eo:privacyUnit": "id", "mipselect:features": MADE}
    )


SCHEMAS = {kind: schema_of(kind) for kind in ("string", "integer")}


def delivered(source: Any, schema: TableSchema) -> Delivered:
    public = public_map(schema, target="y")
    Xs, ys, who = [], [], []
    for part in open_table(source, public):
        for batch in part.read(public.names):
            X = np.empty((batch.num_rows, len(public.columns)), np.float32)
            y = np.empty(batch.num_rows)
            public.encode(batch, X, y)
            Xs, ys = [*Xs, X], [*ys, y]
            who += (
                identities(batch.column(len(public.names) - 1), public.unit)
                .view(pa.binary())
                .to_pylist()
            )
    X = np.concatenate(Xs)
    fields: dict[str, np.ndarray[Any, Any]] = {
        encoder.field.name: X[:, block.start : block.stop]
        for encoder, block in zip(public.encoders, public.blocks, strict=True)
    }
    fields["y"] = np.concatenate(ys)[:, None]
    fields["id"] = np.array([[w] for w in who], dtype=object)
    people = len(map_table(source, schema, target="y").y)
    assert people == len(set(who)), "the people are not the identities"
    return Delivered(fields, people)


def drawn_pair(draw: Random) -> tuple[Table, Table, int]:
    """A table, its neighbour, and the row in which one value differs."""
    size = draw.randint(2, 8)
    table: Table = {}
    for name in NAMES:
        values = PLAIN[draw.choice(list(PLAIN))]
        table[name] = [draw.choice(values) for _ in range(size)]
        if draw.random() < 0.2:
            table[name][draw.randrange(size)] = None
        if draw.random() < 0.1:
            table[name][draw.randrange(size)] = draw.choice(ODD)
    row, changed = draw.randrange(size), draw.choice(NAMES)
    after = {name: list(cells) for name, cells in table.items()}
    for name in sorted({changed, draw.choice(NAMES)}):
        after[name][row] = draw.choice(ODD)
    return table, after, row


def kept(storage: Storage, table: Table, folder: Path) -> Any:
    """The table in a storage, or None if this has no place for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return storage.keep(table, folder)
        except ANYTHING:
            return None


def differing(
    one: Delivered, other: Delivered, rows: Sequence[int], fields: Sequence[str]
) -> list[str]:
    return [
        name
        for name in fields
        if not all(_same(one.fields[name][i], other.fields[name][i]) for i in rows)
    ]


def _same(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    return all(a == b or (a != a and b != b) for a, b in zip(one, other, strict=True))


def ordinary_rows(table: Table, storage: Storage) -> list[int]:
    """Rows whose values are the same in every storage that holds them."""

    # Beyond, storages have no place or round; a text from 2⁵³ on is a text.
    most = 2**53 if storage.name == "CSV" else 2**64

    def ordinary(value: Any) -> bool:
        if type(value) not in ORDINARY or (isinstance(value, Decimal) and not value.is_finite()):
            return False
        if isinstance(value, str):
            # A byte that is no UTF-8 is itself in a file, and a surrogate in Python.
            return value.isprintable() or value.isascii()
        return not isinstance(value, int | float | Decimal) or not abs(value) >= most

    size = len(table["y"])
    return [i for i in range(size) if all(ordinary(cells[i]) for cells in table.values())]


def failures(seed: int) -> list[str]:
    """What does not hold of one pair in all storages that hold it, of which there must be two."""
    with tempfile.TemporaryDirectory() as folder:
        return _failures(seed, Path(folder))


def _failures(seed: int, folder: Path) -> list[str]:
    draw = Random(seed)
    before, after, row = drawn_pair(draw)
    schema = SCHEMAS[draw.choice(list(SCHEMAS))]
    of_texts = {field.name for field in schema.fields if not field.is_number}
    found, pairs, reference = [], 0, None
    others = [i for i in range(len(before["y"])) if i != row]
    for storage in STORAGES:
        results = []
        for table in (before, after):
            source = kept(storage, table, folder)
            if source is None:
                break
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", InferredTypesWarning)  # It is of types.
                try:
                    results.append(delivered(source, schema))
                except ANYTHING as error:
                    found.append(f"{seed}, {storage.name}: {type(error).__name__}: {error}")
                    break
        if len(results) < 2:
            continue
        pairs += 1
        left = {
            name
            for name in NAMES
            if storage.rewrites is None
            or not any(storage.rewrites(t[name], name not in of_texts) for t in (before, after))
        }
        fields = [
            *(name for name in NAMES if name in left and name in results[0].fields),
            *(name for name, source in SOURCES.items() if source in left),
        ]
        moved = differing(*results, others, fields)
        if moved:
            found.append(f"{seed}, {storage.name}: other rows move in {', '.join(moved)}")
        if reference is None:
            reference = results
        if storage.name != SINGLE:
            for table, one, other in zip((before, after), reference, results, strict=True):
                rows = ordinary_rows(table, storage)
                apart = differing(one, other, rows, fields)
                if apart:
                    found.append(f"{seed}, {storage.name}: not as in pandas: {', '.join(apart)}")
    return found if pairs > 1 else [*found, f"{seed}: only {pairs} storages hold the pair"]
