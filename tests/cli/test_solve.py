"""`solve` and `compare`: certified, compared with what is stored and with another, sensitive."""

from __future__ import annotations

import itertools
import json
import stat
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mipselect import Instance, backends, errors, load_instance, search, top_supports
from mipselect.cli.solve import FoundBySolver, contradictions
from mipselect.search import MistakeLevels, mistake_levels
from mipselect.tables.moments import Moments
from tests.support.commandline import Run
from tests.support.fields import listed, numeric

ENUMERABLE = ("diabetes", "tiny-active-norm", "tiny-duplicates", "tiny-plain")


@pytest.mark.parametrize("name", ENUMERABLE)
@pytest.mark.parametrize("solver", ["auto", "highs"])
def test_pool_agrees_with_enumeration(run: Run, name: str, solver: str) -> None:
    outcome = run("solve", name, "--pool-size", "5", "--solver", solver, "--json")
    report = outcome.report
    assert outcome.code == 0
    assert report["sensitive"] is True
    assert "SENSITIVE" in report["warning"]
    assert report["certified"] is True
    assert report["expected"] == {"agrees": True, "exact": True}
    instance = load_instance(name)
    every = itertools.combinations(range(instance.p), instance.support_size)
    values = sorted(instance.objective(support) for support in every)
    assert report["number_of_supports"] == len(values)
    assert (report["ridge"], report["coef_bound"]) == (instance.ridge, instance.coef_bound)
    slack = report["tolerance"] * report["sensitivity"]
    assert np.all(report["values"] <= np.add(values[:5], slack + 1e-12))
    assert report["values"][0] == pytest.approx(values[0], rel=1e-9)
    assert report["worst_listed_value"] == report["values"][-1]
    assert report["rest_bound"] >= report["worst_listed_value"] - slack
    best = report["best"]
    assert best["names"] == [instance.feature_names[j] for j in best["support"]]
    assert len(best["coef"]) == instance.support_size


@pytest.mark.parametrize("name", [*ENUMERABLE, "paper-p100"])
def test_levels_agree_with_what_is_stored(run: Run, name: str) -> None:
    report = run("solve", name, "--method", "mistakes", "--tolerance", "0", "--json").report
    assert report["expected"] == {"agrees": True, "exact": True}
    levels = report["levels"]
    assert sum(level["size"] for level in levels) == report["number_of_supports"]
    gap = min(level["bound"] for level in levels[1:]) - levels[0]["value"]
    assert report["gap"] == pytest.approx(gap)
    assert report["gap_over_twice_sensitivity"] == pytest.approx(gap / 2 / report["sensitivity"])


def test_text_is_loudly_sensitive_and_shows_as_many_rows_as_asked(run: Run, tmp_path: Path) -> None:
    outcome = run("solve", "diabetes", "--show", "2")
    assert outcome.code == 0
    bounds = (
        "features are clipped to ±: 0.05; the target is clipped to ±: 80; largest length of the "
        "coefficients: 1000; ridge: 0.05; loss: squared; "
    )
    for words in (
        bounds,
        "SENSITIVE",
        "The 2 best of 23 listed",
        "bmi",
        "Certified: yes",
        "agrees",
    ):
        assert words in outcome.out
    levels = run("solve", "diabetes", "--method", "mistakes")
    assert "SENSITIVE" in levels.out
    assert "does not meet the condition" in levels.out
    assert "meets the condition" in run("solve", "paper-p100", "--method", "mistakes").out
    profile = run("solve", "paper-p100", "--json").report["profile"]
    assert {"completions", "screening", "root cuts", "swaps"} <= {own["name"] for own in profile}
    assert all(set(own) == {"name", "calls", "successes", "seconds"} for own in profile)
    assert run("solve", "tiny-plain", "--pool-size", "56", "--json").report["rest_bound"] is None
    assert "Every support is listed" in run("solve", "tiny-plain", "--pool-size", "56").out
    # A constant column has a range.
    (tmp_path / "t.csv").write_text("a,b,y\n" + "".join(f"{i},7,{2 * i}\n" for i in range(9)))
    asked = ("solve", tmp_path / "t.csv", "--target", "y", "--support-size", "1", "--json")
    assert run(*asked).report["best"]["names"] == ["a"]


def test_disagreement_with_expected_fails(run: Run, repository: Path, tmp_path: Path) -> None:
    stored, path = repository / "instances", tmp_path / "wrong.toml"
    text = (stored / "tiny-plain.toml").read_text()
    (tmp_path / "tiny-plain.csv").write_text((stored / "tiny-plain.csv").read_text())
    for old, new, what in DISAGREEMENTS:
        assert old in text
        path.write_text(text.replace(old, new))
        outcome = run("solve", path, "--method", "mistakes", "--tolerance", "0", "--json")
        assert outcome.code == 1
        assert outcome.report["expected"]["agrees"] is False
        assert "(sensitive)" in outcome.err
        assert what in outcome.err
    path.write_text(text.replace("0.0180238", "0.0280238"))
    outcome = run("compare", path, "--solvers", "native,highs", "--json")
    assert outcome.code == 1
    assert "DIFFERS from [expected]" in outcome.err


@pytest.mark.parametrize(
    ("rest_bound", "tolerance", "loose"),
    [(-1e6, 1e-5, False), (-1.0, 1e3, True), (1e9, 1e3, False)],
)
def test_a_tolerance_above_the_best_value_is_said_to_prove_nothing(
    run: Run, monkeypatch: pytest.MonkeyPatch, rest_bound: float, tolerance: float, loose: bool
) -> None:
    """Wide bounds make a large Δ, and τ is so many Δ."""
    found = replace(
        top_supports(load_instance("diabetes"), 2), rest_bound=rest_bound, tolerance=tolerance
    )
    monkeypatch.setattr("mipselect.cli.solve._search", lambda *_: found)
    text = " ".join(run("solve", "diabetes").out.split())
    assert f"tolerance, in units of the sensitivity: {tolerance:g};" in text
    assert ("proves next to nothing: give a smaller" in text) is loose
    assert ("at least -" in text) is False


def test_not_certified_quotes_the_bound(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(*_: object, **__: object) -> None:
        raise errors.NotCertified("proven to be at 0.125 or above", bound=0.125)

    monkeypatch.setattr(search, "top_supports", give_up)
    run("solve", "diabetes", "--json").failed_with(1, "(sensitive)", "0.125")


def test_what_is_not_certified_is_shown_as_such_and_not_written(run: Run, folder: Path) -> None:
    report = folder / "report.json"
    outcome = run("solve", "paper-p1000", "--time-limit", "0.03", "--json", "--output", report)
    assert outcome.code == 1
    assert "(sensitive) paper-p1000: time limit of 0.03 s reached" in outcome.err
    if outcome.out:
        assert json.loads(outcome.out)["certified"] is False
    assert not report.exists()


@pytest.mark.parametrize(
    "more", [(), ("--no-intercept",), ("--always", "a"), ("--never", "c", "--coef-bound", "2")]
)
def test_a_table_is_solved_within_the_ranges_of_its_rows(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    monkeypatch.chdir(folder)
    asked = ("solve", "data.csv", "--target", "y", "--support-size", "1", *more)
    text, report = run(*asked).out, run(*asked, "--json").report
    intercept = "--no-intercept" not in more
    assert report["intercept"] is intercept
    assert ("with an intercept" in text) is intercept
    assert ("without an intercept" in text) is not intercept
    assert "SENSITIVE" in text
    assert "from the smallest to the largest value" in text
    again = run(*asked, "--coef-bound", report["coef_bound"], "--ridge", report["ridge"], "--json")
    for key in ("best", "supports", "values", "rest_bound", "sensitivity"):
        assert again.report[key] == report[key]


def test_the_toml_that_is_printed_repeats_the_search_of_a_table(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    numbers = "".join(f"{i},{i % 7},{i % 5},{2 * i + i % 3}\n" for i in range(60))
    (tmp_path / "t.csv").write_text(f"a,b,c,stay\n{numbers}")
    more = ("--no-intercept", "--ridge", "2", "--pool-size", "3")
    asked = ("solve", "t.csv", "--target", "stay", "--support-size", "2", *more)
    first = run(*asked, "--json").report
    assert first["toml"] in run(*asked).out
    (tmp_path / "mipselect.toml").write_text(first["toml"], encoding="utf-8")
    again = run("solve", "t.csv", "--json").report
    other = dict.fromkeys(("effort", "profile", "toml"))
    assert again | other == first | other


def test_solve_shows_a_coefficient_for_every_column(run: Run) -> None:
    instance = load_instance("tiny-groups")
    report = run("solve", "tiny-groups", "--pool-size", "15", "--json").report
    assert (report["p"], report["n_features"], report["number_of_supports"]) == (11, 6, 15)
    values = [instance.objective(s) for s in itertools.combinations(range(6), 2)]
    assert report["values"] == pytest.approx(sorted(values))
    best, fit = report["best"], instance.fit([0, 1])
    assert (best["support"], best["names"]) == ([0, 1], ["ward", "dose"])
    assert best["columns"] == ["ward=b", "ward=c", "ward=d", "dose", "dose=missing"]
    assert best["always"] == ["age", "(intercept)"]
    np.testing.assert_allclose([*best["coef"], *best["always_coef"]], [*fit.coef, *fit.always])
    assert "in_units" not in best
    for method in ("top-r", "mistakes"):
        text = run("solve", "tiny-groups", "--method", method).out
        for name in (*best["columns"], *best["always"]):
            assert name in text
        assert f"{fit.always[0]:.6g}" in text


def test_solve_speaks_the_language_of_a_table(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "ward,age,stay\n"
        + "".join(f"{'ab'[k % 2]},{20 + k},{10 + 20 * (k % 2)}\n" for k in range(40))
    )
    (tmp_path / "s.json").write_text(json.dumps({"fields": [
        listed("ward", "a", "b"),
        {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 100}},
        numeric("stay", 0, 60),
    ]}))  # fmt: skip
    table, schema, moments = (tmp_path / name for name in ("t.csv", "s.json", "m.npz"))
    run("moments", table, "--schema", schema, "--target", "stay", "--output", moments)
    asked = ("solve", moments, "--support-size", "1")
    report = run(*asked, "--json").report
    rule = Instance.from_moments(Moments.load(moments), support_size=1).fit_in_units([0])
    assert report["best"]["in_units"] == json.loads(json.dumps(rule.to_dict()))
    text = run(*asked)
    assert text.err == ""
    assert str(rule) in text.out


def test_solvers_agree(run: Run) -> None:
    report = run("compare", "tiny-groups", "--json").report
    assert report["agree"] is True
    assert report["certified"] is True
    assert (report["instances"][0]["p"], report["instances"][0]["n_features"]) == (11, 6)


WRONG = [
    ("x_bound = [1.0", 'x_bound = ["1"', "x_bound[0] must be a finite number > 0"),
    ("x_bound = [1.0, ", "x_bound = [", "x_bound must be one number, or 6, one for each"),
    ('always = ["age"]', "always = 100", "always[0]: columns are 0..10, got 100"),
    ('always = ["age"]', 'always = ["ages"]', "always[0]: there is no column 'ages'"),
    ('always = ["age"]', 'always = ["age", "pulse"]', "column 8 (pulse) is in always[1]"),
    ("intercept = true", "intercept = 1", "intercept must be True or False"),
    ('pulse = ["pulse"]', "pulse = []", "groups[4] has no columns"),
]


def test_wrong_groups_in_a_file(run: Run, repository: Path, tmp_path: Path) -> None:
    """A dry run looks at them too."""
    stored, path = repository / "instances", tmp_path / "wrong.toml"
    (tmp_path / "tiny-groups.csv").write_text((stored / "tiny-groups.csv").read_text())
    text = (stored / "tiny-groups.toml").read_text()
    for old, new, fragment in WRONG:
        assert old in text
        path.write_text(text.replace(old, new, 1))
        run("release", path, "--epsilon", "1").failed_with(2, str(path), fragment)
        run("release", path, "--epsilon", "1", "--dry-run").failed_with(2, fragment)


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
    assert (report["agree"], report["certified"]) == (True, True)
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


def test_all_uses_what_is_there(run: Run) -> None:
    report = run("compare", "tiny-plain", "--json").report
    used = [entry["solver"] for entry in report["instances"][0]["answers"]]
    known = backends.known_solvers().items()
    assert used == [name for name, status in known if status.usable]


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


DISAGREEMENTS = [
    ("value = 0.0180238557", "value = 0.0180238657", "the best value"),
    ("value = 0.0180238557", "value = 0.0170238557", "the best value"),
    ("support = [1, 4, 6]", "support = [1, 4, 7]", "the value of the expected support"),
    ("0.0241948825", "0.0241947825", "the value of level 1"),
    (", 0.05732091513838806", "", "4 levels instead of 3"),
]
