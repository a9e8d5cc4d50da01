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
from mipselect.blocks import partitions
from mipselect.blocks.partitions import Blocks
from mipselect.errors import InvalidInput
from mipselect.tables import TableSchema
from mipselect.tables.moments import Moments
from mipselect.tables.moments.columns import TableBlockColumns
from mipselect.tables.public_map import TableQuestion
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
    dry = run("release", path, "--support-size", 2, "--epsilon", 1, "--dry-run", "--json").report
    assert (dry["n"], dry["dry_run"]) == (300, True)
    assert dry["sensitivity"] == pytest.approx(instance.sensitivity)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("release", "m.npz", "--epsilon", 1), "one of --support-size"),
        (("release", "m.npz", "--epsilon", 1, "--support-size", 9), "in 1..4"),
        (("release", "m.npz", "--epsilon", 1, "--support-size", 2, "--always", "z"), "no field"),
        (("solve", "absent.npz", "--support-size", 2), "no such file"),
        (("solve", "data/0.npz", "--support-size", 2), "no file of moments"),
        (("solve", "diabetes", "--support-size", 2), "--support-size is for moments"),
        (
            ("release", "m.npz", "--epsilon", 1, "--support-size", 2, "--method", "kendall"),
            "sums and no rows",
        ),
    ],
)
def test_what_is_wrong_with_the_question_is_one_line(
    run: Run, folder: Path, arguments: Any, message: str, monkeypatch: Any
) -> None:
    counted(run, folder)
    (folder / "data" / "0.npz").write_bytes(b"PK")
    monkeypatch.chdir(folder)
    run(*arguments).failed_with(2, message)


def test_what_is_wrong_with_the_table_is_one_line(run: Run, folder: Path) -> None:
    schema, out = folder / "t.schema.json", folder / "m.npz"
    file = folder / "data" / "0.parquet"
    for arguments, message in (
        ((folder / "data", "--target", "y", "--output", out), "--schema must be given"),
        ((folder / "data", "--schema", schema, "--target", "z", "--output", out), "no field 'z'"),
        ((folder / "data", "--schema", schema, "--target", "y", "--output", schema), "end in .npz"),
        ((file, file, "--schema", schema, "--target", "y", "--output", out), "given twice"),
        ((folder / "none", "--schema", schema, "--target", "y", "--output", out), "no such file"),
    ):
        run("moments", *arguments).failed_with(2, message)
    assert not out.exists()
    dry = counted(run, folder, "--dry-run", "--json").report
    assert (dry["n"], dry["files"], dry["dry_run"]) == (300, 3, True)
    assert not out.exists()


PLAIN = [{"name": name, "type": "number"} for name in ("a", "b", "c", "d", "y")]


@pytest.fixture
def without_ranges(folder: Path) -> Path:
    (folder / "t.schema.json").write_text(json.dumps({"fields": PLAIN}))
    return folder


def schema_of(folder: Path) -> TableSchema:
    return TableSchema.read(folder / "t.schema.json")


@pytest.mark.parametrize("block_rows", [2, 5])
def test_moments_of_blocks_are_those_of_the_table(
    run: Run, without_ranges: Path, block_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same partitions, whatever files the rows are in."""
    folder = without_ranges
    monkeypatch.setattr(partitions.secrets, "randbits", lambda _: 7)
    more = ("--score", "blocks", "--block-rows", block_rows, "--partitions", 3)
    outcome = counted(run, folder, *more)
    assert outcome.code == 0
    for words in ("SENSITIVE", "300 rows", "3 files", f"Blocks of {block_rows} rows, in 3"):
        assert words in outcome.out
    path = folder / "m.npz"
    columns = TableBlockColumns(
        TableQuestion(schema_of(folder), "y"), Blocks(block_rows, 3, seed=7)
    )
    wanted = Moments.of_blocks(folder / "data", columns)
    assert (Moments.load(path).matrix == wanted.matrix).all()
    assert b"seed" not in path.read_bytes()
    same = Instance.from_blocks(
        folder / "data", schema=schema_of(folder), target="y", support_size=2,
        block_rows=block_rows, partitions=3, partition_seed=7,
    )  # fmt: skip
    solved = run("solve", path, "--support-size", 2, "--pool-size", "all", "--json")
    assert solved.err == ""
    report = solved.report
    pool = top_supports(same, "all")
    assert "in_units" not in report["best"]
    assert run("solve", path, "--support-size", 2).code == 0
    assert (report["supports"], report["values"]) == (pool.supports.tolist(), pool.values.tolist())
    drawn = run("release", path, "--support-size", 2, "--epsilon", 50, "--json").report
    told = ("score", "block_rows", "partitions", "n", "sensitivity", "x_bound")
    assert [drawn[name] for name in told] == ["blocks", block_rows, 3, 300, same.sensitivity, None]
    assert drawn["releases"][0]["feature_names"] == ["b", "d"]
    dry = run("release", path, "--support-size", 2, "--epsilon", 1, "--dry-run")
    assert f"rows of a block: {block_rows}; partitions into blocks: 3" in dry.out
    ledger = folder / "l.ledger"
    run("ledger", "create", ledger, "--epsilon", 3, "--relation", "add-remove")
    run("release", path, "--support-size", 2, "--epsilon", 1, "--ledger", ledger).failed_with(
        2, "add-remove"
    )


def test_blocks_of_several_sites_add_up(run: Run, without_ranges: Path) -> None:
    """Each site divides its rows by itself; the sum has their blocks, and n counts all rows."""
    folder = without_ranges
    parts = []
    for site in range(3):
        out = folder / f"{site}.npz"
        report = run(
            "moments", folder / "data" / f"{site}.parquet", "--schema", folder / "t.schema.json",
            "--target", "y", "--score", "blocks", "--block-rows", 3, "--output", out, "--json",
        ).report  # fmt: skip
        assert [report[name] for name in ("n", "score", "block_rows", "partitions")] == [
            *(100, "blocks", 3, 16),
        ]
        parts.append(Moments.load(out))
    together = parts[0] + parts[1] + parts[2]
    assert together.n == 300
    # 33 blocks of each site, each of whose targets has a square of 1.
    target = together.matrix[-1, -1] / 2.0**32 / 16
    assert target == pytest.approx(99, rel=1e-3)
    together.save(folder / "all.npz")
    drawn = run("release", folder / "all.npz", "--support-size", 2, "--epsilon", 50, "--json")
    assert drawn.report["releases"][0]["feature_names"] == ["b", "d"]
    instance = Instance.from_moments(together, support_size=2)
    assert drawn.report["sensitivity"] == instance.sensitivity == 0.5 * 1.75**2 / 100
    other = run(
        "moments", folder / "data", "--schema", folder / "t.schema.json", "--target", "y",
        "--score", "blocks", "--block-rows", 2, "--output", folder / "other.npz",
    )  # fmt: skip
    assert other.code == 0
    with pytest.raises(InvalidInput, match="cannot be added"):
        together + Moments.load(folder / "other.npz")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--score", "block-r2"), "sums are not enough: 'mipselect select --score block-r2'"),
        (("--score", "blocks", "--folds", 2), "--folds goes with --score loss"),
        (("--score", "blocks", "--range", "a=0:1"), "--range goes with --score loss"),
        (("--block-rows", 4), "--block-rows goes with scores from blocks"),
        (("--score", "blocks", "--block-rows", 1), "block_rows must be an integer in 2..256"),
        (("--score", "blocks", "--block-rows", 256), ""),
        (("--score", "r2"), "--score must be one of"),
        ((), "needs constraints.minimum"),
    ],
)
def test_what_does_not_go_with_blocks(
    run: Run, without_ranges: Path, more: tuple[Any, ...], message: str
) -> None:
    for dry in ((), ("--dry-run",)):
        if message:
            counted(run, without_ranges, *more, *dry).failed_with(2, message)
            assert not (without_ranges / "m.npz").exists()
        else:
            assert counted(run, without_ranges, *more, *dry).code == 0


def test_people_and_too_few_rows_are_refused(run: Run, without_ranges: Path) -> None:
    folder = without_ranges
    schema = {"fields": PLAIN, "csvw-eo:privacyUnit": "a"}
    (folder / "t.schema.json").write_text(json.dumps(schema))
    counted(run, folder, "--score", "blocks", "--dry-run").failed_with(2, "rows of one person")
    (folder / "t.schema.json").write_text(json.dumps({"fields": PLAIN}))
    (folder / "one.csv").write_text("a,b,c,d,y\n1,2,3,4,5\n")
    run(
        "moments", folder / "one.csv", "--schema", folder / "t.schema.json", "--target", "y",
        "--score", "blocks", "--output", folder / "m.npz",
    ).failed_with(2, "1 row is no block of 2 rows")  # fmt: skip
