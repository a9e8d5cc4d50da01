"""What every command refuses: a command line, and words of the one line that says what is wrong."""

from __future__ import annotations

import copy
import csv
import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from mipselect.cli import main
from tests.support.commandline import BOUNDS, INSTANCE, TABLE, Run
from tests.support.stays import SCHEMA, rows, written
from tests.support.weighted_tables import WEIGHTED, drawn

NPZ = "moments stays.csv --schema schema.json --target stay --output m.npz"
MODELS = {
    "stay": "--target stay --never died",
    "risk": "--target died --never stay",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables, schemas, moments, models and a release, in which nothing may change."""
    folder = tmp_path_factory.mktemp("place")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("data.csv").write_text(TABLE)
        Path("instance.toml").write_text(INSTANCE)
        Path("keys.toml").write_text(INSTANCE.replace("[data]", '[data]\nranges = "some"'))
        Path("no_ridge.toml").write_text(INSTANCE.replace("ridge = 0.5", "ridge = 0"))
        Path("data.txt").write_text(TABLE)
        Path("few.csv").write_text("id,age\np,3\n")
        Path("0.npz").write_bytes(b"PK")
        Path("next.csv").write_bytes(written(Path("stays.csv"), rows(60)).read_bytes())
        ignoring = copy.deepcopy(SCHEMA)
        for field in ignoring["fields"]:
            if field["name"] == "sex":
                field |= {"mipselect:role": "ignored"}
                del field["categories"]
        bare = {"fields": [{"name": name, "type": "number"} for name in "abcy"]}
        proposed = copy.deepcopy(SCHEMA)
        proposed["fields"][1]["mipselect:typeProposed"] = True
        wide = [f"category {k}" for k in range(3000)]
        long = {"fields": [{"name": "a", "type": "string", "categories": wide}]}
        for name, content in {
            **{"ignoring": ignoring, "bare": bare, "proposed": proposed, "long": long},
            "bad": {"fields": 1},
        }.items():
            Path(f"{name}.json").write_text(json.dumps(content))
        Path("bad.csv").write_text("name,type,minimum\na,number,x\n")
        with Path("weighted.csv").open("w", newline="") as file:
            names = [field.name for field in WEIGHTED.fields]
            csv.writer(file).writerows([names, *drawn(60, np.random.default_rng(0))])
        WEIGHTED.write("weighted.json")
        commands = [NPZ, f"select data.csv {ASKED} --output release.json --seed 1"]
        for name, asked in MODELS.items():
            fit = "fit stays.csv --schema schema.json --support-size 1 --epsilon 60 --output"
            commands.append(f"{fit} {name}.json {asked}")
        commands.append("ledger create books.ledger --epsilon 3")
        for command in commands:
            assert main(command.split()) == 0
        stored = json.loads(Path("stay.json").read_text())["model"]
        Path("arrays.json").write_text(json.dumps({**stored, "table": None}))
        Path("same.svg").hardlink_to("schema.json")
    return folder


ASKED = "--target y --support-size 2 --epsilon 1"
STAY = "--schema schema.json --target stay --support-size 1 --epsilon 1"
PLAN = "plan --schema schema.json --target stay --rows 50 --support-size 2 --tables 1"
MISTAKES = "release diabetes --epsilon 1 --method mistakes --json"

REFUSED: dict[str, dict[str, str | tuple[str, ...]]] = {
    # Of a group of commands, "select|fit ..." are two, what is added to each, and what is said.
    "": {
        "": "which command?",
        "sovle diabetes": "sovle",
        "solve": "INSTANCE",
        "solve diabetis": "did you mean 'diabetes'",
        "solve absent.toml": "no such file",
        "solve keys.toml": "unknown key",
        "solve data.csv --target y": "needs --target and --support-size",
        "solve 0.npz --support-size 2": "no file of moments",
        "solve absent.npz --support-size 2": "no such file",
        "release absent.toml --method kendall --epsilon 1": "no such file",
        "release no_ridge.toml --method exponential --epsilon 1": "ridge must be above 0",
        "describe absent.csv": "no such file",
        "describe stay.json": "must end in",
        "describe data.csv --sheet a": "--sheet is for Excel files",
        "describe data.csv --delimiter ab": "--delimiter must be one character",
        "schema": "Missing command",
        "schema begin": "No such command",
        "schema confirm proposed.json": "give --yes",
        "ledger": "Missing command",
    },
    "solve diabetes --json": {
        "--show 0": "--show must be an integer ≥ 1",
        "--method mistakes --pool-size 5": "--pool-size",
        "--jsn": "--jsn",
        "--target y": "--target is for a table",
        "--support-size 2": "--support-size is for moments",
    },
    "solve data.csv --target y --support-size 1 --json": {
        "--target z": "no column z",
        "--support-size 4": "support_size must be an integer in 1..3, got 4",
        "--never d": ("never", "got 'd'"),
    },
    "compare tiny-plain --json": {
        "--solvers native,abacus": "'abacus'",
        "--solvers native,pyomo:abacus": "Pyomo knows no solver 'abacus'",
        "--solvers native,pyomo": "it takes the name of a solver, as in pyomo:cplex_direct",
        "--solvers native": "comparing needs two answers",
        "--solvers native,native": "comparing needs two answers",
        "--tolerance -1": "tolerance must be",
        "--time-limit 0": "time_limit must be",
        "--output absent/report.json": "the folder absent does not exist",
    },
    "release diabetes --json": {
        "": "Missing option '--epsilon'",
        "--epsilon 1_0": "'--epsilon': must be a number, got '1_0'",
        "--epsilon ١": "'--epsilon': must be a number",
        "--epsilon 0": "--epsilon must be a finite number > 0",
        "--epsilon inf": "--epsilon must be a finite number > 0",
    },
    "release diabetes --epsilon 1 --json": {
        "--method top-r --pool-size 1_0": "--pool-size must be an integer ≥ 1",
        "--seed -1": "--seed must be an integer ≥ 0",
        "--method top-r --tolerance -0.1": "--tolerance must be a finite number ≥ 0",
        "--time-limit 0": "--time-limit must be a number of seconds > 0",
        "--output absent/answer.json": "the folder absent does not exist",
        "--complexity 1": "give --sizes, such as 1-8",
        "--sizes 3 --complexity 1": "give --sizes, such as 1-8",
        "--sizes 8-1": "--sizes must be sizes ≥ 1 such as 1-8 or 1,3,5, got '8-1'",
        "--sizes 0": "--sizes must be sizes ≥ 1",
        "--sizes ''": "--sizes must be sizes ≥ 1",
        "--sizes 1.5": "--sizes must be sizes ≥ 1",
        "--sizes 1-": "--sizes must be sizes ≥ 1",
        "--sizes 1-11": "diabetes: the largest of --sizes must be an integer in 1..10, got 11",
        "--method sis --top-k laplace": "--top-k must be one of 'canonical', 'peeling'",
        "--method sample-aggregate --top-k joint": "--top-k must be 'peeling' or 'laplace'",
        "--method mcmc --delta 1": "--delta must be a number with 0 <",
        "--method mcmc --mcmc-radius 1e26": "--mcmc-radius must lie between",
    },
    MISTAKES: {
        "--delta 0.1": "belong together",
        "--test-epsilon 1": "belong together",
        "--test-epsilon 1 --delta 0.5": "--delta must be a number strictly between 0 and 1/2",
        "--test-epsilon 0 --delta 0.1": "--test-epsilon must be a finite number > 0",
        "--pool-size 5": "--pool-size",
    },
    f"select data.csv {ASKED} {' '.join(BOUNDS)}": {
        "--x-bound 0": "x_bound must be a finite number > 0, got 0",
        "--y-bound -1": "y_bound must be a finite number > 0, got -1",
        "--coef-bound nan": "coef_bound must be a finite number > 0, got nan",
        "--ridge 0": "ridge",
        "--x-bound 1e26": "x_bound must lie between",
        "--sizes 1-3": "must be given: one of them",
        "--support-size 4": "support-size must be an integer in 1..3",
        "--target z": "there is no column z; columns: a, b, c, y",
        "--features a,d": "there is no column d",
        "--output data.csv": "is what is read",
    },
    f"select data.csv {ASKED}": {
        "--x-bound 1": (
            "--y-bound, --coef-bound, --ridge must be given", "without looking at the data"),
        "--coef-bound 1": "--x-bound, --y-bound, --ridge must be given",
        "--score blocks --x-bound 1": "--x-bound does not apply to score 'blocks'",
        "--score blocks --loss hinge": "leave out --loss",
        "--score r2": "--score must be one of 'blocks', 'block-r2', 'loss'",
        "--method sis --score blocks": "--score does not apply to --method sis",
        "--method kendall --epsilon 1e-300": "psilon",
        "--method top-r --score block-r2": "goes with exact draws of one size",
        "--score block-r2 --ridge 1": "ridge goes with score 'blocks'",
        "--always a": "needs --schema",
        "--no-intercept": "needs --schema",
        "--range a=0:1": "needs --schema",
        "--score loss": ("error: --schema (begin", "--x-bound", "--score blocks needs none"),
        "--schema bare.json --score loss": "needs constraints.minimum",
        "--schema bare.json --ridge 1": "needs constraints.minimum",
        "--schema bare.json --no-intercept": "needs constraints.minimum",
        "--schema bare.json --loss squared": "needs constraints.minimum",
        "--schema bare.json --score blocks --range a=0:1": "goes with --score loss",
        "--schema bare.json --score blocks --no-intercept": "goes with --score loss",
    },
    "select data.txt --target y --support-size 2 --epsilon 1": {
        "--method kendall": "must end in .csv",
    },
    f"select|fit stays.csv {STAY}": {
        "--features age": "--features does not apply with --schema",
        "--always ages": "always: the schema has no field 'ages'; its fields",
        "--always '\"age'": "--always: a double quote has no partner",
        "--never who": "never: the schema has no",
        "--range age": "--range must be a field with its ends",
        "--range age=0:1_00": "--range must be a field with its ends",
        "--range age=9:1": "a range must be lo < hi",
        "--unit-rule any": "unit_rule must be one of 'first', 'last', 'mean'",
        "--relation both": "--relation",
        "--schema ignoring.json --always sex": "always: 'sex' is ignored by the schema (mipselect",
        "--schema ignoring.json --target sex": "target: 'sex' is ignored by the schema (mipselect",
        "--schema ignoring.json --range sex=0:1": "'sex' is ignored by the schema",
    },
    f"select stays.csv {STAY}": {
        "--x-bound 1": "--x-bound does not apply with --schema",
        "--loss hinge": "the hinge loss needs a target of two classes",
        "--coef-bound 0": "coef_bound must be",
        "--sizes 1-2": "one of them",
        "--loss cubic": "--loss: loss 'cubic' is unknown",
        "--loss squared --method sis": "--loss does not apply to --method sis",
        "--ridge 1 --method kendall": "--ridge does not apply to --method kendall",
    },
    f"fit stays.csv {STAY}": {
        "--method top-r": "No such option",
        "--model-loss logistic": "logistic is for a target of two classes",
        "--features-of release.json": "one of them",
        "--epsilon 1e9": "--epsilon must lie between",
        "--ranges public": "must be one of private",
        "--ranges private --relation add-remove": "under replace-one",
        "--ranges private --score loss": "drawn from blocks",
        "--ranges private --range stay=0:60 --range age=0:100": "none is to be drawn",
    },
    # What `plan` is asked of a model is refused in the words of `fit`.
    f"fit stays.csv {STAY}|{PLAN}": {
        "--quality-share 0": "--quality-share must be a number",
        "--quality-share 1": "--quality-share must be a number",
    },
    PLAN: {
        "--epsilon a": "--epsilon must be numbers between commas",
        "--epsilon 1,1_0": "--epsilon must be numbers between commas",
        "--plot x.txt": "--plot must end in",
        "--plot same.svg": "would be replaced",
        "--time-limit 0": "--time-limit",
    },
    "select weighted.csv --schema weighted.json --target y --support-size 1 --epsilon 2": {
        "--method sis": "draws from scores of rows that all count the same",
        "--method kendall": "draws from scores of rows that all count the same",
        "--method sample-aggregate": "draws from scores of rows that all count the same",
        "--method mcmc": "draws from scores of rows that all count the same",
        "--score block-r2": "score 'block-r2' counts every row the same",
        "--loss huber(0.5)": "the huber(0.5) loss takes none",
        "--never w": "'w' is the survey weight",
        "--always w": "'w' is the survey weight",
    },
    "release m.npz --epsilon 1": {
        "--support-size 1 --method kendall": "Kendall draws from scores of rows, and moments are",
        "": "--support-size, or --sizes to choose it privately, must be given",
        "--support-size 9": "in 1..5",
        "--support-size 2 --always z": "no field",
    },
    "moments stays.csv --target stay": {
        "--output n.npz": "Missing option '--schema'",
        "--schema proposed.json --output n.npz": "were proposed from the data",
        "--schema schema.json --target z --output n.npz": "no field 'z'",
        "--schema schema.json --output schema.json": "end in .npz",
        "stays.csv --schema schema.json --output n.npz": "given twice",
        "none --schema schema.json --output n.npz": "no such file",
    },
    "check stays.csv --schema schema.json": {
        "--output schema.json": "would be replaced",
        "--output no/page.html": "does not exist",
        "--never wart": "did you mean 'ward'",
        "--range age=9": "--range",
    },
    "predict stay.json stays.csv": {
        "--probability": ("--probability", "two classes by the logistic"),
        "--threshold 0.2": ("--threshold", "two classes by the logistic"),
        "--output stays.csv": "is what is read",
        "--output x.json": "end in .csv",
    },
    "predict arrays.json stays.csv": {"": "the model is one of arrays"},
    "predict stay.json few.csv": {"": ("few.csv", "there is no column")},
    "predict risk.json stays.csv": {
        **dict.fromkeys((f"--threshold {v}" for v in ("0", "1", "-0.1", "nan", "most")),
                        "--threshold"),
        "--threshold matching": ("--threshold matching", "no quality", "--quality-share"),
    },
    "evaluate stay.json next.csv --schema schema.json --epsilon 1 --ledger books.ledger": {
        "--epsilon 0": "--epsilon",
        "--seed -1": "--seed",
        "--relation swap": "--relation",
        "--output next.csv": "would be replaced",
        "--unit-rule most": "unit_rule",
    },
    "evaluate": {
        "stay.json next.csv --epsilon 1": "csvw-eo:privacyUnit",
        "schema.json stays.csv --epsilon 1": "not a stored model",
        "arrays.json stays.csv --schema schema.json --epsilon 1": "the model is one of arrays",
        "stay.json few.csv --schema schema.json --epsilon 1": "stay",
        "stay.json - --schema schema.json --epsilon 1": "standard input is not read: write it",
    },
    "ledger create new.ledger": {
        "": "--epsilon or --rho",
        "--epsilon 1 --rho 1": "--epsilon or --rho",
        "--rho 1": "0 < delta < 1",
        "--epsilon -1": "epsilon",
        "--epsilon 0": "epsilon must be > 0: a ledger of nothing pays for nothing",
        "--rho 0 --delta 1e-6": "rho must be",
        "--epsilon 1 --unit ''": "unit",
        "--epsilon 1 --relation swap": "--relation",
    },
    "ledger": {
        "create new.ledger/below --epsilon 1": "does not exist",
        "create books.ledger --epsilon 1": "exists already",
        "show new.ledger": "no such file",
        "verify new.ledger": "no such file",
        "export new.ledger": "no such file",
        "refund new.ledger": "No such command",
        "show books.ledger --delta 2": "--delta",
        "show books.ledger --output books.ledger": "would be replaced",
    },
    "schema to-csv": {
        "absent.json t.csv": "absent.json: no such file",
        "schema.json a/t.csv": "OUT.csv a/t.csv: the folder a does not exist",
        "schema.json t.csv --delimiter |": "must be one of ,, ;, tab, got '|'",
        "schema.json schema.json --replace": "is what is read",
        "bad.json t.csv": "bad.json: fields must be of type array",
        "long.json t.csv": "long.json: field 'a': its categories are a cell of",
    },
    "schema from-csv": {
        "absent.csv t.json": "absent.csv: no such file",
        "bad.csv t.json": "bad.csv: line 2: column minimum: 'x' is no number",
    },
    "report": {
        "": "RELEASE.json",
        "none.json": "none.json: no such file",
        ".": "it is a folder",
        "release.json --output r.pdf": "must end in .html or .md",
        "release.json --title 'a\nb'": "--title",
        "release.json --facts facts.toml": "facts.toml: no such file",
    },
}  # fmt: skip
DRAWS = ("select ", "release ", "fit ")


def several(commands: str) -> list[str]:
    """The commands of a group: of "select|fit ..." two, and of "fit ...|plan ..." too."""
    one, _, other = commands.partition("|")
    if not other:
        return [one]
    return [one, other] if " " in one else [f"{one} {other.partition(' ')[2]}", other]


ROWS = [
    (f"{command} {more}".strip(), words)
    for commands, cases in REFUSED.items()
    for more, words in cases.items()
    for command in several(commands)
]


@pytest.mark.parametrize(("asked", "words"), ROWS)
def test_bad_usage_is_one_line_and_touches_no_file(
    run: Run,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: str,
    words: str | tuple[str, ...],
) -> None:
    """Nor does a dry run of a draw take what the draw refuses."""
    monkeypatch.chdir(place)
    before = {path: path.read_bytes() for path in place.iterdir()}
    for dry in ("", " --dry-run") if asked.startswith(DRAWS) else ("",):
        refused = run(*shlex.split(asked + dry))
        refused.failed_with(2, *((words,) if isinstance(words, str) else words))
    assert {path: path.read_bytes() for path in place.iterdir()} == before
