"""`mipselect bench`: rows, seeds, interruptions, other people's files, and the summary."""

from __future__ import annotations

import io
import json
import math
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mipselect import errors
from mipselect.cli.progress import CountedProgress
from mipselect.problem.stored.files import load_instance, load_problem
from mipselect_papers import contestants, contests
from mipselect_papers.contestants import CONTESTANTS, Rules, in_words
from mipselect_papers.contests import mean_and_error, summarise
from mipselect_papers.experiment import DataSeed
from mipselect_papers.runner import FORMAT, START, TrialFile
from tests.support.commandline import LISTENING, Run
from tests.support.designs import all_supports

RECIPE = """
[instance]
support_size = 2
x_bound = 0.5
y_bound = 0.5
coef_bound = 1.1
ridge = 5.0
[data]
source = "correlated-gaussian"
n = 120
p = 6
rho = 0.1
snr = 5.0
support_size = 2
seed = 1
"""
ROW = {"experiment": "x", "sensitive": False}
QUICK = ("--selectors", "top-r,mistakes,uniform", "--epsilon", "1,20", "--trials", "3")


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "drawn.toml"
    path.write_text(RECIPE)
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rows.jsonl"


def rows_of(file: Path) -> list[dict[str, Any]]:
    assert file.read_bytes().endswith(b"\n")
    return [row for line in file.read_text().splitlines() for row in json.loads(line)["readings"]]


def untimed(file: Path) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in row.items() if not key.startswith("seconds")}
        for row in rows_of(file)
    ]


def test_every_row_is_what_enumeration_says(run: Run, recipe: Path, file: Path) -> None:
    outcome = run(
        "bench", "tiny-plain", recipe, "--epsilon", "1,50", "--trials", "2", "--mcmc-steps", "20",
        "--output", file, "--json",
    )  # fmt: skip
    assert (outcome.code, outcome.err) == (0, ""), outcome
    rows = rows_of(file)
    assert len(rows) == 2 * len(CONTESTANTS) * 2 * 2
    for path in ("tiny-plain", recipe):
        instance = load_instance(path)
        supports = all_supports(instance)
        values = instance.objectives(supports)
        best = set(supports[np.argmin(values)].tolist())
        mine = [row for row in rows if row["instance"] == Path(path).stem]
        assert {row["selector"] for row in mine} == set(CONTESTANTS)
        for row in mine:
            found = set(row["support"])
            assert sorted(found) == row["support"]
            assert row["exact"] is (found == best)
            assert row["f1"] == len(found & best) / instance.support_size
            gap = instance.objective(row["support"]) - values.min()
            assert row["loss_gap"] == pytest.approx(gap, abs=1e-12)
            assert row["gap_in_sensitivities"] == pytest.approx(
                gap / instance.sensitivity, abs=1e-9
            )
            assert (row["n"], row["p"]) == (instance.n, instance.p)
            assert row["sensitive"] is (path == "tiny-plain")
            second = np.sort(values)[1] - values.min()
            met = bool(second > 2 * instance.sensitivity) if row["selector"] == "mistakes" else None
            assert row["condition_met"] is met
    for line in map(json.loads, file.read_text().splitlines()):
        assert (line["private"], line["randomness"]) == (False, "seeded")
    assert {row["data_seed"] for row in rows} == {None, 1}
    assert len({row["seed"] for row in rows}) == len(rows)


def test_everybody_is_private_at_the_epsilon_that_was_asked(run: Run, file: Path) -> None:
    run("bench", "tiny-plain", "--epsilon", "0.3", "--trials", "1", "--output", file)
    promised = {row["selector"]: row["guarantee"] for row in rows_of(file)}
    for name, guarantee in promised.items():
        assert guarantee["relation"] == "replace-one"
        assert guarantee["epsilon"] == (0.0 if name == "uniform" else 0.3)
        approximate = name in ("mistakes-ptr", "mcmc")
        assert guarantee["delta"] == (contestants.DELTA if approximate else 0.0)
        assert bool(guarantee["conditions"]) is (name in ("mistakes", "mcmc"))


def test_the_chain_is_set_by_its_options(run: Run, recipe: Path, file: Path) -> None:
    arguments = ("bench", recipe, "--selectors", "mcmc", "--epsilon", "1", "--trials", "1")
    run(*arguments, "--mcmc-steps", "7", "--mcmc-radius", "0.7", "--output", file)
    (row,) = rows_of(file)
    assert "coef_bound 0.7, delta 1e-06, n_steps 7, x_bound 0.5" in row["options"]
    other = file.with_name("other.jsonl")
    run(*arguments, "--output", other)
    assert (
        f"coef_bound {1.1 * math.sqrt(2)}, delta 1e-06, n_steps 5000"
        in rows_of(other)[0]["options"]
    )


def test_selectors_get_the_data_before_clipping_and_codes_for_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c.csv").write_text("a,b,y\n" + "9,0,0\n-9,1,1\n0.5,2,1\n0.1,-3,0\n" * 5)
    path = tmp_path / "c.toml"
    path.write_text(
        "[instance]\nsupport_size = 1\nx_bound = 1\ny_bound = 1\ncoef_bound = 1\nridge = 1\n"
        'loss = "hinge"\n[data]\nsource = "table"\npath = "c.csv"\ntarget = "y"\n'
    )
    problem = load_problem(path)
    instance = problem.instance()
    seen = {}
    for name, contestant in CONTESTANTS.items():
        if contestant.unfit(instance):
            assert name == "mcmc"
            continue
        selector = contestant.build(instance, 1.0, Rules("auto", None, 20, None))
        inner = type(selector).mechanism

        def mechanism(self, X, y, name=name, inner=inner):
            seen[name] = (X.max(), set(y.tolist()))
            return inner(self, X, y)

        monkeypatch.setattr(type(selector), "mechanism", mechanism)
        data = contests.DataSet.of(str(path), problem, instance)
        rules = Rules("auto", None, 20, None)
        contest = contests.Contest(data, name, in_words(selector), 1.0, 0, rules)
        contests.forget()
        (row,) = contest.measure(DataSeed(0, 1), 0, None)
        assert row["status"] == "done", row
        codes = {-1.0, 1.0} if name in ("sis", "kendall", "sample-aggregate") else {0.0, 1.0}
        assert seen[name] == (9.0, codes), name


def test_an_interrupted_run_goes_on_as_if_nothing_had_happened(
    run: Run, recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    assert run("bench", "tiny-plain", recipe, *QUICK, "--output", whole).code == 0
    assert len(rows_of(whole)) == 36
    append = TrialFile.append

    def interrupted(self: TrialFile, row: Any) -> None:
        (line,) = row["readings"]
        if line["trial"] == 1 and line["epsilon"] == 20.0:
            raise KeyboardInterrupt
        append(self, row)

    with monkeypatch.context() as patch:
        patch.setattr(TrialFile, "append", interrupted)
        run("bench", "tiny-plain", recipe, *QUICK, "--output", parts).failed_with(
            130, "interrupted: 4 of 36 trials of bench are kept", "parts.jsonl", "the same command"
        )
    for cut in (1, 7, 40):
        text = parts.read_bytes()
        parts.write_bytes(text[:-cut])
        resumed = run("bench", "tiny-plain", recipe, *QUICK, "--output", parts)
        assert resumed.code == 0
        assert "of 36 trials are done already" in resumed.err
        assert "was half-written and is cut off" in resumed.err
        assert untimed(parts) == untimed(whole)
    for start in (START[:5], START + b"status"):
        parts.write_bytes(start)
        assert run("bench", "tiny-plain", recipe, *QUICK, "--output", parts).code == 0
        assert untimed(parts) == untimed(whole)
    before = parts.read_bytes()
    again = run("bench", "tiny-plain", recipe, *QUICK, "--output", parts, "--json")
    assert parts.read_bytes() == before
    assert "36 of 36 trials are done already" in again.err
    assert [len(entry["selectors"]) for entry in again.report["instances"]] == [6, 6]


def test_an_interrupted_process_keeps_whole_lines(recipe: Path, file: Path) -> None:
    program = f"{LISTENING}; import sys; from mipselect.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "bench", str(recipe), "--selectors", "top-r"]
    command += ["--epsilon", "1", "--output", str(file)]
    for number, code in ((signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)):
        had = file.stat().st_size if file.exists() else 0
        with subprocess.Popen(
            [*command, "--trials", "100000"], stderr=subprocess.PIPE, encoding="utf-8"
        ) as process:
            for _ in range(600):
                if file.exists() and file.stat().st_size > had + 2000:
                    break
                time.sleep(0.05)
            process.send_signal(number)
            err = process.communicate(timeout=30)[1]
        assert process.returncode == code
        if code == 130:
            assert "of 100,000 trials of bench are kept" in err.splitlines()[-1]
        rows = [json.loads(line) for line in file.read_text().split("\n")[:-1]]
        assert [row["repeat"] for row in rows] == list(range(1, len(rows) + 1))


def test_another_selector_or_more_trials_change_nothing_else(
    run: Run, recipe: Path, tmp_path: Path
) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    run("bench", recipe, *QUICK, "--output", one)
    run("bench", recipe, "--selectors", "uniform", "--epsilon", "20", "--output", two)
    mine = [row for row in untimed(one) if (row["selector"], row["epsilon"]) == ("uniform", 20.0)]
    assert mine == untimed(two)[:3]
    outcome = run(
        "bench", recipe, "--selectors", "top-r", "--trials", "2", "--epsilon", "3",
        "--output", one, "--json",
    )  # fmt: skip
    assert len(rows_of(one)) == 20
    (entry,) = outcome.report["instances"]
    assert [(line["selector"], line["trials"]) for line in entry["selectors"]] == [("top-r", 2)]
    other = tmp_path / "other.jsonl"
    run("bench", recipe, *QUICK, "--output", other, "--seed", "1")
    assert [row["seed"] for row in rows_of(other)] != [row["seed"] for row in rows_of(one)][:18]


LINE = f'{{"format": "{FORMAT}", "status": "done"}}\n'


def test_two_runs_on_one_file_lose_no_line(file: Path) -> None:
    with TrialFile(file) as slow, TrialFile(file) as quick:
        quick.append({**ROW, "readings": [{"selector": "quick"}]})
        slow.append({**ROW, "readings": [{"selector": "slow"}]})
    assert [line["selector"] for line in rows_of(file)] == ["quick", "slow"]


def test_a_half_written_line_is_cut_off_only_if_nobody_has_written_since(file: Path) -> None:
    file.write_bytes(START[:9])
    with TrialFile(file) as slow, TrialFile(file) as quick:
        quick.append({**ROW, "readings": [{"selector": "quick"}]})
        with pytest.raises(errors.MipselectError, match="another run writes to it"):
            slow.append({**ROW, "readings": [{"selector": "slow"}]})
    assert [line["selector"] for line in rows_of(file)] == ["quick"]


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ("epsilon,exact\n1,0.5\n", 1, "it is not JSON"),
        ('{"format": "other"}\n', 1, "its format is not 'mipselect-trials-1'"),
        ("[1, 2]\n", 1, "its format is not"),
        ("a note without an end", 1, "it is cut off and begins like no other"),
        ("\n", 1, "it is not JSON"),
        (LINE, 1, "it lacks 'experiment'"),
        ("{ROW}\n{ROW}", 2, "it is not JSON"),
        ("{ROW}trailing", 2, "it is cut off"),
        (b"\xff\xfe\n", 1, "it is not JSON"),
    ],
)
def test_files_of_others_are_left_alone(
    run: Run, recipe: Path, file: Path, content: str | bytes, line: int, reason: str
) -> None:
    run("bench", recipe, "--selectors", "uniform", "--epsilon", "1", "--trials", "1",
        "--output", file)  # fmt: skip
    (row,) = file.read_text().splitlines(keepends=True)
    if isinstance(content, str):
        content = content.replace("{ROW}", row).encode()
    file.write_bytes(content)
    run("bench", recipe, *QUICK, "--output", file, "--json").failed_with(
        2, f"rows.jsonl, line {line}, is no trial: {reason}"
    )
    assert file.read_bytes() == content


def test_other_data_settings_and_seeds_are_other_trials(
    run: Run, folder: Path, file: Path, tmp_path: Path
) -> None:
    instance, data = folder / "instance.toml", folder / "data.csv"
    arguments = ("bench", instance, *QUICK, "--output", file)
    run(*arguments)
    count = len(rows_of(file))
    for path, old, new in (
        (instance, "ridge = 0.5", "ridge = 0.6"),
        (data, "-2,-3,0.0,", "-2,-3,0.1,"),
    ):
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        assert "done already" not in run(*arguments).err
        assert len(rows_of(file)) == 2 * count
        figure = run("plot", file, "--output", tmp_path / "f.svg")
        figure.failed_with(2, "has runs of top-r on instance that differ in fingerprint")
        path.write_text(text)
        file.write_text("".join(file.read_text().splitlines(keepends=True)[:count]))
    before = file.read_bytes()
    assert "18 of 18 trials are done already" in run(*arguments).err
    assert file.read_bytes() == before
    run(*arguments, "--seed", "5")
    run("plot", file, "--output", tmp_path / "f.svg").failed_with(2, "differ in base_seed: 0 and 5")


def test_files_and_output_are_marked(run: Run, recipe: Path, file: Path) -> None:
    mask = os.umask(0)
    os.umask(mask)
    text = run("bench", recipe, *QUICK, "--output", file)
    assert text.code == 0
    assert "NOT PRIVATE" in text.out
    assert "--seed" not in text.out
    assert "SENSITIVE" not in text.out
    assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~mask
    outcome = run("bench", "tiny-plain", *QUICK, "--output", file)
    assert "NOT PRIVATE" in outcome.out
    assert "SENSITIVE" in outcome.out
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    report = run("bench", "tiny-plain", recipe, *QUICK, "--output", file, "--json").report
    assert (report["sensitive"], report["private"], report["randomness"]) == (True, False, "seeded")
    assert [entry["sensitive"] for entry in report["instances"]] == [True, False]


def test_recipes_are_drawn_with_other_rows_and_seeds(run: Run, recipe: Path, file: Path) -> None:
    outcome = run(
        "bench", recipe, "--rows", "80,120", "--data-seeds", "1,2,3", *QUICK, "--output", file,
        "--json",
    )  # fmt: skip
    assert (outcome.code, outcome.err) == (0, "")
    rows = rows_of(file)
    assert len(rows) == 2 * 3 * 18
    assert len({row["fingerprint"] for row in rows}) == 6
    entries = outcome.report["instances"]
    assert [(entry["n"], entry["data_seeds"]) for entry in entries] == [
        (80, [1, 2, 3]),
        (120, [1, 2, 3]),
    ]
    for entry in entries:
        for line in entry["selectors"]:
            mine = [row for row in rows if row["n"] == entry["n"]]
            mine = [row for row in mine if row["selector"] == line["selector"]]
            mine = [row for row in mine if row["epsilon"] == line["epsilon"]]
            means = [
                np.mean([row["f1"] for row in mine if row["data_seed"] == seed])
                for seed in (1, 2, 3)
            ]
            assert (line["trials"], line["data_sets"]) == (9, 3)
            assert line["f1"] == pytest.approx(np.mean(means))
            assert line["f1_standard_error"] == pytest.approx(np.std(means, ddof=1) / 3**0.5)
    # The file's own n and seed are the same data.
    before = file.read_bytes()
    assert "18 of 18 trials" in run("bench", recipe, *QUICK, "--output", file).err
    assert file.read_bytes() == before


def made(selector: str, data_seed: int | None, exact: bool, gap: float, **changes: Any) -> Any:
    return {
        "instance": "made", "n": 10, "p": 6, "n_features": 6, "support_size": 2, "loss": "squared",
        "data_seed": data_seed, "selector": selector, "epsilon": 1.0, "status": "done",
        "exact": exact, "f1": 1.0 if exact else 0.5, "loss_gap": gap,
        "gap_in_sensitivities": 2.0 * gap, "seconds_fit": 3.0, "seconds_draw": 0.25,
        "relation": "replace-one", "condition_met": None, "sensitive": False, **changes,
    }  # fmt: skip


def test_summary_of_rows_made_by_hand() -> None:
    gaps = (0.0, 0.0, 1.0, 5.0)
    rows = [made("one", None, gap == 0.0, gap, seconds_fit=gap) for gap in gaps]
    rows[0]["condition_met"] = False
    rows.append({**made("two", None, True, 0.0), "status": "not certified", "remark": "slow"})
    (entry,) = summarise(rows)
    one, two = entry["selectors"]
    assert (entry["instance"], entry["n"], entry["data_seeds"]) == ("made", 10, [])
    assert entry["relation"] == one["relation"] == "replace-one"
    assert (one["status"], one["trials"], one["data_sets"]) == ("done", 4, 1)
    assert one["exact"] == 0.5
    assert one["exact_standard_error"] == pytest.approx(math.sqrt(1 / 3) / 2)
    assert one["f1"] == 0.75
    assert (one["median_loss_gap"], one["median_gap_in_sensitivities"]) == (0.5, 1.0)
    assert (one["seconds_per_draw"], one["seconds_per_fit"]) == (0.25, 1.5)
    assert one["data_sets_without_its_condition"] == 1
    assert (two["status"], two["remark"], two["trials"]) == ("not certified", "slow", 0)


def test_errors_are_over_data_sets_if_there_are_several() -> None:
    pooled = [made("one", 1, True, 0.0)] * 3 + [made("one", 2, False, 0.0)]
    assert mean_and_error(pooled, "exact") == (0.5, pytest.approx(0.5))
    assert mean_and_error(pooled[:3], "exact") == (1.0, 0.0)
    assert mean_and_error(pooled[:1], "exact") == (1.0, None)


def test_a_selector_that_is_not_certified_is_reported_and_the_others_run(
    run: Run, recipe: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def never(self: Any, X: Any, y: Any) -> Any:
        calls.append(self.time_limit)
        raise errors.NotCertified("time limit of 9 s reached", bound=0.0)

    arguments = ("bench", recipe, *QUICK, "--output", file)
    with monkeypatch.context() as patch:
        patch.setattr(contestants.TopRSelector, "mechanism", never)
        outcome = run(*arguments, "--time-limit", "9", "--json")
        assert outcome.code == 1
        assert "top-r, ε = 1: not certified: time limit of 9 s" in outcome.err
        assert "(and 1 more)" in outcome.err
        assert len(outcome.report["failures"]) == 2
        (entry,) = outcome.report["instances"]
        status = {(line["selector"], line["status"]) for line in entry["selectors"]}
        assert status == {("top-r", "not certified"), ("mistakes", "done"), ("uniform", "done")}
        assert len(rows_of(file)) == 12
        # Once for all trials at one ε.
        assert calls == [9.0, 9.0]
        shown = run(*arguments, "--time-limit", "8")
        assert shown.code == 1
        assert "not certified" in shown.out
    assert run(*arguments).code == 0
    assert len(rows_of(file)) == 18


def test_a_selector_that_fails_is_tried_again(
    run: Run, recipe: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Any, X: Any, y: Any) -> Any:
        raise errors.SolverFailure("the licence has expired")

    arguments = ("bench", recipe, *QUICK, "--output", file)
    with monkeypatch.context() as patch:
        patch.setattr(contestants.TopRSelector, "mechanism", fail)
        assert "top-r, ε = 1: failed: the licence" in run(*arguments).err
    assert run(*arguments, "--json").code == 0


def test_without_a_certified_optimum_a_data_set_is_left_out(run: Run, file: Path) -> None:
    outcome = run("bench", "paper-p100", *QUICK, "--time-limit", "1e-9", "--output", file, "--json")
    assert outcome.code == 1
    assert "without the certified optimum nothing was run: time limit" in outcome.err
    (entry,) = outcome.report["instances"]
    assert all(line["trials"] == 0 for line in entry["selectors"])
    text = run("bench", "paper-p100", *QUICK, "--time-limit", "1e-9", "--output", file)
    assert "is a line of" not in text.out
    assert not file.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--epsilon", "1,much"), "--epsilon must be numbers between commas, got '1,much'"),
        (("--epsilon", "1,0"), "--epsilon must be a finite number > 0, got 0.0"),
        (("--epsilon", "inf"), "--epsilon must be a finite number > 0"),
        (("--epsilon", ""), "--epsilon must be numbers between commas, got ''"),
        (("--trials", "0"), "--trials must be an integer in 1.."),
        (("--seed", "-1"), "--seed must be an integer ≥ 0, got -1"),
        (("--selectors", "top-r,guess"), "--selectors: 'guess' is unknown; known: top-r, "),
        (("--solver", "abacus"), "'abacus'"),
        (("--time-limit", "0"), "--time-limit must be a number of seconds > 0"),
        (("--mcmc-steps", "0"), "--mcmc-steps must be an integer ≥ 1"),
        (("--mcmc-radius", "-1"), "--mcmc-radius must be a finite number > 0"),
        (("--rows", "3000"), "n can be set for data from a recipe only"),
        (("--data-seeds", "1,2"), "seed can be set for data from a recipe only"),
        (("--rows", "1.5"), "--rows must be integers between commas, got '1.5'"),
        (("--output", "absent/rows.jsonl"), "the folder absent does not exist"),
        (("tiny-plain",), "tiny-plain is given twice"),
    ],
)
def test_bad_usage_touches_no_file(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...],
    message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    run("bench", "tiny-plain", *arguments, "--json").failed_with(2, message)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_take_part_is_skipped_with_its_reason(
    run: Run, recipe: Path, file: Path
) -> None:
    recipe.write_text(RECIPE.replace("[data]", 'loss = "huber(1)"\n[data]'))
    arguments = ("bench", recipe, "--epsilon", "1", "--trials", "1", "--output", file)
    outcome = run(*arguments, "--selectors", "mcmc,uniform", "--json")
    reason = "mcmc on drawn: it is for the squared loss, not huber(1.0)"
    assert outcome.report["skipped"] == [reason]
    assert outcome.err == f"mipselect: skipped {reason}\n"
    nothing = run(*arguments, "--selectors", "mcmc", "--data-seeds", "1,2")
    assert nothing.code == 2
    assert "there is nothing to run" in nothing.err
    assert nothing.err.count(reason) == 1


def test_the_time_limit_holds_for_every_search_and_for_the_exact_draw() -> None:
    instance = load_instance("tiny-plain")
    limits = {
        name: contestant.build(instance, 1.0, Rules("auto", 9.0, 20, None)).get_params()
        for name, contestant in CONTESTANTS.items()
    }
    limited = {name for name, params in limits.items() if params.get("time_limit") == 9.0}
    assert limited == {"top-r", "top-r-wide", "mistakes", "mistakes-ptr", "exponential"}


def test_the_exponential_draw_takes_part_at_any_size(run: Run, file: Path) -> None:
    arguments = ("bench", "paper-p100", "--selectors", "exponential", "--epsilon", "1,5")
    outcome = run(*arguments, "--trials", "4", "--output", file, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.report["skipped"] == []
    rows = rows_of(file)
    assert len(rows) == 8
    for row in rows:
        assert row["guarantee"]["epsilon"] == row["epsilon"]
        assert row["guarantee"]["conditions"] == []
    assert all(row["exact"] for row in rows if row["epsilon"] == 5.0)


def test_a_file_that_cannot_be_written_is_an_error(
    run: Run, recipe: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError("no space left on device")

    monkeypatch.setattr("mipselect_papers.runner.os.write", full)
    run("bench", recipe, *QUICK, "--output", file).failed_with(1, "no space left")


def test_a_file_that_may_not_be_written_is_an_error_before_any_work(
    run: Run, recipe: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.touch(mode=0o400)
    allowed = os.access
    monkeypatch.setattr(
        os, "access", lambda path, how: (path, how) != (file, os.W_OK) and allowed(path, how)
    )
    monkeypatch.setattr("mipselect_papers.commands.bench.load_problem", None)
    run("bench", recipe, *QUICK, "--output", file).failed_with(2, "cannot be written to")


def test_progress_is_a_rare_plain_line_without_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("mipselect.cli.progress.time.monotonic", lambda: now[0])
    with CountedProgress(5, 30) as watch:
        watch.begin("diabetes: sis, ε = 1")
        for second in range(25):
            now[0] = float(second)
            watch.advance()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "mipselect: 16 of 30 trials, at diabetes: sis, ε = 1, about 13 s left, 10 s",
        "mipselect: 26 of 30 trials, at diabetes: sis, ε = 1, about 4 s left, 20 s",
    ]


def test_the_bar_cuts_no_number_on_a_common_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    with CountedProgress(1234, 5678) as watch:
        watch.begin("paper-p100 with n = 4,000 and data seed 1: sample-aggregate, ε = 0.25")
    assert "1234/5678" in terminal.getvalue()
    assert "0:00:00" in terminal.getvalue()
    assert "0.25" in terminal.getvalue()
    assert "…" not in terminal.getvalue()
