"""`mipselect compare`: agreement, disagreement, failures, and what is skipped."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mipselect import errors, search
from mipselect.backends import discovery as backends
from mipselect.backends.protocols import SolverStatus
from mipselect.cli.compare import FoundBySolver, contradictions
from mipselect.problem.stored import load_instance
from mipselect.search import MistakeLevels, mistake_levels
from tests.support.commandline import Run


@pytest.fixture
def levels() -> MistakeLevels:
    return mistake_levels(load_instance("tiny-plain"))


def answer(found: MistakeLevels | None, name: str = "one", **changes) -> FoundBySolver:
    bound = -np.inf if found is None else float(found.bounds.min())
    return FoundBySolver(name, found, changes.pop("bound", bound), **changes)


def test_solvers_agree_and_the_report_says_what_they_did(run: Run) -> None:
    outcome = run("compare", "tiny-plain", "paper-p100", "--solvers", "native,highs", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    report = outcome.report
    assert report["sensitive"] is True
    assert (report["agree"], report["certified"], report["skipped"]) == (True, True, [])
    tiny, paper = report["instances"]
    assert [len(each["answers"]) for each in (tiny, paper)] == [2, 2]
    assert tiny["contradictions"] == paper["contradictions"] == []
    native, highs = paper["answers"]
    assert native["optimum"] == pytest.approx(highs["optimum"], rel=1e-9)
    assert native["support"] == highs["support"] == [1, 3, 5, 7, 9]
    assert len(native["levels"]) == 6
    assert all(level["bound"] <= level["value"] for level in native["levels"])
    assert native["effort"]["masters"] == 0 < highs["effort"]["masters"]
    text = run("compare", "tiny-plain", "--solvers", "native,highs").out
    for fragment in ("SENSITIVE", "optimum", "seconds", "No answer contradicts another"):
        assert fragment in text


def test_all_uses_what_is_there_and_says_what_is_not(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = SolverStatus("abacus", usable=False, reason="install it with: apt-get install abacus")
    known = backends.known_solvers()
    monkeypatch.setattr(search, "known_solvers", lambda: {**known, "abacus": missing})
    outcome = run("compare", "tiny-plain", "--json")
    used = [entry["solver"] for entry in outcome.report["instances"][0]["answers"]]
    assert used == [name for name, status in known.items() if status.usable]
    assert "abacus: install it with: apt-get install abacus" in outcome.report["skipped"]
    assert "skipped abacus: install it with" in outcome.err


def test_a_missing_solver_that_is_named_is_an_error_with_its_remedy(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    run("compare", "tiny-plain", "--solvers", "native,cbc", "--json").failed_with(
        2, "'cbc' cannot be used here", "apt-get install coinor-cbc"
    )


def test_contradictions_are_reported_and_fail(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, levels: MistakeLevels
) -> None:
    answers = iter([levels, replace(levels, bounds=levels.bounds * 1.01)])
    monkeypatch.setattr(search, "mistake_levels", lambda *_, **__: next(answers))
    target = folder / "report.json"
    outcome = run(
        "compare", "tiny-plain", "--solvers", "native,highs", "--json", "--output", target
    )
    assert outcome.code == 1
    assert outcome.report["agree"] is False
    assert "(sensitive) tiny-plain: highs proves level 0" in outcome.err
    assert target.read_text() == outcome.out
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_value_that_is_not_the_expected_one_fails(
    run: Run, repository: Path, tmp_path: Path
) -> None:
    stored = repository / "instances"
    text = (stored / "tiny-plain.toml").read_text()
    (tmp_path / "tiny-plain.csv").write_text((stored / "tiny-plain.csv").read_text())
    (tmp_path / "wrong.toml").write_text(text.replace("0.0180238", "0.0280238"))
    outcome = run("compare", tmp_path / "wrong.toml", "--solvers", "native,highs", "--json")
    assert outcome.code == 1
    assert "DIFFERS from [expected]" in outcome.err


def test_a_solver_that_fails_is_named_with_the_instance_and_what_was_proven(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, solver: object, **__: object) -> MistakeLevels:
        raise errors.SolverFailure("highs failed on a master: Unknown (proven so far: 0.125)")

    monkeypatch.setattr(search, "mistake_levels", fail)
    outcome = run("compare", "tiny-plain", "--solvers", "native,highs", "--json")
    assert outcome.code == 1
    assert outcome.report["certified"] is False
    assert "optimum" not in outcome.report["instances"][0]["answers"][0]
    for fragment in ("(sensitive) tiny-plain: native certified nothing", "Unknown", "0.125"):
        assert fragment in outcome.err


def test_what_a_time_limit_left_unproven_fails(run: Run) -> None:
    outcome = run(
        "compare", "paper-p100", "--solvers", "native,highs", "--time-limit", "1e-9", "--json"
    )
    assert outcome.code == 1
    assert outcome.report["agree"] is True
    assert outcome.report["instances"][0]["answers"][0]["certified"] is False
    assert "time limit" in outcome.err


def test_what_contradicts_another_answer_and_what_does_not(levels: MistakeLevels) -> None:
    slack = levels.tolerance * levels.sensitivity
    worse = levels.values + np.array([0.0, 0.0, 0.0, 1.01 * slack])
    near = replace(levels, values=levels.values + np.array([0.0, 0.0, 0.0, 0.9 * slack]))
    high = answer(None, "two", bound=1.001 * float(levels.values[0]), remark="time limit")
    bounds = levels.bounds.copy()
    bounds[2] = levels.values[2] * (1 + 1e-6)
    for other, words in (
        (answer(levels, "two"), None),
        (answer(replace(levels, bounds=bounds), "two"), "two proves level 2"),
        (high, "two proves every support to be at"),
        (answer(replace(levels, values=worse, bounds=worse - 0.999 * slack), "two"), ""),
        (answer(near, "two"), None),
    ):
        found = contradictions([answer(levels), other])
        assert len(found) == (words is not None)
        assert all(words in sentence for sentence in found)
    # Another optimum of the same value.
    tied = mistake_levels(load_instance("tiny-duplicates"))
    supports = tied.supports.copy()
    supports[[0, 1]] = tied.supports[[1, 0]]
    assert contradictions([answer(tied), answer(replace(tied, supports=supports), "two")]) == []
