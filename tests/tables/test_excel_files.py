"""Sheets of Excel: the first row is the header, and every other row moves alone."""

from __future__ import annotations

import datetime
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest
from openpyxl.styles import PatternFill

from mipselect.errors import InvalidInput
from mipselect.tables import TableFile, TableSchema
from mipselect.tables.numbers import read_table
from mipselect.tables.sources import open_source
from tests.support.fields import listed, numeric, schema_of
from tests.support.mapped_tables import map_table
from tests.support.stored_tables import SCHEMA, as_xlsx, columns

FIELDS = schema_of(
    numeric("dose", 0, 4),
    listed("code", "7", "x", "2020-01-31", "true"),
    {"name": "flag", "type": "boolean"},
    numeric("y", 0, 1),
)


def saved(path: Path, rows: list[list[Any]], title: str = "Sheet") -> Path:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = title
    for row in rows:
        sheet.append(row)
    book.save(path)
    return path


def mapped(path: Path) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return map_table(path, FIELDS, target="y").X


HEAD = ["dose", "code", "flag", "y"]


def test_what_cells_stand_for(tmp_path: Path) -> None:
    rows: list[list[Any]] = [
        HEAD,
        [1, 7, True, 0.5],
        ["1", "7", "true", 0.5],
        [1.0, 7.0, 1, 0.5],
        [3.5, datetime.datetime(2020, 1, 31), False, 0.5],
        [None, None, None, 0.5],
        ["#N/A", "#N/A", "#VALUE!", 0.5],
        ["much", "y", "maybe", 0.5],
        [True, True, True, 0.5],
        [1e300, datetime.time(12), 2, 0.5],
    ]
    X = mapped(saved(tmp_path / "t.xlsx", rows))
    none = [0, 1, 0, 0, 0, 0, 1, 0, 1]
    assert X[0].tolist() == [-0.5, 0, 1, 0, 0, 0, 0, 1, 0]
    assert X[1].tolist() == X[0].tolist()
    assert X[2].tolist() == X[0].tolist()
    assert X[3].tolist() == [0.75, 0, 0, 0, 1, 0, 0, -1, 0]
    assert X[4].tolist() == none
    assert X[5].tolist() == none
    assert X[6].tolist() == [0, 1, 0, 0, 0, 0, 0, 0, 0]
    assert X[7].tolist() == [-0.5, 0, 0, 0, 0, 1, 0, 1, 0]
    assert X[8].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0]


def test_of_a_formula_its_stored_value_counts(tmp_path: Path) -> None:
    path = saved(tmp_path / "t.xlsx", [HEAD, ["=1+1", 7, True, 0.5], [2, 7, True, 0.5]])
    # As Excel would have stored it.
    replace_in_sheet(path, b"<f>1+1</f><v></v>", b"<f>1+1</f><v>2</v>")
    X = mapped(path)
    assert X[0].tolist() == X[1].tolist()


def replace_in_sheet(path: Path, one: bytes, other: bytes) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    changed = parts[sheet].replace(one, other).replace(one.replace(b"<v></v>", b"<v />"), other)
    assert changed != parts[sheet]
    parts[sheet] = changed
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


ODD = [None, "x" * 300, "7", 7.0, 1e300, True, "#N/A", "=1/0", "=", "", " ", -9, 2**70]
ODD += [datetime.datetime(2020, 1, 31, 12), datetime.date(1900, 1, 1), datetime.timedelta(1)]


def test_one_row_moves_alone(tmp_path: Path) -> None:
    rows = [[k / 8, ["7", "x"][k % 2], k % 3 == 0, k / 20] for k in range(20)]
    before = mapped(saved(tmp_path / "t.xlsx", [HEAD, *rows]))
    for at in (0, 7):
        for odd in ODD:
            after = mapped(
                saved(tmp_path / "t.xlsx", [HEAD, *rows[:at], [odd] * 4, *rows[at + 1 :]])
            )
            others = np.arange(20) != at
            np.testing.assert_array_equal(after[others], before[others])
            assert (after[at] != before[at]).any()


def test_a_date_that_is_none_warns_nobody(tmp_path: Path) -> None:
    path = saved(tmp_path / "t.xlsx", [HEAD, [1, datetime.datetime(2020, 1, 31), True, 1], [1] * 4])
    before = mapped(path)
    replace_in_sheet(path, b"<v>43861</v>", b"<v>99999999</v>")
    after = mapped(path)
    np.testing.assert_array_equal(after[1], before[1])
    assert after[0, 2:7].tolist() == [0, 0, 0, 0, 1]


def test_rows_without_values_count_up_to_the_last_one_with_one(tmp_path: Path) -> None:
    path = saved(tmp_path / "t.xlsx", [HEAD, [1] * 4, [None] * 4, [None] * 4, [2] * 4])
    X = mapped(path)
    assert X[:, 1].tolist() == [0, 1, 1, 0]
    book = openpyxl.load_workbook(path)
    for row in range(6, 60):
        book.worksheets[0].cell(row, 1).fill = PatternFill("solid", fgColor="FF0000")
        book.worksheets[0].cell(row, 9, "beside the table")
    book.save(path)
    np.testing.assert_array_equal(mapped(path), X)


def test_what_a_sheet_says_of_its_size_need_not_be_right(tmp_path: Path) -> None:
    path = saved(tmp_path / "t.xlsx", [HEAD, [1] * 4, [2] * 4])
    X = mapped(path)
    replace_in_sheet(path, b'<dimension ref="A1:D3"', b'<dimension ref="A1:B2"')
    np.testing.assert_array_equal(mapped(path), X)


def test_a_sheet_by_its_name(tmp_path: Path) -> None:
    path = saved(tmp_path / "t.xlsx", [HEAD, [1] * 4], "first")
    book = openpyxl.load_workbook(path)
    sheet = book.create_sheet("second one")
    sheet.append([" y", "dose ", "flag", "code", 2020, None, None])
    sheet.append([1, 4, 0, "x", 5])
    book.save(path)
    assert open_source(TableFile(path, sheet="second one"))[0].names[-1] == "2020"
    X = map_table(TableFile(path, sheet="second one"), FIELDS, target="y").X
    assert X[0].tolist() == [1, 0, 0, 1, 0, 0, 0, -1, 0]
    assert open_source(path)[0].names == tuple(HEAD)
    with pytest.raises(InvalidInput, match="no sheet 'third'; sheets: first, second one"):
        open_source(TableFile(path, sheet="third"))


@pytest.mark.parametrize(
    ("first", "message"),
    [
        (["Report of 2020"], "has one name only; the header must be the first row"),
        (["Report", None, 2020], "has no name in column 2.*the header must be the first row"),
        ([None, "a", "b"], "has no name in column 1"),
        ([None, None], "is empty; the header must be the first row"),
        (["a ", "b", " a"], "two columns are called a"),
    ],
)
def test_a_wrong_first_row_is_one_line(first: list[Any], message: str, tmp_path: Path) -> None:
    path = saved(tmp_path / "t.xlsx", [first, ["a", "b", "c"], [1, 2, 3]])
    schema = TableSchema.of_numbers({"a": (0, 1), "b": (0, 1)})
    with pytest.raises(InvalidInput, match=message) as caught:
        map_table(path, schema, target="b")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_without_a_schema(tmp_path: Path) -> None:
    path = saved(tmp_path / "t.xlsx", [["a", " b ", "y"], [1, True, 3], ["4", 5.5, 6]])
    X, y, names = read_table(path, "y")
    assert (X.tolist(), y.tolist(), names) == ([[1, 1], [4, 5.5]], [3, 6], ("a", "b"))
    saved(path, [["a", "y"], [1, 3], ["few", 6]])
    with pytest.raises(InvalidInput, match=r"\(sensitive\) row 1 .*'a' holds no finite") as caught:
        read_table(path, "y")
    assert "few" not in str(caught.value)


def test_what_is_no_workbook(tmp_path: Path) -> None:
    path = as_xlsx(columns(50), tmp_path / "t.xlsx")
    content = path.read_bytes()
    for broken in (b"", b"PK\x03\x04 and no more", content[: len(content) // 2]):
        path.write_bytes(broken)
        with pytest.raises(InvalidInput, match=r"t\.xlsx: cannot be read as Excel"):
            map_table(path, SCHEMA, target="y")
    path.write_bytes(content)
    replace_in_sheet(path, b'<row r="40"', b'<row r="40')
    with pytest.raises(InvalidInput, match=r"t\.xlsx: the file is damaged"):
        map_table(path, SCHEMA, target="y")
