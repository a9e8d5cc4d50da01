"""`mipselect plan`: a schema and guesses in, a table and answers out; no data."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mipselect.tables.defaults import default_coef_bound
from tests.support.commandline import LISTENING, Run


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    ends = {"minimum": 0, "maximum": 10}
    fields = [{"name": f"x{j}", "type": "number", "constraints": ends} for j in range(4)]
    fields.append({"name": "kind", "type": "string", "categories": ["a", "b", "c"]})
    fields.append({"name": "y", "type": "number", "constraints": ends})
    (tmp_path / "t.schema.json").write_text(json.dumps({"fields": fields}))
    return tmp_path / "t.schema.json"


@pytest.fixture
def question(schema: Path) -> tuple[str | Path, ...]:
    options = [
        "--target",
        "y",
        "--rows",
        "500",
        "--support-size",
        "2",
        "--tables",
        "2",
        "--time-limit",
        "600",
    ]
    return ("plan", "--schema", schema, *options)


def test_text_and_json_say_the_same(run: Run, question: tuple[str | Path, ...]) -> None:
    text = run(*question)
    outcome = run(*question, "--json")
    assert (text.code, outcome.code) == (0, 0)
    report = outcome.report
    assert (report["sensitive"], report["private"], report["simulated"]) == (False, False, True)
    assert report["coef_bound"] == default_coef_bound(2, 0, True)
    assert [(line["method"], line["score"]) for line in report["lines"][:4]] == [
        ("permute-and-flip", "blocks"),
        ("exponential", "blocks"),
        ("permute-and-flip", "loss"),
        ("exponential", "loss"),
    ]
    chosen = [(one["score"], one["block_rows"], one["partitions"]) for one in report["blocks"]]
    assert chosen == [("block-r2", 12, 8), ("block-r2", 12, 8), ("block-r2", 16, 8)]
    assert "blocks: R² within blocks of 12 and 16 rows, 8 partitions; no range is used." in text.out
    assert (report["lines"][0]["coef_bound"], report["without_range"]) == (None, [])
    first = report["lines"][0]["cells"]
    assert len(first) == 3
    assert f"{first[0]['found']:.0%} ({first[0]['all_found']:.0%})" in text.out
    for asked, answer in report["answers"].items():
        assert f"{asked} {answer}." in text.out
    assert "A plan guarantees nothing" in text.out
    assert "in which 4 fields repeat each other (correlation 0.98), with an R² of 0.8" in text.out
    assert report["repeated"] == 4
    assert [line["coef_bound"] for line in report["lines"] if line["about"] == "repeated"] == [
        factor * report["coef_bound"] for factor in (0.5, 1.0, 2.0)
    ]
    assert "repeats, coef_bound" not in run(*question, "--repeated", "0").out
    assert "this takes about 600 s at most" in text.err
    assert run(*question, "--json").out == outcome.out
    assert run(*question, "--json", "--seed", "1").out != outcome.out


def test_a_model_is_planned_beside_the_features(run: Run, question: tuple[str | Path, ...]) -> None:
    text = run(*question, "--seed", "3")
    model = run(*question, "--seed", "3", "--json").report["model"]
    assert (model["measure"], model["level"], model["goal"]) == ("R²", 0.0, 0.5)
    rows = [line["rows"] for line in model["lines"]]
    assert rows[:3] == [250, 500, 1000]
    assert (model["left_out"], len(model["sentences"])) == ([], 3)
    yours = model["lines"][1]
    first = yours["cells"][0]
    assert (first["epsilon"], yours["tables"]) == (0.5, 2)
    cell = f"{first['expected']:.2f} ({first['low']:.2f} to {first['high']:.2f})"
    shown = next(row for row in text.out.splitlines() if "500 rows, yours" in row)
    assert cell in shown
    assert f"{yours['without_privacy']:.2f}" in shown
    for sentence in model["sentences"]:
        assert sentence in text.out
    assert "the mean" in text.out
    again = run(*question, "--seed", "3", "--epsilon", "4", "--effect", "0.9", "--json").report
    (better,) = again["model"]["lines"][1]["cells"]
    assert better["expected"] > first["expected"]


def test_two_classes_have_an_auc(run: Run, question: tuple[str | Path, ...], schema: Path) -> None:
    fields = json.loads(schema.read_text())["fields"]
    fields[-1] = {"name": "y", "type": "boolean"}
    schema.write_text(json.dumps({"fields": fields}))
    outcome = run(*question, "--epsilon", "1")
    assert "a coin" in outcome.out
    assert "AUC" in outcome.out
    assert run(*question, "--epsilon", "1", "--json").report["model"]["level"] == 0.5


def test_what_has_no_time_left_is_named(run: Run, question: tuple[str | Path, ...]) -> None:
    outcome = run(*question, "--time-limit", "1e-6")
    assert outcome.code == 0
    assert "Left out, for no time was left (--time-limit): permute-and-flip, blocks;" in outcome.out
    assert "How good a model would be is left out: no time was left." in outcome.out
    assert "│ permute-and-flip" not in outcome.out
    report = run(*question, "--time-limit", "1e-6", "--json").report
    assert {line["remark"] for line in report["lines"]} == {"left out, for no time was left"}
    assert (report["model"]["lines"], report["model"]["left_out"]) == ([], [500])
    run(*question, "--time-limit", "0").failed_with(2, "--time-limit")


def test_options_reach_the_plan(run: Run, question: tuple[str | Path, ...]) -> None:
    options = "--epsilon 3 --method top-r --always x0 --never x1 --range y=2:8 --target-mean 4"
    more = "--target-sd 1 --effect 0.5 --correlation 0 --missing 0.5 --spread 0.4 --ridge 7"
    last = ("--repeated", "0.5", "--no-intercept", "--json")
    report = run(*question, *options.split(), *more.split(), *last).report
    assert report["features"] == 3
    assert report["epsilons"] == [3.0]
    assert (report["ridge"], report["coef_bound"]) == (7.0, default_coef_bound(2, 1, False))
    assert report["guesses"] == {
        "effect": 0.5,
        "correlation": 0.0,
        "repeated": 0.5,
        "missing": 0.5,
        "spread": 0.4,
        "target_mean": 4.0,
        "target_sd": 1.0,
    }


def test_rows_kept_apart_and_ranges_are_spoken_of(
    run: Run, question: tuple[str | Path, ...]
) -> None:
    outcome = run(*question, "--quality-share", "0.25", "--epsilon", "1,20")
    assert "Models are fitted to the rows but 0.25 of them" in outcome.out
    assert "Which ranges? Typical ones, if anyone can state them; at ε = 20 private" in outcome.out
    assert "at ε = 1 do not draw them" in outcome.out
    report = run(*question, "--quality-share", "0.25", "--epsilon", "1", "--json").report
    assert report["model"]["quality_share"] == 0.25
    assert report["ranges"].startswith("Which ranges?")
    run(*question, "--quality-share", "1").failed_with(2, "--quality-share must be a number")


def test_a_schema_without_ranges_is_enough(
    run: Run, question: tuple[str | Path, ...], schema: Path
) -> None:
    fields = json.loads(schema.read_text())["fields"]
    for field in fields[1:]:
        field.pop("constraints", None)
    schema.write_text(json.dumps({"fields": fields}))
    outcome = run(*question)
    assert outcome.code == 0
    assert "no range is used. Lines of the loss need a range of x1, x2, x3, y." in outcome.out
    assert "A model of fit is left out: its coefficients need a range of x1, x2, x3" in outcome.out
    for word in ("top-r", "sis", "coef_bound", "repeat", "--score loss"):
        assert word not in outcome.out
    report = run(*question, "--json").report
    assert (report["model"], report["without_range"]) == (None, ["x1", "x2", "x3", "y"])
    assert len(report["answers"]) == 3
    for options in ("--range x1=0:1", "--coef-bound 1", "--method sis"):
        run(*question, *options.split()).failed_with(2, "range")
    run(*question, "--score", "loss").failed_with(2, "needs constraints.minimum")
    plot = schema.with_name("plan.svg")
    assert run(*question, "--plot", plot).code == 0


def test_the_score_in_question_is_asked_for(run: Run, question: tuple[str | Path, ...]) -> None:
    report = run(*question, "--score", "loss", "--method", "sis", "--json").report
    assert report["blocks"] == []
    lines = [(line["method"], line["score"]) for line in report["lines"][:2]]
    assert lines == [("permute-and-flip", "loss"), ("sis", "loss")]
    outcome = run(*question, "--score", "blocks", "--method", "exponential")
    said = "blocks: least squares on blocks of 2 rows, 16 partitions; no range is used. loss: least"
    assert said in outcome.out


def test_the_plot_is_the_same_every_time(run: Run, question: tuple[str | Path, ...]) -> None:
    pytest.importorskip("matplotlib")
    path = Path(question[2]).with_name("plan.svg")
    assert f"Drawn in {path}" in run(*question, "--plot", path).out
    first = path.read_bytes()
    for words in (
        b"right columns found",
        b"coef_bound, now",
        b"4 fields repeat",
        b"chance level",
        b"No row of yours",
    ):
        assert words.lower() in first.lower()
    dashes_and_dots = b"stroke-dasharray: 9.6,2.4,1.5,2.4"
    assert dashes_and_dots in first, "the tenth line has the colour of the first"
    run(*question, "--plot", path)
    assert path.read_bytes() == first


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--epsilon a", "--epsilon must be numbers between commas"),
        ("--epsilon 0", "epsilons must be"),
        ("--method lasso", "'lasso' is unknown"),
        ("--score lasso", "score must be"),
        ("--target z", "target: the schema has no field 'z'"),
        ("--effect 2", "effect must be"),
        ("--repeated 1", "repeated must be a number from 0 to below 1"),
        ("--target-mean 11", "inside the range of 'y'"),
        ("--plot x.txt", "--plot must end in"),
        ("--tables 0", "tables must be"),
    ],
)
def test_bad_usage_is_one_line(
    run: Run, question: tuple[str | Path, ...], options: str, message: str
) -> None:
    run(*question, *options.split()).failed_with(2, message)


def test_the_schema_is_not_replaced(run: Run, question: tuple[str | Path, ...]) -> None:
    link = Path(question[2]).with_name("link.svg")
    link.hardlink_to(question[2])
    run(*question, "--plot", link).failed_with(2, "would be replaced")


def test_an_interrupt_ends_it_with_one_line(question: tuple[str | Path, ...]) -> None:
    code = f"{LISTENING}; import sys; from mipselect.cli import main; sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, question), "--tables", "5000", "--epsilon", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert "this takes about 600 s at most" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1].startswith("mipselect: error: interrupted")
    assert "Traceback" not in err
