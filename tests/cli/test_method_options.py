"""Every selector from the command line: its options, its relation, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from mipselect.problem.stored import load_problem
from mipselect.selectors import BY_NAME
from tests.support.commandline import BOUNDS, Run

CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"
VALUES: Mapping[str, str] = {
    "--sizes": "1-2",
    "--complexity": "1",
    "--test-epsilon": "0.5",
    "--delta": "1e-6",
    "--relation": "add-remove",
    "--top-k": "peeling",
    "--alpha": "0.1",
    "--blocks": "4",
    "--mcmc-steps": "30",
    "--mcmc-radius": "2",
    "--pool-size": "2",
    "--solver": "highs",
    "--tolerance": "0.1",
    "--time-limit": "60",
}
SEARCH = ("--pool-size", "--solver", "--tolerance", "--time-limit")
KNOWN: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("permute-and-flip", "exponential"), ("--sizes", "--complexity", "--time-limit")
    ),
    "top-r": SEARCH,
    "mistakes": ("--test-epsilon", "--delta", *SEARCH),
    "sis": ("--relation", "--top-k"),
    "kendall": ("--relation",),
    "sample-aggregate": ("--relation", "--top-k", "--alpha", "--blocks"),
    "mcmc": ("--delta", "--mcmc-steps", "--mcmc-radius"),
}
X, Y, COEF, RIDGE = (BOUNDS[k : k + 2] for k in range(0, 8, 2))
NEEDED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("permute-and-flip", "exponential", "top-r", "mistakes"), BOUNDS),
    "sis": (*X, *Y),
    "kendall": (),
    "sample-aggregate": (),
    "mcmc": (*X, *Y, *COEF),
}
OF_SCORES = ("sis", "kendall", "sample-aggregate")
OF_ROWS = (*OF_SCORES, "mcmc")


def select(folder: Path, method: str, *more: str) -> tuple[str | Path, ...]:
    table = folder / "data.csv"
    head = ("select", table, "--target", "y", "--support-size", "2", "--epsilon", "1")
    return (*head, "--method", method, *NEEDED[method], *more)


def release(folder: Path, method: str, *more: str) -> tuple[str | Path, ...]:
    return ("release", folder / "instance.toml", "--epsilon", "1", "--method", method, *more)


def test_the_tables_of_this_test_are_whole() -> None:
    assert set(KNOWN) == set(NEEDED) == set(BY_NAME)
    assert set().union(*KNOWN.values()) == set(VALUES)


def test_a_selector_of_ones_own_is_a_method_by_its_line(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = CONTRIBUTING.read_text().split("## How to add a selector")[1]
    (block,) = re.findall(r"```python\n(.*?)```", recipe, re.DOTALL)
    own: dict[str, Any] = {"__name__": "recipe"}
    exec(compile(block, "recipe", "exec", dont_inherit=True), own)
    asked = ("--method", "sign", *X, "--json")
    head = ("select", folder / "data.csv", "--target", "y", "--support-size", "2", "--epsilon", "1")
    run(*head, *asked).failed_with(2, "'--method': must be one of", "got 'sign'")
    monkeypatch.setitem(cast(Any, BY_NAME), "sign", own["SignSelector"])
    for command in ((*head, *X), ("release", folder / "instance.toml", "--epsilon", "1")):
        outcome = run(*command, "--method=sign", "--dead-zone", "0.5", "--json")
        report = outcome.report
        assert (outcome.code, report["method"], report["private"]) == (0, "sign", True)
        assert report["releases"][0]["guarantee"]["epsilon"] == 1.0
        assert report["dead_zone"] == 0.5
        run(*command, "--method", "sign", "--dead-zone", "-1").failed_with(2, "--dead-zone must be")
        run(*command, "--method", "sign", "--dead", "1").failed_with(2, "No such option: --dead")
        run(*command, "--dead-zone", "0.5").failed_with(2, "does not apply", "but to sign")
    (folder / "release.json").write_text(outcome.out)
    text = run("report", folder / "release.json").out
    assert own["SignSelector"].sentence in text
    assert "Sure independence screening for ultrahigh" in text
    assert "--dead-zone" in run("select", "--method", "sign", "--help").out


@pytest.mark.parametrize("method", KNOWN)
@pytest.mark.parametrize("option", VALUES)
def test_an_option_of_another_method_is_refused_by_name(
    run: Run, folder: Path, method: str, option: str
) -> None:
    if option in KNOWN[method]:
        return
    owners = [name for name, options in KNOWN.items() if option in options]
    for command in (select, release):
        run(*command(folder, method, option, VALUES[option])).failed_with(
            2, f"{option} does not apply to --method {method}, but to {', '.join(owners)}"
        )


@pytest.mark.parametrize("method", OF_ROWS)
@pytest.mark.parametrize("option", [*BOUNDS[::2], "--loss"])
def test_a_bound_that_a_method_does_not_use_is_refused_and_one_that_it_needs_is_asked_for(
    run: Run, folder: Path, method: str, option: str
) -> None:
    given = select(folder, method)
    if option in given:
        place = given.index(option)
        run(*given[:place], *given[place + 2 :]).failed_with(
            2, f"{option}", "must be given", "without looking at the data"
        )
    else:
        value = "hinge" if option == "--loss" else "1"
        run(*given, option, value).failed_with(2, f"{option} does not apply to --method {method}")


def test_a_radius_takes_the_place_of_a_bound_on_the_length(run: Run, folder: Path) -> None:
    without = ("select", folder / "data.csv", "--target", "y", "--support-size", "2")
    without = (*without, "--epsilon", "1", "--method", "mcmc", *X, *Y)
    run(*without).failed_with(2, "--coef-bound (or --mcmc-radius) must be given")
    report = run(*without, "--mcmc-radius", "2", "--mcmc-steps", "9", "--json").report
    assert (report["mcmc_radius"], report["mcmc_steps"], report["coef_bound"]) == (2.0, 9, None)
    assert "after 9 steps" in report["guarantee_of_one_draw"]["conditions"][0]
    run(*without, "--mcmc-radius", "2", *COEF).failed_with(2, "beside --mcmc-radius")
    report = run(*without, *COEF, "--json").report
    assert report["coef_bound"] == 1.5
    assert report["mcmc_radius"] == pytest.approx(1.5 * np.sqrt(2.0))


def selector(method: str, size: int, seed: int) -> Any:
    """As the command line builds it for diabetes."""
    bounds = {"x_bound": 0.05, "y_bound": 80.0, "coef_bound": 1000.0 * np.sqrt(size)}
    needed = dict(list(bounds.items())[: len(NEEDED[method]) // 2])
    relation = {} if method == "mcmc" else {"relation": "replace-one"}
    return BY_NAME[method](size, epsilon=2.0, random_state=seed, **needed, **relation)


@pytest.mark.parametrize("method", OF_ROWS)
def test_a_seed_gives_the_draw_of_the_estimator(run: Run, method: str) -> None:
    problem = load_problem("diabetes")
    size = problem.settings["support_size"]
    drawn, wanted = [], []
    for seed in range(6):
        arguments = ("release", "diabetes", "--epsilon", "2", "--method", method, "--json")
        report = run(*arguments, "--seed", str(seed)).report
        assert (report["private"], report["sensitive"]) == (False, True)
        drawn.append(report["releases"][0]["support"])
        fitted = selector(method, size, seed).fit(problem.X, problem.y)
        wanted.append(list(fitted.release_.support))
    assert drawn == wanted
    assert len(set(map(tuple, drawn))) > 1


def test_classes_are_minus_one_and_one_to_scores(run: Run, folder: Path) -> None:
    rows = "".join(f"{1 - 2 * (i % 2)},{(i % 7) / 3 - 1:.3f},0,{7 + i % 2}\n" for i in range(400))
    (folder / "data.csv").write_text("a,b,c,y\n" + rows)
    text = (folder / "instance.toml").read_text()
    hinge = text.replace("ridge = 0.5", 'ridge = 0.5\nloss = "hinge"').replace(
        "size = 2", "size = 1"
    )
    (folder / "instance.toml").write_text(hinge)
    for method in OF_SCORES:
        report = run(*release(folder, method, "--draws", "20", "--json"), "--epsilon", "50").report
        assert {drawn["feature_names"][0] for drawn in report["releases"]} == {"a"}
        assert report["y_bound"] == (1.0 if method == "sis" else None)
    run(*release(folder, "mcmc")).failed_with(
        2, "instance.toml: mcmc is for the squared loss, not hinge"
    )
    (folder / "data.csv").write_text("a,b,c,y\n1,2,3,4\n1,2,3,4\n")
    run(*release(folder, "kendall")).failed_with(2, "(sensitive)", "two classes")
