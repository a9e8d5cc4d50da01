"""Reading tables: what is right comes out exactly, what is wrong is named."""

from __future__ import annotations

import decimal
import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from mipselect.errors import InvalidInput
from mipselect.tables.numbers import read_table


def write(folder: Path, content: str | bytes, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_csv_values_are_exact_and_ordered(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal((40, 3)) * 10.0 ** rng.integers(-9, 9, (40, 3))
    lines = ["b,y,a", *(",".join(map(repr, row)) for row in values.tolist())]
    X, y, names = read_table(write(tmp_path, "\n".join(lines) + "\n"), "y")
    assert names == ("b", "a")
    np.testing.assert_array_equal(X, values[:, [0, 2]])
    np.testing.assert_array_equal(y, values[:, 1])


def test_features_are_chosen_and_others_may_hold_anything(tmp_path: Path) -> None:
    path = write(tmp_path, "day,a,b,y\nMon,1,2,3\nTue,4,5,6\n")
    X, _, names = read_table(path, "y", ["b", "a"])
    assert names == ("b", "a")
    np.testing.assert_array_equal(X, [[2, 1], [5, 4]])


@pytest.mark.parametrize(
    "content",
    [
        "a,y\ntrue,1\nFalse,2\n",
        "a,y\r\nTRUE,1\r\nfalse,2\r\n",
        "\ufeffa,y\n1, 1\n\n0 ,2\n\n",
        '"a","y"\n"1","1"\n0,2',
    ],
)
def test_legal_csv_dialects(tmp_path: Path, content: str) -> None:
    X, y, names = read_table(write(tmp_path, content), "y")
    assert (X.tolist(), y.tolist(), names) == ([[1.0], [0.0]], [1.0, 2.0], ("a",))


def test_rows_longer_than_a_megabyte(tmp_path: Path) -> None:
    p = 3_000
    header = ",".join(f"c{j}" for j in range(p))
    row = ",".join([f"{'-0.12345678901234567':0<400}"] * p)
    X, y, _ = read_table(write(tmp_path, f"{header}\n{row}\n{row}\n"), "c0")
    assert X.shape == (2, p - 1)
    assert y[1] == X[0, -1] == -0.12345678901234567


def test_a_bad_byte_far_down_is_found_by_its_line(tmp_path: Path) -> None:
    rows = b"1,2,\xc3\xa9\n" * 90_000
    path = write(tmp_path, b"a,y,n\n" + rows + b"1,2,\xe9\n")
    with pytest.raises(InvalidInput, match="line 90002 has a byte"):
        read_table(path, "y", ["a"])


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "__index_level_0__"])
def test_the_stored_index_of_a_data_frame_is_refused(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, f"{name},a,y\n0,1,2\n1,3,4\n")
    with pytest.raises(InvalidInput, match=r"column 1 .*stored index.*to_csv\(index=False\)"):
        read_table(path, "y")
    assert read_table(path, "y", ["a"])[2] == ("a",)
    parquet.write_table(pa.table({name: [0, 1], "a": [1, 3], "y": [2, 4]}), tmp_path / "t.parquet")
    with pytest.raises(InvalidInput, match="stored index"):
        read_table(tmp_path / "t.parquet", "y")


def test_compressed_csv(tmp_path: Path) -> None:
    path = write(tmp_path, gzip.compress(b"a,y\n1,2\n"), "data.csv.gz")
    assert read_table(path, "y")[0].tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b,y\n1,2,3\n4,NaN,6\n", "line 3, column 'b' holds no finite number; "),
        ("a,b,y\n1,2,3\n4,5,inf\n", "line 3, column 'y' holds no finite number; "),
        ("a,b,y\n1,2,3\n\n4,,6\n", "line 4, column 'b' holds nothing"),
        ("a,b,y\n1,2,3\n4,1e999,6\n", "line 3, column 'b' holds no finite number; "),
        ("a,b,y\n1,red,3\n4,blue,6\n", "line 2, column 'b' holds no finite number; "),
        ("a,b,y\n1,1_0,3\n", "line 2, column 'b' holds no finite number; "),
        # By a schema these are no numbers either.
        ("a,b,y\n1,\u00a02,3\n", "line 2, column 'b' holds no finite number; "),
        ("a,b,y\n1,2\x1f,3\n", "line 2, column 'b' holds no finite number; "),
        ("a,b,y\n1,\uff12,3\n", "line 2, column 'b' holds no finite number; "),
        ('a,b,y\n1,"2\n2",3\n', "line 3, column 'b' holds no finite number; "),
        ("a,b,y\n1,2,3\n4,5\n", "line 3 has 2 values, the header has 3"),
        ("a,b,y\n1,2,3,4\n", "line 2 has 4 values, the header has 3"),
        ("", "the file is empty"),
        ("y\n1\n", "no feature besides the target 'y'"),
        ("a,a,y\n1,2,3\n", "two columns are called a"),
        ("a,Y\n1,2\n", "there is no column y; columns: a, Y"),
        (b"a,y\n\xff\xfe,2\n", "line 2 has a byte that is not UTF-8; save the file as UTF-8"),
    ],
)
def test_bad_csv_is_named(tmp_path: Path, content: str | bytes, message: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(InvalidInput, match=message) as caught:
        read_table(path, "y")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (["ab"], "there is no column ab.*did you mean 'abc'"),
        (["y", "abc"], "the target 'y' cannot be a feature as well"),
        (["abc", "abc"], "a feature is listed twice"),
        ([], "no feature besides"),
    ],
)
def test_bad_choice_of_features(tmp_path: Path, features: list[str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_table(write(tmp_path, "abc,y\n1,2\n"), "y", features)


def test_bad_files(tmp_path: Path) -> None:
    for name, content, message in [
        ("data.txt", b"a,y\n1,2\n", "must end in .csv, .csv.gz, .parquet, .sav"),
        ("data.csv.gz", b"not gzip", "cannot be read"),
        ("cut.csv.gz", gzip.compress(b"a,y\n1,2\n")[:-9], "cannot be read"),
        ("data.parquet", b"not parquet", "cannot be read as Parquet"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            read_table(write(tmp_path, content, name), "y")
    for name in ("absent.csv", "absent.csv.gz", "absent.parquet"):
        with pytest.raises(InvalidInput, match="no such file"):
            read_table(tmp_path / name, "y")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_table(tmp_path / "folder.csv", "y")


def stored(folder: Path, columns: dict[str, pa.Array]) -> Path:
    path = folder / "data.parquet"
    parquet.write_table(pa.table(columns), path)
    return path


def test_parquet_types(tmp_path: Path) -> None:
    path = stored(
        tmp_path,
        {
            "flag": pa.array([True, False]),
            "count": pa.array([3, 2**60], pa.int64()),
            "price": pa.array([decimal.Decimal("1.25"), decimal.Decimal("2.50")]),
            "single": pa.array([0.5, 1.5], pa.float32()),
            "y": pa.array([1.0, 2.0]),
        },
    )
    X, y, names = read_table(path, "y")
    assert names == ("flag", "count", "price", "single")
    assert X.tolist() == [[1.0, 3.0, 1.25, 0.5], [0.0, 2.0**60, 2.5, 1.5]]
    assert y.tolist() == [1.0, 2.0]


def test_an_arrow_file_is_a_table_of_numbers(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2], "flag": [True, False], "y": [0.5, None]})
    for ending in (".arrow", ".feather"):
        path = tmp_path / f"t{ending}"
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table.select(["a", "flag", "y"]))
        with pytest.raises(InvalidInput, match=r"row 1 .*column 'y' holds no finite number"):
            read_table(path, "y")
        X, y, names = read_table(path, "a", ["flag"])
        assert (X.tolist(), y.tolist(), names) == ([[1.0], [0.0]], [1.0, 2.0], ("flag",))


def test_the_index_of_a_data_frame_is_no_feature(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]}, index=[5, 7, 9])
    for index_name in (None, "person"):
        frame.index.name = index_name
        frame.to_parquet(tmp_path / "frame.parquet")
        assert read_table(tmp_path / "frame.parquet", "y")[2] == ("a",)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([1.0, None]), r"row 1 \(counted from 0\), column 'a' holds no finite number"),
        (
            pa.array([float("nan"), 1.0]),
            r"row 0 \(counted from 0\), column 'a' holds no finite number",
        ),
        (
            pa.array([1.0, float("-inf")]),
            r"row 1 \(counted from 0\), column 'a' holds no finite number",
        ),
        (pa.array(["red", "blue"]), "column 'a' is of type string; values must be finite"),
        (pa.array([0, 1], pa.date32()), "column 'a' is of type date;.*leave this column out"),
    ],
)
def test_bad_parquet_is_named(tmp_path: Path, column: pa.Array, message: str) -> None:
    path = stored(tmp_path, {"a": column, "y": pa.array([1.0, 2.0])})
    with pytest.raises(InvalidInput, match=message):
        read_table(path, "y")
