from __future__ import annotations

import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from mipselect.privacy import Ledger
from tests.support.commandline import Run

SECRET = 123.456789


@pytest.fixture
def release(run: Run, folder: Path) -> Path:
    output = folder / "release.json"
    done = run(
        "release", folder / "instance.toml", "--epsilon", "1", "--draws", "2", "--output", output
    )
    assert done.code == 0
    return output


def changed(path: Path, **changes: Any) -> Path:
    report = json.loads(path.read_text())
    report.update(changes)
    path.write_text(json.dumps(report))
    return path


class Text(HTMLParser):
    """The letters of a page, and what it would load."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.loads, self.tags = "", [], set()
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.loads += [value for name, value in attrs if name in ("src", "href", "action")]


def test_markdown_and_html_say_the_same(run: Run, release: Path, folder: Path) -> None:
    printed = run("card", release)
    assert (printed.code, printed.err) == (0, "")
    parts = ("Basic facts", "Privacy unit and privacy loss", "Model", "Accounting")
    for words in (*parts, "Implementation", "ε = 2", "ρ = 1", "Release 2", "7.39", "McKenna"):
        assert words in printed.out
    page = folder / "card.html"
    made = run("card", release, "--output", page)
    blanks = printed.out.count("TO BE FILLED IN")
    assert f"{blanks} fields to be filled in" in made.out
    html = Text(page.read_text())
    assert html.loads == []
    assert "script" not in html.tags
    assert page.read_text().count('class="blank"') == blanks > 8
    assert "http" not in page.read_text().replace("http-equiv", "")
    report = run("card", release, "--json").report
    for part in report["parts"]:
        for entry in part["entries"]:
            assert (entry["text"] or entry["hint"]) in html.text
    text = folder / "card.md"
    assert run("card", release, "--output", text).code == 0
    assert text.read_text() == printed.out


def test_facts_fill_the_blanks(run: Run, release: Path, folder: Path) -> None:
    facts = folder / "facts.toml"
    assert "11 fields" in run("card", release, "--output", facts).out
    assert run("card", release, "--facts", facts).out == run("card", release).out
    begun = facts.read_text()
    assert begun.count(' = ""') == 11
    facts.write_text(begun.replace('curator" = ""', 'curator" = "the <clinic>,\\n | ward 3"'))
    assert (
        r"| Data curator | the \<clinic\>, \| ward 3 |"
        in run("card", release, "--facts", facts).out
    )
    page = folder / "card.html"
    assert "with 10 fields" in run("card", release, "--facts", facts, "--output", page).out
    assert "the &lt;clinic&gt;, | ward 3" in page.read_text()
    assert r"the \<clinic\>, \| ward 3" in run("report", release, "--facts", facts).out


def test_facts_that_are_not_there(run: Run, release: Path, folder: Path) -> None:
    told = run("card", release, "--facts", folder / "none.toml")
    told.failed_with(2, "none.toml: no such file")
    assert "TOML" not in told.err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('"Data curatr" = "a"', "did you mean 'Data curator'?"),
        ('"Data curator" = 1', "must be a text, got 1"),
        ("Data curator", "not valid TOML"),
        ('"Data" = "another table"', "is no blank of a card"),
        ('"Data curator" = "\\u0007"', "one printable line"),
    ],
)
def test_wrong_facts_are_told(
    run: Run, release: Path, folder: Path, content: str, says: str
) -> None:
    facts = folder / "facts.toml"
    facts.write_text(content)
    for command in ("card", "report"):
        told = run(command, release, "--facts", facts)
        assert (told.code, told.out) == (2, "")
        assert says in told.err
        assert str(facts) in told.err


def test_nothing_is_in_it_that_was_not_checked(run: Run, release: Path) -> None:
    before = run("card", release).out
    changed(release, objective=SECRET, best={"value": SECRET}, values=[SECRET], effort=SECRET)
    assert run("card", release).out == before
    assert str(SECRET) not in before


def test_the_card_is_a_function_of_the_release(run: Run, folder: Path, release: Path) -> None:
    """Other data and the same release: the same card."""
    first = run("card", release).out
    report = json.loads(release.read_text())
    table = folder / "data.csv"
    lines = table.read_text().splitlines()
    table.write_text("\n".join([lines[0], *(["1,1,1,1"] * (len(lines) - 1))]) + "\n")
    run("release", folder / "instance.toml", "--epsilon", "1", "--draws", "2", "--output", release)
    changed(release, releases=report["releases"])
    assert run("card", release).out == first


def test_under_add_remove_the_number_of_rows_is_left_out(run: Run, release: Path) -> None:
    report = json.loads(release.read_text())
    assert "rows: 20" in run("card", release).out
    for entry in (report, *report["releases"]):
        for name in ("guarantee", "guarantee_of_one_draw", "guarantee_of_all_draws"):
            if name in entry:
                entry[name]["relation"] = "add-remove"
    release.write_text(json.dumps(report))
    card = run("card", release).out
    assert "adding or removing one row" in card
    assert "20" not in re.sub(r"\(.*?\)", "", card)
    assert "sensitivity:" not in card


def test_names_cannot_leave_their_cells(run: Run, release: Path, folder: Path) -> None:
    evil = "<script>alert(1)</script>|`*[x](http://e.vil)"
    report = json.loads(release.read_text())
    for entry in report["releases"]:
        entry["feature_names"] = [evil] * len(entry["support"])
    release.write_text(json.dumps(report))
    card = run("card", release).out
    row = next(line for line in card.splitlines() if line.startswith("| Release 1"))
    assert len(re.findall(r"(?<!\\)\|", row)) == 3
    assert "<script>" not in card
    assert re.search(r"(?<!\\)\]\(", card) is None
    run("card", release, "--output", folder / "card.html")
    html = Text((folder / "card.html").read_text())
    assert html.loads == []
    assert "script" not in html.tags
    assert evil in html.text


def test_a_release_without_a_ledger_is_remembered_by_nothing(run: Run, release: Path) -> None:
    changed(release, ledger=None)
    assert "nothing remembers this release" in run("card", release).out
    note = {"identity": "ab12", "unit": "patient", "head": {"number": 7, "hash": "f" * 64}}
    changed(release, ledger=note)
    card = run("card", release).out
    for words in ("one patient", "ledger ab12", "f" * 64):
        assert words in card


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"private": False}, "is not private"),
        ({"sensitive": True}, "is not private"),
        ({"releases": []}, "no draws"),
        ({"releases": 5}, "no release as mipselect writes it"),
        ({"method": 5}, "method"),
        ({"method": "a\nb"}, "method"),
        ({"n": "many"}, "n must be"),
        ({"ridge": 1e999}, "not valid JSON"),
        ({"guarantee_of_all_draws": {"epsilon": 1.0}}, "'delta' is missing"),
        (
            {
                "guarantee_of_one_draw": {
                    "epsilon": 0.1,
                    "delta": 0.0,
                    "relation": "replace-one",
                    "conditions": [],
                    "private": True,
                }
            },
            "contradict",
        ),
    ],
)
def test_what_is_no_release(run: Run, release: Path, changes: dict, words: str) -> None:
    changed(release, **changes)
    run("card", release).failed_with(2, words)


def test_what_is_no_file_of_a_release(run: Run, release: Path, folder: Path) -> None:
    run("card", folder / "none.json").failed_with(2, "no such file")
    run("card", folder / "data.csv").failed_with(2, "not valid JSON")
    run("card", release, "--output", folder / "card.pdf").failed_with(2, ".md or .html")
    run("card", release, "--output", release).failed_with(2, "must end in")
    release.write_text("[]")
    run("card", release).failed_with(2, "is no release")
    release.write_text("[" * 200_000)
    run("card", release).failed_with(2, "not valid JSON")
    seeded = folder / "seeded.json"
    run("release", folder / "instance.toml", "--epsilon", "1", "--seed", "1", "--output", seeded)
    run("card", seeded).failed_with(2, "is not private")


def test_a_release_by_a_schema(run: Run, folder: Path) -> None:
    """Units, an intercept and what is always in; and a ledger under add-remove wants a ridge."""
    fields = [
        {"name": "id", "type": "string"},
        {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 100}},
        {"name": "ward", "type": "string", "categories": ["a", "b"]},
        {"name": "stay", "type": "number", "constraints": {"minimum": 0, "maximum": 60}},
    ]
    schema, table = folder / "schema.json", folder / "t.csv"
    schema.write_text(json.dumps({"csvw-eo:privacyUnit": "id", "fields": fields}))
    lines = [f"p{i},{20 + i},{'ab'[i % 2]},{30 + i % 2}" for i in range(40)]
    table.write_text("\n".join(["id,age,ward,stay", *lines]) + "\n")
    output, books = folder / "release.json", folder / "a.ledger"
    command = ("select", table, "--schema", schema, "--target", "stay", "--support-size", "1")
    command += ("--epsilon", "1", "--always", "age", "--output", output, "--replace")
    assert run(*command).code == 0
    card = run("card", output).out
    for words in ("score: block-r2", "rows of a block: 12", "partitions into blocks: 8"):
        assert words in card
    assert not any(words in card for words in ("clipped", "half the range", "intercept"))
    assert run(*command, "--score", "loss").code == 0
    card = run("card", output).out
    for words in (
        "All rows of one id, made one row.", "differ by replacing all rows of one id",
        "By replacing all rows of one id no result", "with an intercept", "always in: age", "stay",
    ):  # fmt: skip
        assert words in card
    ledger = Ledger.create(books, epsilon=1.0, relation="add-remove", unit="patient")
    assert run(*command, "--ledger", books).code == 0
    assert ledger.entries[0].asked["schema"] == "schema.json"
    digest = hashlib.sha256(schema.read_bytes()).hexdigest()
    assert ledger.entries[0].asked["schema_sha256"] == digest
    assert not {"n", "sensitivity"} & set(ledger.entries[0].asked)
    card = run("card", output).out
    assert "All rows of one id, made one row, which stands for one patient." in card
    assert "adding or removing all rows of one id" in card
    assert "by replacing one row" not in card.lower()
    assert "rows:" not in card


def test_features_with_bounds_of_their_own_have_a_card(run: Run, folder: Path) -> None:
    file = folder / "bounds.toml"
    text = (folder / "instance.toml").read_text()
    file.write_text(re.sub(r"x_bound = .*", "x_bound = [0.5, 1.0, 2.0]", text))
    output = folder / "bounds.json"
    assert run("release", file, "--epsilon", "1", "--output", output).code == 0
    assert json.loads(output.read_text())["x_bound"] == [0.5, 1.0, 2.0]
    assert "features are clipped to ±: 0.5 to 2, by feature" in run("card", output).out
