"""`mipselect plan`: a schema and guesses in, a table and answers out; no data."""

from __future__ import annotations

import json
import signal
import statistics
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mipselect.planning import Guesses
from mipselect.planning.simulated_fits import RATIO
from mipselect.planning.simulation import Simulation
from mipselect.tables import PublicMap, TableSchema
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


def test_a_target_of_two_numbers_is_told(run: Run, schema: Path) -> None:
    content = json.loads(schema.read_text())
    target = content["fields"][-1] = {"name": "y", "type": "integer"}
    target["constraints"] = {"minimum": 0, "maximum": 1}
    asked = ["--target", "y", "--rows", "200", "--support-size", "2", "--tables", "1"]
    for described, told in ((target, True), ({"name": "y", "type": "boolean"}, False)):
        content["fields"][-1] = described
        schema.write_text(json.dumps(content))
        outcome = run("plan", "--schema", schema, *asked, "--json")
        note = 'write "categories": [0, 1] into the schema'
        assert (note in outcome.err) == told
        assert any(note in one for one in outcome.report["notes"]) == told


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
    assert "Assumed: the right columns have an R² of" in text.out
    assert "--target-rate" not in text.out
    assert "in which 4 fields repeat each other (correlation 0.98), with an R² of 0.8" in text.out
    assert report["repeated"] == 4
    assert [line["coef_bound"] for line in report["lines"] if line["about"] == "repeated"] == [
        factor * report["coef_bound"] for factor in (0.5, 1.0, 2.0)
    ]
    assert "repeats, coef_bound" not in run(*question, "--repeated", "0").out
    assert "this takes about 600 s, or as long as one simulated table takes" in text.err
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
    # Two tables are a rough guess, whose tenths nobody knows.
    cell = f"~{first['expected']:.2f} "
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
        "target_rate": None,
    }


def test_the_rate_of_the_second_class(run: Run, tmp_path: Path, schema: Path) -> None:
    content = json.loads(schema.read_text())
    content["fields"][-1] = {"name": "y", "type": "boolean", "constraints": {"required": True}}
    path = tmp_path / "of_classes.json"
    path.write_text(json.dumps(content))
    asked = ("plan", "--schema", path, "--target", "y", "--rows", "2000", "--support-size", "2")
    more = ("--epsilon", "2", "--tables", "2", "--time-limit", "3")
    text = run(*asked, *more, "--target-rate", "0.1").out
    assert "0.1 of the rows are of the second class (--target-rate)" in text
    assert "0.5 of the rows are of the second class (--target-rate)" in run(*asked, *more).out
    run(*asked, "--target-rate", "0").failed_with(2, "target_rate must be")


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
        ("--epsilon 1,1_0", "--epsilon must be numbers between commas"),
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
    assert (
        "this takes about 600 s, or as long as one simulated table takes"
        in process.stderr.readline()
    )
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1].startswith("mipselect: error: interrupted")
    assert "Traceback" not in err


OF_FIT = [
    ("--regression adassp", "--delta must be given for --regression adassp"),
    ("--delta 1e-6 --regression objective", "--delta does not apply to --method permute-and-flip"),
    ("--regression tukey --delta 0.7", "--delta"),
    ("--regression adassp --delta 1e-6 --model-loss squared", "--model-loss does not apply to"),
    ("--model-loss logistic", "logistic is for a target of two classes"),
    ("--selection-share 1", "--selection-share must be a number"),
    ("--regression tukey --delta 1e-6 --range-share 0.1", "--range-share does not apply to"),
    ("--quality-share 0", "--quality-share must be a number"),
]


@pytest.mark.parametrize(("options", "message"), OF_FIT)
def test_options_of_fit_are_refused_with_its_words(
    run: Run, question: tuple[str | Path, ...], schema: Path, options: str, message: str
) -> None:
    table = schema.with_name("t.csv")
    table.write_text("x0,x1,x2,x3,kind,y\n" + 9 * "1,2,3,4,a,5\n")
    asked = ("--schema", schema, "--target", "y", "--support-size", "2", "--epsilon", "1")
    of_fit = run("fit", table, *asked, *options.split())
    of_fit.failed_with(2, message)
    of_plan = run(*question, *options.split())
    of_plan.failed_with(2, message)
    last = [outcome.err.splitlines()[-1] for outcome in (of_fit, of_plan)]
    assert last[0] == last[1]


def test_a_delta_without_a_regression_is_that_of_intervals(
    run: Run, question: tuple[str | Path, ...]
) -> None:
    model = run(*question, "--delta", "1e-6", "--json").report["model"]
    assert (model["regression"], model["delta"]) == ("adassp", 1e-6)


def test_the_regression_that_is_asked_for_is_simulated(
    run: Run, question: tuple[str | Path, ...]
) -> None:
    asked = (*question, "--rows", "2000", "--epsilon", "2", "--method", "permute-and-flip")
    plain = run(*asked, "--json").report["model"]
    assert (plain["regression"], plain["delta"]) == ("objective", None)
    assert (plain["selection_share"], plain["range_share"]) == (0.3, None)
    more = ("--regression", "adassp", "--delta", "1e-5", "--selection-share", "0.4")
    text, model = run(*asked, *more).out, run(*asked, *more, "--json").report["model"]
    assert (model["regression"], model["delta"], model["selection_share"]) == ("adassp", 1e-5, 0.4)
    assert "Coefficients are those of --regression adassp at δ = 1e-05; the draw of" in text
    assert "of fields may cost 0.4 of ε." in text
    assert "fit spends 0.4 of its ε on it" in text
    expected = [each["lines"][1]["cells"][0]["expected"] for each in (plain, model)]
    assert expected[0] != expected[1]
    larger = run(*asked, *more[:3], "0.1", "--json").report["model"]
    assert larger["lines"][1]["cells"][0]["expected"] != expected[1]


@pytest.mark.parametrize(
    ("options", "size", "share"), [((), 2, 0.3), (("--score", "loss"), 2, 0.5), ((), 5, 0.0)]
)
def test_the_share_of_the_draw_is_that_of_fit(
    run: Run, question: tuple[str | Path, ...], options: tuple[str, ...], size: int, share: float
) -> None:
    asked = (*question, *options, "--support-size", size, "--method", "permute-and-flip")
    text = run(*asked, "--epsilon", "1").out
    assert f"fit spends {share:g} of its ε on it" in text
    assert f"may cost {share:g} of ε." in text
    assert run(*asked, "--json").report["model"]["selection_share"] == share


def test_a_regression_without_weights_is_refused_for_a_table_with_weights(
    run: Run, question: tuple[str | Path, ...], schema: Path
) -> None:
    fields = json.loads(schema.read_text())["fields"]
    ends = {"minimum": 0, "maximum": 4}
    fields.append({"name": "w", "type": "number", "constraints": ends, "mipselect:role": "weight"})
    schema.write_text(json.dumps({"fields": fields}))
    run(*question, "--regression", "tukey", "--delta", "1e-6").failed_with(2, "weight")
    assert run(*question, "--regression", "adassp", "--delta", "1e-6").code == 0


def test_the_width_of_the_interval_of_the_quality_is_told(
    run: Run, question: tuple[str | Path, ...]
) -> None:
    asked = (*question, "--rows", "3000", "--epsilon", "0.5,4", "--method", "permute-and-flip")
    asked = (*asked, "--quality-share", "0.1", "--effect", "0.5")
    text, model = run(*asked).out, run(*asked, "--json").report["model"]
    yours = next(line for line in model["lines"] if line["rows"] == 3000)
    first, second = (cell["quality"] for cell in yours["cells"])
    assert (first["half_width"] is None) or first["half_width"] > second["half_width"]
    assert 0.0 < second["half_width"] < 0.3
    shown = next(row for row in text.splitlines() if "3,000 rows, yours" in row and "±" in row)
    assert f"±{second['half_width']:.2f} ({second['above_chance']:.0%})" in shown
    assert "90% interval of R²" in text
    assert "Half of the width of the interval that fit --quality-share 0.1 would release" in text
    (sentence,) = model["quality_sentences"]
    assert sentence.startswith("At ε = 0.5, as a rough guess from 2 simulated tables, the 90% ")
    assert "ε = 4" in sentence
    assert sentence in text
    assert model["larger_share"]["quality_share"] == 0.3
    assert "3,000 rows, --quality-share 0.3" in text
    assert len(model["rows_that_tell"]) == 2
    without = run(*question, "--epsilon", "4", "--json").report["model"]
    assert {cell["quality"] for line in without["lines"] for cell in line["cells"]} == {None}
    assert (without["quality_sentences"], without["larger_share"]) == ([], None)
    assert "90% interval" not in run(*question, "--epsilon", "4").out


def test_a_fit_has_the_interval_that_its_plan_forecasts(
    run: Run, question: tuple[str | Path, ...], schema: Path
) -> None:
    """Fits of a table that a plan of another seed makes up, and a plan of such fits."""
    shared = ("--quality-share", "0.3", "--regression", "adassp", "--delta", "1e-5")
    asked = (*question, "--rows", "4000", "--epsilon", "4", "--method", "permute-and-flip")
    asked = (*asked, "--tables", "6", "--effect", "0.5", *shared)
    cells = run(*asked, "--json").report["model"]["lines"][1]["cells"]
    forecast = cells[0]["quality"]["half_width"]
    public = PublicMap.of(TableSchema.read(schema), target="y")
    made_up = Simulation(public, Guesses(effect=0.5), 2, 7, ratio=RATIO)
    asked = ("--schema", schema, "--target", "y", "--support-size", "2", "--epsilon", "4", *shared)
    widths = []
    for number in range(8):
        path = schema.with_name("t.parquet")
        pq.write_table(made_up.table(number, 4000), path)
        quality = run("fit", path, *asked, "--seed", number, "--json").report["model"]["quality"]
        first = quality["measures"][0]
        widths.append(0.5 * (first["high"] - first["low"]))
    assert forecast == pytest.approx(statistics.median(widths), rel=0.2)
