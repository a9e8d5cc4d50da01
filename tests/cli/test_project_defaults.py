"""`mipselect.toml`: whose word counts, every refusal, and what a draw says it took."""

from __future__ import annotations

from pathlib import Path

import pytest

from mipselect.cli.commands import FILE, OF_ONE_RUN
from mipselect.privacy import Ledger
from tests.support.commandline import Run

FULL = """
[select]
target = "y"
epsilon = 0.5
support-size = 2
"""
TYPED = ("--target", "y", "--epsilon", "0.5", "--support-size", "2")
SCHEMA = """{"fields": [
  {"name": "a", "type": "number", "constraints": {"minimum": -2, "maximum": 2}},
  {"name": "b", "type": "number", "constraints": {"minimum": -3, "maximum": 3}},
  {"name": "c", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
  {"name": "y", "type": "number", "constraints": {"minimum": -2, "maximum": 4}}]}"""


@pytest.fixture
def project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table, its schema and a project file, in which commands run."""
    (folder / FILE).write_text(FULL)
    (folder / "schema.json").write_text(SCHEMA)
    monkeypatch.chdir(folder)
    return folder


def write(project: Path, text: str) -> None:
    (project / FILE).write_text(text)


def test_a_draw_needs_nothing_else_and_says_where_it_is_from(run: Run, project: Path) -> None:
    outcome = run("select", "data.csv", "--json")
    report = outcome.report
    assert (report["target"], report["support_size"]) == ("y", 2)
    assert report["guarantee_of_all_draws"]["epsilon"] == 0.5
    (note,) = (line for line in outcome.err.splitlines() if "note: from" in line)
    assert note.startswith("mipselect: note: from mipselect.toml: ")
    assert {"--target y", "--epsilon 0.5", "--support-size 2"} <= {
        f"--{words.strip()}" for words in note.split("--")
    }
    typed = run("select", "data.csv", *TYPED, "--json")
    assert typed.report["guarantee_of_all_draws"] == report["guarantee_of_all_draws"]
    assert "note: from" not in typed.err
    # What is typed wins.
    outcome = run("select", "data.csv", "--epsilon", "2", "--dry-run", "--json")
    assert outcome.report["guarantee_of_one_draw"]["epsilon"] == 2.0
    assert "--epsilon" not in outcome.err
    assert "--target y" in outcome.err
    # Control characters reach no terminal.
    write(project, FULL.replace('"y"', r'"y\u001b[2J[red]\n"'))
    outcome = run("select", "data.csv")
    assert "\x1b" not in outcome.out + outcome.err
    assert "[red]" in outcome.err


def test_a_value_is_taken_as_it_would_be_typed(run: Run, project: Path) -> None:
    write(
        project,
        FULL + 'features = "a,b,c"\nmethod = "exponential"\nx-bound = 2\n'
        "y-bound = 4\ncoef-bound = 1e2\nridge = 0.5\nscore = 'loss'\n",
    )
    outcome = run("select", "data.csv", "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.report["features"] == ["a", "b", "c"]
    assert (outcome.report["coef_bound"], outcome.report["ridge"]) == (100.0, 0.5)
    of_schema = 'schema = "schema.json"\nrange = ["a=0:1", "b=0:2"]\nno-intercept = true\n'
    write(project, FULL + of_schema)
    outcome = run("select", "data.csv", "--json")
    assert "--range a=0:1 --range b=0:2" in outcome.err
    assert "--no-intercept" in outcome.err
    assert outcome.report["intercept"] is False
    write(project, "[fit]\nquality-share = 0.5\n")
    outcome = run("fit", "data.csv", *TYPED, "--dry-run", "--json")
    assert "--quality-share 0.5" in outcome.err
    assert outcome.report["quality_share"] == 0.5


def test_a_method_has_its_own_options(run: Run, project: Path) -> None:
    write(project, FULL + 'method = "sis"\ntop-k = "peeling"\nx-bound = 1\ny-bound = 1\n')
    report = run("select", "data.csv", "--json").report
    assert (report["method"], report["top_k"]) == ("sis", "peeling")
    typed = run("select", "data.csv", "--method", "kendall", "--json")
    assert "--top-k does not apply to --method kendall, but to sis" in typed.err


def test_a_command_elsewhere_takes_nothing_from_the_file(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does its help."""
    (project / "notes").mkdir()
    monkeypatch.chdir(project / "notes")
    run("select", "../data.csv").failed_with(2, "Missing option")
    monkeypatch.chdir(project)
    write(project, "not TOML [")
    for asked in (("select", "--help"), ("select", "--target", "y", "--help"), ("solvers",)):
        assert run(*asked).code == 0
    run("select", "data.csv", *TYPED).failed_with(2, "mipselect.toml: not valid TOML")


def test_the_ledger_of_the_file_is_charged_and_refuses(run: Run, project: Path) -> None:
    ledger = Ledger.create(project / "study.ledger", epsilon=0.9)
    write(project, FULL + 'ledger = "study.ledger"\n')
    outcome = run("select", "data.csv", "--json")
    assert outcome.report["ledger"]["remaining"]["epsilon"] == pytest.approx(0.4)
    assert "--ledger study.ledger" in outcome.err
    assert [entry.guarantee.epsilon for entry in ledger.entries] == [0.5]
    refused = run("select", "data.csv", "--json")
    assert (refused.code, refused.out) == (1, "")
    assert "nothing was drawn" in refused.err
    assert "--ledger study.ledger" in refused.err
    assert len(ledger.entries) == 1


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ("epsilon = 1", ("'epsilon' stands in no section", "[select]")),
        ("[selekt]\nepsilon = 1", ("unknown section [selekt]", "did you mean 'select'?")),
        ("[ledger]\nepsilon = 1", ("unknown section [ledger]", "select")),
        (
            "[select]\nsuport-size = 1",
            ("[select] suport-size is no option of select", "did you mean 'support-size'?"),
        ),
        ("[select]\ndata = 'data.csv'", ("[select] data is no option of select",)),
        ("[select]\nepsilon = 'x'", ("[select] epsilon must be a number, got 'x'",)),
        ("[select]\nepsilon = true", ("[select] epsilon must be a text or a number, got True",)),
        ("[select]\nsupport-size = 1.0", ("[select] support-size must be an integer, got '1.0'",)),
        ("[select]\ntarget = 1979-05-27", ("[select] target must be a text or a number, got",)),
        ("[select]\nschema = {a = 1}", ("[select] schema must be a text or a number",)),
        ("[select]\nno-intercept = 1", ("[select] no-intercept must be true or false, got 1",)),
        (
            "[select]\nmethod = 'exponentail'",
            ("one of permute", "did you mean 'exponential'?"),
        ),
        ("[select]\nrange = [1]", ("range must be a list of texts, got [1]",)),
        ("[select]\nrange = 'a=0:1'", ("range must be a list of texts, got 'a=0:1'",)),
        ("[select]\nsupport-size = 0x" + "f" * 9_000, ("must be an integer, got",)),
        ("[select\n", ("not valid TOML", "line 1")),
        ('"a\\u001bb" = 1', ("'a\\x1bb' stands in no section",)),
        ('[select]\n"a\\u001b\\nb" = 1', ("[select] a\\x1b\\nb is no option of select",)),
        ("#" + "x" * 200_000, ("more than 100,000 bytes",)),
    ],
)
def test_every_mistake_is_one_line(
    run: Run, project: Path, text: str, fragments: tuple[str, ...]
) -> None:
    write(project, text)
    outcome = run("select", "data.csv", "--json")
    outcome.failed_with(2, "error: mipselect.toml: ", *fragments)
    assert len(outcome.err) < 1_000


@pytest.mark.parametrize("key", OF_ONE_RUN)
def test_what_is_about_one_run_never_comes_from_a_file(run: Run, project: Path, key: str) -> None:
    write(project, f"[select]\n{key} = 1\n")
    words = f"[select] {key} is about one run"
    run("select", "data.csv").failed_with(2, words)


def test_files_that_are_none(run: Run, project: Path) -> None:
    file = project / FILE
    file.unlink()
    file.symlink_to("nowhere")
    run("select").failed_with(2, "mipselect.toml: no such file")
    file.unlink()
    file.write_text("")
    run("select").failed_with(2, "Missing argument 'DATA'")
