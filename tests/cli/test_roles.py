"""Survey weights, ignored fields and derived features, from the schema to predictions."""

from __future__ import annotations

import copy
import csv
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from mipselect import Instance
from mipselect.regression import ModelRelease
from mipselect.tables import TableSchema
from tests.support.clinic import CONTENT, clinic
from tests.support.commandline import Run
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


@pytest.mark.parametrize(
    ("more", "score"),
    [
        (("--support-size", "1"), "blocks"),
        (("--support-size", "1", "--score", "loss"), None),
        (("--sizes", "1-2"), "blocks"),
    ],
)
def test_select_counts_by_weights_and_says_so(
    run: Run, path: Path, more: tuple[str, ...], score: str | None
) -> None:
    command, ledger = ("select", *asked(path, "--epsilon", "1", *more)), path.with_name("l.ledger")
    outcome = run(*command, "--json")
    report = outcome.report
    assert (report["weight"], report["weight_bound"], report.get("score")) == ("w", MOST, score)
    assert "w" not in report["features"]
    assert outcome.unforeseen == ""
    assert "survey weight of a row: w; weights are clipped to 0 and: 4;" in run(*command).out
    run("ledger", "create", ledger, "--epsilon", "5")
    dry = run(*command, "--ledger", ledger, "--dry-run", "--json").report
    assert (dry["weight"], dry["weight_bound"]) == ("w", MOST)
    run(*command, "--ledger", ledger)
    assert '"weight": "w", "weight_bound": 4.0' in run("ledger", "show", ledger, "--json").out


def test_moments_hold_them_and_say_so(run: Run, path: Path, tmp_path: Path) -> None:
    output = tmp_path / "m.npz"
    outcome = run("moments", *asked(path, "--output", str(output), "--json"))
    assert outcome.report["weight"] == "w"
    released = run("release", output, "--support-size", "1", "--epsilon", "1", "--json").report
    assert (released["weight"], released["weight_bound"]) == ("w", MOST)
    best = run("solve", output, "--support-size", "1", "--json").report["supports"][0]
    schema = TableSchema.read(path.with_name("schema.json"))
    whole = Instance.from_table(path, schema, target="y", support_size=1)
    assert tuple(best) == min(combinations(range(whole.n_features), 1), key=whole.objective)
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


@pytest.fixture
def stays(tmp_path: Path) -> Path:
    return written(tmp_path / "t.csv", rows(200))


def without(command: str, stays: Path, schema: Path) -> tuple[str | Path, ...]:
    head = (command, stays, "--schema", schema, "--target", "stay", "--support-size", "1")
    return (*head, "--epsilon", "60", "--seed", "1", "--json")


@pytest.mark.parametrize("score", ["blocks", "block-r2", "loss"])
@pytest.mark.parametrize("command", ["select", "fit"])
def test_they_are_what_never_leaves_out(run: Run, stays: Path, command: str, score: str) -> None:
    schema, never = stays.with_name("schema.json"), ("--never", '"noise, plain",sex')
    one = run(*without(command, stays, ignoring(stays.with_name("i.json"))), "--score", score)
    other = run(*without(command, stays, schema), "--score", score, *never)
    assert (one.code, other.code) == (0, 0), (one.err, other.err)
    for report in (one.report, other.report):
        assert not set(APART) & set(report.get("features") or ())
    keys = ("n", "sensitivity", "features", "guarantee", "guarantee_of_all_draws", "releases")
    for key in keys if score == "loss" else keys[:-1]:
        assert one.report.get(key) == other.report.get(key), key


@pytest.mark.parametrize("more", [(), ("--ranges", "private"), ("--quality-share", "0.2")])
def test_a_model_predicts_from_tables_without_them(
    run: Run, stays: Path, more: tuple[str, ...]
) -> None:
    model, other = stays.with_name("m.json"), stays.with_name("other.csv")
    schema = ignoring(stays.with_name("i.json"), ranges="private" not in more)
    done = run(*without("fit", stays, schema), "--output", model, *more)
    assert done.code == 0, done.err
    other.write_text(stays.read_text().replace("sex", "gender", 1))
    assert run("predict", model, other).code == 0


def ignoring(path: Path, *, ranges: bool = True) -> Path:
    """A schema in which two fields are ignored, and one has no range."""
    schema = copy.deepcopy(SCHEMA)
    for field in schema["fields"]:
        if field["name"] in APART:
            field["mipselect:role"] = "ignored"
            field.pop("categories", None)
            field.pop("constraints", None)
    if not ranges:
        del schema["fields"][1]["constraints"]
    path.write_text(json.dumps(schema))
    return path


def test_derived_features_from_a_table_to_predictions(run: Run, tmp_path: Path) -> None:
    table, schema, model = (tmp_path / name for name in ("t.csv", "s.json", "m.json"))
    clinic(1500).to_csv(table, index=False)
    schema.write_text(json.dumps(CONTENT), encoding="utf-8")
    report = run("describe", table, "--codebook", schema, "--json").report
    gaps = {field["name"]: field["to_fill_in"] for field in report["fields"]}
    assert gaps["root of age"] == gaps["month"] == gaps["log income"] == ""
    text = run("describe", table, "--codebook", schema).out
    assert all(f"│ {name} " in text for name in ("root of age", "month", "log income"))
    read = (table, "--schema", schema, "--target", "stay")
    asked = (*read, "--never", "age,income,died", "--support-size")
    dry = run("select", *asked, "2", "--epsilon", "1", "--dry-run")
    assert "Features: smoker, log income, month, root of age" in dry.out
    (release,) = run("select", *asked, "2", "--epsilon", "50", "--json").report["releases"]
    assert release["feature_names"] == ["log income", "root of age"]
    fitted = run("fit", *asked, "3", "--epsilon", "60", "--output", model)
    assert fitted.code == 0, fitted.err
    assert "per doubling of income" in fitted.out
    assert "per unit of √age" in fitted.out
    predicted = run("predict", model, table).out.splitlines()
    assert list(map(float, predicted[1:])) == ModelRelease.load(model).predict(table).tolist()
    assert run("evaluate", model, table, "--epsilon", "5").code == 0
    assert run("report", model, "--output", tmp_path / "r.html").code == 0
    assert "per doubling of income" in (tmp_path / "r.html").read_text(encoding="utf-8")
    # Ranges, always and never take their names.
    named = ("--range", "log income=7:13", "--always", "month", "--never", "root of age,died")
    one = ("--support-size", "1", "--epsilon", "1", "--dry-run")
    outcome = run("select", *read, *one, *named)
    assert outcome.code == 0, outcome.err
    assert "Always in: month" in outcome.out
    assert "root of age" not in outcome.out
    wrong = run("select", *read, *one, "--always", "admitted")
    wrong.failed_with(2, "type date is used through mipselect:features")
