"""Derived features on the command line, from the schema to predictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mipselect.regression import ModelRelease
from tests.support.clinic import CONTENT, clinic
from tests.support.commandline import Run

ASKED = ("--target", "stay", "--never", "age,income,died")


@pytest.fixture
def table(tmp_path: Path) -> tuple[Any, ...]:
    clinic(1500).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "s.json").write_text(json.dumps(CONTENT), encoding="utf-8")
    return tmp_path / "t.csv", "--schema", tmp_path / "s.json"


def test_describe_lists_what_is_made_of_fields(run: Run, table: Any) -> None:
    outcome = run("describe", table[0], "--codebook", table[2], "--json")
    report = json.loads(outcome.out)
    gaps = {field["name"]: field["to_fill_in"] for field in report["fields"]}
    assert gaps["root of age"] == gaps["month"] == gaps["log income"] == ""
    text = " ".join(run("describe", table[0], "--codebook", table[2]).out.split())
    for words in ("made into month", "12 categories", "made of age", "made of income"):
        assert words in text


def test_from_a_table_to_predictions(run: Run, table: Any, tmp_path: Path) -> None:
    dry = run("select", *table, *ASKED, "--support-size", "2", "--epsilon", "1", "--dry-run")
    assert "Features: smoker, log income, month, root of age" in dry.out
    drawn = run("select", *table, *ASKED, "--support-size", "2", "--epsilon", "50", "--json")
    (release,) = json.loads(drawn.out)["releases"]
    assert release["feature_names"] == ["log income", "root of age"]
    model = tmp_path / "m.json"
    asked = (*ASKED, "--support-size", "3", "--epsilon", "60", "--output", model)
    fitted = run("fit", *table, *asked)
    assert fitted.code == 0, fitted.err
    assert "per doubling of income" in fitted.out
    assert "per unit of √age" in fitted.out
    predicted = run("predict", model, table[0]).out.splitlines()
    assert list(map(float, predicted[1:])) == ModelRelease.load(model).predict(table[0]).tolist()
    assert run("evaluate", model, table[0], "--epsilon", "5").code == 0
    page = tmp_path / "report.html"
    assert run("report", model, "--output", page).code == 0
    assert "per doubling of income" in page.read_text(encoding="utf-8")


def test_ranges_always_and_never_take_their_names(run: Run, table: Any) -> None:
    named = ("--range", "log income=7:13", "--always", "month", "--never", "root of age,died")
    asked = ("--target", "stay", "--support-size", "1", "--epsilon", "1")
    outcome = run("select", *table, *asked, *named, "--dry-run")
    assert outcome.code == 0, outcome.err
    assert "Always in: month" in outcome.out
    assert "root of age" not in outcome.out
    wrong = run("select", *table, *asked, "--always", "admitted", "--dry-run")
    assert wrong.code == 2
    assert "type date is used through mipselect:features" in wrong.err


def test_moments_and_instances_know_them(run: Run, table: Any, tmp_path: Path) -> None:
    sums = tmp_path / "m.npz"
    assert run("moments", *table, "--target", "stay", "--output", sums).code == 0
    solved = run("solve", sums, "--support-size", "2", "--never", "age,income,died", "--json")
    assert solved.code == 0, solved.err
    other = run("solve", *table, "--target", "stay", "--support-size", "2", "--never",
                "age,income,died", "--json")  # fmt: skip
    best = [json.loads(outcome.out)["best"]["names"] for outcome in (solved, other)]
    assert best[0] == best[1] == ["log income", "root of age"]


def test_a_wrong_declaration_is_one_line_with_its_place(run: Run, table: Any) -> None:
    content = json.loads(json.dumps(CONTENT))
    content["mipselect:features"][0]["transfrom"] = "log"
    table[2].write_text(json.dumps(content), encoding="utf-8")
    outcome = run("select", *table, *ASKED, "--support-size", "1", "--epsilon", "1")
    assert outcome.code == 2
    (line,) = outcome.err.splitlines()
    assert "s.json: mipselect:features[0] has 'transfrom'" in line
