"""Every command reads every kind of file, files as others write them, and sums of rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from mipselect import Instance, load_instance, top_supports
from mipselect.tables import TableSchema
from mipselect.tables.moments import Moments
from tests.support.commandline import BOUNDS, Run
from tests.support.stored_tables import SCHEMA, WRITERS, Columns, as_parquet, columns

QUESTION = ("--target", "y", "--epsilon", "3")


def as_csv(table: Columns, path: Path) -> Path:
    rows = [[" " + name for name in table], *zip(*table.values(), strict=True)]
    lines = ["\t".join("" if v is None else str(v) for v in row) for row in rows]
    path.write_bytes("\r".join(lines).encode())
    return path


KINDS: dict[str, tuple[Callable[[Columns, Path], Path], tuple[str, ...]]] = {
    ".csv": (as_csv, ("--delimiter", "tab")),
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
    (tmp_path / "t.csv").write_text("größe\ty\n1\t2\n3\t1\n", encoding="utf-8")
    text = "[instance]\nsupport_size = 1\n" + "".join(
        f"{name} = 1.0\n" for name in ("x_bound", "y_bound", "coef_bound", "ridge")
    )
    text += '[data]\nsource = "table"\npath = "t.csv"\ntarget = "y"\n'
    text += 'delimiter = "\\t"\n'
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
    asked = (*QUESTION, "--support-size", "1", "--epsilon", "60", "--seed", "1")
    fitted = run("fit", path, *ways, *asked)
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


BETWEEN = {"type": "number", "constraints": {"minimum": -1, "maximum": 1, "required": True}}
FIELDS = [{"name": name, **BETWEEN} for name in ("a", "b", "c", "d", "y")]


@pytest.fixture
def of_parts(tmp_path: Path) -> Path:
    (tmp_path / "t.schema.json").write_text(json.dumps({"fields": FIELDS}))
    data = tmp_path / "data"
    data.mkdir()
    rng = np.random.default_rng(0)
    for k in range(3):
        cells = {name: rng.uniform(-1, 1, 100) for name in "abcd"}
        cells["y"] = 0.6 * cells["b"] - 0.3 * cells["d"]
        parquet.write_table(pa.table(cells), data / f"{k}.parquet")
    return tmp_path


def counted(run: Run, of_parts: Path, *more: Any) -> Any:
    return run(
        "moments", of_parts / "data", "--schema", of_parts / "t.schema.json", "--target", "y",
        "--output", of_parts / "m.npz", "--replace", *more,
    )  # fmt: skip


def test_moments_of_files_are_those_of_the_table(run: Run, of_parts: Path) -> None:
    outcome = counted(run, of_parts, "--folds", 2)
    assert outcome.code == 0
    for words in ("SENSITIVE", "300 rows in 2 folds", "4 columns, 3 files", "target y"):
        assert words in outcome.out
    schema, path = of_parts / "t.schema.json", of_parts / "m.npz"
    wanted = Moments.of(of_parts / "data", TableSchema.read(schema), target="y", folds=2)
    assert (Moments.load(path).folds == wanted.folds).all()
    assert sorted(each.name for each in of_parts.iterdir()) == ["data", "m.npz", "t.schema.json"]
    files = sorted((of_parts / "data").iterdir())
    some = ("--never", "a,c", "--range", "b=-0.5:0.5", "--output", path, "--replace", "--json")
    report = run("moments", *files, "--schema", schema, "--target", "y", *some).report
    assert report["columns"] == ["b", "d"]
    assert (report["n"], report["files"], report["sensitive"]) == (300, 3, True)


def test_solve_and_release_take_the_file(run: Run, of_parts: Path) -> None:
    counted(run, of_parts)
    path, ledger = of_parts / "m.npz", of_parts / "l.ledger"
    instance = Instance.from_moments(Moments.load(path), support_size=2)
    report, best = (
        run("solve", path, "--support-size", 2, "--json").report,
        top_supports(instance, 1),
    )
    assert report["supports"][0] == best.supports[0].tolist() == [1, 3]
    assert report["values"][0] == best.values[0]
    asked = ("release", path, "--support-size", 2, "--epsilon")
    drawn = run(*asked, 50, "--json").report
    assert drawn["guarantee_of_all_draws"]["epsilon"] == 50.0
    assert (drawn["sensitive"], "sensitivity" in drawn) == (False, True)
    run("ledger", "create", ledger, "--epsilon", 3)
    sizes = ("--sizes", "1-3", "--always", "a", "--method", "exponential")
    for _ in range(2):
        assert run("release", path, "--epsilon", 1, *sizes, "--ledger", ledger).code == 0
    run(*asked, 2, "--ledger", ledger).failed_with(1, "left")
    run(*asked, 1, "--method", "kendall").failed_with(2, "sums and no rows")
    dry = run(*asked, 1, "--dry-run", "--json").report
    assert (dry["n"], dry["dry_run"]) == (300, True)
    assert dry["sensitivity"] == pytest.approx(instance.sensitivity)
