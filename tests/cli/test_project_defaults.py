"""`mipselect.toml`: whose word counts, where paths lead, every refusal, and what a draw says."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import typer

from mipselect.cli.commands import OWN, settings_of_commands
from mipselect.cli.declared import argument, command, group, option, options
from mipselect.cli.ledger_entry import LedgerOptions
from mipselect.cli.project import with_project
from mipselect.cli.project_file import NAME, find_project
from mipselect.cli.project_settings import OF_ONE_RUN, settings_of
from mipselect.privacy import Ledger
from tests.support.commandline import BOUNDS, Outcome, Run

FULL = """
[defaults]
data = "data.csv"
target = "y"
epsilon = 0.5
[select]
support-size = 2
"""
TYPED = ("--target", "y", "--epsilon", "0.5", "--support-size", "2")
SCHEMA = """{"fields": [
  {"name": "a", "type": "number", "constraints": {"minimum": -2, "maximum": 2}},
  {"name": "b", "type": "number", "constraints": {"minimum": -3, "maximum": 3}},
  {"name": "c", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
  {"name": "y", "type": "number", "constraints": {"minimum": -2, "maximum": 4}}]}"""


@options
class Looking:
    """Arguments of a command that releases something only if it is told an ε."""

    data: str = argument("DATA", "A table.")
    epsilon: float | None = option("--epsilon", "Of a release.")
    target: str | None = option("--target", "Looked at by the curator.")
    ledger: LedgerOptions = group(LedgerOptions)


@pytest.fixture
def project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table, its schema and a project file, in which commands run."""
    (folder / NAME).write_text(FULL)
    (folder / "schema.json").write_text(SCHEMA)
    monkeypatch.chdir(folder)
    return folder


def write(project: Path, text: str) -> None:
    (project / NAME).write_text(text)


def shown(run: Run, *command: str) -> dict[str, tuple[object, str]]:
    """Settings that are not at their defaults, with their origins."""
    outcome = run(*command, "--show-settings", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    settings = outcome.report["settings"]
    return {
        key: (each["value"], each["from"])
        for key, each in settings.items()
        if each["from"] != "default"
    }


def fails(outcome: Outcome, *fragments: str) -> None:
    """One line of error behind the note on what was taken, and nothing on standard output."""
    assert (outcome.code, outcome.out) == (2, ""), outcome
    lines = outcome.err.splitlines()
    assert [line.split(":")[1] for line in lines[-1:]] == [" error"], lines
    assert all(line.startswith("mipselect: note: from ") for line in lines[:-1])
    for fragment in fragments:
        assert fragment in lines[-1], lines[-1]


def test_a_draw_needs_nothing_else_and_says_where_it_is_from(run: Run, project: Path) -> None:
    outcome = run("select", "--json")
    report = outcome.report
    assert (report["data"], report["target"], report["support_size"]) == ("data.csv", "y", 2)
    assert report["guarantee_of_all_draws"]["epsilon"] == 0.5
    note = "mipselect: note: from mipselect.toml: data.csv --target y --epsilon 0.5"
    assert outcome.err.splitlines()[0] == f"{note} --support-size 2"
    typed = run("select", "data.csv", *TYPED, "--json")
    assert typed.report["guarantee_of_all_draws"] == report["guarantee_of_all_draws"]
    assert "note: from" not in typed.err


def test_the_command_line_wins_then_the_section_then_the_defaults(run: Run, project: Path) -> None:
    write(project, FULL + "epsilon = 0.25\n")
    assert run("select", "--dry-run", "--json").report["guarantee_of_one_draw"]["epsilon"] == 0.25
    outcome = run("select", "--epsilon", "2", "--dry-run", "--json")
    assert outcome.report["guarantee_of_one_draw"]["epsilon"] == 2.0
    assert "--epsilon" not in outcome.err
    assert shown(run, "select", "--epsilon", "2") == {
        "data": ("data.csv", "mipselect.toml [defaults]"),
        "target": ("y", "mipselect.toml [defaults]"),
        "epsilon": (2.0, "command line"),
        "support-size": (2, "mipselect.toml [select]"),
        "json": (True, "command line"),
    }
    assert shown(run, "select")["epsilon"] == (0.25, "mipselect.toml [select]")
    assert shown(run, "fit")["epsilon"] == (0.5, "mipselect.toml [defaults]")


def test_a_value_is_taken_as_it_would_be_typed(run: Run, project: Path) -> None:
    write(
        project,
        FULL
        + 'features = ["a", "b, c", " d\\""]\nno_intercept = true\nmethod = "sis"\n'
        + 'range = ["a=0:1", "b=0:2"]\npool_size = "7"\n[plan]\nepsilon = [0.5, 1]\nrows = 9\n',
    )
    found = shown(run, "select")
    assert found["features"][0] == 'a,"b, c"," d"""'
    assert found["no-intercept"] == (True, "mipselect.toml [select]")
    assert (found["method"][0], found["range"][0]) == ("sis", ["a=0:1", "b=0:2"])
    assert found["pool-size"][0] == "7"
    assert shown(run, "plan")["epsilon"] == ("0.5,1", "mipselect.toml [plan]")
    fails(run("select"), "--pool-size does not apply", "--no-project leaves the file out")


def test_no_project_takes_nothing_from_the_file(run: Run, project: Path) -> None:
    run("select", "--no-project").failed_with(2, "Missing argument 'DATA'")
    write(project, "not TOML [")
    typed = ("select", "data.csv", "--target", "y", "--support-size", "2", "--epsilon", "1")
    outcome = run(*typed, "--no-project", "--json")
    assert outcome.report["target"] == "y"
    assert run("select", "--help").code == 0
    assert run("select", "--target", "y", "--help").code == 0
    run(*typed).failed_with(2, "mipselect.toml: not valid TOML")
    # Here it is the value of an option, and no question for help.
    run("select", "--target", "--help").failed_with(2, "mipselect.toml: not valid TOML")


@pytest.mark.parametrize("command", ["solvers", "instances", "demo", "ledger"])
def test_other_commands_look_at_no_file(run: Run, project: Path, command: str) -> None:
    write(project, "not TOML [")
    help = run(command, "--help")
    assert help.code == 0
    assert "--no-project" not in help.out
    assert command not in settings_of_commands()
    if command in ("solvers", "instances"):
        assert run(command).code == 0


def test_paths_are_relative_to_the_file(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = project / "notes" / "old"
    deep.mkdir(parents=True)
    write(project, FULL + 'schema = "schema.json"\nalways = "a"\n')
    assert run("select", "--json").report["schema"] == "schema.json"
    monkeypatch.chdir(deep)
    assert find_project() is None
    run("select").failed_with(2, "Missing argument 'DATA'")
    (project / ".git").mkdir()
    assert find_project() == Path("../../mipselect.toml")
    outcome = run("select", "--json")
    assert outcome.report["data"] == "../../data.csv"
    assert outcome.report["schema"] == "../../schema.json"
    assert "note: from ../../mipselect.toml: ../../data.csv" in outcome.err
    # What is typed is relative to the folder of the command, as ever.
    fails(run("select", "data.csv"), "data.csv: ", "no such file")
    write(project, FULL.replace('"data.csv"', '"https://example.org/data.csv"'))
    assert shown(run, "select")["data"][0] == "https://example.org/data.csv"
    write(project, FULL.replace('"data.csv"', f'"{project / "data.csv"}"'))
    assert shown(run, "select")["data"][0] == str(project / "data.csv")


def test_the_nearest_file_counts_and_none_above_the_root(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = project / "study" / "wave"
    inner.mkdir(parents=True)
    (project / ".git").mkdir()
    monkeypatch.chdir(inner)
    assert find_project() == Path("../../mipselect.toml")
    (project / "study" / NAME).write_text(FULL)
    assert find_project() == Path("../mipselect.toml")
    (project / "study" / NAME).unlink()
    (project / "study" / ".git").write_text("gitdir: elsewhere")
    assert find_project() is None
    (inner / NAME).write_text(FULL)
    assert find_project() == Path(NAME)


def test_a_folder_that_is_gone_has_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert find_project() is None


def test_a_stored_instance_is_no_path(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / ".git").mkdir()
    (project / "in").mkdir()
    monkeypatch.chdir(project / "in")
    write(project, '[release]\ninstance = "diabetes"\nepsilon = 1\n')
    assert run("release", "--dry-run", "--json").report["instance"] == "diabetes"
    write(project, '[release]\ninstance = "instance.toml"\nepsilon = 1\n')
    assert run("release", "--dry-run", "--json").report["instance"] == "../instance.toml"


def test_the_ledger_of_the_project_is_charged_and_refuses(run: Run, project: Path) -> None:
    ledger = Ledger.create(project / "study.ledger", epsilon=0.9)
    write(project, FULL.replace("epsilon = 0.5", 'epsilon = 0.5\nledger = "study.ledger"'))
    (project / "data.csv").rename(project / "away.csv")
    fails(run("select", "--json"), "data.csv", "DATA is from mipselect.toml [defaults]")
    assert ledger.entries == ()
    (project / "away.csv").rename(project / "data.csv")
    outcome = run("select", "--json")
    assert outcome.report["ledger"]["remaining"]["epsilon"] == pytest.approx(0.4)
    assert "--ledger study.ledger" in outcome.err
    assert [entry.guarantee.epsilon for entry in ledger.entries] == [0.5]
    refused = run("select", "--json")
    assert (refused.code, refused.out) == (1, "")
    assert "nothing was drawn" in refused.err
    assert "--ledger study.ledger" in refused.err
    assert len(ledger.entries) == 1
    (project / "study.ledger").unlink()
    assert run("select").code == 2


def test_what_does_not_go_with_what_is_typed_is_refused_by_its_origin(
    run: Run, project: Path
) -> None:
    write(project, FULL + 'schema = "schema.json"\n')
    origin = "--schema is from mipselect.toml [select]; --no-project leaves the file out"
    fails(run("select", *BOUNDS[:2]), "--x-bound does not apply with --schema", origin)
    fails(run("select", "--sizes", "1-2"), "--support-size is from mipselect.toml [select]")
    write(project, FULL + 'schema = "none.json"\n')
    fails(run("select"), "none.json: no such file", origin)
    write(project, FULL + 'schema = "schema.json"\nalways = "ages"\n')
    fails(run("select"), "always: the schema has no field", "--always is from")
    write(project, FULL.replace("0.5", "-1"))
    fails(run("select"), "--epsilon must be", "--epsilon is from mipselect.toml [defaults]")
    write(project, FULL.replace("0.5", "1e999"))
    fails(run("select"), "--epsilon must be", "--epsilon is from")
    assert "is from" not in run("select", "--epsilon", "-1").err


def test_defaults_go_to_the_commands_that_have_them(run: Run, project: Path) -> None:
    write(project, FULL + "[defaults.x]\n")
    run("select").failed_with(2, "[defaults] 'x'")
    write(
        project, FULL.replace("epsilon", 'ledger = "none.ledger"\nschema = "schema.json"\nepsilon')
    )
    # There is no ledger, and describe has none; ε is a choice of plan, and a list.
    assert run("describe", "--json").report["fields"][0]["type"] == "number"
    assert set(shown(run, "plan")) == {"schema", "target", "rows", "support-size", "json"}
    assert shown(run, "plan")["rows"] == (None, "must be given")
    # Of two arguments neither is the table of the project.
    assert shown(run, "predict")["data"] == (None, "must be given")
    run("predict", "model.json").failed_with(2, "Missing argument 'DATA'")


def test_of_a_choice_of_epsilon_each_use_has_its_defaults(project: Path) -> None:
    got = []

    def look(arguments: Looking) -> None:
        """Look."""
        got.append((arguments.epsilon, arguments.ledger.file, arguments.target))

    made = command(look)
    app = typer.Typer()
    app.command()(with_project("look", made, lambda: {"look": settings_of(made)}))
    defaults = '[defaults]\ndata = "data.csv"\nepsilon = 1\nledger = "a.ledger"\ntarget = "y"\n'
    write(project, defaults)
    for more in (
        (),
        ("--epsilon", "2"),
        ("--ledger", "own.ledger"),
        ("--epsilon", "2", "--target", "z"),
    ):
        app(args=more, standalone_mode=False)
    write(project, defaults + "[look]\nepsilon = 3\n")
    app(args=(), standalone_mode=False)
    # What stands in the section of the command is meant for it.
    write(project, defaults.replace("[defaults]", "[look]").replace("epsilon = 1\n", ""))
    for more in ((), ("--epsilon", "2")):
        app(args=more, standalone_mode=False)
    assert got == [
        (None, None, "y"),
        (2.0, Path("a.ledger"), None),
        (None, Path("own.ledger"), "y"),
        (2.0, Path("a.ledger"), "z"),
        (3.0, Path("a.ledger"), None),
        (None, Path("a.ledger"), "y"),
        (2.0, Path("a.ledger"), "y"),
    ]


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        ("epsilon = 1", ("'epsilon' stands in no section", "[defaults]")),
        ("[default]\nepsilon = 1", ("unknown section [default]", "did you mean 'defaults'?")),
        ("[ledger]\nepsilon = 1", ("unknown section [ledger]", "select")),
        ("[bench]\nepsilon = 1", ("unknown section [bench]",)),
        ("[[select]]\nepsilon = 1", ("'select' stands in no section",)),
        (
            "[defaults]\nepsilom = 1",
            ("[defaults] 'epsilom': no command has such option", "did you mean 'epsilon'?"),
        ),
        ("[select]\nrows = 1", ("[select] 'rows': select has no such option; it is one of plan",)),
        (
            "[fit]\nsuport-size = 1",
            ("[fit] 'suport-size': fit has no", "did you mean 'support-size'?"),
        ),
        ("[select]\nsupport-size = 1\nsupport_size = 1", ("'support-size' twice",)),
        ("[select]\nepsilon = '1'", ("[select] epsilon must be a number, got '1'",)),
        ("[select]\nepsilon = true", ("[select] epsilon must be a number, got True",)),
        ("[select]\nsupport-size = 1.0", ("[select] support-size must be an integer, got 1.0",)),
        (
            "[select]\nsupport-size = false",
            ("[select] support-size must be an integer, got False",),
        ),
        ("[select]\nsupport-size = [1]", ("must be an integer, got [1]",)),
        ("[select]\ntarget = 1", ("[select] target must be a text in quotes, got 1",)),
        ("[select]\ntarget = ''", ("[select] target must be a text in quotes, got ''",)),
        ("[select]\ntarget = 1979-05-27", ("[select] target must be a text in quotes, got date",)),
        ("[select]\nschema = 1", ("[select] schema must be a path in quotes, got 1",)),
        ("[select]\nschema = {a = 1}", ("[select] schema must be a path in quotes",)),
        ("[select]\nno-intercept = 'yes'", ("[select] no-intercept must be true or false",)),
        ("[select]\nno-intercept = 1", ("[select] no-intercept must be true or false, got 1",)),
        (
            "[select]\nmethod = 'exponentail'",
            ("one of permute", "did you mean 'exponential'?"),
        ),
        ("[select]\nmethod = []", ("method must be one of permute",)),
        ("[select]\nalways = 3", ("always must be a text in quotes, or a list, got 3",)),
        ("[select]\nalways = []", ("always must be a text in quotes, or a list, got []",)),
        ("[select]\nalways = ['']", ("always must have texts or numbers in its list, got ''",)),
        ("[select]\nalways = [true]", ("always must have texts or numbers in its list",)),
        ("[select]\nrange = [1]", ("range must be a list of texts, got [1]",)),
        ("[select]\nrange = 1", ("range must be a list of texts, got 1",)),
        ("[select]\nsupport-size = 0x" + "f" * 9_000, ("support-size must be an integer",)),
        ("[select]\nepsilon = 0x" + "f" * 9_000, ("epsilon must be a number",)),
        ("[select]\nalways = [0x" + "f" * 9_000 + "]", ("always must have texts or numbers",)),
        ("[select]\nx = " + "[" * 40_000, ("not valid TOML",)),
        ("[select]\nx = 1" + "0" * 9_000, ("not valid TOML",)),
        ("[select\n", ("not valid TOML", "line 1")),
        ('["a\\u0007b"]\nx = 1', ("unknown section [a\\x07b]",)),
        ('"a\\u001bb" = 1', ("'a\\x1bb' stands in no section",)),
        ('[select]\n"a\\u001b\\nb" = 1', ("[select] 'a\\x1b\\nb': select has no such option",)),
        ('[select]\ntarget = ["\\u001b"]', ("[select] target must be a text in quotes",)),
        ("#" + "x" * 200_000, ("more than 100,000 bytes",)),
    ],
)
def test_every_mistake_is_one_line(
    run: Run, project: Path, text: str, fragments: tuple[str, ...]
) -> None:
    write(project, text)
    outcome = run("select", "--json")
    outcome.failed_with(2, "error: mipselect.toml: ", *fragments)
    assert len(outcome.err) < 1_000


@pytest.mark.parametrize("key", OF_ONE_RUN)
def test_what_is_about_one_run_never_comes_from_a_file(run: Run, project: Path, key: str) -> None:
    for section in ("defaults", "select"):
        write(project, f"[{section}]\n{key.replace('-', '_')} = 1\n")
        words = f"[{section}] {key} cannot come from a file"
        run("select").failed_with(2, words, OF_ONE_RUN[key])


def test_files_that_are_none(run: Run, project: Path) -> None:
    file = project / NAME
    file.write_bytes(b"[defaults]\ntarget = '\xff'\n")
    run("select").failed_with(2, "mipselect.toml: line 2 is not UTF-8")
    file.write_bytes(b"\xef\xbb\xbf" + FULL.encode())
    assert run("select", "--json").code == 0
    file.unlink()
    file.mkdir()
    run("select").failed_with(2, "mipselect.toml: cannot be read: it is a folder")
    file.rmdir()
    os.mkfifo(file)
    run("select").failed_with(2, "mipselect.toml: cannot be read: it is a pipe or a device")
    file.unlink()
    file.symlink_to("nowhere")
    run("select").failed_with(2, "mipselect.toml: no such file")
    file.unlink()
    file.write_text("")
    run("select").failed_with(2, "Missing argument 'DATA'")


def test_settings_are_shown_and_nothing_else_is_done(run: Run, project: Path) -> None:
    write(project, FULL + 'ledger = "none.ledger"\nno-intercept = false\n')
    for name in ("data.csv", "schema.json", "instance.toml"):
        (project / name).unlink()
    table = run("select", "--show-settings", "--draws", "3")
    assert (table.code, table.err) == (0, "")
    lines = [line.split("│") for line in table.out.splitlines() if "│" in line]
    found = {cells[1].strip(): (cells[2].strip(), cells[3].strip()) for cells in lines}
    assert found["--draws"] == ("command line", "3")
    assert found["--ledger"] == ("mipselect.toml [select]", "none.ledger")
    assert found["--no-intercept"] == ("mipselect.toml [select]", "false")
    assert found["--unit-rule"] == ("default", "first")
    assert found["DATA"] == ("mipselect.toml [defaults]", "data.csv")
    (project / NAME).unlink()
    report = run("select", "--show-settings", "--json").report
    assert report["settings"]["data"] == {"value": None, "from": "must be given"}
    assert report["settings"]["method"]["from"] == "default"
    assert "permute-and-flip" in report["settings"]["method"]["default"]
    assert report["sensitive"] is False
    for name in settings_of_commands():
        assert run(name, "--show-settings", "--json").report["command"] == name
    run("select", "--show-settings", "--epsilon", "x").failed_with(2, "--epsilon")


def test_control_characters_reach_no_terminal(run: Run, project: Path) -> None:
    write(project, FULL.replace('"y"', r'"y\u001b[2J[red]\n"'))
    for more in ((), ("--show-settings",)):
        outcome = run("select", *more)
        assert "\x1b" not in outcome.out + outcome.err
    assert "[red]" in outcome.out


def test_every_command_is_checked_by_each(run: Run, project: Path) -> None:
    write(project, FULL + "[fit]\nsuport-size = 1\n")
    run("select").failed_with(2, "[fit] 'suport-size': fit has no such option")


def test_commands_that_take_defaults() -> None:
    commands = settings_of_commands()
    assert set(commands) <= set(OWN)
    assert {"select", "fit", "release", "evaluate", "moments", "plan", "describe"} <= set(commands)
    for settings in commands.values():
        assert not set(settings) & set(OF_ONE_RUN)
    assert "data" in commands["fit"]
    assert "data" not in commands["evaluate"]


def test_a_fit_and_a_process_of_its_own(run: Run, project: Path) -> None:
    write(
        project,
        FULL.replace("epsilon", 'schema = "schema.json"\nepsilon') + "[fit]\nsupport_size = 1\n",
    )
    outcome = run("fit", "--json")
    assert outcome.code == 0
    assert outcome.report["support_size"] == 1
    assert "note: from mipselect.toml: data.csv" in outcome.err
    shutil.copy(project / "data.csv", project / "other.csv")
    assert run("fit", "other.csv", "--json").report["data"] == "other.csv"
