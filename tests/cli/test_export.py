"""`mipselect export` and `import-solution`: files for other solvers, and their answers."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from mipselect import load_instance
from tests.support.commandline import Run
from tests.support.read_back import READERS

FORMULATIONS = ["cuts", "perspective", "big-m", "whole"]


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("ending", [".mps", ".lp"])
def test_the_report_has_what_a_solver_needs(
    run: Run, tmp_path: Path, formulation: str, ending: str
) -> None:
    path = tmp_path / f"m{ending}"
    arguments = ("export", "tiny-plain", "--formulation", formulation, "--output", path)
    outcome = run(*arguments, "--json")
    report = outcome.report
    assert (report["sensitive"], report["formulation"]) == (True, formulation)
    assert report["binaries"] == 8
    assert report["settings"]["linear"] is (formulation == "cuts")
    assert report["settings"]["of_solvers"]["gurobi"]["MIPGap"] == 0.0
    assert "is no certificate" in report["note"]
    assert outcome.err == (
        f"mipselect: note: {path} is SENSITIVE: it holds the data of tiny-plain, or sums of them\n"
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = run(*arguments, "--replace").out
    for words in ("SENSITIVE", formulation, "feasibility 1e-09", "MIPGapAbs", "no certificate"):
        assert words in text


def test_highs_solves_the_file_and_its_answer_comes_back(run: Run, tmp_path: Path) -> None:
    model, answer, out = tmp_path / "m.lp", tmp_path / "m.sol", tmp_path / "report.json"
    told = run("export", "diabetes", "--formulation", "cuts", "--output", model, "--json").report
    highs = READERS["highs"](model, told["settings"]["of_solvers"]["highs"])
    highs.minimum()
    highs.model.writeSolution(str(answer), 0)
    arguments = ("import-solution", "diabetes", answer)
    report = run(*arguments, "--json", "--output", out).report
    assert json.loads(out.read_text()) == report
    assert (report["sensitive"], report["certified"]) == (True, False)
    assert (report["support"], report["names"]) == ([2, 3, 8], ["bmi", "bp", "s5"])
    value = load_instance("diabetes").objective([2, 3, 8])
    assert report["value"] == value
    assert 0.999 * value < report["claimed_bound"] < value
    assert (report["solver"], report["status"]) == ("HiGHS", "Optimal")
    text = run(*arguments).out
    for words in ("SENSITIVE", "bmi", "the solver's word", "no certificate", "Certified: NO"):
        assert words in text
    said = run(*arguments, "--bound", told["unit"] * value / 2, "--json").report
    assert said["claimed_bound"] == pytest.approx(value / 2, rel=1e-4)
    run(*arguments, "--bound", told["unit"] * value * 1.1).failed_with(
        1, f"(sensitive) {answer}: the solver claims", "another instance"
    )
    answer.write_text(answer.read_text().replace("\nOptimal\n", "\nTime limit reached\n"))
    late = run(*arguments, "--json").report
    assert late["claimed_bound"] is None
    assert "--bound" in late["note"]
    assert "--bound takes" in run(*arguments).out
    run("import-solution", "tiny-plain", answer).failed_with(2, f"{answer}: (sensitive) column z8")


def test_moments_are_exported_as_well(run: Run, tmp_path: Path) -> None:
    fields = [
        {"name": name, "type": "number", "constraints": {"minimum": -1, "maximum": 1}}
        for name in "aby"
    ]
    (tmp_path / "t.schema.json").write_text(json.dumps({"fields": fields}))
    rows = "".join(f"{k % 3 - 1},{k % 5 / 4 - 0.5},{k % 3 / 2 - 0.5}\n" for k in range(30))
    (tmp_path / "t.csv").write_text("a,b,y\n" + rows)
    moments = tmp_path / "t.npz"
    made = run(
        "moments", tmp_path / "t.csv", "--schema", tmp_path / "t.schema.json", "--target", "y",
        "--output", moments,
    )  # fmt: skip
    assert made.code == 0, made
    for formulation in FORMULATIONS:
        report = run(
            "export", moments, "--support-size", 1, "--formulation", formulation,
            "--output", tmp_path / "m.mps", "--json", "--replace",
        ).report  # fmt: skip
        assert report["binaries"] == 2
    (tmp_path / "a.sol").write_text("objective value: 1\nz0 1 (obj:0)\n")
    found = run(
        "import-solution", moments, tmp_path / "a.sol", "--support-size", 1, "--json"
    ).report
    assert found["names"] == ["a"]
    run("import-solution", moments, tmp_path / "a.sol").failed_with(2, "--support-size")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("tiny-plain",), "Missing option '--output'"),
        (("tiny-plain", "--output", "m.txt"), "--output: m.txt: must end in .mps or .lp"),
        (("tiny-plain", "--output", "-"), "--output: -: must end in .mps or .lp"),
        (("tiny-plain", "--output", "no/m.lp"), "the folder no does not exist"),
        (("tiny-plain", "--output", "m.lp", "--formulation", "hull"), "--formulation"),
        (("diabetis", "--output", "m.lp"), "did you mean 'diabetes'"),
        (("diabetes-huber", "--output", "m.lp"), "the formulation cuts takes any loss"),
        (("tiny-plain", "--output", "m.lp", "--time-limit", "5"), "for --formulation cuts"),
        (("tiny-plain", "--output", "m.lp", "--tolerance", "0.1"), "for --formulation cuts"),
        (("tiny-plain", "--output", "m.lp", "--time-limit", "0"), "--time-limit must be"),
        (("tiny-plain", "--output", "m.lp", "--support-size", "2"), "is for moments"),
    ],
)
def test_bad_exports_are_one_line_and_write_nothing(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    run("export", *arguments).failed_with(2, message)
    assert not list(tmp_path.iterdir())


def test_a_search_that_takes_too_long_is_no_model(run: Run, tmp_path: Path) -> None:
    run(
        "export", "correlated-p100", "--formulation", "cuts", "--time-limit", "1",
        "--output", tmp_path / "m.lp",
    ).failed_with(1, "(sensitive) correlated-p100: the ", "time limit of 1 s reached")  # fmt: skip
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (None, 2, "a.sol: no such file"),
        ("", 2, "is no solution file of a known solver"),
        ("objective value: 1\nz0 1 (obj:0)", 2, "(sensitive) line 2 ends in the middle"),
        (
            "objective value: 1\nz0 1 (obj:0)\n",
            2,
            "1 of the columns z are at one, and this instance chooses 3",
        ),
        ("objective value: 1\nw0 1 (obj:0)\n", 2, "'w0' is no column of an exported model"),
    ],
)
def test_bad_solutions_are_one_line(
    run: Run, tmp_path: Path, content: str | None, code: int, message: str
) -> None:
    path = tmp_path / "a.sol"
    if content is not None:
        path.write_text(content)
    run("import-solution", "tiny-plain", path).failed_with(code, message)
    run("import-solution", "tiny-plain", path, "--output", path).failed_with(2, "")
    run("import-solution", "tiny-plain", path, "--bound", "nan").failed_with(2, "--bound must be")
