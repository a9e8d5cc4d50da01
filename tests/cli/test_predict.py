"""`mipselect predict`: a released model on the rows of other tables."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mipselect.cli import main
from mipselect.regression import ModelRelease
from tests.support.commandline import Run
from tests.support.stays import HOSTILE, SCHEMA, rows, written

STAY = ("--target", "stay", "--never", "died", "--support-size", "2", "--always", "sex")
RISK = ("--target", "died", "--never", "stay", "--support-size", "1")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, its schema, and models: of stay on sex, ward and one more, and of died on age."""
    folder = tmp_path_factory.mktemp("models")
    table = (written(folder / "t.csv", rows(300)), "--schema", folder / "schema.json")
    for name, asked in (("stay", STAY), ("risk", RISK), ("seeded", (*STAY, "--seed", "1"))):
        fit = ("fit", *table, *asked, "--epsilon", "60", "--output", folder / f"{name}.json")
        assert main(list(map(str, fit))) == 0
    return folder


@pytest.fixture
def model(here: Path) -> Path:
    return here / "stay.json"


def frame(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def test_one_line_for_every_row(run: Run, model: Path) -> None:
    data, output = model.with_name("t.csv"), model.with_name("found.csv")
    outcome = run("predict", model, data)
    assert outcome.code == 0
    assert "are not: each prediction tells about its row" in outcome.err
    head, *lines = outcome.out.splitlines()
    assert head == "stay"
    expected = ModelRelease.load(model).predict(data).tolist()
    assert list(map(float, lines)) == expected
    written_too = run("predict", model, data, "--output", output)
    assert (written_too.code, written_too.out) == (0, f"Written to {output}.\n")
    assert output.read_text() == outcome.out
    for more in ((), ("--output", output, "--replace")):
        report = run("predict", model, data, "--json", *more).report
        assert report["predictions"] == expected
        assert (report["rows"], report["sensitive"], report["target"]) == (300, True, "stay")
    assert output.read_text() == outcome.out
    seeded = run("predict", model.with_name("seeded.json"), data)
    assert seeded.code == 0
    for words, there in (
        *(("NOT PRIVATE", True), ("keep them as you keep DATA", True)),
        ("The model is private", False),
    ):
        assert (words in seeded.err) is there
    # A model from Python, and one that knows no table.
    released = ModelRelease.load(model)
    released.save(model.with_name("saved.json"))
    assert run("predict", model.with_name("saved.json"), data).out == outcome.out


def test_predictions_do_not_depend_on_how_the_table_is_stored(run: Run, model: Path) -> None:
    data = model.with_name("t.csv")
    expected, table, folder = run("predict", model, data).out, frame(data), data.parent
    table.to_parquet(folder / "t.parquet")
    parts = folder / "parts"
    parts.mkdir()
    for k, part in enumerate((table[:100], table[100:])):
        part.to_csv(parts / f"{k}.csv.gz", index=False)
    # Other columns, another order, no target, no identities.
    names = [name for name in reversed(table.columns) if name not in ("stay", "died", "id")]
    table[names].assign(more="x").to_csv(folder / "few.csv", index=False)
    # Rows of one person are all predicted.
    table.assign(id="p").to_csv(folder / "one.csv", index=False)
    for name in ("t.parquet", "parts", "few.csv", "one.csv"):
        assert run("predict", model, folder / name).out == expected, name


def test_hostile_rows_are_predicted_like_any_other(run: Run, model: Path) -> None:
    plain, path = rows(20), model.with_name("u.csv")
    expected = run("predict", model, written(path, plain)).out.splitlines()
    for row in HOSTILE:
        outcome = run("predict", model, written(path, [*plain[:7], row, *plain[8:]]))
        found = outcome.out.splitlines()
        assert outcome.code == 0
        assert np.isfinite(float(found[8]))
        assert found[:8] + found[9:] == expected[:8] + expected[9:]
    assert run("predict", model, written(path, [])).out == "stay\n"


def test_missing_fields_are_named_before_a_row_is_read(run: Run, model: Path) -> None:
    path, found = model.with_name("u.csv"), model.with_name("found.csv")
    path.write_text("age,id\n\x00,1\n")
    refused = run("predict", model, path, "--output", found)
    refused.failed_with(2, "u.csv", "there is no column", "ward", "sex")
    assert not found.exists()
    path.write_text('age,ward,sex,ward,"noise, plain"\n1,a,f,b,0\n')
    run("predict", model, path).failed_with(2, "two columns are called ward")


def test_an_interrupt_writes_nothing(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, data = model.with_name("found.csv"), model.with_name("t.csv")
    output.write_text("kept")
    before = sorted(os.listdir(model.parent))

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(ModelRelease, "decision", interrupted)
    for more in ((), ("--json",), ("--output", output, "--replace")):
        run("predict", model, data, *more).failed_with(130, "interrupted: nothing was released")
    assert output.read_text() == "kept"
    assert sorted(os.listdir(model.parent)) == before


def changed(path: Path, change: dict[str, Any]) -> Path:
    """The model with other values, by paths with dots."""
    report = json.loads(path.read_text())
    for key, value in change.items():
        *steps, last = key.split(".")
        at = report["model"]
        for step in steps:
            at = at[int(step) if isinstance(at, list) else step]
        at[int(last) if isinstance(at, list) else last] = value
    path.write_text(json.dumps(report))
    return path


HOSTILE_MODELS: list[tuple[dict[str, Any], str]] = [
    ({"format": "pickle"}, "its format must be 'mipselect-model'"),
    ({"version": 2}, "this package reads version 1"),
    ({"more": 1}, "has 'more'"),
    ({"coefficients": [1.0]}, "coefficients must be"),
    ({"coefficients": "many"}, "coefficients must be of type array or null"),
    ({"coefficients.0": "1"}, "coefficients[0] must be of type number"),
    ({"coefficients.0": 10**400}, "coefficients must be finite"),
    ({"intercept": None}, "intercept must be of type number"),
    ({"rows.size": 10**9}, "1000000000, one for each column"),
    ({"rows.size": -1}, "rows.size must be ≥ 0"),
    ({"rows.row_bound": 0}, "row_bound must be a finite number > 0"),
    ({"rows.x_bound": [1.0]}, "x_bound must be"),
    ({"rows.fit_intercept": "yes"}, "fit_intercept"),
    ({"columns.0": "a\nb"}, "the name of column 0"),
    ({"columns.0": "other"}, "not those of its table"),
    ({"feature_names.0": "other"}, "not those of its table"),
    ({"guarantee.epsilon": -1}, "epsilon must be"),
    ({"guarantee.relation": "swap"}, "relation must be"),
    ({"guarantee.conditions": "ab"}, "guarantee.conditions must be of type array"),
    ({"guarantee.more": 1}, "guarantee has 'more'"),
    ({"private": 1}, "private must be of type boolean"),
    ({"classes": ["a", "b", "c"]}, "classes must have at most 2"),
    ({"bounds": {"x\n": 1.0}}, "the name of a bound"),
    ({"table": 5}, "table must be of type object or null"),
    ({"table.schema": {}}, "table.schema: the file lacks fields"),
    ({"table.schema.fields": []}, "table.schema: fields must not be empty"),
    ({"table.schema.fields.0.type": "pickle"}, "must be one of"),
    ({"table.target": "other"}, "the schema has no field 'other'"),
    ({"table.always": ["other"]}, "the schema has no field 'other'"),
    ({"table.more": 1}, "table has 'more'"),
    ({"support": [-1, 2]}, "support[0] must be ≥ 0"),
    ({"mechanism": ""}, "mechanism must not be empty"),
    ({"coefficients.0": 1.7e308, "coefficients.1": -1.7e308}, "too large for its table"),
    ({"intercept": 1e300}, "too large for its table"),
]


@pytest.mark.parametrize(("change", "words"), HOSTILE_MODELS, ids=lambda x: str(x)[:40])
def test_hostile_models(run: Run, model: Path, change: Any, words: str) -> None:
    refused = run("predict", changed(model, change), model.with_name("t.csv"))
    refused.failed_with(2, "stay.json: ", words)
    run("report", model).failed_with(2, "stay.json: ")


def test_what_is_missing_is_named(run: Run, model: Path) -> None:
    report = json.loads(model.read_text())
    for name in report["model"]:
        if name not in ("format", "version", "table"):
            less = {key: value for key, value in report["model"].items() if key != name}
            model.write_text(json.dumps({**report, "model": less}))
            refused = run("predict", model, model.with_name("t.csv"))
            refused.failed_with(2, f"lacks {name}")


def test_probabilities_and_a_threshold(run: Run, here: Path) -> None:
    model, data = here / "risk.json", here / "t.csv"
    expected = ModelRelease.load(model).probabilities(data)[:, 1]
    plain = run("predict", model, data)
    for words in ("died is true where its probability", "--probability", "--threshold matching"):
        assert words in plain.err
    head, *lines = csv.reader(plain.out.splitlines())
    assert run("predict", model, data, "--probability").out == plain.out
    assert head == ["died", "probability"]
    assert [float(p) for _, p in lines] == expected.tolist()
    assert [named for named, _ in lines] == ["true" if p > 0.5 else "false" for p in expected]
    assert 0.3 < expected.mean() < 0.6
    at = run("predict", model, data, "--threshold", "0.9")
    assert "its probability" not in at.err
    few = [line.split(",")[0] for line in at.out.splitlines()]
    assert few[1:] == ["true" if p > 0.9 else "false" for p in expected]
    assert 0 < few.count("true") < sum(named == "true" for named, _ in lines)
    report = run("predict", model, data, "--probability", "--threshold", "0.1", "--json").report
    assert report["probabilities"] == expected.tolist()
    assert report["predictions"] == [bool(p > 0.1) for p in expected]
    assert (report["class"], report["threshold"]) == (True, 0.1)
    assert run("predict", model, data, "--json").report["probabilities"] == expected.tolist()
    none = ("predict", model, written(here / "none.csv", []), "--probability")
    report = run(*none, "--json").report
    assert (report["predictions"], report["probabilities"]) == ([], [])
    assert run(*none).out == "died,probability\n"


@pytest.mark.parametrize(
    ("kind", "classes", "texts"),
    [
        ("string", ["no, not", 'the "other"'], ["no, not", 'the "other"']),
        ("integer", [0, 1], ["0", "1"]),
    ],
)
def test_classes_are_as_they_were_written(
    run: Run, here: Path, kind: str, classes: list[Any], texts: list[str]
) -> None:
    data, schema, output = (here / name for name in ("t.csv", "schema.json", "m.json"))
    table = frame(data)
    table["died"] = np.where(table["died"] == "True", *reversed(texts))
    table.to_csv(data, index=False)
    entry = {"name": "died", "type": kind, "categories": classes}
    schema.write_text(json.dumps({**SCHEMA, "fields": [*SCHEMA["fields"][:-1], entry]}))
    done = run("fit", data, "--schema", schema, *RISK, "--epsilon", "60", "--output", output)
    assert f"log-odds of died={texts[1]} = " in done.out, done.err
    found = [line[0] for line in csv.reader(run("predict", output, data).out.splitlines())]
    assert (found[0], set(found[1:])) == ("died", set(texts))
    report = run("predict", output, data, "--json").report
    assert report["predictions"] == [classes[texts.index(text)] for text in found[1:]]
    assert report["class"] == classes[1]


def test_the_threshold_of_the_quality(run: Run, here: Path) -> None:
    data, plain, model = here / "t.csv", here / "risk.json", here / "m.json"
    stored = json.loads(plain.read_text())["model"]
    measures = [{"name": "AUC", "value": 0.7, "low": 0.6, "high": 0.8}]
    of_rows = {"level": 0.9, "rows": 9, "share": 0.1, "clip": None, "bins": []}
    quality = {"measures": measures, **of_rows, "guarantee": stored["guarantee"]}
    model.write_text(json.dumps({**stored, "quality": quality}))
    asked = ("predict", model, data, "--threshold", "matching")
    run(*asked).failed_with(2, "a quality without that threshold")
    quality["matching_threshold"] = 0.9
    model.write_text(json.dumps({**stored, "quality": quality}))
    assert run(*asked).out == run("predict", plain, data, "--threshold", "0.9").out
    assert run(*asked, "--json").report["threshold"] == 0.9
