"""`mipselect select --schema`: from a real table to a release by what is public about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commandline import Outcome, Run
from tests.support.shared_data import TABLES, wants_data
from tests.support.stays import rows, written


def select(run: Run, path: Path, *more: str, target: str = "stay") -> Outcome:
    return run(
        *("select", path, "--schema", path.with_name("schema.json"), "--target", target),
        *("--support-size", "1", "--epsilon", "100", *more),
    )


def test_schema_target_size_and_epsilon_are_enough(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", rows(300))
    outcome = select(run, path, "--json")
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
    text = select(run, path).out
    assert "score: block-r2;" in text
    report = select(run, path, "--score", "loss", "--json").report
    assert report["releases"][0]["feature_names"] == ["ward"]
    assert (report["target_scale"], report["target_offset"]) == (30.0, 30.0)
    assert "score" not in report
    text = select(run, path, "--score", "loss").out
    assert "replacing all rows of one id;" in text
    assert "one row" not in text
    assert "replacing all rows of one id;" in select(run, path, "--dry-run").out
    assert "an intercept" in text


def test_the_question(run: Run, tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", rows(300))
    report = select(
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
    assert told in select(run, path, "--support-size", "5", *more).err
    assert told not in select(run, path, "--support-size", "4", *more).err


def test_a_seed_repeats_the_draws(run: Run, tmp_path: Path) -> None:
    """Partitions and the order of people too: nothing else decides at so small an ε."""
    path = written(tmp_path / "t.csv", rows(300))
    more = ("--support-size", "2", "--epsilon", "0.01", "--draws", "5", "--json")
    for seeded in (("--seed", "1"), ("--seed", "1", "--score", "blocks")):
        one, two = (select(run, path, *more, *seeded).report["releases"] for _ in range(2))
        assert one == two
    other = select(run, path, *more, "--seed", "2").report["releases"]
    assert other != select(run, path, *more, "--seed", "1").report["releases"]
