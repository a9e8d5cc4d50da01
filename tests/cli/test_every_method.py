"""Every selector from every kind of source: what is planned, drawn, charged and said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mipselect.mechanisms import Mechanism
from mipselect.privacy import Ledger
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
SOURCES = ("table", "schema", "instance", "diabetes", "paper-p100", "tiny-groups")
OF_GROUPS = ["ward", "dose", "site", "pressure", "pulse", "score"]
OF_STAYS = ["age", "ward", "noise, plain", "died"]
OF_ROWS = ("n", "sensitivity", "block_rows", "partitions")
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


def test_methods_are_all_there_are() -> None:
    assert set(METHODS) == set(BY_NAME)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("source", SOURCES)
def test_a_plan_a_draw_and_its_words_agree(
    run: Run, folder: Path, source: str, method: str
) -> None:
    written(folder / "t.csv", rows(300))
    command = (*draws(folder, source, method), "--draws", "2")
    planned, outcome = run(*command, "--dry-run", "--json"), run(*command, "--json")
    assert (planned.code, planned.unforeseen, outcome.code, outcome.unforeseen) == (0, "", 0, "")
    dry, real = planned.report, outcome.report
    assert (dry.pop("dry_run"), set(dry)) == (True, set(real) - NOT_THERE)
    for key, planned_value in dry.items():
        known = real[key]
        if source not in ("diabetes", "paper-p100") and key in OF_ROWS:
            assert planned_value in (None, known)
            assert key != "n" or planned_value is None
        elif key == "sensitivity" and known is not None:
            assert planned_value == pytest.approx(known, rel=1e-12)
        else:
            assert planned_value == known, key
    assert (real["private"], real["sensitive"], real["method"]) == (True, False, method)
    assert len(real["releases"]) == 2
    for release in real["releases"]:
        assert release["feature_names"] == [real["features"][j] for j in release["support"]]
        assert release["guarantee"] == real["guarantee_of_one_draw"]
    price, delta = METHODS[method][2], 1e-6 * (method in ("mistakes", "mcmc"))
    for draws_, of in ((1, "one_draw"), (2, "all_draws")):
        found = real[f"guarantee_of_{of}"]
        assert (found["epsilon"], found["delta"]) == (draws_ * price, draws_ * delta)
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
        assert real.get("always_counts") is not (method == "sis")
        assert ("no score depends on sex" in text) is (method == "sis")
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
    assert (entry.guarantee.epsilon, entry.status) == (price, "drawn")
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
    monkeypatch.setattr("mipselect.tables.numbers.read_table", fail)
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
            if command.startswith("select") and not re.search("│    1|[┃━─]", line)
        ]
        told.add((outcome.code, outcome.err, text.err, json.dumps(report), "\n".join(said)))
    assert len(told) == 1
    code, err, *_ = told.pop()
    assert code == 0
    foreseen = (*FORESEEN, "60 rows are few for a model")
    assert all(any(words in line for words in foreseen) for line in err.splitlines()), err
