"""`mipselect select` without a bound: blocks of rows, of tables of numbers and stored instances."""

from __future__ import annotations

import json
import random
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mipselect import (
    BlockScores,
    ExponentialMechanism,
    Instance,
    PermuteAndFlip,
    top_supports,
)
from mipselect.blocks.normalised import ColumnsOfFeatures
from mipselect.blocks.partitions import Blocks
from mipselect.blocks.r_squared import BlockR2, ListedFeatures
from mipselect.cli.releasing import law_of
from mipselect.mechanisms.supports.permute_and_flip import FlipIntegral
from mipselect.privacy import Ledger
from mipselect.problem.block_scores import BlockOptions
from mipselect.problem.stored.files import load_problem
from mipselect.selectors import ExponentialSelector, PermuteAndFlipSelector
from tests.support.commandline import Run
from tests.support.dense_block_r2 import direct_counts
from tests.support.enumeration import frequencies_agree

BLOCKS = """
[instance]
support_size = 2
score = "blocks"
block_rows = 3
partitions = 5
partition_seed = 1

[data]
source = "table"
path = "t.csv"
target = "y"
"""


def skewed(n: int = 600) -> np.ndarray:
    """Columns a..e of a lognormal table and a target that a and d make up."""
    X = np.random.default_rng(0).lognormal(size=(n, 5))
    return np.column_stack([X, X[:, 0] - X[:, 3]])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    np.savetxt(path, skewed(), fmt="%.17g", delimiter=",", header="a,b,c,d,e,y", comments="")
    return path


def select(table: Path, *more: str) -> tuple[Any, ...]:
    return ("select", table, "--target", "y", "--support-size", "2", "--epsilon", "20", *more)


def test_target_size_and_epsilon_are_enough(run: Run, table: Path) -> None:
    outcome = run(*select(table, "--json"))
    assert outcome.unforeseen == ""
    report = outcome.report
    assert report["releases"][0]["feature_names"] == ["a", "d"]
    assert report["private"] is True
    told = ("score", "block_rows", "partitions", "sensitivity", "coef_bound", "ridge", "loss")
    assert [report[name] for name in told] == ["block-r2", 55, 8, 1.0, None, None, None]
    text = run(*select(table)).out
    assert "score: block-r2; rows of a block: 55; partitions into blocks: 8;" in text
    plan = run(*select(table, "--dry-run", "--json")).report
    assert [plan[name] for name in told] == ["block-r2", *[None] * 6]
    assert "score: block-r2;" in run(*select(table, "--dry-run")).out
    given = run(*select(table, "--score", "block-r2", "--block-rows", "8", "--json")).report
    assert (given["block_rows"], given["partitions"]) == (8, 8)


def test_least_squares_on_blocks(run: Run, table: Path) -> None:
    outcome = run(*select(table, "--score", "blocks", "--json"))
    assert outcome.unforeseen == ""
    report = outcome.report
    assert report["releases"][0]["feature_names"] == ["a", "d"]
    assert report["private"] is True
    assert (report["score"], report["block_rows"], report["partitions"]) == ("blocks", 2, 16)
    assert (report["x_bound"], report["y_bound"], report["ridge"]) == (None, None, 1.0)
    assert report["coef_bound"] == pytest.approx(0.75 * 2**-0.5)
    assert report["sensitivity"] == pytest.approx(0.5 * 1.75**2 / 300)
    text = run(*select(table, "--score", "blocks")).out
    assert "score: blocks; rows of a block: 2; partitions into blocks: 16;" in text
    plan = run(*select(table, "--score", "blocks", "--dry-run", "--json")).report
    assert (plan["score"], plan["n"], plan["sensitivity"]) == ("blocks", None, None)


def test_options_of_blocks_are_recorded(run: Run, table: Path) -> None:
    more = ("--block-rows", "4", "--partitions", "3", "--coef-bound", "0.3", "--ridge", "2")
    report = run(*select(table, "--score", "blocks", *more, "--json")).report
    told = ("block_rows", "partitions", "coef_bound", "ridge")
    assert [report[name] for name in told] == [4, 3, 0.3, 2.0]
    sized = run(
        *("select", table, "--target", "y", "--sizes", "1-3", "--epsilon", "9", "--json")
    ).report
    assert sized["coef_bound"] == pytest.approx(0.75 * 3**-0.5)
    for method in ("top-r", "mistakes"):
        answer = run(*select(table, "--method", method, "--json")).report
        assert answer["score"] == "blocks"
        assert answer["releases"][0]["feature_names"] == ["a", "d"]


@pytest.mark.parametrize(
    ("more", "fragment"),
    [
        (("--score", "blocks", "--x-bound", "1"), "--x-bound goes with --score loss"),
        (("--score", "blocks", "--loss", "hinge"), "--loss goes with --score loss"),
        (("--score", "r2"), "--score must be one of 'blocks', 'block-r2', 'loss'"),
        (
            ("--score", "loss", "--block-rows", "2"),
            "--block-rows goes with scores from blocks",
        ),
        (
            ("--x-bound", "1", "--partitions", "2"),
            "--partitions goes with scores from blocks",
        ),
        (("--block-rows", "1"), "block_rows must be an integer in 2..256, got 1"),
        (("--coef-bound", "1"), "--x-bound, --y-bound, --ridge must be given"),
        (("--method", "sis", "--score", "blocks"), "--score does not apply to --method sis"),
        (("--method", "kendall", "--block-rows", "2"), "does not apply to --method kendall"),
        (("--method", "top-r", "--score", "block-r2"), "goes with exact draws of one size"),
        (("--score", "block-r2", "--ridge", "1"), "ridge goes with score 'blocks'"),
        (("--score", "block-r2", "--block-rows", "4"), "block_rows must be an integer ≥ 5"),
        (("--block-rows", "256", "--features", "a,b"), ""),
    ],
)
def test_what_does_not_go_together(
    run: Run, table: Path, more: tuple[str, ...], fragment: str
) -> None:
    if fragment:
        run(*select(table, *more)).failed_with(2, fragment)
    else:
        assert run(*select(table, *more)).code == 0


def test_a_ledger_under_add_remove_wants_a_loss(run: Run, table: Path, tmp_path: Path) -> None:
    books = tmp_path / "a.ledger"
    Ledger.create(books, epsilon=50.0, relation="add-remove", unit="person")
    run(*select(table, "--ledger", str(books))).failed_with(2, "--score blocks needs none")
    run(*select(table, "--ledger", str(books), "--score", "blocks")).failed_with(
        2, "for replacing one row", "--score loss"
    )
    other = tmp_path / "b.ledger"
    ledger = Ledger.create(other, epsilon=50.0, unit="person")
    assert run(*select(table, "--ledger", str(other))).code == 0
    asked = ledger.entries[0].asked
    assert (asked["score"], asked["partitions"]) == ("block-r2", 8)
    assert "block_rows" in asked


def test_a_ledger_under_add_remove_wants_a_ridge_for_any_n(
    run: Run, table: Path, tmp_path: Path
) -> None:
    file = tmp_path / "budget.db"
    Ledger.create(file, epsilon=20.0, relation="add-remove")
    bounds = ("--x-bound", "20", "--y-bound", "20", "--coef-bound", "1", "--ledger", file)
    run(*select(table, *bounds, "--ridge", "0.001")).failed_with(
        2, "so small a ridge is for replacing one row", "a --ridge of at least 0.0"
    )
    assert Ledger.open(file).spent.epsilon == 0.0
    assert run(*select(table, *bounds, "--ridge", "0.1")).code == 0
    assert Ledger.open(file).spent.epsilon == 10.0


def test_an_instance_file_of_blocks(run: Run, table: Path) -> None:
    path = table.with_name("i.toml")
    path.write_text(BLOCKS)
    stored = load_problem(path)
    data = skewed()
    same = Instance.from_blocks(
        data[:, :5], data[:, 5], support_size=2, block_rows=3, partitions=5, partition_seed=1
    )
    best = top_supports(same, 3)
    solved = run("solve", path, "--json").report
    assert solved["best"]["support"] == best.supports[0].tolist()
    assert solved["best"]["value"] == best.values[0]
    assert top_supports(stored.instance(), 3).values.tolist() == best.values.tolist()
    report = run("release", path, "--epsilon", "20", "--json").report
    assert report["releases"][0]["feature_names"] == ["a", "d"]
    plan = run("release", path, "--epsilon", "20", "--dry-run").out
    assert "rows of a block: 3; partitions into blocks: 5" in plan
    path.write_text(BLOCKS.replace("partitions = 5", "partitions = 1"))
    assert "partitions into blocks: 1;" in run("release", path, "--epsilon", "20", "--dry-run").out
    path.write_text(BLOCKS)
    assert run("release", path, "--epsilon", "20", "--method", "kendall").code == 0
    run("release", path, "--epsilon", "2", "--method", "sis").failed_with(2, "must be given")
    assert run("compare", path, "--json").report["instances"]


def test_a_schema_needs_no_ranges(run: Run, table: Path) -> None:
    fields = [{"name": name, "type": "number"} for name in "abcdey"]
    schema = table.with_name("schema.json")
    schema.write_text(json.dumps({"fields": fields}))
    question = ("--schema", str(schema))
    report = run(*select(table, *question, "--json")).report
    assert report["releases"][0]["feature_names"] == ["a", "d"]
    plan = run(*select(table, *question, "--dry-run", "--json")).report
    assert (plan["score"], plan["features"]) == ("block-r2", list("abcde"))
    for more in (("--score", "loss"), ("--ridge", "1"), ("--no-intercept",), ("--loss", "squared")):
        run(*select(table, *question, *more)).failed_with(2, "needs constraints.minimum")
    for more in (("--range", "a=0:1"), ("--no-intercept",)):
        run(*select(table, *question, "--score", "blocks", *more)).failed_with(
            2, "goes with --score loss"
        )
    always = run(*select(table, *question, "--always", "a", "--never", "b", "--json")).report
    assert (always["features"], always["always"]) == (["c", "d", "e"], ["a"])


def test_two_classes_come_from_blocks(run: Run, table: Path) -> None:
    """Without ranges, beside a category too; with a bound it is the loss."""
    rows = [line.split(",") for line in table.read_text().splitlines()]
    lines = [",".join([*row[:4], "red", str(float(row[5]) > 0.0).lower()]) for row in rows[1:]]
    table.write_text("\n".join(["a,b,c,d,e,y", *lines]))
    numbers: list[dict[str, Any]] = [{"name": name, "type": "number"} for name in "abcd"]
    target = {"name": "y", "type": "boolean", "constraints": {"required": True}}
    colour = {"name": "e", "type": "string", "categories": ["red", "blue", "green"]}
    schema = table.with_name("schema.json")
    schema.write_text(json.dumps({"fields": [*numbers, colour, target]}))
    question = ("--schema", str(schema))
    fit = ("fit", *select(table)[1:], *question, "--dry-run", "--json", "--ranges", "private")
    for never in ((), ("--never", "e")):
        report = run(*select(table, *question, *never, "--json")).report
        found = (report["score"], report["releases"][0]["feature_names"])
        assert found == ("block-r2", ["a", "d"])
        assert run(*fit, *never).report["score"] == "block-r2"
    run(*select(table, *question, "--score", "loss")).failed_with(2, "needs constraints.minimum")
    ends = {"minimum": 0, "maximum": 20}
    ranged = [{**field, "constraints": ends} for field in numbers]
    schema.write_text(json.dumps({"fields": [*ranged, colour, target]}))
    scores = {}
    for more in ((), ("--ridge", "1")):
        drawn = run(*select(table, *question, *more, "--dry-run", "--json")).report
        fitted = run("fit", *select(table)[1:], *question, *more, "--dry-run", "--json").report
        assert drawn.get("score", "loss") == fitted.get("score", "loss")
        scores[more] = drawn.get("score", "loss")
    assert list(scores.values()) == ["block-r2", "loss"]


BLOCK_R2 = BLOCKS.replace('"blocks"', '"block-r2"').replace("block_rows = 3", "block_rows = 6")


@pytest.fixture
def scored(table: Path) -> Path:
    path = table.with_name("r.toml")
    path.write_text(BLOCK_R2)
    return path


def test_an_instance_file_of_block_r2(run: Run, table: Path, scored: Path) -> None:
    data = skewed()
    same = BlockScores(
        data[:, :5], data[:, 5], support_size=2, block_rows=6, partitions=5, partition_seed=1
    )
    stored = load_problem(scored)
    assert stored.drawn_from().counts.tolist() == same.counts.tolist()
    report = run("release", scored, "--epsilon", "20", "--json").report
    assert report["releases"][0]["feature_names"] == ["a", "d"]
    told = ("score", "block_rows", "partitions", "sensitivity", "coef_bound", "ridge", "loss", "n")
    assert [report[name] for name in told] == ["block-r2", 6, 5, 1.0, None, None, None, 600]
    dry = run("release", scored, "--epsilon", "20", "--dry-run")
    assert "score: block-r2;" in dry.out
    assert "rows of a block" not in dry.out
    assert run("release", scored, "--epsilon", "20", "--method", "exponential").code == 0
    assert run("release", scored, "--epsilon", "20", "--method", "kendall").code == 0
    assert run("release", scored, "--epsilon", "20", "--sizes", "2").code == 0


@pytest.mark.parametrize("law", [PermuteAndFlip, ExponentialMechanism])
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_a_release_from_a_file_has_the_law_of_its_scores(
    scored: Path, law: Any, epsilon: float
) -> None:
    """The frequencies are those of the scores as they are defined, one dense inverse a support."""
    data = skewed()
    selector = {PermuteAndFlip: PermuteAndFlipSelector, ExponentialMechanism: ExponentialSelector}
    method = selector[law](2, epsilon=epsilon)
    found = law_of(
        load_problem(scored, draw=BlockOptions(epsilon=epsilon)), method, None, lambda _: None
    )
    singles = ColumnsOfFeatures(tuple((j,) for j in range(6)), np.zeros(6, dtype=bool))
    settings = BlockR2(Blocks(6, 5, seed=1))
    counts = direct_counts(data, ListedFeatures(singles, 5, 2, 6), settings)
    logs = epsilon / 2.0 * counts / 2.0**20 / 5
    supports = list(combinations(range(5), 2))
    if law is ExponentialMechanism:
        wanted = logs - np.logaddexp.reduce(logs)
    else:
        wanted = FlipIntegral(logs - logs.max()).log_probabilities(logs - logs.max())
    stated = [found.log_probability(support) for support in supports]
    np.testing.assert_allclose(stated, wanted, atol=1e-4)
    source = random.Random(7)
    frequencies_agree(lambda: found.sample(source), supports, np.array(stated))


def test_the_blocks_of_a_file_follow_from_the_epsilon_of_the_draw(run: Run, scored: Path) -> None:
    scored.write_text(BLOCK_R2.replace("block_rows = 6\npartitions = 5\n", ""))
    told = {}
    for epsilon in ("1", "20"):
        report = run("release", scored, "--epsilon", epsilon, "--json").report
        told[epsilon] = (report["block_rows"], report["partitions"])
    assert told == {"1": (12, 8), "20": (55, 8)}
    assert run("release", scored, "--epsilon", "20", "--method", "mistakes").code == 2


def test_a_recipe_says_its_blocks_before_a_row_is_drawn(run: Run, scored: Path) -> None:
    keys = 'source = "correlated-gaussian"\nn = 900\np = 6\nrho = 0.1\nsnr = 5.0\n'
    scored.write_text(
        '[instance]\nsupport_size = 2\nscore = "block-r2"\n'
        f"[data]\n{keys}support_size = 2\nseed = 3\n"
    )
    dry = run("release", scored, "--epsilon", "1", "--dry-run", "--json").report
    assert (dry["n"], dry["block_rows"], dry["partitions"], dry["sensitivity"]) == (900, 15, 8, 1.0)
    drawn = run("release", scored, "--epsilon", "1", "--json").report
    assert [drawn[name] for name in ("n", "block_rows", "partitions")] == [900, 15, 8]


def test_a_file_of_block_r2_with_a_schema(run: Run, table: Path, scored: Path) -> None:
    fields = [{"name": name, "type": "number"} for name in "abcdey"]
    table.with_name("schema.json").write_text(json.dumps({"fields": fields}))
    text = BLOCK_R2 + 'schema = "schema.json"\nalways = ["a"]\nnever = ["b"]\n'
    scored.write_text(text.replace("support_size = 2", "support_size = 1"))
    report = run("release", scored, "--epsilon", "20", "--json").report
    assert report["releases"][0]["feature_names"] == ["d"]
    told = ("score", "block_rows", "partitions", "always", "features")
    assert [report[name] for name in told] == ["block-r2", 6, 5, ["a"], ["c", "d", "e"]]
    dry = run("release", scored, "--epsilon", "20", "--dry-run", "--json").report
    assert [dry[name] for name in told] == ["block-r2", None, None, ["a"], ["c", "d", "e"]]
    scored.write_text(scored.read_text() + "intercept = true\n")
    run("release", scored, "--epsilon", "1").failed_with(2, "intercept does not apply to score")


@pytest.mark.parametrize(
    ("old", "new", "fragment"),
    [
        ("block_rows = 6", "block_rows = 4", "block_rows must be an integer ≥ 5"),
        ("block_rows = 6", "block_rows = 700", "block_rows must be an integer in 2..256"),
        ("partitions = 5", "partitions = 0", "partitions must be an integer in 1..1024"),
        ("partition_seed = 1", "ridge = 1.0", "ridge goes with score 'blocks' or 'loss'"),
        ("partition_seed = 1", "y_bound = 1.0", "y_bound does not apply to score 'block-r2'"),
        ("partition_seed = 1", 'loss = "hinge"', "leave out loss"),
        ("support_size = 2", "support_size = 6", "support_size must be an integer in 1..5"),
        ("score", "scores", "did you mean 'score'?"),
        ('"block-r2"', '"block"', "score must be one of 'blocks', 'block-r2', 'loss'"),
        ("partition_seed = 1", "partition_seed = -1", "partition_seed must be an integer"),
    ],
)
def test_wrong_files_of_block_r2(run: Run, scored: Path, old: str, new: str, fragment: str) -> None:
    """What is wrong with a file is said before a row is read."""
    scored.write_text(BLOCK_R2.replace(old, new))
    for more in ((), ("--dry-run",)):
        run("release", scored, "--epsilon", "1", *more).failed_with(2, str(scored), fragment)


def test_block_r2_has_no_objective(run: Run, scored: Path) -> None:
    run("compare", scored).failed_with(2, str(scored), "has no objective")
    run("solve", scored).failed_with(2, "score 'block-r2' is for supports that are listed")
    scored.write_text(BLOCK_R2 + "[expected]\nsupport = [0, 3]\nvalue = 1.0\n")
    run("solve", scored).failed_with(2, "[expected] is about an objective")


def test_another_score_than_that_of_the_file(run: Run, table: Path, scored: Path) -> None:
    told = ("score", "block_rows", "partitions", "ridge", "loss")
    release = ("release", "diabetes", "--epsilon", "9", "--json")
    assert run(*release).report["loss"] == "squared"
    drawn = run(*release, "--score", "block-r2").report
    assert [drawn[name] for name in told] == ["block-r2", 32, 8, None, None]
    drawn = run(*release, "--score", "blocks", "--block-rows", "4", "--partitions", "3").report
    assert [drawn[name] for name in told] == ["blocks", 4, 3, 1.0, "squared"]
    dry = run(*release, "--score", "block-r2", "--partitions", "2", "--dry-run").report
    assert [dry[name] for name in told] == ["block-r2", 32, 2, None, None]
    other = run("release", scored, "--epsilon", "9", "--partitions", "1", "--json").report
    assert [other[name] for name in told[:3]] == ["block-r2", 6, 1]
    of_classes = run("release", "breast-cancer", "--epsilon", "9", "--score", "block-r2", "--json")
    assert of_classes.report["score"] == "block-r2"
    for arguments, words in (
        ((*release, "--score", "loss"), "--score must be 'blocks' or 'block-r2'"),
        ((*release, "--block-rows", "4"), "block_rows goes with scores from blocks"),
        ((*release, "--method", "sis", "--score", "blocks"), "does not apply to --method sis"),
        ((*release, "--method", "top-r", "--score", "block-r2"), "exact draws of one size"),
    ):
        run(*arguments).failed_with(2, words)


def test_arrays_in_a_file_come_back_and_nothing_is_unpickled(run: Run, scored: Path) -> None:
    data, arrays = skewed(), scored.with_name("a.npz")
    scored.write_text(
        BLOCK_R2.replace('"table"', '"npz"').replace("t.csv", "a.npz").replace('target = "y"', "")
        + "\n[instance.groups]\nfirst = [0, 1]\nd = [3]\nlast = [4]\n"
    )
    scored.write_text(scored.read_text().replace("partition_seed", "always = [2]\npartition_seed"))
    np.savez(arrays, X=data[:, :5], y=data[:, 5])
    groups: dict[str, Any] = {"groups": {"first": [0, 1], "d": [3], "last": [4]}, "always": [2]}
    same = BlockScores(
        data[:, :5], data[:, 5], support_size=2, block_rows=6, partitions=5, partition_seed=1,
        **groups,
    )  # fmt: skip
    assert load_problem(scored).drawn_from().counts.tolist() == same.counts.tolist()
    report = run("release", scored, "--epsilon", "50", "--json").report
    assert report["releases"][0]["feature_names"] == ["first", "d"]
    assert report["always"] == ["x2"]
    dry = run("release", scored, "--epsilon", "50", "--dry-run", "--json").report
    assert [dry[name] for name in ("n", "block_rows", "partitions")] == [600, 6, 5]
    hollow = data[:, :5].copy()
    hollow[3, 1] = np.nan
    tampered: list[tuple[dict[str, Any], str]] = [
        ({"X": data[:, :5].astype(object), "y": data[:, 5]}, "cannot be read as .npz"),
        ({"X": data[:, :5]}, "y is none"),
        ({"X": data[:, :5], "y": data[:9, 5]}, "one value per row"),
        ({"X": hollow, "y": data[:, 5]}, "X must be finite: row 3, column 1"),
        ({"X": data[:, :3], "y": data[:, 5]}, "columns are 0..2, got 3"),
        ({"X": data[:4, :5], "y": data[:4, 5]}, "4 rows are no block of 6"),
        ({"X": data[:, 0], "y": data[:, 5]}, ""),
    ]
    for content, words in tampered:
        np.savez(arrays, allow_pickle=True, **content)
        run("release", scored, "--epsilon", "1").failed_with(2, str(scored.parent), words)
    arrays.write_bytes(arrays.read_bytes()[:300])
    run("release", scored, "--epsilon", "1").failed_with(2, "cannot be read as .npz")
