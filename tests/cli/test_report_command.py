"""`mipselect report` on what the real commands wrote, and on hostile files."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mipselect.cli import main
from mipselect.cli import report as report_command
from mipselect.privacy import Guarantee, Ledger
from mipselect.privacy.guarantee import compose
from mipselect.regression import AdaSSPRegressor, ModelRelease
from mipselect.reports.methods import FACTS
from tests.support.commandline import Run
from tests.support.pages import checked_page, markdown_tables
from tests.support.stays import SCHEMA, rows, written

EVIL = "<img src=x onerror=alert(1)>|[x](http://e.vil)"
TITLES = {"age": ("Age at <b>admission</b>", "years"), "stay": ("Length of stay", "days")}
KINDS = ("fields", "numbers", "classes", "quality")


def call(*arguments: str | Path) -> None:
    assert main([str(argument) for argument in arguments]) == 0


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ledger, and a release of each kind by a real command."""
    folder = tmp_path_factory.mktemp("releases")
    table = written(folder / "stays.csv", rows(3000))
    schema = json.loads(json.dumps(SCHEMA))
    for field in schema["fields"]:
        if field["name"] in TITLES:
            field["title"], field["unit"] = TITLES[field["name"]]
    path, ledger = folder / "schema.json", folder / "study.ledger"
    path.write_text(json.dumps(schema))
    call("ledger", "create", ledger, "--epsilon", "50", "--delta", "1e-5", "--unit", "patient")
    common = ("--schema", path, "--ledger", ledger, "--output")
    two = ("--target", "stay", "--never", "died", "--support-size", "2")
    call("select", table, *two, "--epsilon", "4", *common, folder / "fields.json")
    fit = ("--quality-share", "0.2", *common)
    call("fit", table, *two, "--epsilon", "12", *fit, folder / "numbers.json")
    classes = ("--target", "died", "--never", "stay", "--support-size", "1", "--epsilon", "10")
    call("fit", table, *classes, *fit, folder / "classes.json")
    evaluate = ("evaluate", folder / "numbers.json", table, "--epsilon", "0.5")
    call(*evaluate, *common, folder / "quality.json")
    seeded = ("--schema", path, "--seed", "1", "--output", folder / "seeded.json")
    call("fit", table, *classes, *seeded)
    return folder


def files(folder: Path, *names: str) -> list[Path]:
    return [folder / f"{name}.json" for name in names or KINDS]


def changed(path: Path, **changes: Any) -> Path:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return path


def test_every_kind_has_its_words(run: Run, made: Path) -> None:
    done = run("report", *files(made))
    assert (done.code, done.err) == (0, "")
    text = done.out
    for words in (
        "# Private results from stays.csv",
        "## 1. Which fields go with stay (Length of stay, in days)",
        "A random draw of 2 fields among 4 fields.",
        "## 2. How stay (Length of stay, in days) goes with other fields", "| estimate, in days |",
        "## 3. How died goes with other fields", "| odds × ",
        "## 4. How well stay", "about the model numbers.json",
        "of the variation of the target", "one of each class", "- of rows with a probability of",
        "all rows with the same id, made one row, which stands for one patient",
        "arXiv:2010.12603", "arXiv:0912.0071",
        "## For ethics boards and registries", "### How fields.json was made",
        "### How classes.json was made", "permute-and-flip over all supports, drawn exactly",
        "TO BE FILLED IN", "of the model for values that are missing",
    ):  # fmt: skip
        assert words in text, words
    assert "How quality.json was made" not in text
    assert "NOT PRIVATE" not in text
    hashes = [sha256(path.read_bytes()).hexdigest() for path in files(made)]
    assert all(named in text for named in (*hashes, Ledger.open(made / "study.ledger").identity))


def test_counts_coefficients_and_odds_are_those_of_the_files(run: Run, made: Path) -> None:
    (drawn,) = json.loads((made / "fields.json").read_text())["releases"]
    tables = markdown_tables(run("report", *files(made)).out)
    (fields,) = (t for t in tables if t[0] == ["field that was drawn"])
    assert [label.split(" (")[0] for (label,) in fields[2:]] == drawn["feature_names"]
    assert all((" (" in label) == label.startswith("age") for (label,) in fields[2:])
    numbers, classes = (
        ModelRelease.load(path).to_frame().query("not aside") for path in files(made)[1:3]
    )
    first, second = (t for t in tables if t[0][0] == "what differs")
    assert first[0] == ["what differs", "estimate, in days"]
    assert second[0] == ["what differs", "estimate", "odds"]
    for row, found in zip(first[2:], numbers.to_dict("records"), strict=True):
        assert float(row[1]) == pytest.approx(found["coefficient"], rel=1e-3)
    for row, found in zip(second[3:], classes.to_dict("records")[1:], strict=True):
        assert float(row[2].removeprefix("odds × ")) == pytest.approx(found["odds_ratio"], rel=1e-2)


def test_what_was_spent_is_the_sum_and_what_the_ledger_says(run: Run, made: Path) -> None:
    ledger, report = (
        Ledger.open(made / "study.ledger"),
        run("report", *files(made), "--json").report,
    )
    total = compose([Guarantee(e) for e in (4.0, 12.0, 10.0, 0.5)], "replace-one")
    assert (report["sensitive"], report["private"], report["warnings"]) == (False, True, [])
    assert (report["guarantee"]["epsilon"], report["guarantee"]["delta"]) == (26.5, 0.0)
    assert (ledger.spent.epsilon, ledger.spent.delta) == (total.epsilon, total.delta)


@pytest.mark.parametrize("kind", KINDS)
def test_html_says_the_same_and_loads_nothing(
    run: Run, made: Path, tmp_path: Path, kind: str
) -> None:
    output = tmp_path / "r.html"
    assert run("report", made / f"{kind}.json", "--output", output, "--title", "A & B").code == 0
    source = output.read_text()
    page = checked_page(source)
    assert page.text.count("A & B") == 2
    assert 'name="viewport"' in source
    assert "prefers-color-scheme: dark" in source
    assert "@media print" in source
    plain = re.sub(r"\\(.)", r"\1", run("report", made / f"{kind}.json").out)
    for line in plain.splitlines()[1:]:
        words = re.sub(r"^(#+ |- |> )|\*\*|\(https://\S+\)|TO BE FILLED IN: .*", "", line)
        if not line.startswith("|"):
            assert words.replace("[arXiv", "arXiv").replace("[doi", "doi").rstrip("]") in page.text


def test_a_file_is_given_once(run: Run, made: Path) -> None:
    run("report", *files(made, "fields", "numbers", "fields")).failed_with(2, "is given twice")


def test_a_seeded_release_is_refused(run: Run, here: Path) -> None:
    """It is a function of the data, and of what whoever drew it knows."""
    output, seeded = here / "r.html", here / "seeded.json"
    for changes, words in (
        ({}, f"{seeded}: is sensitive"),
        ({"sensitive": False}, "was drawn with a seed"),
        ({"private": True, "sensitive": False}, "was drawn with a seed"),
    ):
        asked = ("report", *files(here, "fields"), changed(seeded, **changes))
        run(*asked, "--output", output).failed_with(2, words)
    assert not output.exists()
    model = here / "model.json"
    model.write_text(json.dumps(json.loads(seeded.read_text())["model"]))
    run("report", model).failed_with(2, f"{model}: ", "was drawn with a seed")


def test_what_is_sensitive_is_never_in_a_report(run: Run, folder: Path, made: Path) -> None:
    sensitive = folder / "solve.json"
    run("solve", folder / "instance.toml", "--output", sensitive)
    assert sensitive.exists()
    output = folder / "r.html"
    done = run("report", *files(made), sensitive, "--output", output)
    done.failed_with(2, f"{sensitive}: is sensitive")
    assert not output.exists()
    run("report", changed(sensitive, private=True)).failed_with(2, "is sensitive")
    # A check of a table says that it is not private, and has no guarantee.
    run("report", changed(sensitive, private=False)).failed_with(2, "is sensitive")
    books = folder / "export.json"
    run("ledger", "export", made / "study.ledger", "--output", books)
    run("report", books).failed_with(2, f"{books}: is sensitive")
    plan = folder / "plan.json"
    run("release", folder / "instance.toml", "--epsilon", "1", "--dry-run", "--output", plan)
    run("report", plan).failed_with(2, "--dry-run nothing was drawn")


def test_a_release_of_an_instance_and_a_stored_model(run: Run, folder: Path) -> None:
    first, second = folder / "release.json", folder / "saved.json"
    run("release", folder / "instance.toml", "--epsilon", "1", "--output", first)
    X = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    AdaSSPRegressor(x_bound=1.0, y_bound=1.0).fit(X, X[:, 0]).release_.save(second)
    done = run("report", first, second)
    assert done.code == 0
    assert done.err == (
        "mipselect: warning: release.json and saved.json were charged to no ledger: no budget "
        "remembers that.\n"
    )
    assert "A random draw of 2 fields among 3 fields." in done.out
    assert "saved.json and release.json" not in done.out
    assert "release.json and saved.json were charged to no ledger" in done.out
    assert "2 fields in the model: x0, x1." in done.out
    assert "per unit of x0" in done.out


def leaves(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Places of all values in a JSON object."""
    if path:
        yield path
    if isinstance(content, dict | list):
        entries = content.items() if isinstance(content, dict) else enumerate(content)
        for key, value in entries:
            yield from leaves(value, (*path, key))


def with_value(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    copy = json.loads(json.dumps(content))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return copy


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_value_is_one_line_or_harmless(run: Run, here: Path, kind: str) -> None:
    """Any value of a file in turn is of another kind: no traceback, and never a tag."""
    path, output = here / f"{kind}.json", here / "r.html"
    content = json.loads(path.read_text())
    places = list(leaves(content))
    rng = random.Random(kind)
    for place in rng.sample(places, min(60, len(places))):
        wrong = rng.choice([None, True, -1, 1e999, "", EVIL, "a\nb", [], {}, [1], {"a": EVIL}])
        path.write_text(json.dumps(with_value(content, place, wrong)))
        output.unlink(missing_ok=True)
        done = run("report", path, "--output", output)
        if done.code == 0:
            checked_page(output.read_text())
            markdown_tables(run("report", path).out)
        else:
            done.failed_with(2, f"{path}: ")
            assert not output.exists()


def test_names_from_a_hostile_schema_stay_letters(run: Run, tmp_path: Path) -> None:
    """Names, titles, units and categories of a real model are markup."""
    table = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    lines = [f"{rng.choice(['a', 'b'])},{rng.random():.3f}" for _ in range(400)]
    table.write_text("\n".join(["<b>x</b>,y|y", *lines]) + "\n")
    label = {"title": EVIL, "unit": EVIL}
    fields = [
        {"name": "<b>x</b>", "type": "string", "categories": [
            {"value": "a", "label": EVIL}, {"value": "b", "label": EVIL + "!"}], **label},
        {"name": "y|y", "type": "number", "constraints": {"minimum": 0, "maximum": 1}, **label},
    ]  # fmt: skip
    schema, model, output = (tmp_path / name for name in ("s.json", "m.json", "r.html"))
    schema.write_text(json.dumps({"fields": fields}))
    done = run("fit", table, "--schema", schema, "--target", "y|y", "--support-size", "1",
               "--epsilon", "5", "--output", model)  # fmt: skip
    assert done.code == 0
    assert run("report", model, "--output", output, "--title", EVIL).code == 0
    page = checked_page(output.read_text())
    assert "b" not in page.tags
    assert "<b>x</b>" in page.text
    assert page.text.count(EVIL) >= 4
    text = run("report", model, "--title", EVIL).out
    markdown_tables(text)
    assert not re.search(r"(?<!\\)<|(?<!\\)\]\(http:", text)


CHEAP = Guarantee(3.9).to_dict()


def test_what_is_wrong_in_a_release(run: Run, here: Path) -> None:
    path = here / "r.json"
    for text, words in NO_RELEASES:
        path.write_text(text)
        run("report", path).failed_with(2, f"{path}: ", words)
    for kind, changes, words in WRONG_RELEASES:
        content = json.loads((here / f"{kind}.json").read_text())
        for key, value in changes.items():
            place = tuple(int(step) if step.isdigit() else step for step in key.split("."))
            content = with_value(content, place, value)
        path = here / "wrong" / f"{kind}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
        run("report", path).failed_with(2, words)


def test_a_report_is_replaced_whole_or_not_at_all(run: Run, here: Path) -> None:
    output = here / "r.html"
    assert run("report", *files(here), "--output", output).code == 0
    before = output.read_bytes()
    asked = ("report", *files(here), here / "stays.csv", "--output", output)
    run(*asked, "--replace").failed_with(2, "not valid")
    assert output.read_bytes() == before
    (here / "link.html").symlink_to(output)
    run("report", here / "fields.json", "--output", here / "link.html").failed_with(2, "link")


@pytest.fixture
def release(run: Run, folder: Path) -> Path:
    """A draw from a stored instance of 20 rows."""
    output = folder / "release.json"
    drawn = ("--epsilon", "1", "--output", output)
    assert run("release", folder / "instance.toml", *drawn).code == 0
    return output


def test_two_draws_of_fields_are_said_to_be_two(run: Run, here: Path) -> None:
    both = [here / "fields.json", here / "numbers.json"]
    said = "fields.json and numbers.json are two draws of fields for stay, each random by itself"
    assert said in run("report", *both).out
    (note,) = run("report", *both, "--json").report["notes"]
    assert note.startswith(said)
    release = json.loads(both[1].read_text())["model"]
    one = {"support": release["support"], "feature_names": release["feature_names"]}
    drawn = json.loads(both[0].read_text())["releases"]
    changed(both[0], releases=[draw | one for draw in drawn])
    assert "They name the same fields." in run("report", *both).out
    other = {"support": [0, 1], "feature_names": ["a", "b"]}
    changed(both[0], releases=[draw | other for draw in drawn])
    assert "They name different fields, and none of them" in run("report", *both).out
    assert "draws of fields for" not in run("report", both[1], here / "classes.json").out


def test_nothing_but_the_release_is_in_it(run: Run, here: Path) -> None:
    """What was not checked does not come through, and other data change nothing."""
    before = run("report", here / "fields.json").out
    path = changed(here / "fields.json", objective=123.456789, best={"value": 123.456789})
    (here / "stays.csv").unlink()
    after = run("report", path).out
    assert "123.45" not in after
    assert re.sub("[0-9a-f]{64}", "", after) == re.sub("[0-9a-f]{64}", "", before)


def test_the_hash_of_a_file_is_that_of_what_was_read(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file was read a second time for its hash: another one may have taken its place."""
    path, content = tmp_path / "fields.json", (made / "fields.json").read_bytes()
    path.write_bytes(content)
    parsed = report_command.parsed

    def replaced(*read: Any) -> Any:
        path.write_text("{}")
        return parsed(*read)

    monkeypatch.setattr(report_command, "parsed", replaced)
    assert report_command.read_release(path).digest == sha256(content).hexdigest()


def test_every_file_has_a_name_and_costs_of_its_own(run: Run, here: Path) -> None:
    output = here / "r.md"
    assert run("report", *files(here), "--output", output).out == (
        "A report on fields.json, numbers.json, classes.json and quality.json, ε = 26.5 in all.\n"
        f"Written to {output}.\n"
    )
    assert output.read_text() == run("report", *files(here)).out
    other = here / "other" / "fields.json"
    other.parent.mkdir()
    other.write_bytes((here / "numbers.json").read_bytes())
    report = run("report", here / "fields.json", other, "--json").report
    assert [one["file"] for one in report["releases"]] == ["fields.json", "fields.json (2)"]
    assert "other" not in run("report", here / "fields.json", other).out[:300]


PUBLIC = '{"private": true, "sensitive": false'


NO_RELEASES = [
    ("", "not valid JSON"),
    ("[" * 100_000, "nested too deeply"),
    ('{"private": NaN}', "NaN is no number"),
    ('{"private": true, "private": true}', "stands twice"),
    ("[]", "the file must be of type object, got []"),
    ("{}", "is no release that a report has words for"),
    (PUBLIC + ', "releases": []}', "it has no guarantee"),
    (PUBLIC + "}", "is no release that a report has words for"),
    (PUBLIC + ', "more": ' + '{"a":' * 3000 + "1" + "}" * 3001, "nested too deeply"),
]


WRONG_RELEASES: list[tuple[str, dict[str, Any], str]] = [
    ("fields", {"private": False}, "private contradicts its guarantee"),
    ("fields", {"guarantee_of_all_draws": CHEAP}, "contradict each other"),
    ("fields", {"guarantee_of_all_draws": {"epsilon": 1.0}}, "guarantee_of_all_draws lacks delta"),
    ("quality", {"guarantee": CHEAP}, "contradict each other"),
    ("quality", {"quality.measures.0": {"name": "R²"}}, "quality.measures[0] lacks"),
    ("numbers", {"model": {}}, "not a stored model"),
    ("fields", {"private": 1}, "private must be of type boolean, got 1"),
    ("fields", {"titles": [1]}, "titles must be"),
    ("fields", {"sizes": [{}, 1]}, "sizes[0] must be of type integer"),
    ("fields", {"releases": []}, "releases must not be empty"),
    ("fields", {"releases": 5}, "releases must be of type array"),
    ("fields", {"method": 5}, "method"),
    ("fields", {"method": "a\nb"}, "method"),
    ("fields", {"n": {}}, "n must be"),
    ("fields", {"ridge": 1e999}, "not valid JSON"),
]


FACTS_TOLD = '"Data curator" = "the <clinic>,\\n | ward 3"\n"Intended use" = ""\n'


WRONG_FACTS = [
    ('"Data curatr" = "a"', "did you mean 'Data curator'?"),
    ('"Data curator" = 1', "must be a text, got 1"),
    ("Data curator", "not valid TOML"),
    ('"Data" = "another table"', "is no blank of a report"),
    ('"Data curator" = "\\u0007"', "one printable line"),
]


def test_boards_are_told_what_was_done_and_facts_fill_the_blanks(
    run: Run, release: Path, folder: Path
) -> None:
    text, facts, page = run("report", release).out, folder / "facts.toml", folder / "r.html"
    for words in ("Pure differential privacy", "ρ = 0.5", "One draw.", "rows: 20"):
        assert words in text
    assert text.count("TO BE FILLED IN") == len(FACTS)
    facts.write_text(FACTS_TOLD)
    text = run("report", release, "--facts", facts).out
    assert r"| Data curator | the \<clinic\>, \| ward 3 |" in text
    assert text.count("TO BE FILLED IN") == len(FACTS) - 1
    assert run("report", release, "--facts", facts, "--output", page).code == 0
    assert "the &lt;clinic&gt;, | ward 3" in page.read_text()
    assert page.read_text().count("TO BE FILLED IN") == len(FACTS) - 1
    for content, says in WRONG_FACTS:
        facts.write_text(content)
        run("report", release, "--facts", facts).failed_with(2, str(facts), says)
    # Under add-remove the number of rows is left out.
    report = json.loads(release.read_text())
    for entry in (report, *report["releases"]):
        for name in ("guarantee", "guarantee_of_one_draw", "guarantee_of_all_draws"):
            if name in entry:
                entry[name]["relation"] = "add-remove"
    release.write_text(json.dumps(report))
    text = run("report", release).out
    assert "adding or removing one row" in text
    assert "20 rows" not in text
    assert not re.search(r"\brows: |sensitivity: ", text)
