"""`mipselect check`: what it prints and writes, and that hostile values do no harm."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.support.commandline import Outcome, Run
from tests.support.fields import listed, numeric
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
    outcome = check(run, table, "--target", "stay")
    assert (outcome.code, outcome.err) == (0, "")
    assert "SENSITIVE" in outcome.out.splitlines()[1]
    for words in ("405 rows", "ward", "above maximum", "unreadable", "by id", "never from this"):
        assert words in outcome.out
    report = check(run, table, "--target", "stay", "--json").report
    assert (report["command"], report["sensitive"], report["private"]) == ("check", True, False)
    assert report["warning"].startswith("SENSITIVE")
    assert report["rows"] == 405
    assert report["rows_without_values"] == 1
    assert report["people"]["people"] == 402
    assert {field["name"] for field in report["fields"]} == {
        *("age", "sex", "ward", "noise, plain", "stay", "died")
    }
    for field in report["fields"]:
        assert sum(field["counts"].values()) == 405


def test_the_page_is_marked_self_contained_and_escaped(run: Run, tmp_path: Path) -> None:
    names = ["<b>x</b>", "y"]
    fields: list[dict[str, Any]] = [
        listed(names[0], "a", "b"),
        numeric(names[1], 0, 1),
    ]
    path = tmp_path / "<i>t.parquet"
    parquet.write_table(pa.table({names[0]: EVIL * 9, names[1]: EVIL * 9}), path)
    path.with_name("schema.json").write_text(json.dumps({"fields": fields}))
    page = tmp_path / "page.html"
    outcome = check(run, path, "--output", page, "--target", "y")
    assert (outcome.code, outcome.err) == (0, "")
    text = page.read_text(encoding="utf-8")
    assert stat.S_IMODE(page.stat().st_mode) & 0o077 == 0
    seen = checked_page(text)
    assert "default-src 'none'" in text
    assert seen.links == []
    assert (seen.text.count("SENSITIVE"), SCRIPT in seen.text) == (3, True)
    for page_or_terminal in (text, outcome.out):
        for raw in ("\x1b", "\u202e", "\r"):
            assert raw not in page_or_terminal
        assert "\\x1b[31mred" in page_or_terminal
        assert "[bold red]markup[/]" in page_or_terminal
    assert EVIL[0] in outcome.out
    # The JSON object is ASCII, with escapes of its own.
    assert check(run, path, "--json").out.isascii()


def test_nothing_is_written_but_the_file_that_was_asked_for(run: Run, table: Path) -> None:
    folder = table.parent
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert check(run, table, "--json").code == 0
    assert check(run, table, "--target", "stay").code == 0
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    output = folder / "out.json"
    report = check(run, table, "--json", "--output", output).report
    assert json.loads(output.read_text()) == report
    assert stat.S_IMODE(output.stat().st_mode) & 0o077 == 0
    assert {*folder.iterdir()} == {*before, output}


@pytest.mark.parametrize("command", ["select", "fit"])
def test_a_draw_expects_a_check_and_says_nothing_of_rows(
    run: Run, tmp_path: Path, command: str
) -> None:
    """The words are the same for rows that fit and for rows that do not, and before the draw."""
    note = "mipselect: note: Expects that the curator has looked at the report of 'mipselect check'"
    for lines in (rows(300), [["p", "?", "?", "?", "?", "?", "?"]] * 300):
        path = written(tmp_path / "t.csv", [[f"p{k}", *line[1:]] for k, line in enumerate(lines)])
        asked = (command, path, "--schema", path.with_name("schema.json"), "--target", "stay")
        asked = (*asked, "--support-size", "1", "--epsilon", "1")
        for more in ((), ("--dry-run",), ("--json",)):
            found = run(*asked, *more)
            assert found.err == f"{note} on this table\n"
            assert "mipselect check" not in found.out
        assert run(*asked, "--seed", "1").err == ""


def test_the_check_is_named_before_the_draw(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mipselect.cli.releasing.SupportPlan.law", stop)
    path = written(tmp_path / "t.csv", rows(60))
    asked = (path, "--schema", path.with_name("schema.json"), "--target", "stay")
    stopped = run("select", *asked, "--support-size", "1", "--epsilon", "1")
    assert stopped.code == 130
    assert "note: Expects that the curator has looked at the report" in stopped.err


def test_fields_that_lack_a_range_are_named_with_what_leaves_them_out(
    run: Run, tmp_path: Path
) -> None:
    fields = [
        numeric("a", 0, 9),
        {"name": "b", "type": "number"},
        {"name": "day", "type": "date"},
    ]
    (tmp_path / "t.csv").write_text("a,b,day\n1,2,2020-01-31\n")
    schema = tmp_path / "s.json"
    schema.write_text(json.dumps({"fields": fields}))
    done = run("check", tmp_path / "t.csv", "--schema", schema)
    assert "leave fields out: --never b,day." in " ".join(done.out.split())
    fields[1]["constraints"] = {"minimum": 0, "maximum": 9}
    month = {"name": "month", "from": "day", "part": "month"}
    schema.write_text(json.dumps({"fields": fields, "mipselect:features": [month]}))
    assert "--never" not in run("check", tmp_path / "t.csv", "--schema", schema).out


def test_the_page_of_the_manual_shows_what_the_command_prints(
    run: Run, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    page = (repository / "docs" / "how-to" / "check-a-table.md").read_text(encoding="utf-8")
    command = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)[0]
    (printed,) = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    out = run(*command.split()[1:]).out
    assert all(line in out for line in printed.splitlines())
