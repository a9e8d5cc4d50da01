"""`mipselect select` without a bound: blocks of rows, of tables of numbers and with a schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mipselect.privacy import Ledger
from tests.support.commandline import Run
from tests.support.fields import listed


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
    assert outcome.unforeseen == ""
    report = outcome.report
    assert report["releases"][0]["feature_names"] == ["a", "d"]
    assert report["private"] is True
    told = ("score", "block_rows", "partitions", "sensitivity", "coef_bound", "ridge", "loss")
    assert [report[name] for name in told] == ["block-r2", 55, 8, 1.0, None, None, None]
    text = run(*select(table)).out
    assert "score: block-r2; rows of a block: 55; partitions into blocks: 8;" in text
    plan = run(*select(table, "--dry-run", "--json")).report
    assert [plan[name] for name in told] == ["block-r2", *[None] * 6]
    assert "score: block-r2;" in run(*select(table, "--dry-run")).out
    given = run(*select(table, "--score", "block-r2", "--block-rows", "8", "--json")).report
    assert (given["block_rows"], given["partitions"]) == (8, 8)


def test_least_squares_on_blocks(run: Run, table: Path) -> None:
    outcome = run(*select(table, "--score", "blocks", "--json"))
    assert outcome.unforeseen == ""
    report = outcome.report
    assert report["releases"][0]["feature_names"] == ["a", "d"]
    assert report["private"] is True
    assert (report["score"], report["block_rows"], report["partitions"]) == ("blocks", 2, 16)
    assert (report["x_bound"], report["y_bound"], report["ridge"]) == (None, None, 1.0)
    assert report["coef_bound"] == pytest.approx(0.75 * 2**-0.5)
    assert report["sensitivity"] == pytest.approx(0.5 * 1.75**2 / 300)
    text = run(*select(table, "--score", "blocks")).out
    assert "score: blocks; rows of a block: 2; partitions into blocks: 16;" in text
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


def test_a_ledger_under_add_remove_wants_a_ridge_for_any_n(
    run: Run, table: Path, tmp_path: Path
) -> None:
    file = tmp_path / "budget.db"
    Ledger.create(file, epsilon=20.0, relation="add-remove")
    bounds = ("--x-bound", "20", "--y-bound", "20", "--coef-bound", "1", "--ledger", file)
    run(*select(table, *bounds, "--ridge", "0.001")).failed_with(
        2, "so small a ridge is for replacing one row", "a --ridge of at least 0.0"
    )
    assert Ledger.open(file).spent.epsilon == 0.0
    assert run(*select(table, *bounds, "--ridge", "0.1")).code == 0
    assert Ledger.open(file).spent.epsilon == 10.0


def test_a_schema_needs_no_ranges(run: Run, table: Path) -> None:
    fields = [{"name": name, "type": "number"} for name in "abcdey"]
    schema = table.with_name("schema.json")
    schema.write_text(json.dumps({"fields": fields}))
    question = ("--schema", str(schema))
    report = run(*select(table, *question, "--json")).report
    assert report["releases"][0]["feature_names"] == ["a", "d"]
    plan = run(*select(table, *question, "--dry-run", "--json")).report
    assert (plan["score"], plan["features"]) == ("block-r2", list("abcde"))
    always = run(*select(table, *question, "--always", "a", "--never", "b", "--json")).report
    assert (always["features"], always["always"]) == (["c", "d", "e"], ["a"])


def test_two_classes_come_from_blocks(run: Run, table: Path) -> None:
    """Without ranges, beside a category too; with a bound it is the loss."""
    rows = [line.split(",") for line in table.read_text().splitlines()]
    lines = [",".join([*row[:4], "red", str(float(row[5]) > 0.0).lower()]) for row in rows[1:]]
    table.write_text("\n".join(["a,b,c,d,e,y", *lines]))
    numbers: list[dict[str, Any]] = [{"name": name, "type": "number"} for name in "abcd"]
    target = {"name": "y", "type": "boolean", "constraints": {"required": True}}
    colour = listed("e", "red", "blue", "green")
    schema = table.with_name("schema.json")
    schema.write_text(json.dumps({"fields": [*numbers, colour, target]}))
    question = ("--schema", str(schema))
    fit = ("fit", *select(table)[1:], *question, "--dry-run", "--json", "--ranges", "private")
    for never in ((), ("--never", "e")):
        report = run(*select(table, *question, *never, "--json")).report
        found = (report["score"], report["releases"][0]["feature_names"])
        assert found == ("block-r2", ["a", "d"])
        assert run(*fit, *never).report["score"] == "block-r2"
    run(*select(table, *question, "--score", "loss")).failed_with(2, "needs constraints.minimum")
    ends = {"minimum": 0, "maximum": 20}
    ranged = [{**field, "constraints": ends} for field in numbers]
    schema.write_text(json.dumps({"fields": [*ranged, colour, target]}))
    scores = {}
    for more in ((), ("--score", "loss")):
        drawn = run(*select(table, *question, *more, "--dry-run", "--json")).report
        fitted = run("fit", *select(table)[1:], *question, *more, "--dry-run", "--json").report
        assert drawn.get("score", "loss") == fitted.get("score", "loss")
        scores[more] = drawn.get("score", "loss")
    assert list(scores.values()) == ["block-r2", "loss"]
