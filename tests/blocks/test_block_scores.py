"""`BlockScores`: from arrays, frames and tables, and what is refused before a row is looked at."""

from __future__ import annotations

import signal
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mipselect import BlockScores, ExponentialMechanism, Instance, Ledger, PermuteAndFlip
from mipselect.blocks import r_squared
from mipselect.blocks.r_squared import ListedFeatures
from mipselect.cli import progress
from mipselect.errors import InvalidInput, NotCertified
from mipselect.search.progress import Progress
from mipselect.selectors import PermuteAndFlipSelector
from mipselect.tables.instances import rows_of_table
from mipselect.tables.public_map import TableQuestion
from tests.support.block_pairs import FIELDS, SCHEMA, hostile_cells, table_of
from tests.support.commandline import LISTENING, Run
from tests.support.enumeration import frequencies_agree, log_law
from tests.support.hostile_blocks import direct_counts


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"support_size": 5}, "support_size must be an integer in 1..4, got 5"),
        ({"support_size": 1, "never": "dose"}, "never must be a list of field names"),
        ({"support_size": 1, "unit_rule": "last"}, "needs csvw-eo:privacyUnit"),
    ],
)
def test_a_wrong_question_is_refused_before_a_row_is_read(
    question: dict[str, Any], message: str
) -> None:
    def rows() -> Any:
        raise AssertionError("a row was read")
        yield

    names = pa.schema([(field["name"], pa.string()) for field in FIELDS])
    source = pa.RecordBatchReader.from_batches(names, rows())
    asked = {"target": "y", **question}
    with pytest.raises(InvalidInput, match=message):
        Instance.from_table(source, SCHEMA, **asked, score="block-r2")


def arrays(n: int = 200, p: int = 7, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 1] - X[:, 4] + 0.1 * rng.standard_normal(n)


def test_a_table_has_the_scores_of_its_fields() -> None:
    source = table_of(hostile_cells(np.random.default_rng(0), 90))
    for always in ([], ["sex"], ["ward"]):
        scores = Instance.from_table(
            source,
            SCHEMA,
            target="y",
            support_size=2,
            always=always,
            block_rows=7,
            partitions=2,
            partition_seed=0,
            score="block-r2",
        )
        public = TableQuestion(SCHEMA, "y", always).without_ranges
        rows = rows_of_table(source, public)
        features = ListedFeatures(public.parts, scores.n_features, 2, 7)
        expected = direct_counts(rows, features, scores.problem.blocks)
        assert np.abs(scores.counts - expected).max() <= 3
        assert scores.feature_names == tuple(
            name for name in ("ward", "dose", "sex", "stage") if name not in always
        )
        assert scores.n == 90


def test_scores_are_by_support_in_any_order() -> None:
    X, y = arrays()
    scores = BlockScores(X, y, support_size=3, partition_seed=1, partitions=3, block_rows=9)
    supports = np.array(list(combinations(range(7), 3)))
    np.testing.assert_array_equal(scores.scores(supports), scores.counts / 2.0**20 / 3)
    order = np.random.default_rng(0).permutation(35)
    np.testing.assert_array_equal(
        scores.scores(supports[order][:, ::-1]), scores.scores(supports)[order]
    )
    assert scores.scores([[4, 1, 0]]) > scores.scores([[2, 3, 0]])
    for wrong in ([[1, 1, 2]], [[0, 1]], [0, 1, 2], [[0, 1, 7]]):
        with pytest.raises(InvalidInput):
            scores.scores(wrong)


def test_arrays_frames_and_order_of_columns_give_the_same_scores() -> None:
    X, y = arrays()
    question = {"support_size": 2, "partition_seed": 1, "block_rows": 8, "partitions": 1}
    names = [f"c{j}" for j in range(7)]
    plain = BlockScores(X, y, **question)
    framed = BlockScores(pd.DataFrame(X, columns=names), pd.Series(y), **question)
    assert (plain.counts == framed.counts).all()
    assert framed.feature_names == tuple(names)
    grouped = BlockScores(X, y, groups=[[0, 3], [1], [4, 2]], always=[5, 6], **question)
    assert grouped.n_features == 3
    order = [3, 0, 1, 2, 4, 6, 5]
    moved = BlockScores(X[:, order], y, groups=[[1, 0], [2], [4, 3]], always=[6, 5], **question)
    assert np.abs(grouped.counts - moved.counts).max() <= 3


def test_draws_have_the_stated_law_and_a_rho() -> None:
    rows = np.random.default_rng(3).standard_normal((60, 6))
    rows[:, 5] = rows[:, 0] + rows[:, 3]
    question = {"support_size": 2, "block_rows": 6, "partitions": 2, "partition_seed": 5}
    scores = BlockScores(rows[:, :5], rows[:, 5], **question)
    supports = list(combinations(range(5), 2))
    stated = 3.0 / 2.0 * scores.scores(supports)
    stated -= np.logaddexp.reduce(stated)
    mechanism = ExponentialMechanism(scores, 3.0)
    np.testing.assert_allclose(log_law(mechanism, supports), stated, atol=1e-9)
    rng = np.random.default_rng(4)
    frequencies_agree(lambda: mechanism.sample(rng), supports, stated)
    guarantee = mechanism.guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.conditions) == (3.0, 0.0, ())
    assert guarantee.rho == pytest.approx(3.0**2 / 8.0)


def test_a_draw_takes_no_other_sizes() -> None:
    X, y = arrays()
    scores = BlockScores(X, y, support_size=2)
    with pytest.raises(InvalidInput, match="2 features, not of 3"):
        ExponentialMechanism(scores, 1.0, sizes=[3])
    with pytest.raises(InvalidInput, match="one size"):
        ExponentialMechanism(scores, 1.0, sizes=[1, 2])
    assert ExponentialMechanism(scores, 1.0, sizes=[2]).listed


def test_too_many_supports_are_refused_before_a_row_is_scored() -> None:
    X, y = arrays(p=60)
    with pytest.raises(InvalidInput, match="5,461,512, more than 1,000,000"):
        BlockScores(X, y, support_size=5)


def test_what_is_wrong_is_named() -> None:
    X, y = arrays()
    with pytest.raises(InvalidInput, match="block_rows must be an integer ≥ 5"):
        BlockScores(X, y, support_size=2, block_rows=4)
    with pytest.raises(InvalidInput, match="3 rows are no block of 6"):
        BlockScores(X[:3], y[:3], support_size=2, block_rows=6)
    with pytest.raises(InvalidInput, match="one value per row"):
        BlockScores(X, y[:-1], support_size=2)
    with pytest.raises(InvalidInput, match="epsilon"):
        BlockScores(X, y, support_size=2, epsilon=0.0)
    scores = BlockScores(X, y, support_size=2)
    with pytest.raises(AttributeError, match="immutable"):
        scores.n = 3
    for array in (scores.counts, scores.all_scores):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_later_changes_of_the_rows_change_nothing() -> None:
    X, y = arrays()
    scores, other = (BlockScores(X, y, support_size=2, partition_seed=1) for _ in range(2))
    before = other.counts
    X[:], y[:] = 0.0, 0.0
    assert (scores.counts == before).all()


def scores(n: int = 6000) -> BlockScores:
    rows = np.random.default_rng(0).standard_normal((n, 8))
    return BlockScores(
        rows[:, :7], rows[:, 7], support_size=3, block_rows=8, partitions=2, partition_seed=1
    )


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Blocks of every batch that is worked on."""
    seen: list[int] = []
    real = r_squared._products

    def counted(rows: np.ndarray, *others: Any) -> Any:
        seen.append(len(rows))
        return real(rows, *others)

    monkeypatch.setattr(r_squared, "_products", counted)
    return seen


def test_whoever_watches_sees_all_blocks_and_changes_no_score(batches: list[int]) -> None:
    watched, alone = scores(20_000), scores(20_000).counts
    seen: list[tuple[int, int]] = []
    watched.score(lambda *report: seen.append(report))
    assert watched.counts.tolist() == alone.tolist()
    assert {total for _, total in seen} == {5000}
    done = [done for done, _ in seen]
    assert done == sorted(done)
    assert 0 in done
    assert max(done) < 5000
    assert sum(batches) == 10_000
    assert len(batches) > 4


@pytest.mark.parametrize("kind", [KeyboardInterrupt, RuntimeError])
def test_what_a_watch_raises_ends_the_work_and_nothing_is_lost(
    kind: type[BaseException], batches: list[int]
) -> None:
    interrupted = scores(100_000)

    def stop(done: int, total: int) -> None:
        if done:
            raise kind

    with pytest.raises(kind):
        interrupted.score(stop)
    assert sum(batches) < 25_000 / 2
    assert "counts" not in vars(interrupted)
    assert interrupted.counts.tolist() == scores(100_000).counts.tolist()
    interrupted.score(stop)  # Known already.


@pytest.mark.parametrize("law", [ExponentialMechanism, PermuteAndFlip])
def test_beyond_the_limit_nothing_is_drawn_or_charged(law: Any) -> None:
    ledger = Ledger(1.0)
    mechanism = law(scores(), 1.0, time_limit=1e-9)
    for call in (mechanism.prepare, lambda: mechanism.release(ledger)):
        with pytest.raises(NotCertified, match="0 of 1,500 blocks were scored, and nothing is"):
            call()
    assert ledger.remaining.epsilon == 1.0
    assert law(scores(), 1.0, time_limit=600.0).release(ledger).private


def test_selectors_hand_their_limit_and_watch_on() -> None:
    rows = np.random.default_rng(0).standard_normal((600, 6))
    selector = PermuteAndFlipSelector(2, score="block-r2", time_limit=1e-9)
    with pytest.raises(NotCertified, match="blocks were scored"):
        selector.fit(rows[:, :5], rows[:, 5])
    seen: list[Progress] = []
    PermuteAndFlipSelector(3).on(scores(), progress=seen.append)
    assert (seen[0].stage, seen[0].done, seen[0].total) == ("scoring", 0, 1500)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path, rows = tmp_path / "t.csv", np.random.default_rng(0).standard_normal((600, 5))
    np.savetxt(path, rows, fmt="%.17g", delimiter=",", header="a,b,c,d,y", comments="")
    return path


def test_the_command_says_so_in_one_line_and_the_ledger_is_as_it_was(
    run: Run, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=9.0)
    asked = ("select", table, "--target", "y", "--support-size", "2", "--epsilon", "1")
    paid = (*asked, "--ledger", tmp_path / "a.ledger")
    run(*paid, "--time-limit", "1e-9").failed_with(1, "time limit", "no budget is spent")
    assert ledger.remaining.epsilon == 9.0
    assert not ledger.entries
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    drawn = run(*paid, "--json")
    assert "scoring blocks of t.csv: 0 of 400" in drawn.err
    assert drawn.report["score"] == "block-r2"
    assert ledger.remaining.epsilon == 8.0


@pytest.mark.deep
def test_an_interrupt_while_blocks_are_scored_costs_nothing(table: Path, tmp_path: Path) -> None:
    """Every batch waits for a minute, or for the interrupt."""
    books = tmp_path / "a.ledger"
    ledger = Ledger.create(books, epsilon=9.0, unit="person")
    script = (
        f"{LISTENING}\n"
        "from mipselect.blocks import r_squared\n"
        "was = r_squared._counts_of_batch\n"
        "def slow(rows, features, stop):\n"
        "    print('waiting', flush=True)\n"
        "    stop.wait(60)\n"
        "    return was(rows, features, stop)\n"
        "r_squared._counts_of_batch = slow\n"
        "import sys\n"
        "from mipselect.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", script, "select", str(table), "--target", "y"),
            *("--support-size", "2", "--epsilon", "1", "--ledger", str(books)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=50)
    assert process.returncode == 130
    assert "nothing was released" in errors
    assert ledger.remaining.epsilon == 9.0
