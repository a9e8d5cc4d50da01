"""What changes nothing: monotone maps, shifts, scales; and what does: other partitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mipselect import ExponentialMechanism, Instance
from mipselect.blocks import partitions
from mipselect.blocks.partitions import Blocks
from mipselect.errors import InvalidInput
from tests.support.exact_audit import Data

QUESTIONS: list[dict[str, Any]] = [{}, {"groups": [[0, 3], [1], [2]], "always": [4]}]
MONOTONE: list[Callable[[np.ndarray], np.ndarray]] = [
    np.exp,
    lambda x: x**3,
    lambda x: np.unique(x, return_inverse=True)[1].astype(float),
    lambda x: 1e-300 * x + 1e-310,
    lambda x: np.where(x > 1.0, x * 1e305, x),
]


def whole_numbers(seed: int, n: int = 61) -> np.ndarray:
    """Columns of whole numbers with ties, small enough for all that is done to them; (n, 6)."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-6, 7, (n, 5)).astype(float)
    return np.column_stack([X, X[:, 0] - X[:, 1] + rng.integers(-3, 4, n)])


def of(rows: np.ndarray, b: int, **question: Any) -> Data:
    return Data(
        Instance.from_blocks(
            rows[:, :-1], rows[:, -1], support_size=2, block_rows=b, partitions=3, partition_seed=6,
            **question,
        )
    )  # fmt: skip


def check_the_same(one: Data, other: Data) -> None:
    """To the last bit: sums, values and probabilities."""
    assert one.instance.data.moments is not None
    assert other.instance.data.moments is not None
    assert (one.instance.data.moments.matrix == other.instance.data.moments.matrix).all()
    assert (one.values == other.values).all()
    laws = [
        [ExponentialMechanism(each.instance, 2.0).log_probability(S) for S in each.supports]
        for each in (one, other)
    ]
    assert laws[0] == laws[1]
    assert np.ptp(laws[0]) > 0.0


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("column", range(6))
def test_increasing_maps_of_pairs(column: int, question: dict[str, Any]) -> None:
    for seed, increasing in enumerate(MONOTONE):
        rows = whole_numbers(seed)
        mapped = rows.copy()
        mapped[:, column] = increasing(rows[:, column])
        check_the_same(of(rows, 2, **question), of(mapped, 2, **question))


def test_decreasing_maps_of_pairs_change_no_value() -> None:
    for column in range(6):
        rows = whole_numbers(column)
        mapped = rows.copy()
        mapped[:, column] = -(rows[:, column] ** 3)
        assert of(mapped, 2).values == pytest.approx(of(rows, 2).values, rel=1e-12)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("b", [2, 3, 4, 7])
def test_shifts_and_scales(b: int, question: dict[str, Any]) -> None:
    """Of every column and of the target, by powers of two and by whole numbers."""
    rng = np.random.default_rng(b)
    for seed in range(8):
        rows = whole_numbers(seed)
        scales = 2.0 ** rng.choice([-900, -30, 0, 7, 40, 970], 6)
        shifts = rng.choice([0.0, 1.0, -1000.0, 2.0**40], 6)
        check_the_same(of(rows, b, **question), of(scales * (rows + shifts), b, **question))


def test_a_shift_that_is_rounded_changes_something() -> None:
    """The check can fail."""
    rows = whole_numbers(0)
    with pytest.raises(AssertionError):
        check_the_same(of(rows, 3), of(rows + 1e16, 3))
    with pytest.raises(AssertionError):
        check_the_same(of(rows, 3), of(rows**3, 3))


def test_partitions_come_from_the_operating_system() -> None:
    """Of two instances they differ; of one seed they are the same, for all data of the size."""
    rows = whole_numbers(1)
    X, y = rows[:, :-1], rows[:, -1]

    def matrix(**options: Any) -> np.ndarray:
        moments = Instance.from_blocks(X, y, support_size=2, **options).data.moments
        assert moments is not None
        return moments.matrix

    assert not (matrix() == matrix()).all()
    assert (matrix(partition_seed=3) == matrix(partition_seed=3)).all()
    assert not (matrix(partition_seed=3) == matrix(partition_seed=4)).all()
    seeds = {Blocks().seed for _ in range(50)}
    assert len(seeds) == 50
    assert max(seed.bit_length() for seed in seeds) > 120
    assert "seed" not in repr(Blocks())


def test_blocks_divide_every_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row at most once in each partition, and all but a few."""
    monkeypatch.setattr(partitions, "WINDOW", 32)
    blocks = Blocks(3, 4, seed=0)
    assert blocks.window == 30
    seen = []
    for number, size in ((0, 30), (1, 30), (2, 7), (3, 2)):
        parts = list(blocks.of_window(number, size))
        assert len(parts) == 4
        for part in parts:
            assert part.shape == (size // 3, 3)
            assert len(np.unique(part)) == part.size
            assert part.size == 0 or 0 <= part.min() <= part.max() < size
        seen += [part.tobytes() for part in parts if size == 30]
    assert len(set(seen)) == 8


def test_every_pair_is_as_likely_as_another() -> None:
    """Who shares a block with whom: each pair of five rows, over many seeds."""
    counts = np.zeros((5, 5))
    draws = 2000
    for seed in range(draws):
        for i, j in next(Blocks(2, 1, seed).of_window(0, 5)):
            counts[i, j] += 1
            counts[j, i] += 1
    wanted = draws * 2 / 10  # Two of the ten pairs.
    off = counts[~np.eye(5, dtype=bool)]
    assert np.abs(off - wanted).max() < 6.0 * np.sqrt(wanted)


def test_a_row_of_another_window_is_as_likely_in_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four rows in windows of two: each of the three ways to divide them, over many seeds."""
    monkeypatch.setattr(partitions, "WINDOW", 2)
    X, y = np.array([[0.0, 0], [1, 2], [2, 3], [3, 1]]), np.array([0.0, 1, 3, 2])
    draws, seen = 900, Counter[tuple[int, ...]]()
    for seed in range(draws):
        blocks = {"block_rows": 2, "partitions": 1, "partition_seed": seed}
        moments = Instance.from_blocks(X, y, support_size=1, **blocks).data.moments
        assert moments is not None
        seen[tuple(moments.matrix[1:3, 3].tolist())] += 1
    assert len(seen) == 3
    assert max(abs(count - draws / 3) for count in seen.values()) < 6.0 * np.sqrt(draws / 3)


@pytest.mark.parametrize(
    "options",
    [{"rows": 1}, {"rows": 257}, {"rows": 2.5}, {"partitions": 0}, {"partitions": 1025},
     {"seed": -1}, {"seed": None}],
)  # fmt: skip
def test_what_are_no_blocks_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"block_rows|partitions|partition_seed"):
        Blocks(**options)
