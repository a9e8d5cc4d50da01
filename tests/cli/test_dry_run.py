"""`--dry-run`: what a release would say, without a row, a draw or a charge."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from mipselect import Ledger
from tests.support.commandline import BOUNDS, INSTANCE, TABLE, Run


def select(table: Path) -> tuple[str | Path, ...]:
    return ("select", table, "--target", "y", "--support-size", "2", "--epsilon", "1", *BOUNDS)


def release(instance: str | Path) -> tuple[str | Path, ...]:
    return ("release", instance, "--epsilon", "1", "--method", "sis", "--dry-run")


def test_every_kind_of_table_has_a_header(run: Run, folder: Path) -> None:
    rows = [line.split(",") for line in TABLE.splitlines()]
    columns = {name: [float(row[j]) for row in rows[1:]] for j, name in enumerate(rows[0])}
    parquet.write_table(pa.table(columns), folder / "data.parquet")
    with gzip.open(folder / "data.csv.gz", "wt") as file:
        file.write(TABLE)
    (folder / "mark.csv").write_text("\ufeff" + TABLE)
    (folder / "quoted.csv").write_text('"a","b\r\nb",c,y\n1,2,3,4\n')
    for name in ("data.csv", "data.csv.gz", "data.parquet", "mark.csv"):
        report = run(*select(folder / name), "--dry-run", "--json").report
        assert report["features"] == ["a", "b", "c"], name
    run(*select(folder / "quoted.csv"), "--dry-run").failed_with(2, "printable line")
    run(*select(folder / "quoted.csv")).failed_with(2, "printable line")


def test_an_npz_file_is_known_by_its_head(run: Run, folder: Path) -> None:
    np.savez(folder / "data.npz", X=np.full((7, 4), np.nan), y=np.ones(7))
    text = INSTANCE[: INSTANCE.index("[data]")] + '[data]\nsource = "npz"\npath = "data.npz"\n'
    (folder / "instance.toml").write_text(text)
    report = run(*release(folder / "instance.toml"), "--json").report
    assert (report["n"], report["p"], report["features"]) == (7, 4, ["x0", "x1", "x2", "x3"])
    (folder / "data.npz").write_bytes(b"PK\x03\x04 and no more")
    run(*release(folder / "instance.toml")).failed_with(2, "data.npz")
    np.savez(folder / "data.npz", X=np.ones(7), y=np.ones(7))
    run(*release(folder / "instance.toml")).failed_with(2, "data.npz")


def test_a_wrong_header_is_one_line(run: Run, folder: Path) -> None:
    for text, message in (("", "the file is empty"), ("y\n1\n", "there is no feature")):
        (folder / "data.csv").write_text(text)
        run(*select(folder / "data.csv"), "--dry-run").failed_with(2, "data.csv", message)
        assert run(*select(folder / "data.csv")).code == 2


def test_a_seed_and_a_file(run: Run, folder: Path) -> None:
    answer = folder / "plan.json"
    outcome = run(*release("diabetes"), "--seed", "1", "--output", answer)
    assert "NOT PRIVATE" in outcome.out
    assert "no guarantee, for the draw was seeded" in outcome.out
    assert '"dry_run": true' in answer.read_text()


def test_columns_like_identifiers_are_named_before_they_are_drawn(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = "".join(f"{30_000 + k},{k % 7},{k},{k % 5}\n" for k in range(40))
    table.write_text("provnum,age,rownames,y\n" + rows)
    command = ("select", table, "--target", "y", "--support-size", "1", "--epsilon", "1")
    ways = [
        (*command, *more) for more in ((), ("--dry-run",), ("--dry-run", "--json"), ("--json",))
    ]
    for way in ways:
        assert "note: provnum, rownames look like identifiers" in run(*way).err
    table.write_text(table.read_text().replace("provnum", "height"))
    assert "note: rownames looks like an identifier" in run(*command).err
    table.write_text(table.read_text().replace("rownames", "weight"))
    assert not any("identifier" in run(*way).err for way in ways)


def test_a_draw_near_chance_is_told_before_it_is_paid_for(run: Run) -> None:
    """n of a stored instance is known before a row is read."""
    draw = ("release", "diabetes", "--epsilon")
    planned, drawn = (run(*draw, "0.001", *more) for more in (("--dry-run",), ()))
    (told,) = (line for line in planned.err.splitlines() if "near chance" in line)
    assert told in drawn.err.splitlines()
    assert "near chance" not in run(*draw, "50", "--dry-run").err


def test_a_private_number_of_rows_is_not_told_by_a_dry_run(run: Run, tmp_path: Path) -> None:
    draw = ("release", "diabetes", "--epsilon", "0.001", "--dry-run")
    for relation, told in (("replace-one", True), ("add-remove", False)):
        Ledger.create(tmp_path / relation, epsilon=1.0, relation=relation)
        assert ("near chance" in run(*draw, "--ledger", tmp_path / relation).err) is told
