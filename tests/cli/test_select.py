"""`mipselect select`: straight from a table, with every bound stated."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from mipselect.cli.table_options import split_names
from mipselect.errors import InvalidInput
from tests.support.commandline import BOUNDS, TABLE, Run

COMMON = ("--target", "y", "--support-size", "2", "--epsilon", "1")


def test_csv_and_parquet_give_the_same_draws(run: Run, folder: Path) -> None:
    rows = [line.split(",") for line in TABLE.splitlines()]
    columns = {name: [float(row[j]) for row in rows[1:]] for j, name in enumerate(rows[0])}
    parquet.write_table(pa.table(columns), folder / "data.parquet")
    reports = [
        run("select", folder / name, *COMMON, *BOUNDS, "--seed", "1", "--draws", "9", "--json")
        for name in ("data.csv", "data.parquet")
    ]
    first, second = (outcome.report["releases"] for outcome in reports)
    assert first == second
    assert {name for release in first for name in release["feature_names"]} <= {"a", "b", "c"}


def test_features(run: Run, folder: Path) -> None:
    outcome = run(
        *("select", folder / "data.csv", *COMMON, *BOUNDS, "--json"),
        *("--features", "c, a"),
    )
    (release,) = outcome.report["releases"]
    assert release["feature_names"] == ["c", "a"]
    assert outcome.report["private"] is True


@pytest.mark.parametrize("loss", ["hinge", "huber(0.5)", "quantile(0.9)"])
def test_other_losses(run: Run, folder: Path, loss: str) -> None:
    lines = [f"{1 - 2 * (i % 2)},{(i % 7) / 3 - 1:.3f},{2 * (i % 2) - 1}" for i in range(400)]
    (folder / "classes.csv").write_text("a,c,y\n" + "\n".join(lines) + "\n")
    outcome = run(
        *("select", folder / "classes.csv", "--target", "y", "--support-size", "1"),
        *("--epsilon", "1000", *BOUNDS, "--loss", loss, "--json"),
    )
    (release,) = outcome.report["releases"]
    assert release["feature_names"] == ["a"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ["a"]),
        (" a , b c,d ", ["a", "b c", "d"]),
        ('"a,b",c', ["a,b", "c"]),
        ('c , " a " ,"5"" pipe"', ["c", " a ", '5" pipe']),
        ('""', [""]),
        ("a,", ["a", ""]),
    ],
)
def test_names_between_commas(text: str, names: list[str]) -> None:
    assert split_names("--features", text) == names


@pytest.mark.parametrize("text", ['"a', 'a"b', '"a"b,c', '"a""'])
def test_quotes_without_a_partner(text: str) -> None:
    with pytest.raises(InvalidInput, match="--features: a double quote has no partner"):
        split_names("--features", text)


def test_the_size_is_chosen_privately(run: Run, folder: Path) -> None:
    arguments = ("select", folder / "data.csv", "--target", "y", "--epsilon", "5", *BOUNDS)
    report = run(*arguments, "--sizes", "1-2", "--draws", "60", "--json").report
    assert {len(release["support"]) for release in report["releases"]} == {1, 2}
    assert (report["sizes"], report["complexity"]) == ([1, 2], 1.0)
    run(*arguments, "--sizes", "2,4").failed_with(
        2, "data.csv: the largest of --sizes must be an integer in 1..3, got 4"
    )
    run(*arguments).failed_with(2, "--support-size, or --sizes to choose it privately, must be")
