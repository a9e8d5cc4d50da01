"""`mipselect check`: what it prints and writes, and that hostile values do no harm."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.support.commandline import Outcome, Run
from tests.support.fields import listed, numeric, schema_of
from tests.support.pages import checked_page
from tests.support.stays import HOSTILE, rows, written

SCRIPT = "<script>alert(1)</script>"
EVIL = [SCRIPT, "\x1b[31mred\x1b[0m", "[bold red]markup[/]", "\u202egnirts", "a\rb", '" onload="x']


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return written(tmp_path / "t.csv", [*rows(400), *HOSTILE])


def check(run: Run, path: Path, *more: str | Path) -> Outcome:
    return run("check", path, "--schema", path.with_name("schema.json"), *more)


def test_the_report_is_marked_and_whole(run: Run, table: Path) -> None:
    folder, output = table.parent, table.with_name("out.json")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    outcome = check(run, table)
    assert (outcome.code, outcome.err) == (0, "")
    assert "SENSITIVE" in outcome.out.splitlines()[1]
    for words in ("405 rows", "ward", "above maximum", "unreadable", "by id", "never from this"):
        assert words in outcome.out
    report = check(run, table, "--json").report
    assert (report["command"], report["sensitive"], report["private"]) == ("check", True, False)
    assert report["warning"].startswith("SENSITIVE")
    assert (report["rows"], report["rows_without_values"]) == (405, 1)
    assert report["people"]["people"] == 402
    assert {field["name"] for field in report["fields"]} == {
        *("age", "sex", "ward", "noise, plain", "stay", "died")
    }
    assert all(sum(field["counts"].values()) == 405 for field in report["fields"])
    # Nothing is written but the file that was asked for.
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert check(run, table, "--json", "--output", output).report == report
    assert json.loads(output.read_text()) == report
    assert stat.S_IMODE(output.stat().st_mode) & 0o077 == 0
    assert {*folder.iterdir()} == {*before, output}


def test_the_page_is_marked_self_contained_and_escaped(run: Run, tmp_path: Path) -> None:
    path, page = tmp_path / "<i>t.parquet", tmp_path / "page.html"
    parquet.write_table(pa.table({"<b>x</b>": EVIL * 9, "y": EVIL * 9}), path)
    schema_of(listed("<b>x</b>", "a", "b"), numeric("y", 0, 1)).write(tmp_path / "schema.json")
    outcome = check(run, path, "--output", page)
    assert (outcome.code, outcome.err) == (0, "")
    text = page.read_text(encoding="utf-8")
    assert stat.S_IMODE(page.stat().st_mode) & 0o077 == 0
    seen = checked_page(text)
    assert "default-src 'none'" in text
    assert seen.links == []
    assert (seen.text.count("SENSITIVE"), SCRIPT in seen.text) == (3, True)
    for shown in (text, outcome.out):
        assert not any(raw in shown for raw in ("\x1b", "\u202e", "\r"))
        assert "\\x1b[31mred" in shown
        assert "[bold red]markup[/]" in shown
    assert EVIL[0] in outcome.out
    # The JSON object is ASCII, with escapes of its own.
    assert check(run, path, "--json").out.isascii()


def test_fields_that_lack_a_range_are_named_with_what_leaves_them_out(
    run: Run, tmp_path: Path
) -> None:
    path, schema, day = (
        tmp_path / "t.csv",
        tmp_path / "schema.json",
        {"name": "day", "type": "date"},
    )
    path.write_text("a,b,day\n1,2,2020-01-31\n")
    schema_of(numeric("a", 0, 9), {"name": "b", "type": "number"}, day).write(schema)
    assert "leave fields out: --never b,day." in " ".join(check(run, path).out.split())
    made = {"mipselect:features": [{"name": "month", "from": "day", "part": "month"}]}
    schema_of(numeric("a", 0, 9), numeric("b", 0, 9), day, **made).write(schema)
    assert "--never" not in check(run, path).out


def test_the_page_of_the_manual_shows_what_the_command_prints(
    run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    page = (repository / "docs" / "how-to" / "check-a-table.md").read_text(encoding="utf-8")
    command = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)[0]
    (printed,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    out = run(*command.split()[1:]).out
    assert all(line in out for line in printed.splitlines())


AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 100}}
SMOKER = listed("smoker", "no", "yes")
CHARGES = numeric("charges", 0, 60_000)
WEIGHT = {
    "name": "weight",
    "type": "number",
    "mipselect:role": "weight",
    "constraints": {"maximum": 5},
}
COLUMNS: Mapping[str, Callable[[np.random.Generator], list[str]]] = {
    "id": lambda draw: [f"p{k}" for k in range(400)],
    "age": lambda draw: [str(v) for v in draw.integers(18, 91, 400)],
    "smoker": lambda draw: [("no", "yes")[v] for v in draw.integers(0, 2, 400)],
    "charges": lambda draw: [f"{v:.2f}" for v in draw.uniform(1_000, 58_000, 400)],
}


def lines(run: Run, folder: Path) -> list[str]:
    """The findings of a check, each one line of its text and one entry of its JSON."""
    asked = ("check", folder / "t.csv", "--schema", folder / "schema.json")
    outcome = run(*asked)
    assert (outcome.code, outcome.err) == (0, "")
    found = [line[2:] for line in outcome.out.splitlines() if line.startswith("- ")]
    report = run(*asked, "--json").report
    assert report["sensitive"] is True
    assert found == [f"{one['about']}: {one['text']}." for one in report["findings"]]
    return found


def write(
    folder: Path,
    fields: list[dict[str, Any]],
    cells: Mapping[str, list[str]] | None = None,
    **schema: Any,
) -> None:
    """A table of these fields, some cells of it replaced, and its schema."""
    draw = np.random.default_rng(0)
    columns = {name: make(draw) for name, make in COLUMNS.items()} | dict(cells or {})
    header = ",".join(columns)
    rows = (",".join(row) for row in zip(*columns.values(), strict=True))
    (folder / "t.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    content = {"missingValues": ["", "NA"], "fields": fields, **schema}
    (folder / "schema.json").write_text(json.dumps(content))


def test_a_right_schema_has_no_findings(run: Run, tmp_path: Path) -> None:
    people = {"csvw-eo:privacyUnit": "id"}
    write(tmp_path, [{"name": "id", "type": "string"}, AGE, SMOKER, CHARGES], **people)
    assert lines(run, tmp_path) == []
    assert "Nothing was found" in run(
        "check", tmp_path / "t.csv", "--schema", tmp_path / "schema.json"
    ).out  # fmt: skip


NO_NUMBER = "age: all values are text that is no number and not in missingValues"
TO_1000 = numeric("charges", 0, 1000)
FROM_5E4 = numeric("charges", 5e4, 1e6)
REQUIRED = {**AGE, "constraints": {**AGE["constraints"], "required": True}}  # type: ignore[dict-item]
LABELS = [{"value": 1, "label": "never"}, {"value": 2, "label": "daily"}]
TEXTS = [{**entry, "value": str(entry["value"])} for entry in LABELS]

CASES: list[tuple[list[dict[str, Any]], dict[str, list[str]], list[tuple[str, ...]]]] = [
    # Fields, cells, and of each finding its beginning and what is in it.
    ([AGE, SMOKER, CHARGES], {"smoker": ["0", "1", "1", "0"] * 100},
     [("smoker: all values are in no list; the file writes other codes than ",
       "'no', 'yes'; see the codebook", "'0' (200 rows), '1' (200 rows)")]),
    ([AGE, SMOKER], {"smoker": ["no", "yes", "yes", "unknown"] * 100},
     [("smoker: 25 % of values are in no list",)]),
    ([AGE, SMOKER, TO_1000], {"charges": ["900"] * 28 + ["45000"] * 372},
     [("charges: 93 % of values are above the maximum 1,000; take a range where nearly all values "
       "lie, such as from the codebook.",)]),
    ([AGE, SMOKER, FROM_5E4], {"charges": [str(900 + k) for k in range(28)] + ["55000"] * 372},
     [("charges: 7.0 % of values are below the minimum 50,000",)]),
    ([AGE, {"name": "id", "type": "date"}], {"id": ["31.12.2019"] * 400},
     [('id: all values are no date of ISO 8601, such as 2020-01-31',)]),
    *(([AGE, CHARGES], {"age": [date] * 400},
     [(NO_NUMBER, 'a date by the type "date"', f"Most frequent: '{date}' (400 rows)")])
      for date in ("31.12.2019", "12/31/2019", "2019-12-31", "2019-12-31 10:00")),
    *(([AGE, CHARGES], {"charges": [f'"{value}"'] * 350 + ["7"] * 50},
     [("charges: 88 % of values are text that is no number", "decimalChar",
         f"Most frequent: '{value}' (350 rows)")])
      for value in ("12,5", "1.234,50", "1,234.50", "1,234", "1 234.5", "1'234", "12 kg", "$12.50",
                    "5%")),
    *(([AGE, {"name": "smoker", "type": kind, "categories": codes}],
       {"smoker": ["never", "Daily"] * 200},
     [("smoker: all values are ", "'Daily' (200 rows)")])
      for kind, codes in (("integer", LABELS), ("string", TEXTS))),
    ([AGE, CHARGES, WEIGHT],
     {"weight": ["0"] * 40 + ["-1"] * 20 + ["5.5"] * 20 + ["1.5"] * 320},
     [("weight: 15 % of weights are 0 or below; a weight must be a number above 0.",),
      ("weight: 5.0 % of weights are above the maximum 5",)]),
    ([AGE, SMOKER, CHARGES], {"charges": [f"{90_000 + k}" for k in range(400)]},
     [("charges: all values are above the maximum 60,000",)]),
    ([REQUIRED, SMOKER], {"age": ["NA"] * 4 + ["30", "71"] * 198},
     [("age: 1.0 % of values are missing, and the field is required",)]),
    ([AGE, SMOKER], {"age": ["NA"] * 300 + ["30", "71"] * 50},
     [("age: 75 % of values are missing; see whether this is the column",)]),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "cells", "findings"), CASES)
def test_a_mistake_is_one_line_that_says_what_would_be_right(
    run: Run,
    tmp_path: Path,
    fields: list[dict[str, Any]],
    cells: dict[str, list[str]],
    findings: list[tuple[str, ...]],
) -> None:
    write(tmp_path, fields, cells)
    found = lines(run, tmp_path)
    assert len(found) == len(findings)
    for line, (beginning, *words) in zip(found, findings, strict=True):
        assert line.startswith(beginning)
        assert all(word in line for word in words)


def test_bytes_that_are_no_utf8(run: Run, tmp_path: Path) -> None:
    write(tmp_path, [AGE, SMOKER], {"smoker": ["nö", "yes"] * 200})
    path = tmp_path / "t.csv"
    path.write_bytes(path.read_text(encoding="utf-8").encode("latin-1"))
    (found,) = lines(run, tmp_path)
    assert found.startswith(
        "smoker: 50 % of values are in no list, some with bytes that are no UTF-8; save the file "
        "as UTF-8"
    )
