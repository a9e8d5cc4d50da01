"""Fields with the role "ignored" in commands: `--never` once and for all."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.commandline import Run
from tests.support.stays import SCHEMA, rows, written

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
def table(tmp_path: Path) -> Path:
    path = written(tmp_path / "t.csv", rows(200))
    (tmp_path / "ignoring.json").write_text(json.dumps(schema_without(APART)))
    return path


def asked(command: str, table: Path, schema: str) -> tuple[str | Path, ...]:
    head = (command, table, "--schema", table.with_name(schema), "--target", "stay")
    return (*head, "--support-size", "1", "--epsilon", "60", "--seed", "1", "--json")


@pytest.mark.parametrize("score", ["blocks", "block-r2", "loss"])
@pytest.mark.parametrize("command", ["select", "fit"])
def test_they_are_what_never_leaves_out(run: Run, table: Path, command: str, score: str) -> None:
    one = run(*asked(command, table, "ignoring.json"), "--score", score)
    other = run(*asked(command, table, "schema.json"), "--score", score, "--never",
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
    run: Run, table: Path, more: tuple[str, ...]
) -> None:
    model, other = table.with_name("m.json"), table.with_name("other.csv")
    schema = schema_without(APART)
    if "private" in more:
        del schema["fields"][1]["constraints"]
        table.with_name("ignoring.json").write_text(json.dumps(schema))
    done = run(*asked("fit", table, "ignoring.json"), "--output", model, *more)
    assert done.code == 0, done.err
    other.write_text(table.read_text().replace("sex", "gender", 1))
    assert run("predict", model, other).code == 0


def test_describe_proposes_them_by_names_alone(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("patient_id,code,comment,age\n" + "".join(f"{i},c{i},,3\n" for i in range(30)))
    found = run("describe", path, "--json").report
    fields = {field["name"]: field for field in found["schema"]["fields"]}
    assert [n for n in fields if "mipselect:role" in fields[n]] == ["patient_id", "comment"]
    assert any("patient_id, comment" in note for note in found["notes"])
    text = run("describe", path).out
    assert "nothing, it is ignored" in text
    assert '"mipselect:role": "ignored"' in text
    proposed = run("describe", path, "--types-from-data", "--json").report
    fields = {field["name"]: field for field in proposed["schema"]["fields"]}
    assert fields["code"] == {"name": "code", "type": "string", "mipselect:typeProposed": True}
    assert proposed["sensitive"] is True
