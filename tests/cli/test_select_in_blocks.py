"""`mipselect select` without a bound: blocks of rows, of tables of numbers and stored instances."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mipselect import Instance, top_supports
from mipselect.privacy import Ledger
from mipselect.problem.stored.files import load_problem
from tests.support.commandline import Run

BLOCKS = """
[instance]
support_size = 2
score = "blocks"
block_rows = 3
partitions = 5
partition_seed = 1

[data]
source = "table"
path = "t.csv"
target = "y"
"""


def skewed(n: int = 600) -> np.ndarray:
    """Columns a..e of a lognormal table and a target that a and d make up."""
    X = np.random.default_rng(0).lognormal(size=(n, 5))
    return np.column_stack([X, X[:, 0] - X[:, 3]])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    np.savetxt(path, skewed(), fmt="%.17g", delimiter=",", header="a,b,c,d,e,y", comments="")
    return path


def select(table: Path, *more: str) -> tuple[Any, ...]:
    return ("select", table, "--target", "y", "--support-size", "2", "--epsilon", "20", *more)


def test_target_size_and_epsilon_are_enough(run: Run, table: Path) -> None:
    outcome = run(*select(table, "--json"))
    assert outcome.err == ""
    report = outcome.report
    assert report["releases"][0]["feature_names"] == ["a", "d"]
    assert report["private"] is True
    told = ("score", "block_rows", "partitions", "sensitivity", "coef_bound", "ridge", "loss")
    assert [report[name] for name in told] == ["block-r2", 55, 8, 1.0, None, None, None]
    text = run(*select(table)).out
    assert "Score: R² within blocks of 55 rows, in 8 partitions, for supports that can" in text
    assert "no ranges were used" in text
    plan = run(*select(table, "--dry-run", "--json")).report
    assert [plan[name] for name in told] == ["block-r2", *[None] * 6]
    assert "follows from n and ε" in run(*select(table, "--dry-run")).out
    given = run(*select(table, "--score", "block-r2", "--block-rows", "8", "--json")).report
    assert (given["block_rows"], given["partitions"]) == (8, 8)


def test_least_squares_on_blocks(run: Run, table: Path) -> None:
    outcome = run(*select(table, "--score", "blocks", "--json"))
    assert outcome.err == ""
    report = outcome.report
    assert report["releases"][0]["feature_names"] == ["a", "d"]
    assert report["private"] is True
    assert (report["score"], report["block_rows"], report["partitions"]) == ("blocks", 2, 16)
    assert (report["x_bound"], report["y_bound"], report["ridge"]) == (None, None, 1.0)
    assert report["coef_bound"] == pytest.approx(0.75 * 2**-0.5)
    assert report["sensitivity"] == pytest.approx(0.5 * 1.75**2 / 300)
    text = run(*select(table, "--score", "blocks")).out
    assert "Score: least squares on blocks of 2 rows, in 16 partitions, for any" in text
    plan = run(*select(table, "--score", "blocks", "--dry-run", "--json")).report
    assert (plan["score"], plan["n"], plan["sensitivity"]) == ("blocks", None, None)


def test_options_of_blocks_are_recorded(run: Run, table: Path) -> None:
    more = ("--block-rows", "4", "--partitions", "3", "--coef-bound", "0.3", "--ridge", "2")
    report = run(*select(table, "--score", "blocks", *more, "--json")).report
    told = ("block_rows", "partitions", "coef_bound", "ridge")
    assert [report[name] for name in told] == [4, 3, 0.3, 2.0]
    sized = run(
        *("select", table, "--target", "y", "--sizes", "1-3", "--epsilon", "9", "--json")
    ).report
    assert sized["coef_bound"] == pytest.approx(0.75 * 3**-0.5)
    for method in ("top-r", "mistakes"):
        answer = run(*select(table, "--method", method, "--json")).report
        assert answer["score"] == "blocks"
        assert answer["releases"][0]["feature_names"] == ["a", "d"]


@pytest.mark.parametrize(
    ("more", "fragment"),
    [
        (("--score", "blocks", "--x-bound", "1"), "--x-bound goes with --score loss"),
        (("--score", "blocks", "--target-shift", "1"), "--target-shift goes with --score loss"),
        (("--score", "blocks", "--loss", "hinge"), "--loss goes with --score loss"),
        (("--score", "r2"), "--score must be one of 'blocks', 'block-r2', 'loss'"),
        (
            ("--score", "loss", "--block-rows", "2"),
            "--block-rows goes with scores from blocks",
        ),
        (
            ("--x-bound", "1", "--partitions", "2"),
            "--partitions goes with scores from blocks",
        ),
        (("--block-rows", "1"), "block_rows must be an integer in 2..256, got 1"),
        (("--coef-bound", "1"), "--x-bound, --y-bound, --ridge must be given"),
        (("--method", "sis", "--score", "blocks"), "--score does not apply to --method sis"),
        (("--method", "kendall", "--block-rows", "2"), "does not apply to --method kendall"),
        (("--method", "top-r", "--score", "block-r2"), "goes with exact draws of one size"),
        (("--score", "block-r2", "--ridge", "1"), "ridge goes with score 'blocks'"),
        (("--score", "block-r2", "--block-rows", "4"), "block_rows must be an integer ≥ 5"),
        (("--block-rows", "256", "--features", "a,b"), ""),
    ],
)
def test_what_does_not_go_together(
    run: Run, table: Path, more: tuple[str, ...], fragment: str
) -> None:
    if fragment:
        run(*select(table, *more)).failed_with(2, fragment)
    else:
        assert run(*select(table, *more)).code == 0


def test_too_few_rows_for_a_block(run: Run, table: Path) -> None:
    table.write_text("a,b,c,d,e,y\n1,2,3,4,5,6\n")
    run(*select(table)).failed_with(2, "block")


def test_a_ledger_under_add_remove_wants_a_loss(run: Run, table: Path, tmp_path: Path) -> None:
    books = tmp_path / "a.ledger"
    Ledger.create(books, epsilon=50.0, relation="add-remove", unit="person")
    run(*select(table, "--ledger", str(books))).failed_with(2, "--score blocks needs none")
    run(*select(table, "--ledger", str(books), "--score", "blocks")).failed_with(
        2, "for replacing one row", "--score loss"
    )
    other = tmp_path / "b.ledger"
    ledger = Ledger.create(other, epsilon=50.0, unit="person")
    assert run(*select(table, "--ledger", str(other))).code == 0
    asked = ledger.entries[0].asked
    assert (asked["score"], asked["partitions"]) == ("block-r2", 8)
    assert "block_rows" in asked


def test_an_instance_file_of_blocks(run: Run, table: Path) -> None:
    path = table.with_name("i.toml")
    path.write_text(BLOCKS)
    stored = load_problem(path)
    data = skewed()
    same = Instance.from_blocks(
        data[:, :5], data[:, 5], support_size=2, block_rows=3, partitions=5, partition_seed=1
    )
    best = top_supports(same, 3)
    solved = run("solve", path, "--json").report
    assert solved["best"]["support"] == best.supports[0].tolist()
    assert solved["best"]["value"] == best.values[0]
    assert top_supports(stored.instance(), 3).values.tolist() == best.values.tolist()
    report = run("release", path, "--epsilon", "20", "--json").report
    assert report["releases"][0]["feature_names"] == ["a", "d"]
    plan = run("release", path, "--epsilon", "20", "--dry-run").out
    assert "blocks of 3 rows, in 5 partitions" in plan
    assert run("release", path, "--epsilon", "20", "--method", "kendall").code == 0
    run("release", path, "--epsilon", "20", "--method", "sis").failed_with(2, "must be given")
    assert run("compare", path, "--json").report["instances"]


@pytest.mark.parametrize(
    ("old", "new", "fragment"),
    [
        ('"blocks"', '"block"', "score must be one of 'blocks', 'block-r2', 'loss'"),
        ('score = "blocks"', 'score = "blocks"\nx_bound = 1.0', "x_bound does not apply to score"),
        ('score = "blocks"', 'score = "blocks"\nintercept = true', "leave out intercept"),
        ('score = "blocks"', 'score = "blocks"\nloss = "hinge"', "leave out loss"),
        ("block_rows = 3", "block_rows = 1", "block_rows must be an integer in 2..256"),
        ("partition_seed = 1", "partition_seed = -1", "partition_seed must be an integer"),
        ("partitions = 5", 'partitions = "5"', "must be an integer"),
    ],
)
def test_wrong_files_of_blocks(run: Run, table: Path, old: str, new: str, fragment: str) -> None:
    path = table.with_name("i.toml")
    path.write_text(BLOCKS.replace(old, new))
    run("release", path, "--epsilon", "1").failed_with(2, str(path), fragment)


def test_a_schema_needs_no_ranges(run: Run, table: Path) -> None:
    fields = [{"name": name, "type": "number"} for name in "abcdey"]
    schema = table.with_name("schema.json")
    schema.write_text(json.dumps({"fields": fields}))
    question = ("--schema", str(schema))
    report = run(*select(table, *question, "--json")).report
    assert report["releases"][0]["feature_names"] == ["a", "d"]
    plan = run(*select(table, *question, "--dry-run", "--json")).report
    assert (plan["score"], plan["features"]) == ("block-r2", list("abcde"))
    for more in (("--score", "loss"), ("--ridge", "1"), ("--no-intercept",), ("--loss", "squared")):
        run(*select(table, *question, *more)).failed_with(2, "needs constraints.minimum")
    for more in (("--range", "a=0:1"), ("--no-intercept",)):
        run(*select(table, *question, "--score", "blocks", *more)).failed_with(
            2, "goes with --score loss"
        )
    always = run(*select(table, *question, "--always", "a", "--never", "b", "--json")).report
    assert (always["features"], always["always"]) == (["c", "d", "e"], ["a"])
