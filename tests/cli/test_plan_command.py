"""`mipselect plan`: a schema and guesses in, a table and a figure out; no data."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from mipselect.planning import Question, plan_study
from mipselect.tables import TableSchema
from tests.support.commandline import Run
from tests.support.fields import listed


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    ends = {"minimum": 0, "maximum": 10}
    fields = [{"name": f"x{j}", "type": "number", "constraints": ends} for j in range(4)]
    fields.append(listed("kind", "a", "b", "c"))
    fields.append({"name": "y", "type": "number", "constraints": ends})
    (tmp_path / "t.schema.json").write_text(json.dumps({"fields": fields}))
    return tmp_path / "t.schema.json"


@pytest.fixture
def question(schema: Path) -> tuple[str | Path, ...]:
    options = "--target y --rows 500 --support-size 2 --tables 2 --time-limit 600"
    return ("plan", "--schema", schema, *options.split())


def test_text_and_json_say_the_same(run: Run, question: tuple[str | Path, ...]) -> None:
    text = run(*question)
    outcome = run(*question, "--json")
    assert (text.code, outcome.code) == (0, 0)
    report = outcome.report
    assert (report["sensitive"], report["private"], report["simulated"]) == (False, False, True)
    named = [(line["method"], line["tables"]) for line in report["lines"]]
    assert named == [("permute-and-flip", 2), ("without privacy", 2)]
    chosen = [(one["score"], one["block_rows"], one["partitions"]) for one in report["blocks"]]
    assert chosen == [("block-r2", 12, 8), ("block-r2", 12, 8), ("block-r2", 16, 8)]
    for line in report["lines"]:
        cells = [f"{one['found']:.0%} ({one['all_found']:.0%})" for one in line["cells"]]
        assert re.search(rf"│ found .*{line['method']}.*│ +{_row(cells)} │", text.out)
    assert re.search(rf"│ found by chance +│ +{_row(3 * ['40%'])} │", text.out)
    assert report["chance_level"] == 0.4
    model = report["model"]
    assert (model["measure"], model["level"], model["tables"]) == ("R²", 0.0, 2)
    assert [one["epsilon"] for one in model["cells"]] == report["epsilons"] == [0.5, 1.0, 2.0]
    cells = [f"{c['expected']:.2f} ({c['low']:.2f} to {c['high']:.2f})" for c in model["cells"]]
    assert re.search(rf"│ R² of fit +│ +{_row(cells)} │", text.out)
    without = 3 * [f"{model['without_privacy']:.2f}"]
    assert re.search(rf"│ R² without privacy +│ +{_row(without)} │", text.out)
    assert "What a selection finds: a rough guess from 2 simulated tables." in text.out
    assert "A plan guarantees nothing" in text.out
    assert "Which ranges? Typical ones, if anyone can state them; at ε = " in text.out
    assert report["ranges"].startswith("Which ranges?")
    assert "this takes about 600 s, or as long as one simulated table takes" in text.err
    assert run(*question, "--json").out == outcome.out
    assert run(*question, "--json", "--seed", "1").out != outcome.out


def _row(cells: list[str]) -> str:
    return " │ +".join(map(re.escape, cells))


def test_what_is_planned_is_what_the_functions_say(
    run: Run, question: tuple[str | Path, ...], schema: Path
) -> None:
    report = run(*question, "--json", "--seed", "3").report
    read = TableSchema.read(schema)
    made = Question(schema=read, target="y", rows=500, support_size=2, seed=3)
    plan = plan_study(made, tables=2, time_limit=600.0)
    for line, mine in zip(report["lines"], (plan.drawn, plan.best), strict=True):
        assert line["cells"] == [asdict(one) for one in mine]
    for cell, forecast in zip(report["model"]["cells"], plan.forecasts, strict=True):
        assert cell.pop("quality") is None
        assert cell.items() <= asdict(forecast).items()
    assert report["model"]["without_privacy"] == plan.without_privacy


def test_two_classes_have_an_auc(run: Run, question: tuple[str | Path, ...], schema: Path) -> None:
    fields = json.loads(schema.read_text())["fields"]
    fields[-1] = {"name": "y", "type": "boolean"}
    schema.write_text(json.dumps({"fields": fields}))
    outcome = run(*question, "--epsilon", "1")
    assert "AUC of fit" in outcome.out
    assert run(*question, "--epsilon", "1", "--json").report["model"]["level"] == 0.5


def test_what_has_no_time_left_is_named(run: Run, question: tuple[str | Path, ...]) -> None:
    outcome = run(*question, "--time-limit", "1e-6")
    assert outcome.code == 0
    late = "Left out, for no time was left (--time-limit): "
    assert f"{late}what a selection finds." in outcome.out
    assert "The model of fit: a rough guess from 1 simulated table." in outcome.out
    assert "│ found by permute-and-flip" not in outcome.out
    report = run(*question, "--time-limit", "1e-6", "--json").report
    assert [(line["cells"], line["tables"]) for line in report["lines"]] == 2 * [([], 0)]
    # A model is drawn in any case.
    assert (report["model"]["tables"], len(report["model"]["cells"])) == (1, 3)


def test_options_reach_the_plan(run: Run, question: tuple[str | Path, ...]) -> None:
    options = "--epsilon 3 --always x0 --never x1 --range y=2:8"
    report = run(*question, *options.split(), "--effect", "0.5", "--json").report
    assert report["features"] == 3
    assert report["epsilons"] == [3.0]
    assert report["guesses"] == {"effect": 0.5, "target_rate": None}


def test_a_schema_without_ranges_is_enough(
    run: Run, question: tuple[str | Path, ...], schema: Path
) -> None:
    fields = json.loads(schema.read_text())["fields"]
    for field in fields[1:]:
        field.pop("constraints", None)
    schema.write_text(json.dumps({"fields": fields}))
    outcome = run(*question)
    assert outcome.code == 0
    assert "A model of fit is left out: its coefficients need a range of x1, x2, x3" in outcome.out
    assert "R² of fit" not in outcome.out
    report = run(*question, "--json").report
    assert (report["model"], report["without_range"]) == (None, ["x1", "x2", "x3", "y"])
    run(*question, "--range", "x1=0:1").failed_with(2, "a model needs those of x2, x3, y too")
    plot = schema.with_name("plan.svg")
    assert run(*question, "--plot", plot).code == 0


def test_the_plot_is_the_same_every_time(run: Run, question: tuple[str | Path, ...]) -> None:
    pytest.importorskip("matplotlib")
    path = Path(question[2]).with_name("plan.svg")
    assert f"Drawn in {path}" in run(*question, "--plot", path).out
    first = path.read_bytes()
    for words in (
        "share of the right columns, or R²",
        "y by 2 of 5 fields, 500 rows",
        "found by permute-and-flip",
        "found by chance",
        "R² of fit",
        "no row of yours",
    ):
        assert words.encode() in first
    run(*question, "--plot", path)
    assert path.read_bytes() == first


@pytest.mark.parametrize(("size", "share"), [(2, 0.3), (5, 0.0)])
def test_the_share_of_the_draw_is_that_of_fit(
    run: Run, question: tuple[str | Path, ...], size: int, share: float
) -> None:
    model = run(*question, "--support-size", size, "--epsilon", "1", "--json").report["model"]
    assert model["selection_share"] == share


def test_the_width_of_the_interval_of_the_quality_is_told(
    run: Run, question: tuple[str | Path, ...]
) -> None:
    asked = (*question, "--rows", "3000", "--epsilon", "0.5,4", "--effect", "0.5")
    more = ("--quality-share", "0.1")
    text, model = run(*asked, *more).out, run(*asked, *more, "--json").report["model"]
    assert model["quality_share"] == 0.1
    first, second = (cell["quality"] for cell in model["cells"])
    assert (first["half_width"] is None) or first["half_width"] > second["half_width"]
    assert 0.0 < second["half_width"] < 0.3
    shown = next(row for row in text.splitlines() if "90% interval of R²" in row)
    assert f"±{second['half_width']:.2f} ({second['above_chance']:.0%})" in shown
    without = run(*asked, "--json").report["model"]
    assert {cell["quality"] for cell in without["cells"]} == {None}
    assert "90% interval" not in run(*asked).out


def test_an_open_interval_is_null_in_the_report(run: Run, question: tuple[str | Path, ...]) -> None:
    asked = (*question, "--rows", "60", "--quality-share", "0.1", "--epsilon", "0.1")
    assert run(*asked, "--json").report["model"]["cells"][0]["quality"]["half_width"] is None
    assert "open (0%)" in run(*asked).out
