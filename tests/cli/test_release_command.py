"""`mipselect release`: private supports, what they cost, and nothing else."""

from __future__ import annotations

import math
import re
from importlib.metadata import version
from pathlib import Path

import pytest
from commandline import Run

from mipselect import errors, methods
from mipselect.backends.discovery import solver_by_name
from mipselect.cli.output import SENSITIVE
from mipselect.data.files import load_instance


@pytest.mark.parametrize("method", ["top-r", "exponential"])
def test_a_release_is_a_support_with_its_guarantee(run: Run, method: str) -> None:
    outcome = run("release", "diabetes", "--epsilon", "2", "--method", method, "--json")
    report = outcome.report
    assert outcome.code == 0
    assert (report["sensitive"], report["private"]) == (False, True)
    assert "warning" not in report
    guarantee = {
        "epsilon": 2.0,
        "delta": 0.0,
        "relation": "replace-one",
        "conditions": [],
        "private": True,
    }
    assert report["guarantee_of_one_draw"] == report["guarantee_of_all_draws"] == guarantee
    (release,) = report["releases"]
    names = load_instance("diabetes").feature_names
    assert release["feature_names"] == [names[j] for j in release["support"]]
    assert release["guarantee"] == guarantee


def test_fifty_draws_cost_fifty_times_as_much_and_it_says_so(run: Run) -> None:
    arguments = ("release", "diabetes", "--epsilon", "1", "--draws", "50")
    report = run(*arguments, "--json").report
    assert len(report["releases"]) == report["draws"] == 50
    assert report["guarantee_of_all_draws"]["epsilon"] == 50.0
    text = run(*arguments).out
    assert "50 draws at ε = 1 each: ε = 50 in total" in text
    assert "50-differentially private" in text


def test_conditional_and_unconditional_mistakes(run: Run) -> None:
    mistakes = ("release", "paper-p100", "--epsilon", "1", "--method", "mistakes")
    conditional = run(*mistakes, "--json").report["guarantee_of_one_draw"]
    assert conditional["conditions"]
    assert conditional["conditions"][0] in " ".join(run(*mistakes).out.split())
    tested = run(*mistakes, "--test-epsilon", "0.5", "--delta", "1e-6", "--draws", "2", "--json")
    one, both = (tested.report[f"guarantee_of_{of}"] for of in ("one_draw", "all_draws"))
    assert (one["epsilon"], one["delta"], one["conditions"]) == (1.5, 1e-6, [])
    assert (both["epsilon"], both["delta"]) == (3.0, 2e-6)


def test_an_unmet_condition_releases_nothing_and_says_no_number(run: Run) -> None:
    outcome = run("release", "diabetes", "--epsilon", "1", "--method", "mistakes")
    outcome.failed_with(1, "not proven to meet the condition")
    assert not re.search(r"\d", outcome.err)


def test_a_seed_is_reproducible_and_not_private(run: Run) -> None:
    arguments = ("release", "diabetes", "--epsilon", "1", "--draws", "5")
    first, second = (run(*arguments, "--seed", "3", "--json").report for _ in range(2))
    other = run(*arguments, "--seed", "4", "--json").report
    assert first["releases"] == second["releases"] != other["releases"]
    assert (first["private"], first["sensitive"]) == (False, True)
    assert not any(release["private"] for release in first["releases"])
    assert "NOT PRIVATE" in first["warning"]
    text = run(*arguments, "--seed", "3").out
    assert "NOT PRIVATE" in text
    assert "not private" in text
    assert "differentially private" not in text


def test_the_budget_is_checked_before_anything_is_read(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("release", "diabetes", "--epsilon", "0.1", "--draws", "10", "--json")
    assert run(*arguments, "--budget", "1").code == 0

    def fail(*_: object) -> None:
        raise AssertionError("data were read")

    monkeypatch.setattr("mipselect.cli.release.load_problem", fail)
    run(*arguments, "--budget", "0.99").failed_with(1, "0.99")
    run(
        *("release", "paper-p100", "--epsilon", "1", "--method", "mistakes"),
        *("--test-epsilon", "0.5", "--delta", "1e-6", "--budget", "1.4"),
    ).failed_with(1, "1.5")


def test_nothing_sensitive_is_printed(run: Run) -> None:
    instance = load_instance("diabetes")
    best = instance.objective([2, 3, 8])
    for extra in (("--json",), ()):
        outcome = run("release", "diabetes", "--epsilon", "1", *extra)
        for secret in (f"{best:.6g}", "rest_bound", "value", "seconds", "effort", SENSITIVE):
            assert secret not in outcome.out
        assert outcome.err == ""


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (errors.NotCertified("proven to be at 0.125 or above", bound=0.125), "not certified"),
        (errors.SolverFailure("status 7 at 0.125"), "the solver failed"),
    ],
)
def test_failures_around_a_release_quote_no_number(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    def give_up(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(methods, "top_supports", give_up)
    outcome = run("release", "diabetes", "--epsilon", "1", "--json")
    outcome.failed_with(1, message, "no budget is spent")
    assert not re.search(r"\d", outcome.err)


def test_legal_but_awkward_data(run: Run, folder: Path) -> None:
    instance = folder / "instance.toml"
    for table in (
        "a,b,c,y\n1,2,2,1\n1,0,0,2\n1,3,3,0\n",  # a constant column, and duplicates
        "a,b,c,d,e,y\n1,2,3,4,5,1\n5,4,3,2,1,0\n",  # n < p
        "a,b,c,y\n1,2,3,1\n",  # n = 1
        "a,b,c,y\n0,0,0,0\n0,0,0,0\n",
    ):
        (folder / "data.csv").write_text(table)
        for method in ("top-r", "exponential"):
            outcome = run("release", instance, "--epsilon", "1", "--method", method, "--json")
            assert outcome.code == 0, outcome
            assert len(outcome.report["releases"][0]["support"]) == 2
        assert run("solve", instance, "--method", "mistakes").code == 0


def test_a_release_says_what_is_public_about_it(run: Run, folder: Path) -> None:
    path = folder / "instance.toml"
    path.write_text(path.read_text() + "target_shift = 0.25\n")
    arguments = ("release", path, "--epsilon", "1")
    report = run(*arguments, "--solver", "highs", "--tolerance", "0.1", "--json").report
    instance = load_instance(path)
    assert {key: report[key] for key in ("n", "p", "support_size", "number_of_supports")} == {
        "n": 20, "p": 3, "support_size": 2, "number_of_supports": 3,
    }  # fmt: skip
    assert [report[f"{key}_bound"] for key in ("x", "y", "coef")] == [1.0, 1.0, 1.5]
    assert (report["ridge"], report["loss"], report["target_shift"]) == (0.5, "squared", 0.25)
    assert (report["features"], report["sensitivity"]) == (["a", "b", "c"], instance.sensitivity)
    assert (report["pool_size"], report["tolerance"]) == (3, 0.1)
    assert report["solver"] == {"name": "highs", "version": solver_by_name("highs").status.version}
    assert report["mipselect"] == version("mipselect")
    text = run(*arguments).out
    for fragment in ("n = 20, p = 3, s = 2", "coef_bound 1.5", "target_shift 0.25", "a, b, c"):
        assert fragment in text
    assert f"pool of 3; tolerance 0.05, solver native {version('mipselect')}" in text
    exponential = run(*arguments, "--method", "exponential", "--json").report
    assert [exponential[key] for key in ("pool_size", "tolerance", "solver")] == [None] * 3
    levels = run("release", "paper-p100", "--epsilon", "1", "--method", "mistakes", "--json").report
    assert (levels["pool_size"], levels["tolerance"]) == (None, 0.05)


def test_a_pool_is_no_larger_than_there_are_supports(run: Run) -> None:
    for size in ("all", "100000", "120"):
        report = run("release", "diabetes", "--epsilon", "1", "--pool-size", size, "--json").report
        assert report["pool_size"] == 120


def test_a_draw_that_is_nearly_blind_on_all_data_is_told_from_public_numbers(
    run: Run, folder: Path
) -> None:
    arguments = ("release", folder / "instance.toml", "--json", "--epsilon")
    limit = 2.0 * 1.05 * load_instance(folder / "instance.toml").sensitivity * math.log(3) / 0.5
    blind, seeing = (run(*arguments, str(limit * factor)) for factor in (0.99, 1.01))
    assert (blind.report["nearly_blind"], seeing.report["nearly_blind"]) == (True, False)
    assert blind.err.startswith("mipselect: warning: on no data is a draw much better than a blind")
    assert (blind.err.count("\n"), seeing.err) == (1, "")


def test_enumeration_needs_no_ridge(run: Run, folder: Path) -> None:
    instance = folder / "instance.toml"
    instance.write_text(instance.read_text().replace("ridge = 0.5", "ridge = 0"))
    assert run("release", instance, "--epsilon", "1", "--method", "exponential").code == 0
    run("release", instance, "--epsilon", "1").failed_with(2, "ridge")
    run("solve", instance).failed_with(2, "ridge")
    run("solve", instance, "--method", "mistakes").failed_with(2, "ridge")
