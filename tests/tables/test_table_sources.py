"""The same table from every source gives the same features, and a file counts once."""

from __future__ import annotations

import datetime
import decimal
import gzip
import io
import json
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import dataset, feather, fs, ipc, parquet

from mipselect.errors import InferredTypesWarning, InvalidInput
from mipselect.tables import TableSchema
from mipselect.tables.mapping import warn_of_inferred_types
from mipselect.tables.moments import Moments
from mipselect.tables.parts import identity_of, refuse_twice
from mipselect.tables.sources import read_again
from tests.support.fields import listed, numeric, schema_of
from tests.support.mapped_tables import map_table

SCHEMA = schema_of(
    numeric("age", 0, 100) | {"type": "integer"},
    numeric("dose", -1, 1),
    listed("sex", "f", "m", "x"),
    {"name": "smoker", "type": "boolean"},
    numeric("y", -5, 5),
)


ROWS = 1000


def columns() -> dict[str, list[Any]]:
    rng = np.random.default_rng(3)
    some = rng.random(ROWS) < 0.1
    smokers, ages = rng.random(ROWS) < 0.3, rng.integers(0, 120, ROWS)
    return {
        "extra": ["free text"] * ROWS,
        "y": rng.normal(0, 2, ROWS).tolist(),
        "smoker": [None if s else bool(v) for s, v in zip(some, smokers, strict=True)],
        "age": [None if s else int(v) for s, v in zip(some[::-1], ages, strict=True)],
        "sex": [["f", "m", "x", "?", None][k] for k in rng.integers(0, 5, ROWS)],
        "dose": rng.normal(0, 1, ROWS).tolist(),
    }


TABLE = pa.table(columns())
EXPECTED = map_table(TABLE, SCHEMA, target="y")


def same(source: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = map_table(source, SCHEMA, target="y")
    np.testing.assert_array_equal(table.X, EXPECTED.X)
    np.testing.assert_array_equal(table.y, EXPECTED.y)


def test_arrow_in_memory() -> None:
    assert EXPECTED.X.shape == (ROWS, 10)
    assert EXPECTED.X.any(axis=0).sum() == 9
    same(TABLE.to_reader(max_chunksize=77))
    same(TABLE.combine_chunks().to_batches()[0])
    same(dataset.dataset(TABLE))
    same(pa.concat_tables([TABLE.slice(0, 10), TABLE.slice(10)]))


def test_a_filter_of_a_dataset_is_kept() -> None:
    source = dataset.dataset(TABLE).filter(dataset.field("age") > 50)
    table = map_table(source, SCHEMA, target="y")
    assert 0 < len(table.y) < ROWS
    assert (table.X[:, 0] > 0).all()


def test_files(tmp_path: Path) -> None:
    import pyarrow.csv as arrow_csv

    arrow_csv.write_csv(TABLE, tmp_path / "t.csv")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    parquet.write_table(TABLE, tmp_path / "t.parquet", row_group_size=300)
    feather.write_feather(TABLE, str(tmp_path / "t.feather"))
    with ipc.new_stream(str(tmp_path / "t.arrow"), TABLE.schema) as stream:
        stream.write_table(TABLE, max_chunksize=99)
    for ending in ("csv", "csv.gz", "parquet", "feather", "arrow"):
        same(tmp_path / f"t.{ending}")
        same(str(tmp_path / f"t.{ending}"))
        same((tmp_path / f"t.{ending}").as_uri())


def test_folders_and_patterns(tmp_path: Path) -> None:
    pieces = [TABLE.slice(start, 250) for start in range(0, ROWS, 250)]
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for k, piece in enumerate(pieces):
        folder = tmp_path / "deep" / "er" if k == 0 else tmp_path / "deep"
        parquet.write_table(piece, folder / f"part-{k}.parquet")
    (tmp_path / "deep" / "_SUCCESS").write_text("")
    (tmp_path / "deep" / ".part.crc").write_text("")
    same(tmp_path / "deep")
    same((tmp_path / "deep").as_uri())
    same(f"{tmp_path}/**/part-*.parquet")
    same(dataset.dataset(tmp_path / "deep", format="parquet"))


def test_files_of_a_folder_may_store_a_column_differently(tmp_path: Path) -> None:
    head, tail = TABLE.slice(0, 500), TABLE.slice(500)
    texts = pa.array([None if v is None else str(v) for v in tail["age"].to_pylist()])
    other = tail.set_column(tail.column_names.index("age"), "age", texts)
    parquet.write_table(head, tmp_path / "a.parquet")
    parquet.write_table(other, tmp_path / "b.parquet")
    same(tmp_path)
    parquet.write_table(tail.drop_columns("age"), tmp_path / "b.parquet")
    with pytest.raises(InvalidInput, match=r"b.parquet: there is no column age"):
        map_table(tmp_path, SCHEMA, target="y")


def test_data_frames() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(columns())
    same(frame)
    same(frame.convert_dtypes())
    same(frame.convert_dtypes(dtype_backend="pyarrow"))
    same(frame.astype({"sex": "category", "smoker": "category", "age": "category"}))
    same(frame.astype(object))
    same(frame.astype({"dose": np.longdouble}))
    frame[7] = "a label that is no text"
    same(frame)


def test_dask_is_read_partition_after_partition() -> None:
    frames = pytest.importorskip("dask.dataframe")
    frame = TABLE.to_pandas()
    same(frames.from_pandas(frame, npartitions=7))
    same(read_again(frames.from_pandas(frame, npartitions=2)))
    broken = frames.from_pandas(frame, npartitions=2).map_partitions(
        lambda part: part.astype({"sex": float}), meta=frame.iloc[:0]
    )
    with pytest.raises(InvalidInput, match=r"partition 0 of the Dask frame could not") as caught:
        map_table(broken, SCHEMA, target="y")
    assert "convert" not in str(caught.value)


OBJECTS = [
    *("a", b"\xff", "\udce9", 10**5000, -(10**5000), 2**70, decimal.Decimal("NaN"), True, "1"),
    *(decimal.Decimal("1E+400"), 1 + 2j, datetime.date(2020, 1, 1), datetime.datetime(9999, 1, 1)),
    *([1, 2], {"a": 1}, object(), float("inf"), np.float32(0.5), np.datetime64("NaT")),
    np.array([1, 2]),
]


@pytest.mark.parametrize("cell", OBJECTS, ids=lambda cell: type(cell).__name__)
def test_an_object_in_a_frame_changes_its_row_only(cell: Any) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(columns())
    for name in ("age", "dose", "sex", "smoker", "y"):
        changed = frame.copy()
        changed[name] = changed[name].astype(object)
        changed.at[5, name] = cell
        table = map_table(changed, SCHEMA, target="y")
        others = np.arange(ROWS) != 5
        np.testing.assert_array_equal(table.X[others], EXPECTED.X[others])
        np.testing.assert_array_equal(table.y[others], EXPECTED.y[others])
        kept = [v if isinstance(v, str | bytes) else None for v in changed[name]]
        known = pd.Index(list(dict.fromkeys(v for v in kept if v is not None)), dtype=object)
        changed[name] = pd.Categorical.from_codes(
            [-1 if v is None else known.get_loc(v) for v in kept], known
        )
        map_table(changed, SCHEMA, target="y")


def test_polars() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(columns())
    same(frame)
    same(frame.lazy())
    same(
        frame.lazy()
        .filter(polars.lit(True))
        .with_columns(polars.col("sex").cast(polars.Categorical))
    )
    with pytest.raises(InvalidInput, match="there is no column sex"):
        map_table(frame.lazy().drop("sex"), SCHEMA, target="y")


def test_a_query_that_stops_at_a_row_says_nothing_of_it(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    lines = ["age,dose,sex,smoker,y", *["40,0.5,f,true,1"] * 20_000, "secret,0.5,f,true,1"]
    path.write_text("\n".join(lines))
    polars = pytest.importorskip("polars")
    with pytest.raises(InvalidInput, match=r"could not be computed.*give the path") as caught:
        map_table(polars.scan_csv(path, infer_schema_length=100), SCHEMA, target="y")
    assert "secret" not in str(caught.value)
    assert len(map_table(path, SCHEMA, target="y").y) == 20_001


def test_duckdb(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.register("people", TABLE)
        same(connection.sql("select * from people"))
        same(connection.table("people").project("y, dose, sex, age, smoker"))


def test_what_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("a")
    (tmp_path / "bad.parquet").write_text("a")
    (tmp_path / "bad.arrow").write_text("a")
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "a.csv").write_text("a\n1\n")
    (tmp_path / "mixed" / "b.parquet").write_text("a")
    (tmp_path / "empty").mkdir()
    for source, message in [
        (np.zeros((3, 2)), "a table must be a path.*got a ndarray"),
        ({"a": [1]}, "got a dict"),
        (tmp_path / "t.txt", "must end in .csv"),
        (tmp_path / "none.csv", "no such file"),
        (f"{tmp_path}/*.pq", "there is no such file"),
        ("wss://somewhere/t.csv", "no such place is known here"),
        (tmp_path / "bad.parquet", "cannot be read as Parquet"),
        (tmp_path / "bad.arrow", "cannot be read as Arrow"),
        (tmp_path / "mixed", "must be of one kind"),
        (tmp_path / "empty", "the folder has no files"),
        (dataset.dataset(tmp_path / "mixed" / "a.csv", format="csv"), "guesses types from rows"),
        (TABLE.slice(0, 0), "the table has no rows"),
    ]:
        with pytest.raises(InvalidInput, match=message) as caught:
            map_table(source, SCHEMA, target="y")
        assert "\n" not in str(caught.value)


def test_a_series_is_no_table() -> None:
    pd, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    row = pd.DataFrame({"age": [1], "sex": ["f"]}).iloc[0]
    for source in (pd.Series([1, 2]), row, polars.Series([1, 2])):
        for look in (lambda s: map_table(s, SCHEMA, target="y"), read_again):
            with pytest.raises(InvalidInput, match="a Series is one column or one row"):
                look(source)


def test_a_damaged_file_says_nothing_of_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    parquet.write_table(TABLE, path, compression="gzip", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[len(content) // 4 : len(content) // 2] = bytes(len(content) // 4 + 1)
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"t.parquet: the file is damaged$"):
        map_table(path, SCHEMA, target="y")


def test_skeletons_have_names_and_types_only(tmp_path: Path) -> None:
    parquet.write_table(TABLE, tmp_path / "t.parquet")
    kinds = {"extra": "string", "y": "number", "smoker": "boolean", "age": "integer",
             "sex": "string", "dose": "number"}  # fmt: skip
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    found = json.loads(TableSchema.skeleton(tmp_path / "t.parquet").text)
    assert found == {"fields": fields, "missingValues": [""]}
    # Of other rows it is the same.
    other = pa.table({name: TABLE[name].take([5, 5]) for name in TABLE.column_names})
    assert TableSchema.skeleton(other) == TableSchema.skeleton(TABLE)
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    assert [f.type for f in TableSchema.skeleton(tmp_path / "t.csv").fields] == ["string"] * 2


CODED = schema_of(
    listed("code", "01", "02"), numeric("age", 0, 100) | {"type": "integer"}, numeric("y", -5, 5)
)


CODES = "code,age,y\n" + "".join(f"0{1 + k % 2},{k},{k % 5}\n" for k in range(20))


def read(reader: str, text: str) -> Any:
    if "polars" in reader:
        polars = pytest.importorskip("polars")
        inferred = {"infer_schema": False} if "texts" in reader else {}
        return polars.read_csv(io.StringIO(text), **inferred)
    pandas = pytest.importorskip("pandas")
    return pandas.read_csv(io.StringIO(text), dtype=str if "texts" in reader else None)


@pytest.mark.parametrize("reader", ["pandas", "polars"])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (CODES, "code of the data frame is stored otherwise"),
        (CODES.replace("01,2,2", "01,x,2"), "age, code of the data frame are stored otherwise"),
        (CODES.replace("01,2,2", "x,2,2"), None),  # As a table of texts and numbers may be.
    ],
)
def test_types_that_contradict_the_schema_are_told_once(
    reader: str, text: str, told: str | None
) -> None:
    warn_of_inferred_types.cache_clear()
    for source, words in ((read(reader, text), told), (read(f"{reader} as texts", text), None)):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always", InferredTypesWarning)
            mapped = [map_table(source, CODED, target="y") for _ in range(2)]
        said = [str(one.message) for one in found if one.category is InferredTypesWarning]
        assert len(said) == (words is not None)
        assert all(words in one and "keep it to yourself" in one for one in said if words)
    # As texts one row moves alone.
    expected = map_table(read(f"{reader} as texts", CODES), CODED, target="y")
    moved = (mapped[0].X != expected.X).any(axis=1)
    assert set(np.flatnonzero(moved)) <= {2}


LIMITS = {"constraints": {"minimum": 0, "maximum": 9}}
FIELDS = [{"name": name, "type": "number", **LIMITS} for name in ("x", "y")]
OF_TWO = TableSchema.of({"fields": FIELDS})
FEW = 5


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two years, each in a folder that is named by a column."""
    for year in ("2023", "2024"):
        (tmp_path / f"year={year}").mkdir()
        table = pa.table({"x": [1.0] * FEW, "y": [2.0] * FEW})
        parquet.write_table(table, tmp_path / f"year={year}" / "t.parquet")
    return tmp_path


def first(folder: Path) -> Path:
    return folder / "year=2023" / "t.parquet"


def linked(folder: Path) -> str:
    (folder / "year=2024" / "latest.parquet").symlink_to("t.parquet")
    return "latest.parquet"


def hard_linked(folder: Path) -> str:
    os.link(first(folder), folder / "year=2024" / "second.parquet")
    return "second.parquet"


def folder_linked(folder: Path) -> str:
    (folder / "year=latest").symlink_to("year=2024")
    return "year=latest"


REACHED: dict[str, Callable[[Path], Any]] = {
    "a folder": lambda folder: folder,
    "a folder as a URL": lambda folder: folder.as_uri(),
    "a pattern": lambda folder: f"{folder}/**/*.parquet",
    "a dataset of a folder": lambda folder: dataset.dataset(folder, format="parquet"),
    "a dataset below a folder": lambda folder: dataset.dataset(
        "", format="parquet", filesystem=fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem())
    ),
    "datasets together": lambda folder: dataset.dataset(
        [dataset.dataset(path, format="parquet") for path in sorted(folder.rglob("*.parquet"))]
        + [dataset.dataset(first(folder), format="parquet")]
    ),
}


@pytest.mark.parametrize("way", REACHED)
@pytest.mark.parametrize("again", [linked, hard_linked, folder_linked])
def test_a_second_name_of_a_file_is_refused(
    folder: Path, way: str, again: Callable[[Path], str]
) -> None:
    if way == "datasets together":
        assert again(folder)
    else:
        assert len(map_table(REACHED[way](folder), OF_TWO, target="y").y) == 2 * FEW
        name = again(folder)
    source = REACHED[way](folder)
    for use in (map_table, Moments.of):
        with pytest.raises(InvalidInput, match=r"count twice") as caught:
            use(source, OF_TWO, target="y")
        if way != "datasets together":
            assert name in str(caught.value)
            assert "t.parquet" in str(caught.value)
            assert "remove one of the names, or list the files" in str(caught.value)


def lists(folder: Path) -> Iterator[tuple[str, list[Any]]]:
    file = first(folder)
    yield "a file and its folder", [file, folder]
    yield "a folder and a file of it as a URL", [folder, file.as_uri()]
    yield "a folder under two names", [folder, folder / "year=2023" / ".."]
    yield "a file and a pattern", [str(file), f"{folder}/*/t.parquet"]
    yield "a file and a dataset", [file, dataset.dataset(folder, format="parquet")]
    yield "a file and a list of it", [file, [file]]
    yield "a file twice", [file, file]


def test_a_list_reaches_a_file_once(folder: Path) -> None:
    other = folder / "year=2024" / "t.parquet"
    moments = Moments.of([first(folder), other.as_uri()], OF_TWO, target="y")
    assert moments.n == 2 * FEW
    for name, source in lists(folder):
        with pytest.raises(InvalidInput, match=r"would count twice") as caught:
            Moments.of(source, OF_TWO, target="y")
        assert str(first(folder)) in str(caught.value), name
    parquet.write_table(pa.table({"x": [1.0], "y": [2.0]}), folder / "copy.parquet")
    assert Moments.of(folder, OF_TWO, target="y").n == 2 * FEW + 1


def test_rows_that_are_no_file_may_come_again() -> None:
    table = pa.table({"x": [1.0] * FEW, "y": [2.0] * FEW})
    assert Moments.of([table, table], OF_TWO, target="y").n == 2 * FEW


def test_a_file_elsewhere_is_known_by_server_and_path() -> None:
    url, path, system = "mock://bucket/1.parquet", "bucket/1.parquet", fs._MockFileSystem()
    first = identity_of(system, path, url), url
    other = f"{url}?endpoint_override=another.example"
    refuse_twice([first, (identity_of(system, path, other), other)])
    with pytest.raises(InvalidInput, match=r"1\.parquet and bucket.* are one file"):
        refuse_twice([first, (identity_of(system, path, url), path)])
    with pytest.raises(InvalidInput, match="are one file, given twice"):
        refuse_twice([first, first])
