"""Every record of a CSV file is one row, whatever bytes it has; tables of numbers are exact."""

from __future__ import annotations

import decimal
import gzip
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from mipselect.errors import InvalidInput
from mipselect.tables import TableFile, TableSchema
from mipselect.tables.mapping import read_rows
from mipselect.tables.numbers import header, read_table
from mipselect.tables.parts import BLOCK, CsvRows, Part
from mipselect.tables.sources import open_source
from tests.support.fields import listed, numeric, schema_of
from tests.support.mapped_tables import FeatureTable, map_table, public_map
from tests.support.one_row_at_a_time import HOSTILE

SCHEMA = schema_of(
    numeric("a", 0, 10),
    listed("b", "é", "two  lines", 'q"q', "p, q"),
    numeric("y", 0, 10),
    missingValues=["", "NA"],
)
HEADER = b"a,note,b,y\n"
GOOD = [f"{i % 11},n{i},é,{i % 7}\n".encode() for i in range(40)]
RAGGED = [
    *(b"5\n", b"5,x,\xc3\xa9\n", b"5,x,\xc3\xa9,5,6,7,8\n", b"\n", b",,,,,,\n", b"\xff\xfe\xe9\n"),
    *(b"5,\xff\xfe\n", b'5,"a\nb"\n', b"a,note,b,y,z\n"),
]


STRANGE = [
    *(b"5,x,\xe9,5\n", b'5,"a\nb\r\nc",\xc3\xa9,5\n', b'5,x,"q""q",5\n', b'5,x,"p, q",5\n'),
    *(b'5,x,"two\nlines",5\n', b'5,a"b"c,\xc3\xa9,5\n', b'5,a"b,\xc3\xa9,5\n'),
    *(b'5,"a"b,\xc3\xa9,5\n', b"5,\0,\0,\0\n", b"5,x,\xc3\xa9,5\r\n", b"5,x,\xc3\xa9,5\r"),
    *(b"\xef\xbb\xbf5,x,\xc3\xa9,5\n", b"5," + b"x" * 20_000 + b",\xc3\xa9,5\n", b",,,\n"),
    b"a,note,b,y\n",
]


def mapped(folder: Path, rows: list[bytes], header: bytes = HEADER) -> FeatureTable:
    path = folder / "t.csv"
    path.write_bytes(header + b"".join(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return map_table(path, SCHEMA, target="y")


class Columns(NamedTuple):
    X: np.ndarray
    y: np.ndarray


def in_blocks(folder: Path, rows: list[bytes], block: int) -> Columns:
    """The same, of a file that is read by so many bytes at a time."""
    path = folder / "t.csv"
    path.write_bytes(HEADER + b"".join(rows))
    records = CsvRows("t.csv", lambda: path.open("rb"), compressed=False, block=block)
    fields = ({"type": "string"},) * len(records.header)
    part = Part("t.csv", records.header, fields, None, records.batches)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        X, y, _ = read_rows([part], public_map(SCHEMA, target="y"))
    return Columns(X, np.nan_to_num(y))


BLOCKS = pytest.mark.parametrize("block", [BLOCK, 64, 300])


@BLOCKS
@pytest.mark.parametrize("record", [*RAGGED, *STRANGE], ids=lambda record: repr(record[:20]))
def test_a_record_changes_its_row_only(tmp_path: Path, record: bytes, block: int) -> None:
    before = in_blocks(tmp_path, GOOD, block)
    for i in (0, 17, 39):
        rows = list(GOOD)
        rows[i] = record
        after = in_blocks(tmp_path, rows, block)
        others = np.arange(40) != i
        np.testing.assert_array_equal(before.X[others], after.X[others])
        np.testing.assert_array_equal(before.y[others], after.y[others])
        if record in RAGGED:
            assert after.X[i].tolist() == [0, 1, 0, 0, 0, 0, 1]
            assert after.y[i] == 0
        elif record.startswith(b"5"):
            assert after.X[i, 0] == 0.0
            assert after.y[i] == 0.0


@BLOCKS
def test_many_ragged_records_in_a_row_keep_their_places(tmp_path: Path, block: int) -> None:
    rows = [*RAGGED * 5, *GOOD, *RAGGED[:4] * 30, *GOOD[:3], *RAGGED[5:8] * 20]
    table = in_blocks(tmp_path, rows, block)
    assert len(table.y) == len(rows)
    whole = np.array([row in GOOD for row in rows])
    np.testing.assert_array_equal(table.X[:, 1] == 0.0, whole)
    alone = in_blocks(tmp_path, [row for row in rows if row in GOOD], block)
    np.testing.assert_array_equal(table.X[whole], alone.X)


def test_quoted_line_breaks_and_bytes_reach_their_category(tmp_path: Path) -> None:
    rows = [b'1,x," two  lines\n",1\n', b'1,x,"q""q",1\n', b'1,x,"p, q",1\n', b'1,x,"\xc3\xa9",1']
    table = mapped(tmp_path, rows)
    np.testing.assert_array_equal(table.X[:, 2:6], np.eye(4)[[1, 2, 3, 0]])


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=repr)
@pytest.mark.parametrize("breaks", [0, 2])
def test_line_breaks_are_the_same_wherever_a_piece_ends(
    tmp_path: Path, end: bytes, breaks: int
) -> None:
    path, quote = tmp_path / "t.csv", b'"' if breaks else b""
    value = quote + b"x" + breaks * end + quote
    path.write_bytes(b"a,b" + end + b"".join(b"%d,%s%s" % (k, value, end) for k in range(200)))
    for block in (16, 17, 32, 33, 34, 35, 64, 1000, BLOCK):
        records = CsvRows("t.csv", lambda: path.open("rb"), compressed=False, block=block)
        batches = [batch.to_pydict().values() for batch in records.batches(["a", "b"])]
        found = [pair for columns in batches for pair in zip(*columns, strict=True)]
        assert found == [(b"%d" % k, b"x" + breaks * b"\n") for k in range(200)]


def test_a_nul_hides_no_quote_behind_it(tmp_path: Path) -> None:
    """Wherever a piece ends in the quotes, with a line break in the next one."""
    rows = [b"5," + b"n" * 20 + b",\xc3\xa9,5\n"] * 6
    before = in_blocks(tmp_path, rows, BLOCK)
    rows[4] = b'5,\0,"' + b"x" * 30 + b'\n",5\n'
    for block in range(64, 128, 4):
        after = in_blocks(tmp_path, rows, block)
        for found, known in zip(after, before, strict=True):
            np.testing.assert_array_equal(np.delete(found, 4, 0), np.delete(known, 4, 0))


def test_a_mark_and_other_line_ends_are_no_values(tmp_path: Path) -> None:
    plain, windows = mapped(tmp_path, GOOD).X, [row.replace(b"\n", b"\r\n") for row in GOOD]
    for rows, names in (
        (GOOD, b"\xef\xbb\xbf" + HEADER),
        (windows, b"a,note,b,y\r\n"),
        (GOOD, b'"a","no,\nte","b",y\n'),
    ):
        np.testing.assert_array_equal(plain, mapped(tmp_path, rows, names).X)
    # Columns that are not used may be called the same, and others in any language.
    assert mapped(tmp_path, [b"1,x,x,\xc3\xa9,2\n"], header=b"a,n,n,b,y\n").X[0, 2] == 1.0
    for name in ("Ålder", "Größe (cm)", "年齢"):
        path = tmp_path / "t.csv"
        path.write_text(f'"{name}",y\n10,10\n', encoding="utf-8")
        assert TableSchema.skeleton(path).fields[0].name == name
        schema = schema_of(numeric(name, 0, 10), numeric("y", 0, 10))
        assert map_table(path, schema, target="y").X[0, 0] == 1.0


def test_compressed_files(tmp_path: Path) -> None:
    plain = mapped(tmp_path, GOOD)
    packed = gzip.compress(HEADER + b"".join(GOOD))
    path = tmp_path / "t.csv.gz"
    path.write_bytes(packed)
    np.testing.assert_array_equal(plain.X, map_table(path, SCHEMA, target="y").X)
    X, _, _ = read_table(write(tmp_path, gzip.compress(b"a,y\n1,2\n"), "numbers.csv.gz"), "y")
    assert X.tolist() == [[1.0]]
    for content, message in ((b"no gzip", "cannot be read"), (packed[:-9], "cannot be read")):
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match=message):
            map_table(path, SCHEMA, target="y")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no header"),
        (b"\n1,2,3\n", "no header"),
        (b"a;b;y\n1;2;3\n", "seem to be separated by ';'.*use --delimiter ';'"),
        (b"a,b\n1,2\n", "no column y; columns: a, b"),
        (b"a,b,b,y\n1,2,3,4\n", "two columns are called b"),
        (b"a,b,y,\xff\n1,2,3,4\n", "the header is not UTF-8"),
        ("a,b,y\n1,2,3\n".encode("utf-16"), "UTF-16"),
        (b"a,b,y\n", "the table has no rows"),
        (b"a,b,y", "the table has no rows"),
    ],
)
def test_a_wrong_header_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=message) as caught:
        map_table(path, SCHEMA, target="y")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@BLOCKS
def test_an_unclosed_quote_raises_nothing(tmp_path: Path, block: int) -> None:
    for value in HOSTILE:
        row = b'5,"' + value.encode("utf-8", "surrogateescape") + b"\n"
        table = in_blocks(tmp_path, [*GOOD[:3], row, *GOOD[3:]], block)
        np.testing.assert_array_equal(table.X[:3, 1], np.zeros(3))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record=st.binary(max_size=60).map(lambda some: some.translate(None, b'\n\r"')))
def test_any_bytes_change_their_row_only(tmp_path: Path, record: bytes) -> None:
    before = mapped(tmp_path, GOOD[:3])
    after = mapped(tmp_path, [GOOD[0], record + b"\n", GOOD[2]])
    np.testing.assert_array_equal(before.X[[0, 2]], after.X[[0, 2]])
    assert len(after.y) == 3
    assert np.isfinite(after.X).all()
    assert np.isfinite(after.y).all()


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


# As other programs write them: delimiters, marks, line ends, blanks around names.

OF_DIALECTS = schema_of(
    numeric("dose", 0, 4, decimalChar=","), listed("größe", "é", "ß", "a;b"), numeric("y", 0, 1)
)
DOSES = ["1,5;é;1", "0;ß;0", '4;"a;b";1', ";;", "x;x;x"]
DIALECT = "dose; größe ;y\n" + "".join(f"{row}\n" for row in DOSES)


def dialect(source: Any) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = map_table(source, OF_DIALECTS, target="y")
    return np.column_stack([table.X, table.y])


EXPECTED = [
    [-0.25, 0, 1, 0, 0, 0, 1],
    [-1, 0, 0, 1, 0, 0, -1],
    [1, 0, 0, 0, 1, 0, 1],
    [0, 1, 0, 0, 0, 1, 0],
    [0, 1, 0, 0, 0, 0, 0],
]


def test_delimiter_mark_and_line_ends(tmp_path: Path) -> None:
    for encoding in ("utf-8", "utf-8-sig"):
        for ends in ("\n", "\r\n", "\r"):
            content = DIALECT.replace("\n", ends).encode(encoding)
            for name, stored in (("t.csv", content), ("t.csv.gz", gzip.compress(content))):
                path = tmp_path / name
                path.write_bytes(stored)
                assert dialect(TableFile(path, delimiter=";")).tolist() == EXPECTED
                assert dialect(TableFile(str(path), ";")).tolist() == EXPECTED
    path = tmp_path / "t.csv"
    for mark in ("\t", "|", ":"):
        path.write_text(DIALECT.replace(";", mark).replace(f"a{mark}b", "a;b"))
        assert dialect(TableFile(path, delimiter=mark)).tolist() == EXPECTED
    for ends in ("\r", "\r\n"):
        path.write_bytes(f"größe;y{ends}1;2{ends}3;4{ends}".encode())
        source = TableFile(path, ";")
        assert header(source, "y", None) == ("größe",)
        X, y, _ = read_table(source, "y")
        assert (X.tolist(), y.tolist()) == ([[1], [3]], [2, 4])
    path.write_bytes(b"a;y\n1;x\xe9\n")
    with pytest.raises(InvalidInput, match="line 2 has a byte that is not UTF-8"):
        read_table(TableFile(path, ";"), "y")


def test_what_cannot_be_decoded_is_in_no_list(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"c,y\n\x81,1\n\xef\xbf\xbd,1\n")
    schema = schema_of(listed("c", "?", "\ufffd"), numeric("y", 0, 1))
    X = map_table(path, schema, target="y").X
    assert X.tolist() == [[0, 0], [1, 0]]


def test_what_is_no_way_to_write_a_file(tmp_path: Path) -> None:
    for ways, message in WAYS:
        with pytest.raises(InvalidInput, match=message):
            TableFile(**{"path": "t.csv", **ways})
    for name, ways, message in FOR_OTHERS:
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(InvalidInput, match=message):
            open_source(TableFile(tmp_path / name, **ways))


def test_another_delimiter_is_named(tmp_path: Path) -> None:
    for content, delimiter, wanted in (
        ("a;b;y\n", ",", "';'"), ("a\tb\ty\n", ",", "tab"), ("a|b|y\n", ";", r"'\|'"),
        ("a,b,y\n", ";", "','"),
    ):  # fmt: skip
        (tmp_path / "t.csv").write_text(content + "1;2;3\n")
        source = TableFile(tmp_path / "t.csv", delimiter=delimiter)
        for look in (open_source, lambda s: read_table(s, "y"), lambda s: header(s, "y", None)):
            with pytest.raises(InvalidInput, match=f"separated by {wanted}.*--delimiter {wanted}"):
                look(source)


def test_blanks_around_names_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('  a ,"b ",\ty\n1,2,3\n')
    assert open_source(path)[0].names == ("a", "b", "y")
    assert header(path, "y", None) == ("a", "b")
    X, y, names = read_table(path, "y")
    assert (X.tolist(), y.tolist(), names) == ([[1, 2]], [3], ("a", "b"))
    path.write_text("a,y, a\n1,2,x\n")
    schema = TableSchema.of_numbers({"a": (0, 1), "y": (0, 1)})
    with pytest.raises(InvalidInput, match="two columns are called a"):
        map_table(path, schema, target="y")
    with pytest.raises(InvalidInput, match="two columns are called a"):
        read_table(path, "y")
    with pytest.raises(InvalidInput, match=r"its columns make no schema.*field names must differ"):
        TableSchema.skeleton(path)


def test_a_header_says_nothing_of_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for rest in (b"\xff\xfe\r\0,1", b'"', b'1,"2\r'):
        path.write_bytes(b"a,y\r" + rest)
        assert header(path, "y", None) == ("a",)
    path.write_bytes(b"\xff,y\n1,2\n")
    for look in (lambda: header(path, "y", None), lambda: open_source(path)):
        with pytest.raises(InvalidInput, match=r'not UTF-8.*"CSV UTF-8" .*cp1252\)'):
            look()


WAYS: list[tuple[dict[str, Any], str]] = [
    *(({"delimiter": d}, "delimiter must be one character") for d in (";;", "a", '"', "\n", "é")),
    ({"sheet": 1}, "sheet must be the name of a sheet"),
    ({"path": 3}, "path must be a str or a Path"),
]


FOR_OTHERS: list[tuple[str, dict[str, Any], str]] = [
    ("t.parquet", {"delimiter": ";"}, "--delimiter is for CSV files, and this is a Parquet"),
    ("t.csv", {"sheet": "first"}, "--sheet is for Excel files, and this is a CSV file"),
    ("t.xlsx", {"delimiter": ";"}, "this is an Excel file"),
    ("t.sav", {"sheet": "first"}, "this is an SPSS, Stata or SAS file"),
]
