"""`mipselect moments`, and `solve` and `release` from what it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from mipselect import Instance, top_supports
from mipselect.tables import TableSchema
from mipselect.tables.moments import Moments
from tests.support.commandline import Run

BETWEEN = {"type": "number", "constraints": {"minimum": -1, "maximum": 1, "required": True}}
FIELDS = [{"name": name, **BETWEEN} for name in ("a", "b", "c", "d", "y")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.schema.json").write_text(json.dumps({"fields": FIELDS}))
    data = tmp_path / "data"
    data.mkdir()
    rng = np.random.default_rng(0)
    for k in range(3):
        cells = {name: rng.uniform(-1, 1, 100) for name in "abcd"}
        cells["y"] = 0.6 * cells["b"] - 0.3 * cells["d"]
        parquet.write_table(pa.table(cells), data / f"{k}.parquet")
    return tmp_path


def counted(run: Run, folder: Path, *more: Any) -> Any:
    return run(
        "moments", folder / "data", "--schema", folder / "t.schema.json", "--target", "y",
        "--output", folder / "m.npz", "--replace", *more,
    )  # fmt: skip


def test_moments_of_files_are_those_of_the_table(run: Run, folder: Path) -> None:
    outcome = counted(run, folder, "--folds", 2)
    assert outcome.code == 0
    for words in ("SENSITIVE", "300 rows in 2 folds", "4 columns, 3 files", "target y"):
        assert words in outcome.out
    found = Moments.load(folder / "m.npz")
    schema = TableSchema.read(folder / "t.schema.json")
    wanted = Moments.of(folder / "data", schema, target="y", folds=2)
    assert (found.folds == wanted.folds).all()
    assert sorted(path.name for path in folder.iterdir()) == ["data", "m.npz", "t.schema.json"]
    files = sorted((folder / "data").iterdir())
    report = run(
        "moments", *files, "--schema", folder / "t.schema.json", "--target", "y",
        "--output", folder / "m.npz", "--replace", "--json",
        "--never", "a,c", "--range", "b=-0.5:0.5",
    ).report  # fmt: skip
    assert report["columns"] == ["b", "d"]
    assert (report["n"], report["files"], report["sensitive"]) == (300, 3, True)


def test_solve_and_release_take_the_file(run: Run, folder: Path) -> None:
    counted(run, folder)
    path = folder / "m.npz"
    instance = Instance.from_moments(Moments.load(path), support_size=2)
    report = run("solve", path, "--support-size", 2, "--json").report
    best = top_supports(instance, 1)
    assert report["supports"][0] == best.supports[0].tolist() == [1, 3]
    assert report["values"][0] == best.values[0]
    drawn = run("release", path, "--support-size", 2, "--epsilon", 50, "--json").report
    assert drawn["guarantee_of_all_draws"]["epsilon"] == 50.0
    assert drawn["sensitive"] is False
    assert "sensitivity" in drawn
    ledger = folder / "l.ledger"
    run("ledger", "create", ledger, "--epsilon", 3)
    for _ in range(2):
        paid = run(
            "release", path, "--sizes", "1-3", "--epsilon", 1, "--always", "a",
            "--method", "exponential", "--ledger", ledger, "--json",
        )  # fmt: skip
        assert paid.code == 0
    run("release", path, "--support-size", 1, "--epsilon", 2, "--ledger", ledger).failed_with(
        1, "left"
    )
    kendall = ("release", path, "--support-size", 2, "--epsilon", 1, "--method", "kendall")
    run(*kendall).failed_with(2, "sums and no rows")
    dry = run("release", path, "--support-size", 2, "--epsilon", 1, "--dry-run", "--json").report
    assert (dry["n"], dry["dry_run"]) == (300, True)
    assert dry["sensitivity"] == pytest.approx(instance.sensitivity)


def test_a_dry_run_counts_rows_and_writes_nothing(run: Run, folder: Path) -> None:
    dry = counted(run, folder, "--dry-run", "--json").report
    assert (dry["n"], dry["files"], dry["dry_run"]) == (300, 3, True)
    assert not (folder / "m.npz").exists()
