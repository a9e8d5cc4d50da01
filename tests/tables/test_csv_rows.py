"""Every record of a CSV file is one row of the result, whatever bytes stand in it."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mipselect.errors import InvalidInput
from mipselect.tables import TableSchema
from mipselect.tables.csv_rows import BLOCK, CsvRows
from mipselect.tables.mapping import read_rows
from mipselect.tables.parts import Part
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
    for rows, header in (
        (GOOD, b"\xef\xbb\xbf" + HEADER),
        (windows, b"a,note,b,y\r\n"),
        (GOOD, b'"a","no,\nte","b",y\n'),
    ):
        np.testing.assert_array_equal(plain, mapped(tmp_path, rows, header).X)
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
