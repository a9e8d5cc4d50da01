"""Every selector from every kind of source: its options, what is planned, drawn, charged, said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from mipselect.mechanisms import Mechanism
from mipselect.privacy import Ledger
from mipselect.problem.stored import load_problem
from mipselect.selectors import BY_NAME
from tests.support.commandline import BOUNDS, FORESEEN, Run
from tests.support.stays import HOSTILE, rows, written
from tests.support.weighted_tables import MOST, WEIGHTED, drawn, table_of

METHODS: dict[str, tuple[int, tuple[str, ...], float]] = {
    "permute-and-flip": (4, ("--time-limit", "60"), 1.0),
    "exponential": (4, (), 1.0),
    "top-r": (4, ("--pool-size", "2"), 1.0),
    "mistakes": (4, ("--test-epsilon", "0.6", "--delta", "1e-6"), 1.6),
    "sis": (2, ("--top-k", "peeling"), 1.0),
    "kendall": (0, (), 1.0),
    "sample-aggregate": (0, ("--blocks", "3"), 1.0),
    "mcmc": (3, ("--delta", "1e-6", "--mcmc-steps", "50"), 1.0),
}
"""How many of the bounds a method needs, options of its own, and what a draw at ε = 1 costs."""
OF_SCORES = ("sis", "kendall", "sample-aggregate")
OF_ROWS = (*OF_SCORES, "mcmc")
SOURCES = ("table", "schema", "instance", "diabetes", "paper-p100", "tiny-groups")
OF_GROUPS = ["ward", "dose", "site", "pressure", "pulse", "score"]
OF_STAYS = ["age", "ward", "noise, plain", "died"]
UNKNOWN = ("n", "sensitivity", "block_rows", "partitions")
NOT_THERE = {"releases", "nearly_blind"}
BAD_ROWS = "a,b,c,y\n1,red,,\n1,2\n" + '"' + "\n\xff\n"


def draws(folder: Path, source: str, method: str) -> tuple[str | Path, ...]:
    """A command for draws at ε = 1 from a source."""
    bounds, own, _ = METHODS[method]
    common = ("--epsilon", "1", "--method", method, *own)
    if source == "table":
        table = ("select", folder / "data.csv", "--target", "y", "--support-size", "2")
        return (*table, *BOUNDS[: 2 * bounds], *common)
    if source == "schema":
        schema = ("--schema", folder / "schema.json", "--target", "stay", "--always", "sex")
        return ("select", folder / "t.csv", *schema, "--support-size", "1", *common)
    return ("release", folder / "instance.toml" if source == "instance" else source, *common)


EXACT, SEARCHED = ("permute-and-flip", "exponential"), ("top-r", "mistakes")
OPTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "--sizes": ("1-2", EXACT),
    "--complexity": ("1", EXACT),
    "--time-limit": ("60", (*EXACT, *SEARCHED)),
    **{option: (value, SEARCHED) for option, value in (
        ("--pool-size", "2"), ("--solver", "highs"), ("--tolerance", "0.1"))},
    "--test-epsilon": ("0.5", ("mistakes",)),
    "--delta": ("1e-6", ("mistakes", "mcmc")),
    "--relation": ("add-remove", OF_SCORES),
    "--top-k": ("peeling", ("sis", "sample-aggregate")),
    "--alpha": ("0.1", ("sample-aggregate",)),
    "--blocks": ("4", ("sample-aggregate",)),
    "--mcmc-steps": ("30", ("mcmc",)),
    "--mcmc-radius": ("2", ("mcmc",)),
}  # fmt: skip
"""A value of each option, and the methods that it is for."""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_of_another_method_is_refused_by_name(
    run: Run, folder: Path, method: str, option: str
) -> None:
    assert set(METHODS) == set(BY_NAME)
    value, owners = OPTIONS[option]
    words = f"{option} does not apply to --method {method}, but to {', '.join(owners)}"
    for source in ("table", "instance") if method not in owners else ():
        run(*draws(folder, source, method), option, value).failed_with(2, words)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("source", SOURCES)
def test_a_plan_a_draw_and_its_words_agree(
    run: Run, folder: Path, source: str, method: str
) -> None:
    written(folder / "t.csv", rows(300))
    command = draws(folder, source, method)
    planned, outcome = run(*command, "--dry-run", "--json"), run(*command, "--json")
    assert (planned.code, planned.unforeseen, outcome.code, outcome.unforeseen) == (0, "", 0, "")
    dry, real = planned.report, outcome.report
    assert (dry.pop("dry_run"), set(dry)) == (True, set(real) - NOT_THERE)
    for key, planned_value in dry.items():
        known = real[key]
        if source not in ("diabetes", "paper-p100") and key in UNKNOWN:
            assert planned_value in (None, known)
            assert key != "n" or planned_value is None
        elif key == "sensitivity" and known is not None:
            assert planned_value == pytest.approx(known, rel=1e-12)
        else:
            assert planned_value == known, key
    assert (real["private"], real["sensitive"], real["method"]) == (True, False, method)
    (release,) = real["releases"]
    assert release["feature_names"] == [real["features"][j] for j in release["support"]]
    price, delta = METHODS[method][2], 1e-6 * (method in ("mistakes", "mcmc"))
    found = release["guarantee"]
    assert found == real["guarantee_of_one_draw"] == real["guarantee_of_all_draws"]
    assert (found["epsilon"], found["delta"]) == (price, delta)
    assert (found["relation"], bool(found["conditions"])) == ("replace-one", method == "mcmc")
    text = run(*command).out
    assert ("after 50 steps" in text) is (method == "mcmc")
    assert ("replacing all rows of one id" if source == "schema" else "replacing one row") in text
    if source in ("table", "instance"):
        assert (real["n"], real["features"]) == (20, ["a", "b", "c"])
    elif source == "tiny-groups":
        assert (real["p"], real["n_features"], real["features"]) == (11, 6, OF_GROUPS)
        assert real["groups"][1] == ["dose", "dose=missing"]
        assert (real["always"], real["intercept"]) == (["age"], True)
        assert "columns: 11; features to choose from: 6" in text
        assert "Always in: age, an intercept" in text
    elif source == "schema":
        assert (real["n"], real["protected_unit"], real["always"]) == (300, "id", ["sex"])
        assert (real["n_features"], real["number_of_supports"], real["features"]) == (
            *(4, 4, OF_STAYS),
        )
        assert real.get("always_counts") is not (method in OF_SCORES)
        assert ("no score depends on sex" in text) is (method in OF_SCORES)
        assert "Always in: sex" in text
        best = run(*command, "--epsilon", "100", "--json").report["releases"][0]
        assert best["feature_names"] == ["ward"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_charged_at_its_full_price(run: Run, folder: Path, method: str) -> None:
    price, file = METHODS[method][2], folder / "study.ledger"
    ledger = Ledger.create(file, epsilon=2 * price + 0.5, delta=1e-5, unit="patient")
    command = (*draws(folder, "instance", method), "--ledger", file)
    assert f"have ε = {price + 0.5:.15g}, δ = " in run(*command, "--dry-run").out
    assert ledger.entries == ()
    report = run(*command, "--json").report
    (entry,) = ledger.entries
    assert entry.guarantee.epsilon == price
    assert entry.guarantee.to_dict() == report["guarantee_of_all_draws"]
    assert entry.asked["method"] == method
    assert report["ledger"]["identity"] == ledger.identity
    assert report["ledger"]["head"]["hash"] == ledger.verify().hash
    assert report["ledger"]["remaining"]["epsilon"] == pytest.approx(price + 0.5)
    assert run(*command).code == 0
    run(*command).failed_with(1, "only ε = 0.5", "nothing was drawn")
    assert len(ledger.entries) == 2


@pytest.mark.parametrize("method", METHODS)
def test_a_plan_reads_no_row_draws_nothing_and_charges_nobody(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    command = (*draws(folder, "table", method), "--dry-run")
    before = run(*command)
    (folder / "data.csv").write_text(BAD_ROWS, encoding="latin-1")

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("something was drawn, read or searched")

    monkeypatch.setattr(Mechanism, "release", fail)
    monkeypatch.setattr("mipselect.cli.inputs.load_problem", fail)
    monkeypatch.setattr("mipselect.cli.select_plan.read_table", fail)
    monkeypatch.setattr("mipselect.selectors.searched.top_supports", fail)
    after = run(*command)
    assert (before.code, before.err) == (0, "")
    assert before.out == after.out
    assert "no row was read, nothing drawn and nothing spent" in after.out
    assert run(*draws(folder, "instance", method), "--dry-run").code == 0


@pytest.mark.parametrize("method", OF_SCORES)
@pytest.mark.parametrize("source", ["table", "schema", "tiny-groups"])
def test_under_add_remove_the_number_of_rows_is_not_told(
    run: Run, folder: Path, source: str, method: str
) -> None:
    written(folder / "t.csv", rows(20))
    command = draws(folder, source, method)
    hidden = (*command, "--relation", "add-remove")
    report = run(*hidden, "--json").report
    assert report["n"] is None
    assert report["guarantee_of_all_draws"]["relation"] == "add-remove"
    text = run(*hidden).out
    assert "adding or removing" in text
    assert "rows: " not in text
    assert source == "tiny-groups" or not re.search(r"\b20\b", text)
    assert "rows: " in run(*command).out
    run(*command, "--relation", "swap").failed_with(
        2, "--relation must be 'replace-one' or 'add-remove', got 'swap'"
    )


LARGE = ("0", "1", "-1", "3", "5e-324", "1e-310", "1e16", "1e154", "1e308", "-1.7e308", "1.7e308")
DRAWN = ("releases", "model", "in_units", "drawn_ranges", "ledger")
WEIGHTED_ROWS = drawn(60, np.random.default_rng(0))
NUMBERS = [
    " ".join(map(str, draws(Path(), "table", method))) for method in METHODS if method != "mistakes"
]
STAY = "t.csv --schema schema.json --support-size 1 --epsilon"
WITH_SCHEMA = [
    f"select {STAY} 100 {more}"
    for more in (
        *("--target stay", "--target stay --score loss", "--target died --loss hinge"),
        *("--target stay --loss huber(0.2)", "--target stay --method sis"),
        *("--target died --method sis", "--target died --method kendall"),
        "--target stay --method sample-aggregate --always age,sex",
        "--target stay --method mcmc --delta 1e-3 --mcmc-steps 9",
    )
]
MODELS = [f"fit {STAY} 1 --target stay", f"fit {STAY} 12 --target stay --ledger l.ledger"]
OF_WEIGHTS = ["select w.csv --schema weighted.json --target y --support-size 1 --epsilon 1"]


def variants(command: str) -> list[Any]:
    """Makers of the tables of a command, in the folder: a plain one, and hostile ones."""
    if "data.csv" in command:
        rng = np.random.default_rng(0)
        texts = [[",".join(rng.choice(LARGE, 4)) for _ in range(5)] for _ in range(12)]
        texts = [each[:1] * 5 if rng.random() < 0.3 else each for each in texts]
        return ["a,b,c,y\n" + "\n".join(each) + "\n" for each in texts]
    if "w.csv" in command:
        weights = ("0", str(MOST), "1e300", "much")
        return [table_of([(*WEIGHTED_ROWS[0][:-1], w), *WEIGHTED_ROWS[1:]]) for w in weights]
    plain = rows(60)
    odd = [[*plain[:7], row, *plain[8:]] for row in HOSTILE]
    return [plain, *odd, [[f"p{k}", *"??????"] for k in range(60)]]


@pytest.mark.parametrize(
    "command",
    [
        *(*NUMBERS, *WITH_SCHEMA[:2], *MODELS, *OF_WEIGHTS),
        *(pytest.param(each, marks=pytest.mark.deep) for each in WITH_SCHEMA[2:]),
    ],
)
def test_no_word_depends_on_the_rows(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """All but what is drawn: messages, settings and the exit code."""
    monkeypatch.chdir(tmp_path)
    told = set()
    for table in variants(command):
        if isinstance(table, str):
            Path("data.csv").write_text(table)
        elif isinstance(table, list):
            written(Path("t.csv"), table)
        else:
            WEIGHTED.write("weighted.json")
            table.to_pandas().to_csv("w.csv", index=False)
        if "l.ledger" in command:
            Path("l.ledger").unlink(missing_ok=True)
            Ledger.create("l.ledger", epsilon=100.0, unit="patient")
        outcome, text = run(*command.split(), "--json"), run(*command.split())
        report = {key: value for key, value in outcome.report.items() if key not in DRAWN}
        said = [
            line
            for line in text.out.splitlines()
            if command.startswith("select") and not re.search("[│┃━─]", line)
        ]
        told.add((outcome.code, outcome.err, text.err, json.dumps(report), "\n".join(said)))
    assert len(told) == 1
    code, err, *_ = told.pop()
    assert code == 0
    foreseen = (*FORESEEN, "60 rows are few for a model")
    assert all(any(words in line for words in foreseen) for line in err.splitlines()), err


CONTRIBUTING = Path(__file__).parents[2] / "CONTRIBUTING.md"
X, Y, COEF, RIDGE = (BOUNDS[k : k + 2] for k in range(0, 8, 2))


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


@pytest.mark.parametrize("method", OF_ROWS)
@pytest.mark.parametrize("option", [*BOUNDS[::2], "--loss"])
def test_a_bound_that_a_method_does_not_use_is_refused_and_one_that_it_needs_is_asked_for(
    run: Run, folder: Path, method: str, option: str
) -> None:
    given = draws(folder, "table", method)
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
    needed = dict(list(bounds.items())[: METHODS[method][0]])
    relation = {} if method == "mcmc" else {"relation": "replace-one"}
    return BY_NAME[method](size, epsilon=2.0, random_state=seed, **needed, **relation)


@pytest.mark.parametrize("method", OF_ROWS)
def test_a_seed_gives_the_draw_of_the_estimator(run: Run, method: str) -> None:
    problem = load_problem("diabetes")
    size = problem.problem.support_size
    drawn, wanted = [], []
    for seed in range(6):
        arguments = ("release", "diabetes", "--epsilon", "2", "--method", method, "--json")
        report = run(*arguments, "--seed", str(seed)).report
        assert (report["private"], report["sensitive"]) == (False, True)
        drawn.append(report["releases"][0]["support"])
        fitted = selector(method, size, seed).fit(problem.data.X, problem.data.y)
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
        report = run(*draws(folder, "instance", method), "--epsilon", "200", "--json").report
        assert report["releases"][0]["feature_names"][0] == "a"
        assert report["y_bound"] == (1.0 if method == "sis" else None)
    run(*draws(folder, "instance", "mcmc")).failed_with(
        2, "instance.toml: mcmc is for the squared loss, not hinge"
    )
    (folder / "data.csv").write_text("a,b,c,y\n1,2,3,4\n1,2,3,4\n")
    run(*draws(folder, "instance", "kendall")).failed_with(2, "(sensitive)", "two classes")
