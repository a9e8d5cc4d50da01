"""`mipselect select`: tables of numbers with and without bounds, and tables with a schema."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from mipselect.cli.table_options import split_names
from mipselect.errors import InvalidInput
from mipselect.privacy import Ledger
from tests.support.commandline import BOUNDS, TABLE, Run
from tests.support.fields import listed
from tests.support.stays import rows, written
from tests.support.wants import TABLES, wants_data

COMMON = ("--target", "y", "--support-size", "2", "--epsilon", "1")
BARE = [{"name": name, "type": "number"} for name in "abcdey"]


@pytest.fixture
def place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tables of numbers, of two classes, of a lognormal law, and of stays with their schema."""
    cells = [line.split(",") for line in TABLE.splitlines()]
    columns = {name: [float(row[j]) for row in cells[1:]] for j, name in enumerate(cells[0])}
    parquet.write_table(pa.table(columns), folder / "data.parquet")
    lines = [f"{1 - 2 * (i % 2)},{(i % 7) / 3 - 1:.3f},{2 * (i % 2) - 1}" for i in range(400)]
    (folder / "classes.csv").write_text("a,c,y\n" + "\n".join(lines) + "\n")
    X = np.random.default_rng(0).lognormal(size=(600, 5))
    skewed, head = np.column_stack([X, X[:, 0] - X[:, 3]]), "a,b,c,d,e,y"
    np.savetxt(folder / "t.csv", skewed, fmt="%.17g", delimiter=",", header=head, comments="")
    (folder / "bare.json").write_text(json.dumps({"fields": BARE}))
    written(folder / "stays.csv", rows(300))
    monkeypatch.chdir(folder)
    return folder


SKEWED = "t.csv --target y --support-size 2 --epsilon 20"
STAYS = "stays.csv --schema schema.json --epsilon 100 --target"
PLAIN = f"data.csv --target y --support-size 2 --epsilon 1 {' '.join(BOUNDS)}"
DEFAULTS = {"score": "block-r2", "sensitivity": 1.0, "coef_bound": None, "ridge": None,
            "loss": None, "block_rows": 55, "partitions": 8}  # fmt: skip
WEIGHTY = "--always 'sex,\"noise, plain\"' --never ward,stay --range age=20:60 --no-intercept"
TOLD: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    # A command, what its JSON says, the names of its draw among it, and words of its text.
    (f"{PLAIN} --features 'c, a'", {"names": ["c", "a"]}, ()),
    *((f"classes.csv --target y --support-size 1 --epsilon 1000 {' '.join(BOUNDS)} --loss {loss}",
       {"names": ["a"]}, ()) for loss in ("hinge", "huber(0.5)", "quantile(0.9)")),
    (SKEWED, {"names": ["a", "d"], **DEFAULTS},
     ("score: block-r2; rows of a block: 55; partitions into blocks: 8;",)),
    (f"{SKEWED} --dry-run", {**dict.fromkeys(DEFAULTS), "score": "block-r2"},
     ("score: block-r2",)),
    (f"{SKEWED} --score blocks",
     {"names": ["a", "d"], "score": "blocks", "block_rows": 2, "partitions": 16, "x_bound": None,
      "y_bound": None, "ridge": 1.0, "coef_bound": 0.75 * 2**-0.5,
      "sensitivity": 0.5 * 1.75**2 / 300},
     ("score: blocks; rows of a block: 2; partitions into blocks: 16;",)),
    (f"{SKEWED} --score blocks --dry-run", {"score": "blocks", "n": None, "sensitivity": None}, ()),
    (f"{SKEWED} --score blocks --coef-bound 0.3 --ridge 2", {"coef_bound": 0.3, "ridge": 2.0}, ()),
    ("t.csv --target y --sizes 1-3 --epsilon 9", {"coef_bound": 0.75 * 3**-0.5}, ()),
    *((f"{SKEWED} --method {method}", {"score": "blocks", "names": ["a", "d"]}, ())
      for method in ("top-r", "mistakes")),
    (f"{SKEWED} --schema bare.json", {"names": ["a", "d"]}, ()),
    (f"{SKEWED} --schema bare.json --dry-run", {"score": "block-r2", "features": [*"abcde"]}, ()),
    (f"{SKEWED} --schema bare.json --always a --never b",
     {"features": ["c", "d", "e"], "always": ["a"]}, ()),
    (f"{STAYS} stay --support-size 1",
     {"names": ["ward"], "features": ["age", "sex", "ward", "noise, plain", "died"], "n": 300,
      "n_features": 5, "number_of_supports": 5, "protected_unit": "id", "score": "block-r2",
      "block_rows": 87, "partitions": 8, "x_bound": None, "y_bound": None, "target_scale": None,
      "target_offset": None}, ("score: block-r2",)),
    (f"{STAYS} stay --support-size 1 --score loss",
     {"names": ["ward"], "target_scale": 30.0, "target_offset": 30.0, "score": None},
     ("replacing all rows of one id;", "an intercept")),
    (f"{STAYS} stay --support-size 1 --dry-run", {}, ("replacing all rows of one id;",)),
    (f"{STAYS} died --support-size 1 {WEIGHTY} --coef-bound 0.5 --ridge 3 --loss hinge "
     "--unit-rule last",
     {"features": ["age"], "always": ["sex", "noise, plain"], "classes": ["false", "true"],
      "intercept": False, "coef_bound": 0.5, "ridge": 3.0,
      "sensitivity": min(2 * 0.5 * 3**0.5, 1 + 0.5 * 3**0.5) / 300}, ()),
    (f"{STAYS} stay --sizes 1-5 --score loss",
     {"support_size": 5, "coef_bound": 1.25 * 6**-0.5}, ()),
]  # fmt: skip


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(("asked", "told", "words"), TOLD)
def test_what_is_asked_is_told(
    run: Run, asked: str, told: dict[str, Any], words: tuple[str, ...]
) -> None:
    outcome = run("select", *shlex.split(asked), "--json")
    assert outcome.code == 0
    assert outcome.unforeseen == ""
    report = outcome.report
    assert report["private"] is True
    for key, value in told.items():
        found = report["releases"][0]["feature_names"] if key == "names" else report.get(key)
        assert found == (pytest.approx(value) if isinstance(value, float) else value), key
    text = run("select", *shlex.split(asked)).out if words else ""
    assert all(word in text for word in words)
    assert "schema.json" not in asked or "one row" not in text


@pytest.mark.usefixtures("place")
def test_a_seed_repeats_the_draws(run: Run) -> None:
    """Of every kind of file; partitions and the order of people too, at so small an ε."""
    first, second = (
        run("select", name, *COMMON, *BOUNDS, "--seed", "1", "--json").report
        for name in ("data.csv", "data.parquet")
    )
    assert first["releases"] == second["releases"]
    assert set(first["releases"][0]["feature_names"]) <= {"a", "b", "c"}
    stays = ("select", *STAYS.split(), "stay", "--support-size", "2", "--json", "--epsilon", "0.01")
    drawn = []
    for seeded in (("1",), ("1", "--score", "blocks"), ("2",), ("3",), ("4",)):
        of_two = [run(*stays, "--seed", *seeded).report for _ in range(2)]
        assert of_two[0]["releases"] == of_two[1]["releases"]
        drawn.append(of_two[0]["releases"])
    assert any(drawn[0] != other for other in drawn[2:])


def test_names_between_commas() -> None:
    for text, names in {
        "a": ["a"], " a , b c,d ": ["a", "b c", "d"], '"a,b",c': ["a,b", "c"], '""': [""],
        'c , " a " ,"5"" pipe"': ["c", " a ", '5" pipe'], "a,": ["a", ""],
    }.items():  # fmt: skip
        assert split_names("--features", text) == names
    for text in ('"a', 'a"b', '"a"b,c', '"a""'):
        with pytest.raises(InvalidInput, match="--features: a double quote has no partner"):
            split_names("--features", text)


def test_the_size_is_chosen_privately(run: Run, folder: Path) -> None:
    arguments = ("select", folder / "data.csv", "--target", "y", "--epsilon", "5", *BOUNDS)
    seeded = ("--sizes", "1-2", "--json", "--seed")
    reports = [run(*arguments, *seeded, str(seed)).report for seed in range(12)]
    assert {len(report["releases"][0]["support"]) for report in reports} == {1, 2}
    report = reports[0]
    assert (report["sizes"], report["complexity"]) == ([1, 2], 1.0)
    run(*arguments, "--sizes", "2,4").failed_with(
        2, "data.csv: the largest of --sizes must be an integer in 1..3, got 4"
    )
    run(*arguments).failed_with(2, "--support-size, or --sizes to choose it privately, must be")


@pytest.mark.usefixtures("place")
def test_a_ledger_under_add_remove_wants_a_loss_and_a_ridge_for_any_n(run: Run) -> None:
    books = Ledger.create("a.ledger", epsilon=50.0, relation="add-remove", unit="person")
    asked = ("select", *SKEWED.split(), "--ledger")
    run(*asked, "a.ledger").failed_with(2, "--score blocks needs none")
    refused = run(*asked, "a.ledger", "--score", "blocks")
    refused.failed_with(2, "for replacing one row", "--score loss")
    bounds = ("--x-bound", "20", "--y-bound", "20", "--coef-bound", "1")
    run(*asked, "a.ledger", *bounds, "--ridge", "0.001").failed_with(
        2, "so small a ridge is for replacing one row", "a --ridge of at least 0.0"
    )
    assert books.spent.epsilon == 0.0
    assert run(*asked, "a.ledger", *bounds, "--ridge", "0.1").code == 0
    assert books.spent.epsilon == 10.0
    ledger = Ledger.create("b.ledger", epsilon=50.0, unit="person")
    assert run(*asked, "b.ledger").code == 0
    noted = ledger.entries[0].asked
    assert (noted["score"], noted["partitions"]) == ("block-r2", 8)
    assert "block_rows" in noted


def test_two_classes_come_from_blocks(run: Run, place: Path) -> None:
    """Without ranges, beside a category too; with a bound it is the loss."""
    cells = [line.split(",") for line in (place / "t.csv").read_text().splitlines()]
    lines = [",".join([*row[:4], "red", str(float(row[5]) > 0.0).lower()]) for row in cells[1:]]
    (place / "t.csv").write_text("\n".join(["a,b,c,d,e,y", *lines]))
    target = {"name": "y", "type": "boolean", "constraints": {"required": True}}
    rest = [listed("e", "red", "blue", "green"), target]
    (place / "bare.json").write_text(json.dumps({"fields": [*BARE[:4], *rest]}))
    asked = (*SKEWED.split(), "--schema", "bare.json")
    fit = ("fit", *asked, "--dry-run", "--json", "--ranges", "private")
    for never in ((), ("--never", "e")):
        report = run("select", *asked, *never, "--json").report
        found = (report["score"], report["releases"][0]["feature_names"])
        assert found == ("block-r2", ["a", "d"])
        assert run(*fit, *never).report["score"] == "block-r2"
    run("select", *asked, "--score", "loss").failed_with(2, "needs constraints.minimum")
    ranged = [{**field, "constraints": {"minimum": 0, "maximum": 20}} for field in BARE[:4]]
    (place / "bare.json").write_text(json.dumps({"fields": [*ranged, *rest]}))
    for more, score in (((), "block-r2"), (("--score", "loss"), "loss")):
        for command in ("select", "fit"):
            planned = run(command, *asked, *more, "--dry-run", "--json").report
            assert planned.get("score", "loss") == score


@wants_data
@pytest.mark.parametrize(
    ("data", "schema", "asked", "found"),
    [
        ("winequality_white", "wine", "--target quality", "alcohol"),
        (
            *("bike_sharing_hour", "bikes"),
            *("--target cnt --never instant,dteday,casual,registered", "hr"),
        ),
    ],
)
def test_real_tables_from_file_to_release(
    run: Run, repository: Path, data: str, schema: str, asked: str, found: str
) -> None:
    table = (
        TABLES / f"{data}.csv.gz",
        "--schema",
        repository / f"docs/tables/{schema}.schema.json",
    )
    size = ("--support-size", "3", "--epsilon", "5", "--json")
    outcome = run("select", *table, *asked.split(), *size)
    assert outcome.unforeseen == ""
    assert found in outcome.report["releases"][0]["feature_names"]
