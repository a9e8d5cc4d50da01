"""CSV files as other programs write them: delimiters, marks, line ends, blanks around names."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mipselect.errors import InvalidInput
from mipselect.tables import TableFile, TableSchema
from mipselect.tables.numbers import header, read_table
from mipselect.tables.sources import open_source
from tests.support.fields import listed, numeric, schema_of
from tests.support.mapped_tables import map_table

SCHEMA = schema_of(
    numeric("dose", 0, 4, decimalChar=","), listed("größe", "é", "ß", "a;b"), numeric("y", 0, 1)
)
ROWS = ["1,5;é;1", "0;ß;0", '4;"a;b";1', ";;", "x;x;x"]
TEXT = "dose; größe ;y\n" + "".join(f"{row}\n" for row in ROWS)


def mapped(source: Any) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = map_table(source, SCHEMA, target="y")
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
            content = TEXT.replace("\n", ends).encode(encoding)
            for name, stored in (("t.csv", content), ("t.csv.gz", gzip.compress(content))):
                path = tmp_path / name
                path.write_bytes(stored)
                assert mapped(TableFile(path, delimiter=";")).tolist() == EXPECTED
                assert mapped(TableFile(str(path), ";")).tolist() == EXPECTED
    path = tmp_path / "t.csv"
    for mark in ("\t", "|", ":"):
        path.write_text(TEXT.replace(";", mark).replace(f"a{mark}b", "a;b"))
        assert mapped(TableFile(path, delimiter=mark)).tolist() == EXPECTED
    for ends in ("\r", "\r\n"):
        path.write_bytes(f"größe;y{ends}1;2{ends}3;4{ends}".encode())
        source = TableFile(path, ";")
        assert header(source, "y", None) == ("größe",)
        X, y, _ = read_table(source, "y")
        assert (X.tolist(), y.tolist()) == ([[1], [3]], [2, 4])
    path.write_bytes(b"a;y\n1;x\xe9\n")
    with pytest.raises(InvalidInput, match="line 2 has a byte that is not UTF-8"):
        read_table(TableFile(path, ";"), "y")


HOSTILE = [b"\xff", b"\x81", b"\xe9", b"\x00", b"\xf0\x9f", b"\x8f\xa1"]


def test_bytes_that_cannot_be_decoded_change_their_row_only(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{k % 4};ab;1\n".encode() for k in range(9)]
    head = b"dose;note;y\n"
    content = {"fields": [SCHEMA.content["fields"][0], SCHEMA.content["fields"][2]]}
    schema = TableSchema.of(content)

    def found() -> np.ndarray:
        source = TableFile(path, delimiter=";")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return map_table(source, schema, target="y").X

    path.write_bytes(head + b"".join(rows))
    before = found()
    for odd in HOSTILE:
        ends = [odd, b"2;" + odd, b"2;x;" + odd, b'2;x;"' + odd + b'"']
        for row in (*(end + b"\n" for end in ends), odd + b";x;1\n"):
            path.write_bytes(head + b"".join(rows[:4]) + row + b"".join(rows[5:]))
            after = found()
            assert len(after) == 9
            np.testing.assert_array_equal(np.delete(after, 4, 0), np.delete(before, 4, 0))


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
    with pytest.raises(InvalidInput, match="field names must differ"):
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
