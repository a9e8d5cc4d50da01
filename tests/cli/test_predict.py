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

from mipselect.regression import ModelRelease
from tests.support.commandline import Run
from tests.support.stays import HOSTILE, SCHEMA, rows, written


@pytest.fixture
def model(run: Run, tmp_path: Path) -> Path:
    return fitted(run, tmp_path)


def fitted(run: Run, folder: Path, *more: str) -> Path:
    """A model of stay on sex, ward, and age or noise."""
    asked = ("--target", "stay", "--never", "died", "--support-size", "2", "--always", "sex")
    return model_file(run, folder / "stay.json", *asked, *more)


def risk(run: Run, folder: Path, *more: str) -> Path:
    """A model of died on age."""
    asked = ("--target", "died", "--never", "stay", "--support-size", "1")
    return model_file(run, folder / "risk.json", *asked, *more)


def model_file(run: Run, output: Path, *asked: str) -> Path:
    path = written(output.with_name("t.csv"), rows(300))
    table = (path, "--schema", path.with_name("schema.json"))
    done = run("fit", *table, *asked, "--epsilon", "60", "--output", output)
    assert done.code == 0, done.err
    return output


def frame(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def test_one_line_for_every_row(run: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "t.csv"
    outcome = run("predict", model, data)
    assert outcome.code == 0
    assert "are not: each prediction tells about its row" in outcome.err
    head, *lines = outcome.out.splitlines()
    assert head == "stay"
    expected = ModelRelease.load(model).predict(data)
    assert list(map(float, lines)) == expected.tolist()
    output = tmp_path / "found.csv"
    written_too = run("predict", model, data, "--output", output)
    assert (written_too.code, written_too.out) == (0, "")
    assert "300 predictions of stay" in written_too.err
    assert output.read_text() == outcome.out
    assert output.stat().st_mode & 0o777 == 0o600
    report = run("predict", model, data, "--json").report
    assert report["predictions"] == expected.tolist()
    assert (report["rows"], report["sensitive"], report["target"]) == (300, True, "stay")
    both = run("predict", model, data, "--json", "--output", output, "--replace")
    assert both.report["predictions"] == expected.tolist()
    assert output.read_text() == outcome.out


def test_predictions_do_not_depend_on_how_the_table_is_stored(
    run: Run, model: Path, tmp_path: Path
) -> None:
    data = tmp_path / "t.csv"
    expected = run("predict", model, data).out
    table = frame(data)
    table.to_parquet(tmp_path / "t.parquet")
    assert run("predict", model, tmp_path / "t.parquet").out == expected
    folder = tmp_path / "parts"
    folder.mkdir()
    for k, part in enumerate((table[:100], table[100:])):
        part.to_csv(folder / f"{k}.csv.gz", index=False)
    assert run("predict", model, folder).out == expected
    # Other columns, another order, no target, no identities.
    names = [name for name in reversed(table.columns) if name not in ("stay", "died", "id")]
    table[names].assign(more="x").to_csv(tmp_path / "few.csv", index=False)
    assert run("predict", model, tmp_path / "few.csv").out == expected
    # Rows of one person are all predicted.
    table.assign(id="p").to_csv(tmp_path / "one.csv", index=False)
    assert run("predict", model, tmp_path / "one.csv").out == expected


def test_hostile_rows_are_predicted_like_any_other(run: Run, model: Path, tmp_path: Path) -> None:
    plain = rows(20)
    expected = run("predict", model, written(tmp_path / "u.csv", plain)).out.splitlines()
    for row in HOSTILE:
        changed = [list(line) for line in plain]
        changed[7] = row
        outcome = run("predict", model, written(tmp_path / "u.csv", changed))
        found = outcome.out.splitlines()
        assert outcome.code == 0
        assert np.isfinite(float(found[8]))
        assert found[:8] + found[9:] == expected[:8] + expected[9:]
    written(tmp_path / "u.csv", [])
    assert run("predict", model, tmp_path / "u.csv").out == "stay\n"


def test_values_in_no_list_are_counted(run: Run, model: Path, tmp_path: Path) -> None:
    assert "no list" not in run("predict", model, tmp_path / "t.csv").err
    odd, released = frame(tmp_path / "t.csv"), ModelRelease.load(model)
    odd.loc[[3, 5], "ward"] = "Attic"
    odd.to_csv(tmp_path / "odd.csv", index=False)
    told = run("predict", model, tmp_path / "odd.csv").err
    assert "of which the model says mostly noise: ward in 2 rows" in told
    with pytest.warns(UserWarning, match="ward in 2 rows"):
        predicted = released.predict(tmp_path / "odd.csv")
    assert predicted.tolist() == [
        float(x) for x in run("predict", model, tmp_path / "odd.csv").out.split()[1:]
    ]


def test_values_that_are_replaced_are_told_and_the_fit_tells_nothing(
    run: Run, tmp_path: Path
) -> None:
    model = risk(run, tmp_path)
    assert "values" not in run("predict", model, tmp_path / "t.csv").err
    odd = frame(tmp_path / "t.csv")
    odd.loc[[3, 5, 7], "age"], odd.loc[[9], "age"] = "62,5", "650"
    odd.to_csv(tmp_path / "odd.csv", index=False)
    outcome = run("predict", model, tmp_path / "odd.csv", "--json")
    lines = [line for line in outcome.err.splitlines() if "warning" in line]
    assert lines == [
        "mipselect: warning: values that cannot be read count as missing: age in 3 rows",
        "mipselect: warning: values outside of the range of the schema count as its nearest end: "
        "age in 1 row",
    ]
    assert outcome.report["replaced_values"] == {
        "unreadable": {"age": 3},
        "missing": {},
        "outside": {"age": 1},
        "unlisted": {},
    }
    with pytest.warns(UserWarning, match="count as") as told:
        ModelRelease.load(model).predict(tmp_path / "odd.csv")
    assert [f"mipselect: warning: {each.message}" for each in told] == lines
    # What is released says nothing of them.
    schema = tmp_path / "schema.json"
    table = (tmp_path / "odd.csv", "--schema", schema)
    asked = ("--target", "died", "--never", "stay", "--support-size", "1", "--epsilon", "60")
    again = run("fit", *table, *asked, "--quality-share", "0.3")
    assert again.code == 0
    assert "count as" not in again.err
    measured = run("evaluate", model, *table, "--epsilon", "9")
    assert measured.code == 0
    assert "age in" not in again.out + measured.out + measured.err


def test_missing_fields_are_named_before_a_row_is_read(
    run: Run, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "u.csv").write_text("age,id\n\x00,1\n")
    refused = run("predict", model, tmp_path / "u.csv", "--output", tmp_path / "found.csv")
    refused.failed_with(2, "u.csv", "there is no column", "ward", "sex")
    assert not (tmp_path / "found.csv").exists()
    (tmp_path / "u.csv").write_text('age,ward,sex,ward,"noise, plain"\n1,a,f,b,0\n')
    run("predict", model, tmp_path / "u.csv").failed_with(2, "two columns are called ward")


def test_an_interrupt_writes_nothing(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, data = tmp_path / "found.csv", tmp_path / "t.csv"
    output.write_text("kept")
    before = sorted(os.listdir(tmp_path))

    def interrupted(*_: Any) -> Any:
        yield np.zeros(3)
        raise KeyboardInterrupt

    monkeypatch.setattr(ModelRelease, "decisions", interrupted)
    for more in ((), ("--json",), ("--output", output, "--replace")):
        run("predict", model, data, *more).failed_with(130, "interrupted: nothing was released")
    assert output.read_text() == "kept"
    assert sorted(os.listdir(tmp_path)) == before


def test_a_seeded_model_is_marked(run: Run, tmp_path: Path) -> None:
    seeded = fitted(run, tmp_path, "--seed", "1")
    outcome = run("predict", seeded, tmp_path / "t.csv")
    assert outcome.code == 0
    assert "NOT PRIVATE" in outcome.err
    assert "keep them as you keep DATA" in outcome.err
    assert "The model is private" not in outcome.err


def test_a_model_from_python(run: Run, model: Path, tmp_path: Path) -> None:
    released = ModelRelease.load(model)
    released.save(tmp_path / "saved.json")
    expected = run("predict", model, tmp_path / "t.csv").out
    assert run("predict", tmp_path / "saved.json", tmp_path / "t.csv").out == expected
    stored = {**released.to_dict(), "table": None}
    (tmp_path / "arrays.json").write_text(json.dumps(stored))
    run("predict", tmp_path / "arrays.json", tmp_path / "t.csv").failed_with(2, "model of arrays")


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
    ({"statistics": {"x": ["a"]}}, "statistics"),
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
def test_hostile_models(run: Run, model: Path, tmp_path: Path, change: Any, words: str) -> None:
    run("predict", changed(model, change), tmp_path / "t.csv").failed_with(2, "stay.json: ", words)
    run("report", model).failed_with(2, "stay.json: ")


def test_what_is_missing_is_named(run: Run, model: Path, tmp_path: Path) -> None:
    report = json.loads(model.read_text())
    for name in report["model"]:
        if name in ("format", "version", "table"):
            continue
        less = {key: value for key, value in report["model"].items() if key != name}
        model.write_text(json.dumps({**report, "model": less}))
        run("predict", model, tmp_path / "t.csv").failed_with(2, f"lacks {name}")


def test_probabilities_and_a_threshold(run: Run, tmp_path: Path) -> None:
    model, data = risk(run, tmp_path), tmp_path / "t.csv"
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
    written(tmp_path / "none.csv", [])
    none = run("predict", model, tmp_path / "none.csv", "--probability", "--json").report
    assert (none["predictions"], none["probabilities"]) == ([], [])
    assert run("predict", model, tmp_path / "none.csv", "--probability").out == "died,probability\n"


@pytest.mark.parametrize(
    ("kind", "classes", "texts"),
    [
        ("string", ["no, not", 'the "other"'], ["no, not", 'the "other"']),
        ("integer", [0, 1], ["0", "1"]),
    ],
)
def test_classes_are_as_they_were_written(
    run: Run, tmp_path: Path, kind: str, classes: list[Any], texts: list[str]
) -> None:
    data, schema, output = (tmp_path / name for name in ("t.csv", "schema.json", "m.json"))
    written(data, rows(300))
    table = frame(data)
    table["died"] = np.where(table["died"] == "True", *reversed(texts))
    table.to_csv(data, index=False)
    entry = {"name": "died", "type": kind, "categories": classes}
    fields: Any = [*SCHEMA["fields"][:-1], entry]
    schema.write_text(json.dumps({**SCHEMA, "fields": fields}))
    asked = ("--target", "died", "--never", "stay", "--support-size", "1", "--epsilon", "60")
    done = run("fit", data, "--schema", schema, *asked, "--output", output)
    assert f"log-odds of died={texts[1]} = " in done.out, done.err
    found = [line[0] for line in csv.reader(run("predict", output, data).out.splitlines())]
    assert (found[0], set(found[1:])) == ("died", set(texts))
    report = run("predict", output, data, "--json").report
    assert report["predictions"] == [classes[texts.index(text)] for text in found[1:]]
    assert report["class"] == classes[1]


def test_the_threshold_of_the_quality(run: Run, tmp_path: Path) -> None:
    data, model = tmp_path / "t.csv", tmp_path / "m.json"
    plain = risk(run, tmp_path)
    asked = ("predict", plain, data, "--threshold", "matching")
    run(*asked).failed_with(2, "--threshold matching", "no quality", "--quality-share")
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
