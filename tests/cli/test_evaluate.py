"""`mipselect evaluate`, and what `fit --quality-share` and a report say of a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mipselect.privacy import Ledger
from mipselect.quality import Quality
from mipselect.regression import ModelRelease
from tests.support.commandline import Outcome, Run
from tests.support.stays import HOSTILE, rows, written


def fit(run: Run, path: Path, *more: str | Path) -> Outcome:
    asked = ("--target", "stay", "--support-size", "1", "--epsilon", "20")
    return run("fit", path, "--schema", path.with_name("schema.json"), *asked, *more)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return written(tmp_path / "t.csv", rows(2000))


@pytest.fixture
def model(run: Run, table: Path) -> Path:
    output = table.with_name("model.json")
    assert fit(run, table, "--quality-share", "0.2", "--output", output).code == 0
    return output


def test_fit_says_how_good_its_model_is(run: Run, table: Path) -> None:
    ledger = table.with_name("l.ledger")
    run("ledger", "create", ledger, "--epsilon", "20")
    outcome = fit(run, table, "--quality-share", "0.2", "--ledger", ledger, "--json")
    report = outcome.report
    quality = Quality.from_dict(report["model"]["quality"])
    assert (report["n"], quality.rows, report["quality_share"]) == (1600, 400, 0.2)
    assert report["guarantee"]["epsilon"] == 20.0
    assert Ledger.open(ledger).remaining.epsilon == 0.0
    assert (quality.beats_chance, outcome.unforeseen) == (True, "")
    text = fit(run, table, "--quality-share", "0.2").out
    assert "share of the rows that is kept apart from the fit: 0.2" in text
    assert "Better than predicting the mean: R²" in text
    assert "quality" not in fit(run, table, "--json").report["model"]
    # Seeded fits keep the same rows apart, and a dry run reads none.
    seeded = ("--quality-share", "0.3", "--seed", "4", "--json")
    one, other = (fit(run, table, *seeded).report["model"] for _ in range(2))
    assert one == other
    table.write_text(table.read_text().splitlines()[0] + "\n")
    dry = ("--quality-share", "0.1", "--dry-run")
    assert fit(run, table, *dry, "--json").report["quality_share"] == 0.1
    told = fit(run, table, *dry).out
    assert "share of the rows that is kept apart from the fit: 0.1" in told
    # A model that is not known to be good comes with a warning.
    written(table, rows(60))
    outcome = fit(run, table, "--quality-share", "0.1", "--epsilon", "1")
    assert outcome.code == 0
    assert "warning: Not known to be better than predicting the mean" in outcome.err
    assert "Not known to be better than predicting the mean" in outcome.out


def test_another_table_is_charged_before_it_is_read(run: Run, model: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "next.csv", rows(3000, 5))
    ledger, output = tmp_path / "l.ledger", tmp_path / "quality.json"
    run("ledger", "create", ledger, "--epsilon", "3", "--unit", "patient")
    asked = (other, "--schema", other.with_name("schema.json"), "--epsilon", "2")
    outcome = run("evaluate", model, *asked, "--ledger", ledger, "--output", output, "--json")
    report = outcome.report
    assert json.loads(output.read_text()) == report
    assert (report["command"], report["target"], report["sensitive"]) == ("evaluate", "stay", False)
    quality = Quality.from_dict(report["quality"])
    assert (quality.rows, quality.share) == (3000, None)
    assert quality.beats_chance
    assert report["guarantee"]["epsilon"] == 2.0
    assert report["ledger"]["remaining"]["epsilon"] == 1.0
    (entry,) = Ledger.open(ledger).entries
    assert entry.asked["command"] == "evaluate"
    assert "rows" not in json.dumps(dict(entry.asked))
    run("evaluate", model, *asked, "--ledger", ledger).failed_with(1, "1")
    text = run("evaluate", model, *asked).out
    assert "Better than predicting the mean: R²" in text
    assert "Guarantee: 2-differentially private (pure), replacing all rows of one id" in text
    assert "nothing remembers this release" in text
    assert "Quality on 3,000 rows of next.csv:" in text


def test_the_table_of_the_fit_comes_with_a_warning(run: Run, model: Path, table: Path) -> None:
    more = ("--schema", table.with_name("schema.json"), "--epsilon", "1", "--json")
    words = "the model was fitted to a table of this name, t.csv: on the rows of the fit it looks"
    same = run("evaluate", model, table, *more)
    (note,) = same.report["notes"]
    assert note.startswith(words)
    assert f"mipselect: warning: {note}" in same.err
    other = table.with_name("next-year.csv")
    other.write_bytes(table.read_bytes())
    assert run("evaluate", model, other, *more).report["notes"] == []
    # What Python saves names no table.
    ModelRelease.load(model).save(table.with_name("saved.json"))
    assert run("evaluate", table.with_name("saved.json"), table, *more).report["notes"] == []


def test_rows_that_are_not_right_raise_nothing(run: Run, model: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "next.csv", HOSTILE)
    asked = ("evaluate", model, other, "--schema", tmp_path / "schema.json", "--epsilon", "1")
    for relation in ("replace-one", "add-remove"):
        outcome = run(*asked, "--relation", relation, "--json")
        assert outcome.code == 0, outcome.err
        quality = Quality.from_dict(outcome.report["quality"])
        assert (quality.rows is None) == (relation == "add-remove")
        assert not quality.beats_chance
        assert "warning: Not known to be better" in outcome.err
    # A seed takes the privacy away.
    report = run(*asked, "--seed", "1", "--json").report
    assert (report["private"], report["sensitive"]) == (False, True)
    assert "NOT PRIVATE" in run(*asked, "--seed", "1").out
