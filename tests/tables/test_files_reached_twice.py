"""A file counts once: a second name of it is refused, by whatever way it is reached."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import dataset, fs, parquet

from mipselect.errors import InvalidInput
from mipselect.tables import TableSchema
from mipselect.tables.moments import Moments
from mipselect.tables.parts import place_of, refuse_twice
from tests.support.mapped_tables import map_table

LIMITS = {"constraints": {"minimum": 0, "maximum": 9}}
FIELDS = [{"name": name, "type": "number", **LIMITS} for name in ("x", "y")]
SCHEMA = TableSchema.of({"fields": FIELDS})
ROWS = 5


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two years, each in a folder that is named by a column."""
    for year in ("2023", "2024"):
        (tmp_path / f"year={year}").mkdir()
        table = pa.table({"x": [1.0] * ROWS, "y": [2.0] * ROWS})
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


WAYS: dict[str, Callable[[Path], Any]] = {
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


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("again", [linked, hard_linked, folder_linked])
def test_a_second_name_of_a_file_is_refused(
    folder: Path, way: str, again: Callable[[Path], str]
) -> None:
    if way == "datasets together":
        assert again(folder)
    else:
        assert len(map_table(WAYS[way](folder), SCHEMA, target="y").y) == 2 * ROWS
        name = again(folder)
    source = WAYS[way](folder)
    for use in (map_table, Moments.of):
        with pytest.raises(InvalidInput, match=r"count twice") as caught:
            use(source, SCHEMA, target="y")
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
    moments = Moments.of([first(folder), other.as_uri()], SCHEMA, target="y")
    assert moments.n == 2 * ROWS
    for name, source in lists(folder):
        with pytest.raises(InvalidInput, match=r"would count twice") as caught:
            Moments.of(source, SCHEMA, target="y")
        assert str(first(folder)) in str(caught.value), name
    parquet.write_table(pa.table({"x": [1.0], "y": [2.0]}), folder / "copy.parquet")
    assert Moments.of(folder, SCHEMA, target="y").n == 2 * ROWS + 1


def test_rows_that_are_no_file_may_come_again() -> None:
    table = pa.table({"x": [1.0] * ROWS, "y": [2.0] * ROWS})
    assert Moments.of([table, table], SCHEMA, target="y").n == 2 * ROWS


def test_a_file_elsewhere_is_known_by_server_and_path() -> None:
    url, path, system = "mock://bucket/1.parquet", "bucket/1.parquet", fs._MockFileSystem()
    first = place_of(system, path, url, url)
    other = f"{url}?endpoint_override=another.example"
    refuse_twice([first, place_of(system, path, other, other)])
    with pytest.raises(InvalidInput, match=r"1\.parquet and bucket.* are one file"):
        refuse_twice([first, place_of(system, path, path, url)])
    with pytest.raises(InvalidInput, match="are one file, given twice"):
        refuse_twice([first, place_of(system, path, url, url)])
