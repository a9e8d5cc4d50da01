"""`mipselect release` and `--dry-run`: private supports, what they cost, and nothing else."""

from __future__ import annotations

import gzip
import math
import re
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from mipselect import Ledger, errors
from mipselect.backends import solver_by_name
from mipselect.cli.options import parse_sizes
from mipselect.cli.output import SENSITIVE
from mipselect.problem.stored import load_instance
from tests.support.commandline import BOUNDS, INSTANCE, TABLE, Run


def test_a_release_is_a_support_with_its_guarantee(run: Run) -> None:
    names = load_instance("diabetes").feature_names
    common = {"delta": 0.0, "relation": "replace-one", "conditions": [], "private": True}
    for method, rho in (("top-r", 0.5), ("exponential", 0.5), ("permute-and-flip", 2.0)):
        arguments = ("release", "diabetes", "--epsilon", "2", "--method", method)
        report = run(*arguments, "--json").report
        assert (report["sensitive"], report["private"], "warning" in report) == (False, True, False)
        guarantee = {"epsilon": 2.0, **common, "rho": rho}
        assert report["guarantee_of_one_draw"] == report["guarantee_of_all_draws"] == guarantee
        (release,) = report["releases"]
        assert release["feature_names"] == [names[j] for j in release["support"]]
        assert release["guarantee"] == guarantee
    text = run(*arguments).out
    assert "1 draw at ε = 2" in text
    assert "2-differentially private" in text


def test_conditional_and_unconditional_mistakes(run: Run) -> None:
    mistakes = ("release", "paper-p100", "--epsilon", "1", "--method", "mistakes")
    conditional = run(*mistakes, "--json").report["guarantee_of_one_draw"]
    assert conditional["conditions"]
    assert conditional["conditions"][0] in " ".join(run(*mistakes).out.split())
    tested = run(*mistakes, "--test-epsilon", "0.5", "--delta", "1e-6", "--json")
    one = tested.report["guarantee_of_one_draw"]
    assert (one["epsilon"], one["delta"], one["conditions"]) == (1.5, 1e-6, [])


def test_an_unmet_condition_releases_nothing_and_says_no_number(run: Run) -> None:
    outcome = run("release", "diabetes", "--epsilon", "1", "--method", "mistakes")
    outcome.failed_with(1, "not proven to meet the condition")
    assert not re.search(r"\d", outcome.err)


def test_a_seed_is_reproducible_and_not_private(run: Run) -> None:
    arguments = ("release", "diabetes", "--epsilon", "0.1")
    first, second = (run(*arguments, "--seed", "3", "--json").report for _ in range(2))
    other = run(*arguments, "--seed", "4", "--json").report
    assert first["releases"] == second["releases"] != other["releases"]
    assert (first["private"], first["sensitive"]) == (False, True)
    assert not any(release["private"] for release in first["releases"])
    assert "NOT PRIVATE" in first["warning"]
    text = run(*arguments, "--seed", "3").out
    assert "NOT PRIVATE" in text
    assert "not private" in text
    assert "no guarantee, for the draw was seeded" in text


def test_nothing_sensitive_is_printed(run: Run) -> None:
    instance = load_instance("diabetes")
    best = instance.objective([2, 3, 8])
    for extra in (("--json",), ()):
        outcome = run("release", "diabetes", "--epsilon", "1", *extra)
        for secret in (f"{best:.6g}", "rest_bound", "value", "seconds", "effort", SENSITIVE):
            assert secret not in outcome.out
        assert outcome.err == ""


def test_a_release_says_what_is_public_about_it(run: Run, folder: Path) -> None:
    path = folder / "instance.toml"
    default = ("release", path, "--epsilon", "1")
    arguments = (*default, "--method", "top-r")
    report = run(*arguments, "--solver", "highs", "--tolerance", "0.1", "--json").report
    known = {
        "n": 20, "p": 3, "support_size": 2, "number_of_supports": 3, "x_bound": 1.0, "y_bound": 1.0,
        "coef_bound": 1.5, "ridge": 0.5, "loss": "squared",
        "features": ["a", "b", "c"], "sensitivity": load_instance(path).sensitivity, "pool_size": 3,
        "tolerance": 0.1, "mipselect": version("mipselect"), "sizes": None, "complexity": None,
        "solver": {"name": "highs", "version": solver_by_name("highs").status.version},
    }  # fmt: skip
    assert {key: report[key] for key in known} == known
    text = run(*arguments).out
    for fragment in (
        "rows: 20; columns: 3;", "features in a release: 2", "a, b, c",
        "largest length of the coefficients: 1.5",
        "supports in the pool: 3; tolerance, in units of the sensitivity: 1e-05;",
        f"solver: native {version('mipselect')}",
    ):  # fmt: skip
        assert fragment in text
    exact = run(*default, "--json").report
    assert exact["method"] == exact["releases"][0]["mechanism"] == "permute-and-flip"
    unused = ("pool_size", "tolerance", "solver", "sizes", "complexity")
    assert [exact[key] for key in unused] == [None] * 5
    levels = run("release", "paper-p100", "--epsilon", "1", "--method", "mistakes", "--json").report
    assert (levels["pool_size"], levels["tolerance"]) == (None, 1e-5)


@pytest.mark.parametrize(
    ("method", "paid"), [("top-r", 1.00001), ("exponential", 1.0), ("permute-and-flip", 1.0)]
)
def test_a_draw_that_is_nearly_blind_on_all_data_is_told_from_public_numbers(
    run: Run, folder: Path, method: str, paid: float
) -> None:
    arguments = ("release", folder / "instance.toml", "--method", method, "--json", "--epsilon")
    limit = 2.0 * paid * load_instance(folder / "instance.toml").sensitivity * math.log(3) / 0.5
    blind, seeing = (run(*arguments, str(limit * factor)) for factor in (0.99, 1.01))
    assert (blind.report["nearly_blind"], seeing.report["nearly_blind"]) == (True, False)
    words = "near chance: at this ε, with so few rows, a draw is almost the same whatever the data."
    assert blind.err.startswith(
        f"mipselect: warning: {words} No draw with an ε below {limit:.2g} can do. More rows would "
        "help, a larger ε, few"
    )
    assert ("τ" in blind.err) is (method == "top-r")
    assert (blind.err.count("\n"), seeing.err) == (1, "")


def test_sizes_are_drawn_and_named(run: Run, folder: Path) -> None:
    arguments = ("release", folder / "instance.toml", "--epsilon", "3", "--seed")
    asked = ("--sizes", "1,3", "--complexity", "0.5", "--json")
    reports = [run(*arguments, str(seed), *asked).report for seed in range(12)]
    assert {len(report["releases"][0]["support"]) for report in reports} == {1, 3}
    report, arguments = reports[0], (*arguments, "1")
    assert report["guarantee_of_one_draw"]["epsilon"] == 3.0
    assert (report["sizes"], report["complexity"], report["support_size"]) == ([1, 3], 0.5, 3)
    assert report["number_of_supports"] == 4
    largest = load_instance(folder / "instance.toml").with_support_size(3)
    assert report["sensitivity"] == largest.sensitivity
    text = run(*arguments, "--sizes", "1-3").out
    assert "complexity of the prior over sizes: 1" in text
    assert "loss: squared" in text
    assert "sizes: 1,2,3" in text
    one = run(*arguments, "--sizes", "3", "--json").report
    assert (one["sizes"], one["complexity"], one["number_of_supports"]) == ([3], None, 1)


def test_sizes_are_read_as_ranges_and_numbers() -> None:
    for text, sizes in (
        ("1-8", (1, 2, 3, 4, 5, 6, 7, 8)), ("5,1,3", (1, 3, 5)),
        (" 7 - 8, 1-3 ,3", (1, 2, 3, 7, 8)), ("4-4", (4,)),
    ):  # fmt: skip
        assert parse_sizes(text) == sizes


def test_the_warning_is_about_the_size_that_is_likeliest(run: Run, folder: Path) -> None:
    """The prior is p^-s / C(p, s): 3, 9·3 and 27·1 over their sum 1/3 + 1/9 + 1/27."""
    instance = load_instance(folder / "instance.toml").with_support_size(3)
    cost = math.log(9) + math.log(1 / 3 + 1 / 9 + 1 / 27)
    scale = 2.0 * instance.sensitivity / 0.5
    arguments = ("release", folder / "instance.toml", "--sizes", "1-3", "--json", "--epsilon")
    for factor, blind in ((0.99, True), (1.01, False)):
        outcome = run(*arguments, str(factor * scale * cost))
        assert outcome.report["nearly_blind"] is blind
        assert ("near chance" in outcome.err) is blind


TOP_R = ("release", "diabetes", "--epsilon", "1", "--method", "top-r", "--json")
EXACT = ("release", "diabetes", "--epsilon", "1", "--json")
FAILURES: list[tuple[tuple[str, ...], str, Exception | None, str]] = [
    (TOP_R, "mipselect.selectors.searched.top_supports",
     errors.NotCertified("proven to be at 0.125 or above", bound=0.125), "not certified"),
    (TOP_R, "mipselect.selectors.searched.top_supports",
     errors.SolverFailure("status 7 at 0.125"), "the solver failed"),
    (EXACT, "mipselect.PermuteAndFlip.sample",
     errors.BoundViolated("the bound of its cell 7 by a factor exp(0.125)"),
     "an error of mipselect"),
    (("release", "paper-p100", *EXACT[2:], "--time-limit", "1e-9"), "", None,
     "no exact draw was made within the time limit"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "fails", "error", "message"), FAILURES)
def test_failures_around_a_release_quote_no_number_and_charge_nothing(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...],
    fails: str,
    error: Exception | None,
    message: str,
) -> None:
    def give_up(*_: object, **__: object) -> None:
        assert error is not None
        raise error

    charged: list[object] = []
    monkeypatch.setattr(Ledger, "spend", lambda *given, **_: charged.append(given))
    if fails:
        monkeypatch.setattr(fails, give_up)
    outcome = run(*command)
    outcome.failed_with(1, message, "no budget is spent")
    assert not re.search(r"\d", outcome.err)
    assert charged == []


def of_table(table: Path) -> tuple[str | Path, ...]:
    return ("select", table, "--target", "y", "--support-size", "2", "--epsilon", "1", *BOUNDS)


def plan_of(instance: str | Path) -> tuple[str | Path, ...]:
    return ("release", instance, "--epsilon", "1", "--method", "sis", "--dry-run")


def test_every_kind_of_table_has_a_header(run: Run, folder: Path) -> None:
    rows = [line.split(",") for line in TABLE.splitlines()]
    columns = {name: [float(row[j]) for row in rows[1:]] for j, name in enumerate(rows[0])}
    parquet.write_table(pa.table(columns), folder / "data.parquet")
    (folder / "data.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    (folder / "mark.csv").write_text("\ufeff" + TABLE)
    for name in ("data.csv", "data.csv.gz", "data.parquet", "mark.csv"):
        report = run(*of_table(folder / name), "--dry-run", "--json").report
        assert report["features"] == ["a", "b", "c"], name
    for text, message in (
        *(("", "the file is empty"), ("y\n1\n", "there is no feature")),
        ('"a","b\r\nb",c,y\n1,2,3,4\n', "printable line"),
    ):
        (folder / "wrong.csv").write_text(text)
        for dry in ((), ("--dry-run",)):
            run(*of_table(folder / "wrong.csv"), *dry).failed_with(2, "wrong.csv", message)
    answer = folder / "plan.json"
    outcome = run(*plan_of("diabetes"), "--seed", "1", "--output", answer)
    assert "NOT PRIVATE" in outcome.out
    assert "no guarantee, for the draw was seeded" in outcome.out
    assert '"dry_run": true' in answer.read_text()


def test_an_npz_file_is_known_by_its_head(run: Run, folder: Path) -> None:
    np.savez(folder / "data.npz", X=np.full((7, 4), np.nan), y=np.ones(7))
    text = INSTANCE[: INSTANCE.index("[data]")] + '[data]\nsource = "npz"\npath = "data.npz"\n'
    (folder / "instance.toml").write_text(text)
    report = run(*plan_of(folder / "instance.toml"), "--json").report
    assert (report["n"], report["p"], report["features"]) == (7, 4, ["x0", "x1", "x2", "x3"])
    (folder / "data.npz").write_bytes(b"PK\x03\x04 and no more")
    run(*plan_of(folder / "instance.toml")).failed_with(2, "data.npz")
    np.savez(folder / "data.npz", X=np.ones(7), y=np.ones(7))
    run(*plan_of(folder / "instance.toml")).failed_with(2, "data.npz")


def test_columns_like_identifiers_are_named_before_they_are_drawn(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    rows = "".join(f"{30_000 + k},{k % 7},{k},{k % 5}\n" for k in range(40))
    table.write_text("provnum,age,rownames,y\n" + rows)
    command = ("select", table, "--target", "y", "--support-size", "1", "--epsilon", "1")
    ways = [
        (*command, *more) for more in ((), ("--dry-run",), ("--dry-run", "--json"), ("--json",))
    ]
    for way in ways:
        assert "note: provnum, rownames look like identifiers" in run(*way).err
    table.write_text(table.read_text().replace("provnum", "height"))
    assert "note: rownames looks like an identifier" in run(*command).err
    table.write_text(table.read_text().replace("rownames", "weight"))
    assert not any("identifier" in run(*way).err for way in ways)


def test_a_draw_near_chance_is_told_before_it_is_paid_for(run: Run, tmp_path: Path) -> None:
    """n of a stored instance is known before a row is read; where it is private, it is not told."""
    draw = ("release", "diabetes", "--epsilon")
    planned, drawn = (run(*draw, "0.001", *more) for more in (("--dry-run",), ()))
    (told,) = (line for line in planned.err.splitlines() if "near chance" in line)
    assert told in drawn.err.splitlines()
    assert "near chance" not in run(*draw, "50", "--dry-run").err
    for relation, told in (("replace-one", True), ("add-remove", False)):
        Ledger.create(tmp_path / relation, epsilon=1.0, relation=relation)
        dry = run(*draw, "0.001", "--dry-run", "--ledger", tmp_path / relation)
        assert ("near chance" in dry.err) is told
