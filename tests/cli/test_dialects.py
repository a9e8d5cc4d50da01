"""Every command that reads a table reads every kind of file, and files as others write them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mipselect import load_instance
from mipselect.tables.moments import Moments
from tests.support.commandline import BOUNDS, Run
from tests.support.stored_tables import SCHEMA, WRITERS, Columns, as_parquet, columns

QUESTION = ("--target", "y", "--epsilon", "3")


def as_csv(table: Columns, path: Path) -> Path:
    rows = [[" " + name for name in table], *zip(*table.values(), strict=True)]
    lines = ["\t".join("" if v is None else str(v) for v in row) for row in rows]
    path.write_bytes("\r".join(lines).encode("cp1252"))
    return path


KINDS: dict[str, tuple[Callable[[Columns, Path], Path], tuple[str, ...]]] = {
    ".csv": (as_csv, ("--delimiter", "tab", "--encoding", "cp1252")),
    **{ending: (write, ()) for ending, write in WRITERS.items()},
}


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    SCHEMA.write(tmp_path / "s.json")
    return tmp_path / "s.json"


@pytest.mark.parametrize("ending", [".csv", ".sav", ".xlsx"])
def test_from_every_file_to_a_prediction(ending: str, run: Run, schema: Path) -> None:
    folder = schema.parent
    write, ways = KINDS[ending]
    path = write(columns(), folder / f"t{ending}")
    read = (path, *ways, "--schema", schema)
    size = ("--support-size", "1", "--seed", "1")
    assert run("select", *read, *QUESTION, *size).code == 0
    report = run("select", *read, *QUESTION, *size, "--json", "--dry-run").report
    assert report.get("delimiter") == ("\t" if ways else None)
    model = folder / "model.json"
    assert run("fit", *read, *QUESTION, *size, "--output", model).code == 0
    predicted = run("predict", model, path, *ways)
    plain = run("predict", model, as_parquet(columns(), folder / "t.parquet"))
    assert (predicted.code, predicted.out) == (0, plain.out)
    quality = run("evaluate", model, path, *ways, "--epsilon", "3", "--seed", "1")
    assert quality.code == 0
    made = ("--target", "y", "--output", folder / "m.npz")
    assert run("moments", *read, *made).code == 0
    expected = Moments.of(folder / "t.parquet", SCHEMA, target="y").folds
    np.testing.assert_array_equal(Moments.load(folder / "m.npz").folds, expected)


def test_an_instance_file_says_how_a_table_is_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("größe\ty\n1\t2\n3\t1\n", encoding="cp1252")
    text = "[instance]\nsupport_size = 1\n" + "".join(
        f"{name} = 1.0\n" for name in ("x_bound", "y_bound", "coef_bound", "ridge")
    )
    text += '[data]\nsource = "table"\npath = "t.csv"\ntarget = "y"\n'
    text += 'delimiter = "\\t"\nencoding = "cp1252"\n'
    (tmp_path / "i.toml").write_text(text)
    assert load_instance(tmp_path / "i.toml").feature_names == ("größe",)
    assert run("release", tmp_path / "i.toml", "--epsilon", "1").code == 0
    (tmp_path / "i.toml").write_text(text + 'sheet = "a"\n')
    run("solve", tmp_path / "i.toml").failed_with(2, "sheet is for Excel files")


@pytest.mark.parametrize("ending", [".csv", *WRITERS])
def test_tables_of_numbers(ending: str, run: Run, tmp_path: Path) -> None:
    cells: Columns = {
        name: [((3 + j) * k) % 7 - 3.0 for k in range(20)] for j, name in enumerate("abcy")
    }
    write, ways = KINDS[ending]
    path = write(cells, tmp_path / f"t{ending}")
    given = (path, *ways, *QUESTION, "--support-size", "1", *BOUNDS)
    report = run("select", *given, "--dry-run", "--json").report
    assert report["features"] == ["a", "b", "c"]
    assert run("select", *given).code == 0
    bounds = ("--x-bound", "4", "--y-bound", "4")
    fitted = run("fit", path, *ways, *QUESTION, "--support-size", "1", *bounds, "--seed", "1")
    assert fitted.code == 0


def test_another_separator_is_named_by_every_command(run: Run, schema: Path) -> None:
    path = schema.with_name("t.csv")
    path.write_text("age;dose;sex;smoking;y\n1;2;f;1;3\n")
    read = (path, "--schema", schema, *QUESTION, "--support-size", "1")
    wanted = "values seem to be separated by ';'"
    for command in (
        ("describe", path),
        ("check", path, "--schema", schema),
        ("select", *read),
        ("select", path, *QUESTION, "--support-size", "1"),
        ("select", *read, "--dry-run"),
        ("fit", *read),
        ("moments", path, "--schema", schema, "--target", "y", "--output", path.with_name("m.npz")),
    ):
        run(*command).failed_with(2, wanted, "--delimiter ';'")
