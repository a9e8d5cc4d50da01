"""`mipselect select`: from a table of numbers with every bound stated, or with a schema."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from mipselect.cli.table_options import split_names
from mipselect.errors import InvalidInput
from tests.support.commandline import BOUNDS, TABLE, Outcome, Run
from tests.support.shared_data import TABLES, wants_data
from tests.support.stays import rows, written

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
    report = run(*arguments, "--sizes", "1-2", "--draws", "60", "--json").report
    assert {len(release["support"]) for release in report["releases"]} == {1, 2}
    assert (report["sizes"], report["complexity"]) == ([1, 2], 1.0)
    run(*arguments, "--sizes", "2,4").failed_with(
        2, "data.csv: the largest of --sizes must be an integer in 1..3, got 4"
    )
    run(*arguments).failed_with(2, "--support-size, or --sizes to choose it privately, must be")


def by_schema(run: Run, path: Path, *more: str, target: str = "stay") -> Outcome:
    return run(
        *("select", path, "--schema", path.with_name("schema.json"), "--target", target),
        *("--support-size", "1", "--epsilon", "100", *more),
    )


def test_with_a_schema_no_bound_is_needed(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", rows(300))
    outcome = by_schema(run, path, "--json")
    report = outcome.report
    assert report["private"] is True
    assert report["releases"][0]["feature_names"] == ["ward"]
    assert report["features"] == ["age", "sex", "ward", "noise, plain", "died"]
    assert (report["n"], report["n_features"]) == (300, 5)
    assert report["number_of_supports"] == 5
    assert report["protected_unit"] == "id"
    assert (report["score"], report["block_rows"], report["partitions"]) == ("block-r2", 87, 8)
    unused = ("x_bound", "y_bound", "target_scale", "target_offset")
    assert [report[name] for name in unused] == [None] * 4
    assert outcome.unforeseen == ""
    text = by_schema(run, path).out
    assert "score: block-r2;" in text
    report = by_schema(run, path, "--score", "loss", "--json").report
    assert report["releases"][0]["feature_names"] == ["ward"]
    assert (report["target_scale"], report["target_offset"]) == (30.0, 30.0)
    assert "score" not in report
    text = by_schema(run, path, "--score", "loss").out
    assert "replacing all rows of one id;" in text
    assert "one row" not in text
    assert "replacing all rows of one id;" in by_schema(run, path, "--dry-run").out
    assert "an intercept" in text


def test_the_question(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", rows(300))
    report = by_schema(
        run, path, "--always", 'sex,"noise, plain"', "--never", "ward,stay", "--range",
        "age=20:60", "--no-intercept", "--coef-bound", "0.5", "--ridge", "3", "--loss", "hinge",
        "--unit-rule", "last", "--json", target="died",
    ).report  # fmt: skip
    assert report["features"] == ["age"]
    assert report["always"] == ["sex", "noise, plain"]
    assert report["classes"] == ["false", "true"]
    assert (report["intercept"], report["coef_bound"], report["ridge"]) == (False, 0.5, 3.0)
    bound = 0.5 * 3**0.5
    assert report["sensitivity"] == pytest.approx(min(2 * bound, 1 + bound) / 300)
    sized = run(
        *("select", path, "--schema", tmp_path / "schema.json", "--target", "stay"),
        *("--sizes", "1-5", "--epsilon", "100", "--score", "loss", "--json"),
    ).report
    assert sized["support_size"] == 5
    assert sized["coef_bound"] == pytest.approx(1.25 * 6**-0.5)


@wants_data
@pytest.mark.parametrize(
    ("data", "schema", "target", "never", "found"),
    [
        ("winequality_white.csv.gz", "wine", "quality", (), "alcohol"),
        ("bike_sharing_hour.csv.gz", "bikes", "cnt", ("instant,dteday,casual,registered",), "hr"),
    ],
)
def test_real_tables_from_file_to_release(
    run: Run, repository: Path, data: str, schema: str, target: str, never: tuple[str], found: str
) -> None:
    outcome = run(
        *("select", TABLES / data, "--schema", repository / f"docs/tables/{schema}.schema.json"),
        *("--target", target, "--support-size", "3", "--epsilon", "5", "--json"),
        *(("--never", *never) if never else ()),
    )
    assert outcome.unforeseen == ""
    assert found in outcome.report["releases"][0]["feature_names"]


@pytest.mark.parametrize("more", [("--dry-run",), (), ("--method", "sis")])
def test_a_draw_of_all_features_is_told_to_say_nothing(
    run: Run, tmp_path: Path, more: tuple[str, ...]
) -> None:
    path = written(tmp_path / "t.csv", rows(300))
    told = "warning: all 5 features are asked for, so the draw says nothing and costs ε"
    assert told in by_schema(run, path, "--support-size", "5", *more).err
    assert told not in by_schema(run, path, "--support-size", "4", *more).err


def test_a_seed_repeats_the_draws(run: Run, tmp_path: Path) -> None:
    """Partitions and the order of people too: nothing else decides at so small an ε."""
    path = written(tmp_path / "t.csv", rows(300))
    more = ("--support-size", "2", "--epsilon", "0.01", "--draws", "5", "--json")
    for seeded in (("--seed", "1"), ("--seed", "1", "--score", "blocks")):
        one, two = (by_schema(run, path, *more, *seeded).report["releases"] for _ in range(2))
        assert one == two
    other = by_schema(run, path, *more, "--seed", "2").report["releases"]
    assert other != by_schema(run, path, *more, "--seed", "1").report["releases"]
