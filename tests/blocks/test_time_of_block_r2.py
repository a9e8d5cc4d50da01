"""A limit ends the scoring of blocks within a few steps: nothing is kept, charged or released."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mipselect import BlockScores, ExponentialMechanism, Ledger, PermuteAndFlip
from mipselect.blocks import r_squared
from mipselect.cli import progress
from mipselect.errors import NotCertified
from mipselect.search.progress import Progress
from mipselect.selectors import PermuteAndFlipSelector
from tests.support.commandline import LISTENING, Run


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
        "def slow(rows, features, settings, stop):\n"
        "    print('waiting', flush=True)\n"
        "    stop.wait(60)\n"
        "    return was(rows, features, settings, stop)\n"
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
