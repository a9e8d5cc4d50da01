"""SPSS, Stata, SAS and Excel: the same moments as from Parquet, and rows that move alone."""

from __future__ import annotations

import datetime
import struct
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyreadstat
import pytest
from openpyxl.styles import PatternFill

from mipselect.errors import InvalidInput
from mipselect.tables import TableFile, TableSchema, foreign_files
from mipselect.tables.moments import Moments
from mipselect.tables.numbers import read_table
from mipselect.tables.sources import open_source
from tests.support.fields import listed, numeric, schema_of
from tests.support.mapped_tables import map_table
from tests.support.stored_tables import SCHEMA, WRITERS, as_parquet, as_xlsx, columns

STAT = [".sav", ".zsav", ".dta", ".xpt"]


def moments(source: Any) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return Moments.of(source, SCHEMA, target="y").folds


@pytest.mark.parametrize("ending", [*STAT, ".xlsx"])
def test_the_same_moments_bit_for_bit(ending: str, tmp_path: Path) -> None:
    table = columns()
    expected = moments(as_parquet(table, tmp_path / "t.parquet"))
    stored = WRITERS[ending](table, tmp_path / f"t{ending}")
    np.testing.assert_array_equal(moments(stored), expected)
    np.testing.assert_array_equal(moments(TableFile(stored)), expected)
    other = columns()
    other["dose"][3] = 0.5 if other["dose"][3] != 0.5 else -0.5
    changed = WRITERS[ending](other, tmp_path / f"other{ending}")
    assert (moments(changed) != expected).any()


@pytest.mark.parametrize("ending", [*STAT, ".xlsx"])
def test_many_pieces_are_one_table(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = columns()
    stored = WRITERS[ending](table, tmp_path / f"t{ending}")
    whole = map_table(stored, SCHEMA, target="y")
    for rows, cells in ((7, 35), (200, 1), (100, 1), (1, 500)):
        monkeypatch.setattr(foreign_files, "ROWS", rows)
        for most in ("CELLS", "CELLS_OF_STAT"):
            monkeypatch.setattr(foreign_files, most, cells)
        sizes = [batch.num_rows for batch in open_source(stored)[0].read(("age", "y"))]
        assert sum(sizes) == 200
        assert max(sizes) <= (max(1, cells // 5) if ending == ".xlsx" else rows)
        np.testing.assert_array_equal(map_table(stored, SCHEMA, target="y").X, whole.X)


ODD = [None, -9, -8, 1e300, -1e300, 0.1, 2**40, 17.5, -0.0, 3]


@pytest.mark.parametrize("ending", STAT)
def test_one_row_moves_alone(ending: str, tmp_path: Path) -> None:
    table = columns(40)
    before = map_table(WRITERS[ending](table, tmp_path / f"a{ending}"), SCHEMA, target="y")
    others = np.arange(40) != 11
    moved = 0
    for k, odd in enumerate(ODD):
        for name, value in (("age", odd), ("smoking", odd), ("dose", odd), ("sex", "x" * k)):
            changed = {key: list(cells) for key, cells in table.items()}
            # SAS has no number beyond 7e75.
            changed[name][11] = 1e70 if ending == ".xpt" and value == 1e300 else value
            if ending == ".xpt" and value == -1e300:
                changed[name][11] = -1e70
            stored = WRITERS[ending](changed, tmp_path / f"b{ending}")
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                after = map_table(stored, SCHEMA, target="y")
            np.testing.assert_array_equal(after.X[others], before.X[others])
            np.testing.assert_array_equal(after.y[others], before.y[others])
            moved += bool((after.X[11] != before.X[11]).any())
    assert moved > 20


@pytest.mark.parametrize("ending", [".sav", ".dta", ".xpt"])
def test_bytes_that_are_no_letters_are_a_value_in_no_list(ending: str, tmp_path: Path) -> None:
    table = columns(40)
    table["sex"] = ["QQ" if k == 11 else cell for k, cell in enumerate(table["sex"])]
    stored = WRITERS[ending](table, tmp_path / f"a{ending}")
    before = map_table(stored, SCHEMA, target="y").X
    content = stored.read_bytes()
    assert content.count(b"QQ") == 1
    for two in (b"\xff\xfe", b"\xc3\xc3", b"\x80\x81", b"\xe9Q"):
        stored.write_bytes(content.replace(b"QQ", two))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            after = map_table(stored, SCHEMA, target="y").X
        np.testing.assert_array_equal(after, before)


def test_names_and_texts_in_any_language(tmp_path: Path) -> None:
    name = "größe"
    cells = pd.DataFrame({name: ["é" * 120, "年", "x"], "y": [0.0, 0.5, 1.0]})
    pyreadstat.write_sav(cells, tmp_path / "t.sav", column_labels={name: "Größe in cm"})
    pyreadstat.write_dta(cells, tmp_path / "t.dta", column_labels={name: "Größe in cm"})
    schema = schema_of(listed(name, "é" * 120, "年"), numeric("y", 0, 1))
    for ending in (".sav", ".dta"):
        begun = TableSchema.skeleton(tmp_path / f"t{ending}").content["fields"][0]
        assert begun == {"name": name, "type": "string", "title": "Größe in cm"}
        X = map_table(tmp_path / f"t{ending}", schema, target="y").X
        assert X[:, 0].tolist() == [-1, 1, 0]


WHEN = datetime.datetime(2020, 1, 31, 12, 30)


def test_dates_are_dates_and_beyond_the_calendar_there_is_none(tmp_path: Path) -> None:
    days = [WHEN.date(), datetime.date(1900, 5, 5), None]
    times = [WHEN, datetime.datetime(1900, 5, 5), None]
    cells = pd.DataFrame({"day": days, "time": times})
    pyreadstat.write_sav(cells, tmp_path / "t.sav")
    pyreadstat.write_dta(cells, tmp_path / "t.dta")
    pyreadstat.write_xport(cells, tmp_path / "t.xpt")
    for ending in (".sav", ".dta", ".xpt"):
        part = open_source(tmp_path / f"t{ending}")[0]
        assert [field["type"] for field in part.fields] == ["date", "datetime"], ending
        assert written(tmp_path / f"t{ending}", "day", "time") == [days, times]
    odd = pd.DataFrame({"day": [0.0, 1e300, -1e300, 1e12, 86400.75 + 86399]})
    pyreadstat.write_sav(odd, tmp_path / "t.sav", variable_format={"day": "DATE11"})
    known = [datetime.date(1582, 10, 14), None, None, None, datetime.date(1582, 10, 15)]
    assert written(tmp_path / "t.sav", "day") == [known]


def test_a_long_range_of_codes_is_no_value(tmp_path: Path) -> None:
    cells = pd.DataFrame({"income": [100.0, -1.0, -1.5, -1e9, 0.0]})
    ranges: dict[str, Any] = {"income": [{"lo": -1.7e308, "hi": -1}]}
    pyreadstat.write_sav(cells, tmp_path / "t.sav", missing_ranges=ranges)
    assert open_source(tmp_path / "t.sav")[0].fields == ({"type": "number"},)
    assert written(tmp_path / "t.sav", "income") == [[100.0, None, None, None, 0.0]]


@pytest.mark.parametrize(
    ("ending", "package", "extra"), [(".sav", "pyreadstat", "stat"), (".xlsx", "openpyxl", "excel")]
)
def test_a_package_that_is_not_there_is_named(
    ending: str, package: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = WRITERS[ending](columns(4), tmp_path / f"t{ending}")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InvalidInput, match=rf"need {package}: pip install 'mipselect\[{extra}\]'"):
        open_source(stored)


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


def sheet_of(path: Path) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return map_table(path, FIELDS, target="y").X


HEAD = ["dose", "code", "flag", "y"]


def test_what_cells_stand_for(tmp_path: Path) -> None:
    plain, none = [-0.5, 0, 1, 0, 0, 0, 0, 1, 0], [0, 1, 0, 0, 0, 0, 1, 0, 1]
    cells: list[tuple[list[Any], list[float]]] = [
        ([1, 7, True], plain), (["1", "7", "true"], plain), ([1.0, 7.0, 1], plain),
        ([3.5, datetime.datetime(2020, 1, 31), False], [0.75, 0, 0, 0, 1, 0, 0, -1, 0]),
        ([None, None, None], none), (["#N/A", "#N/A", "#VALUE!"], none),
        (["much", "y", "maybe"], [0, 1, 0, 0, 0, 0, 0, 0, 0]),
        ([True, True, True], [-0.5, 0, 0, 0, 0, 1, 0, 1, 0]),
        ([1e300, datetime.time(12), 2], [1, 0, 0, 0, 0, 0, 0, 0, 0]),
    ]  # fmt: skip
    path = tmp_path / "t.xlsx"
    X = sheet_of(saved(path, [HEAD, *([*row, 0.5] for row, _ in cells)]))
    assert X.tolist() == [mapped for _, mapped in cells]
    # Of a formula its value counts, as Excel would have stored it.
    saved(path, [HEAD, ["=1+1", 7, True, 0.5], [2, 7, True, 0.5]])
    replace_in_sheet(path, b"<f>1+1</f><v></v>", b"<f>1+1</f><v>2</v>")
    X = sheet_of(path)
    assert X[0].tolist() == X[1].tolist()
    # What a sheet says of its size need not be right.
    X = sheet_of(saved(path, [HEAD, [1] * 4, [2] * 4]))
    replace_in_sheet(path, b'<dimension ref="A1:D3"', b'<dimension ref="A1:B2"')
    np.testing.assert_array_equal(sheet_of(path), X)
    # A date that is none warns nobody.
    before = sheet_of(saved(path, [HEAD, [1, datetime.datetime(2020, 1, 31), True, 1], [1] * 4]))
    replace_in_sheet(path, b"<v>43861</v>", b"<v>99999999</v>")
    after = sheet_of(path)
    np.testing.assert_array_equal(after[1], before[1])
    assert after[0, 2:7].tolist() == [0, 0, 0, 0, 1]


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


ODD_CELLS = [None, "x" * 300, "7", 7.0, 1e300, True, "#N/A", "=1/0", "=", "", " ", -9, 2**70]
ODD_CELLS += [datetime.datetime(2020, 1, 31, 12), datetime.date(1900, 1, 1), datetime.timedelta(1)]


def test_one_row_of_a_sheet_moves_alone(tmp_path: Path) -> None:
    rows = [[k / 8, ["7", "x"][k % 2], k % 3 == 0, k / 20] for k in range(20)]
    before = sheet_of(saved(tmp_path / "t.xlsx", [HEAD, *rows]))
    for at in (0, 7):
        for odd in ODD_CELLS:
            after = sheet_of(
                saved(tmp_path / "t.xlsx", [HEAD, *rows[:at], [odd] * 4, *rows[at + 1 :]])
            )
            others = np.arange(20) != at
            np.testing.assert_array_equal(after[others], before[others])
            assert (after[at] != before[at]).any()


def test_rows_without_values_count_up_to_the_last_one_with_one(tmp_path: Path) -> None:
    path = saved(tmp_path / "t.xlsx", [HEAD, [1] * 4, [None] * 4, [None] * 4, [2] * 4])
    X = sheet_of(path)
    assert X[:, 1].tolist() == [0, 1, 1, 0]
    book = openpyxl.load_workbook(path)
    for row in range(6, 60):
        book.worksheets[0].cell(row, 1).fill = PatternFill("solid", fgColor="FF0000")
        book.worksheets[0].cell(row, 9, "beside the table")
    book.save(path)
    np.testing.assert_array_equal(sheet_of(path), X)


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
    cells = {"a": [1.0, 2.0, -9.0], "y": [1.0, 2.0, 3.0]}
    pyreadstat.write_sav(pd.DataFrame(cells), tmp_path / "t.sav")
    pyreadstat.write_dta(pd.DataFrame(cells), tmp_path / "t.dta")
    for ending in (".sav", ".dta"):
        X, y, names = read_table(tmp_path / f"t{ending}", "y")
        assert (X.tolist(), y.tolist(), names) == ([[1], [2], [-9]], [1, 2, 3], ("a",))
    path = saved(tmp_path / "t.xlsx", [["a", " b ", "y"], [1, True, 3], ["4", 5.5, 6]])
    X, y, names = read_table(path, "y")
    assert (X.tolist(), y.tolist(), names) == ([[1, 1], [4, 5.5]], [3, 6], ("a", "b"))
    pyreadstat.write_sav(pd.DataFrame(cells), tmp_path / "t.sav", missing_ranges={"a": [-9]})
    saved(path, [["a", "y"], [1, 3], ["few", 6]])
    for name, row in (("t.sav", 2), ("t.xlsx", 1)):
        message = rf"\(sensitive\) row {row} .*'a' holds no finite number"
        with pytest.raises(InvalidInput, match=message) as caught:
            read_table(tmp_path / name, "y")
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


def written(found: Any, *columns: str) -> list[list[Any]]:
    """Cells of the first batch of a file."""
    batch = next(iter(open_source(found)[0].read(columns)))
    return [batch.column(k).to_pylist() for k in range(len(columns))]


def test_old_files_of_spss_and_stata_do_not_say_their_letters(tmp_path: Path) -> None:
    cells = pd.DataFrame({"s": ["e#", "x"], "y": [0.0, 1.0]})
    pyreadstat.write_dta(cells, tmp_path / "t.dta", version=10)
    pyreadstat.write_sav(cells, tmp_path / "t.sav")
    for name in ("t.dta", "t.sav"):
        content = (tmp_path / name).read_bytes().replace(b"e#", b"\xe9 ")
        # The records of the encoding, 20, and of its number, 3, become such as nobody knows.
        for kind, size, count in ((20, 1, 5), (3, 4, 8)) if name == "t.sav" else ():
            record = struct.pack("<4i", 7, kind, size, count)
            assert content.count(record) == 1
            content = content.replace(record, struct.pack("<4i", 7, 90 + kind, size, count))
        (tmp_path / name).write_bytes(content)
        (texts,) = written(tmp_path / name, "s")
        assert [text.strip() for text in texts] == ["é".encode(), b"x"]


@pytest.mark.parametrize("ending", [*STAT, ".sas7bdat"])
def test_what_is_no_such_file_or_damaged_is_one_line(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{ending}"
    for content in (b"", b"age,y\n1,2\n" * 100, bytes(5000)):
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match="cannot be read"):
            open_source(path)
    if ending == ".sas7bdat":
        return
    content = WRITERS[ending](columns(40), path).read_bytes()
    # SAS does not say how many rows there are.
    for cut in (0, 10, 200, *([] if ending == ".xpt" else [len(content) - 700])):
        path.write_bytes(content[:cut])
        with pytest.raises(InvalidInput) as caught:
            map_table(path, SCHEMA, target="y")
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)
