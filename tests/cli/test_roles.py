"""Survey weights, ignored fields and derived features, from the schema to predictions."""

from __future__ import annotations

import copy
import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mipselect.regression import ModelRelease
from tests.support.clinic import CONTENT, clinic
from tests.support.commandline import Outcome, Run
from tests.support.stays import SCHEMA, rows, written
from tests.support.weighted_tables import MOST, WEIGHTED, drawn, table_of

HOSTILE = [["c1", 1, -1, 1, "true", 1, weight] for weight in
           (-1, 1e300, "inf", "nan", "", "x", "NA", 0, MOST)]  # fmt: skip
NAMES = [field.name for field in WEIGHTED.fields]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "t.csv"
    rows = drawn(400, np.random.default_rng(0))
    with found.open("w", newline="") as file:
        csv.writer(file).writerows([NAMES, *rows, *HOSTILE])
    WEIGHTED.write(tmp_path / "schema.json")
    return found


def asked(path: Path, *more: str) -> tuple[str | Path, ...]:
    return (path, "--schema", path.with_name("schema.json"), "--target", "y", *more)


def select(run: Run, path: Path, *more: str) -> Outcome:
    return run("select", *asked(path, "--support-size", "1", "--epsilon", "1", *more))


@pytest.mark.parametrize(
    ("more", "score"), [((), "blocks"), (("--score", "loss"), None), (("--sizes", "1-2"), "blocks")]
)
def test_select_counts_by_weights_and_says_so(
    run: Run, path: Path, more: tuple[str, ...], score: str | None
) -> None:
    size = () if "--sizes" in more else ("--support-size", "1")
    outcome = run("select", *asked(path, *size, "--epsilon", "1", *more, "--json"))
    report = outcome.report
    assert (report["weight"], report["weight_bound"]) == ("w", MOST)
    assert report.get("score") == score
    assert "w" not in report["features"]
    assert outcome.unforeseen == ""
    text = run("select", *asked(path, *size, "--epsilon", "1", *more)).out
    assert "survey weight of a row: w; weights are clipped to 0 and: 4;" in text
    ledger = path.with_name("l.ledger")
    run("ledger", "create", ledger, "--epsilon", "5")
    paid = asked(path, *size, "--epsilon", "1", *more, "--ledger", str(ledger))
    dry = run("select", *paid, "--dry-run", "--json").report
    assert (dry["weight"], dry["weight_bound"]) == ("w", MOST)
    run("select", *paid)
    assert '"weight": "w", "weight_bound": 4.0' in run("ledger", "show", ledger, "--json").out


def test_moments_hold_them_and_say_so(run: Run, path: Path, tmp_path: Path) -> None:
    output = tmp_path / "m.npz"
    outcome = run("moments", *asked(path, "--output", str(output), "--json"))
    assert outcome.report["weight"] == "w"
    released = run("release", output, "--support-size", "1", "--epsilon", "1", "--json").report
    assert (released["weight"], released["weight_bound"]) == ("w", MOST)
    solved = run("solve", output, "--support-size", "1", "--json")
    whole = run("solve", *asked(path, "--support-size", "1", "--json"))
    best = [each.report["supports"][0] for each in (solved, whole)]
    assert best[0] == best[1]
    text = run("moments", *asked(path, "--output", str(tmp_path / "n.npz")))
    assert "Rows count by the survey weight w." in text.out


def test_fit_evaluate_predict_and_the_report(run: Run, path: Path, tmp_path: Path) -> None:
    model, schema = tmp_path / "model.json", path.with_name("schema.json")
    fit = ("fit", *asked(path, "--support-size", "1", "--epsilon", "8", "--quality-share", "0.3"))
    fitted = run(*fit, "--output", str(model), "--json").report
    assert (fitted["weight"], fitted["weight_bound"]) == ("w", MOST)
    assert fitted["model"]["table"]["weight"] == "w"
    names = [field["name"] for field in fitted["model"]["table"]["schema"]["fields"]]
    assert "w" not in names
    text = run("report", model).out
    assert "survey weight of a row: w; weights are clipped to 0 and: 4" in text
    assert "Rows counted by the survey weight w." in text
    assert "survey weight of a row: w" in run(*fit).out
    path = path.rename(path.with_name("next-year.csv"))
    run("evaluate", model, path, "--epsilon", "1").failed_with(
        2, "was fitted with the survey weight w: give a schema"
    )
    found = run("evaluate", model, path, "--epsilon", "1", "--schema", schema, "--json").report
    assert found["weight"] == "w"
    without = tmp_path / "fresh.csv"
    table = table_of(drawn(5, np.random.default_rng(1)))
    table.drop_columns(["w", "y"]).to_pandas().to_csv(without, index=False)
    assert len(run("predict", model, without).out.splitlines()) == 6


def test_a_plan_says_that_weights_are_not_simulated(run: Run, path: Path) -> None:
    plan = ("plan", *asked(path)[1:], "--support-size", "1", "--rows", "200", "--epsilon", "1")
    quick = ("--tables", "2", "--time-limit", "1")
    text = run(*plan, *quick).out
    assert "Weights are not simulated" in text
    assert "Weighted by w" in text
    report = run(*plan, *quick, "--json").report
    assert report["not_simulated"] == ["w"]
    assert [blocks["score"] for blocks in report["blocks"]] == ["blocks"]


APART = ("noise, plain", "sex")


def schema_without(names: tuple[str, ...]) -> dict[str, Any]:
    schema = copy.deepcopy(SCHEMA)
    for field in schema["fields"]:
        if field["name"] in names:
            field["mipselect:role"] = "ignored"
            field.pop("categories", None)
            field.pop("constraints", None)
    return schema


@pytest.fixture
def stays(tmp_path: Path) -> Path:
    path = written(tmp_path / "t.csv", rows(200))
    (tmp_path / "ignoring.json").write_text(json.dumps(schema_without(APART)))
    return path


def without(command: str, stays: Path, schema: str) -> tuple[str | Path, ...]:
    head = (command, stays, "--schema", stays.with_name(schema), "--target", "stay")
    return (*head, "--support-size", "1", "--epsilon", "60", "--seed", "1", "--json")


@pytest.mark.parametrize("score", ["blocks", "block-r2", "loss"])
@pytest.mark.parametrize("command", ["select", "fit"])
def test_they_are_what_never_leaves_out(run: Run, stays: Path, command: str, score: str) -> None:
    one = run(*without(command, stays, "ignoring.json"), "--score", score)
    other = run(*without(command, stays, "schema.json"), "--score", score, "--never",
                '"noise, plain",sex')  # fmt: skip
    assert (one.code, other.code) == (0, 0), (one.err, other.err)
    for report in (one.report, other.report):
        assert not set(APART) & set(report.get("features") or ())
    keys = ("n", "sensitivity", "features", "guarantee", "guarantee_of_all_draws", "releases")
    for key in keys:
        if score == "loss" or key != "releases":
            assert one.report.get(key) == other.report.get(key), key


@pytest.mark.parametrize("more", [(), ("--ranges", "private"), ("--quality-share", "0.2")])
def test_a_model_predicts_from_tables_without_them(
    run: Run, stays: Path, more: tuple[str, ...]
) -> None:
    model, other = stays.with_name("m.json"), stays.with_name("other.csv")
    schema = schema_without(APART)
    if "private" in more:
        del schema["fields"][1]["constraints"]
        stays.with_name("ignoring.json").write_text(json.dumps(schema))
    done = run(*without("fit", stays, "ignoring.json"), "--output", model, *more)
    assert done.code == 0, done.err
    other.write_text(stays.read_text().replace("sex", "gender", 1))
    assert run("predict", model, other).code == 0


OF_CLINIC = ("--target", "stay", "--never", "age,income,died")


@pytest.fixture
def of_clinic(tmp_path: Path) -> tuple[Any, ...]:
    clinic(1500).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "s.json").write_text(json.dumps(CONTENT), encoding="utf-8")
    return tmp_path / "t.csv", "--schema", tmp_path / "s.json"


def test_describe_lists_what_is_made_of_fields(run: Run, of_clinic: Any) -> None:
    outcome = run("describe", of_clinic[0], "--codebook", of_clinic[2], "--json")
    report = json.loads(outcome.out)
    gaps = {field["name"]: field["to_fill_in"] for field in report["fields"]}
    assert gaps["root of age"] == gaps["month"] == gaps["log income"] == ""
    text = " ".join(run("describe", of_clinic[0], "--codebook", of_clinic[2]).out.split())
    for words in ("made into month", "12 categories", "made of age", "made of income"):
        assert words in text


def test_from_a_table_to_predictions(run: Run, of_clinic: Any, tmp_path: Path) -> None:
    dry = run(
        "select", *of_clinic, *OF_CLINIC, "--support-size", "2", "--epsilon", "1", "--dry-run"
    )
    assert "Features: smoker, log income, month, root of age" in dry.out
    drawn = run(
        "select", *of_clinic, *OF_CLINIC, "--support-size", "2", "--epsilon", "50", "--json"
    )
    (release,) = json.loads(drawn.out)["releases"]
    assert release["feature_names"] == ["log income", "root of age"]
    model = tmp_path / "m.json"
    asked = (*OF_CLINIC, "--support-size", "3", "--epsilon", "60", "--output", model)
    fitted = run("fit", *of_clinic, *asked)
    assert fitted.code == 0, fitted.err
    assert "per doubling of income" in fitted.out
    assert "per unit of √age" in fitted.out
    predicted = run("predict", model, of_clinic[0]).out.splitlines()
    assert (
        list(map(float, predicted[1:])) == ModelRelease.load(model).predict(of_clinic[0]).tolist()
    )
    assert run("evaluate", model, of_clinic[0], "--epsilon", "5").code == 0
    page = tmp_path / "report.html"
    assert run("report", model, "--output", page).code == 0
    assert "per doubling of income" in page.read_text(encoding="utf-8")


def test_ranges_always_and_never_take_their_names(run: Run, of_clinic: Any) -> None:
    named = ("--range", "log income=7:13", "--always", "month", "--never", "root of age,died")
    asked = ("--target", "stay", "--support-size", "1", "--epsilon", "1")
    outcome = run("select", *of_clinic, *asked, *named, "--dry-run")
    assert outcome.code == 0, outcome.err
    assert "Always in: month" in outcome.out
    assert "root of age" not in outcome.out
    wrong = run("select", *of_clinic, *asked, "--always", "admitted", "--dry-run")
    assert wrong.code == 2
    assert "type date is used through mipselect:features" in wrong.err
