"""A survey weight in the schema of every command that takes one."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.support.commandline import Outcome, Run
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
