"""Normalised blocks: norms of at most 1 in exact arithmetic, and what changes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mipselect import ExponentialMechanism, Instance
from mipselect.blocks import normalised as module
from mipselect.blocks import partitions
from mipselect.blocks.grid import GRID
from mipselect.blocks.normalised import ColumnsOfFeatures, normalised, signs_of_pairs
from mipselect.blocks.partitions import Blocks
from mipselect.errors import InvalidInput
from tests.support.exact_audit import Data
from tests.support.hostile_blocks import KINDS, column, hostile_rows, norm_is_at_most

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
    for k in range(6):
        rows = whole_numbers(k)
        mapped = rows.copy()
        mapped[:, k] = -(rows[:, k] ** 3)
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


ONE = round(1.0 / GRID)


def features_of(widths: list[int], indicators: set[int] = frozenset()) -> ColumnsOfFeatures:
    ends = np.cumsum(widths).tolist()
    parts = tuple(tuple(range(end - w, end)) for end, w in zip(ends, widths, strict=True))
    flags = np.array([j in indicators for j in range(ends[-1])])
    return ColumnsOfFeatures(parts, flags)


def members(units: np.ndarray, m: int) -> list[np.ndarray]:
    """What stands for each of m blocks, shape (rows, C)."""
    if len(units) == m:
        return [row[None] for row in units]
    return list(units.reshape(-1, m, units.shape[1]).transpose(1, 0, 2))


def check_norms(rows: np.ndarray, blocks: np.ndarray, columns: ColumnsOfFeatures) -> float:
    """Every feature of every block is within 1; the longest, in units of 1."""
    units = normalised(rows, blocks, columns)
    assert np.isfinite(units).all()
    assert (units == np.round(units)).all()
    longest = 0.0
    for block in members(units, len(blocks)):
        for part in columns.parts:
            Z = block[:, part]
            assert norm_is_at_most(Z, ONE)
            longest = max(longest, float(np.linalg.norm(Z, 2)) / ONE)
    return longest


@pytest.mark.parametrize("rows_of_block", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("widths", [[1] * 8, [2, 4, 3]], ids=["numbers", "several columns"])
def test_hostile_rows(rows_of_block: int, widths: list[int]) -> None:
    longest = 0.0
    for seed in range(40):
        rng = np.random.default_rng([seed, rows_of_block, len(widths)])
        rows = hostile_rows(rng, 5 * rows_of_block, sum(widths))
        blocks = rng.permutation(len(rows)).reshape(-1, rows_of_block)
        longest = max(longest, check_norms(rows, blocks, features_of(widths)))
    assert longest > 0.999


@pytest.mark.parametrize("rows_of_block", [2, 3, 6])
@pytest.mark.parametrize("levels", [2, 5, 40])
def test_categories_and_their_missing_values(levels: int, rows_of_block: int) -> None:
    """Indicators of which one is 1, or none; a number beside the indicator that it is missing."""
    rng = np.random.default_rng([levels, rows_of_block])
    n = 5 * rows_of_block
    codes = rng.integers(-1, levels, n)
    category = (codes[:, None] == np.arange(levels)).astype(float)
    number = rng.standard_normal(n)
    number[rng.random(n) < 0.4] = np.nan
    rows = np.column_stack([category, number, np.isnan(number)])
    columns = features_of([levels, 2], set(range(levels)) | {levels + 1})
    blocks = rng.permutation(n).reshape(-1, rows_of_block)
    assert check_norms(rows, blocks, columns) > 0.98


def test_a_bound_by_the_traces_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With half of the bound the norm is found to be above 1: the judge can fail."""
    right = module._largest_eigenvalue
    monkeypatch.setattr(module, "_largest_eigenvalue", lambda part: 0.25 * right(part))
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((12, 4))
    with pytest.raises(AssertionError):
        check_norms(rows, np.arange(12).reshape(-1, 4), features_of([4]))


def test_what_cutting_adds_to_a_norm_is_taken_off_before() -> None:
    """Many blocks, among them some whose norm the cut raises by more than rounding."""
    rng = np.random.default_rng(0)
    largest = 0.0
    for _ in range(20):
        rows = rng.standard_normal((50_000, 3))
        units = normalised(rows, np.arange(50_000).reshape(-1, 5), features_of([3]))
        Z = units.reshape(5, -1, 3).transpose(1, 0, 2)
        largest = max(largest, float(np.linalg.norm(Z, 2, axis=(1, 2)).max()) / ONE)
    assert 1.0 - 8.0 * GRID < largest <= 1.0


def test_rounding_of_the_bound_of_a_norm_is_taken_off_too() -> None:
    """Of two columns in proportion the norm is the length of all entries, and the bound is it."""
    rng = np.random.default_rng(2)
    allowed = 1 - Fraction(GRID) * Fraction(np.sqrt(10.0))
    for _ in range(200):
        column = 3.0 * rng.standard_normal((5, 1, 1))
        within = module._within_norm_one(np.concatenate([column, column / 2.0], axis=2))
        assert sum(Fraction(float(entry)) ** 2 for entry in within.ravel()) <= allowed**2


def test_the_bound_of_the_norm_is_no_larger_than_stated() -> None:
    """By d^(1/128) at most, and never below: against singular values, d up to 12."""
    rng = np.random.default_rng(1)
    for b, k in ((3, 2), (3, 8), (12, 12), (5, 40), (40, 3)):
        part = rng.standard_normal((50, b, k)) * 10.0 ** rng.integers(-2, 1, (50, 1, k))
        found = np.sqrt(module._largest_eigenvalue(part.transpose(1, 0, 2)))
        true = np.linalg.norm(part, 2, axis=(1, 2))
        assert (found >= true * (1.0 - 1e-12)).all()
        assert (found <= true * min(b, k) ** (1.0 / 128.0) * (1.0 + 1e-12)).all()


def test_nearly_equal_singular_values_at_the_largest_block() -> None:
    """256 rows and columns of which nothing is larger than the rest: the worst case of rounding."""
    rng = np.random.default_rng(2)
    orthogonal = np.linalg.qr(rng.standard_normal((256, 256)))[0][:, None, :]
    found = np.sqrt(module._largest_eigenvalue(orthogonal)) * module.ROUNDED_UP
    assert (found >= np.linalg.norm(orthogonal[:, 0], 2)).all()
    within = module._on_grid(module._within_norm_one(orthogonal))[:, 0]
    assert np.linalg.norm(within, 2) <= ONE
    assert np.linalg.norm(within, 2) > 0.9 * ONE


def by_definition(values: list[float]) -> list[float]:
    """A column of numbers, centred over those that are there and of length 1, in fractions."""
    there = [Fraction(value) for value in values if not np.isnan(value)]
    mean = sum(there, Fraction(0)) / max(len(there), 1)
    centred = [Fraction(0) if np.isnan(value) else Fraction(value) - mean for value in values]
    square = sum((value**2 for value in centred), Fraction(0))
    if square == 0:
        return [0.0] * len(values)
    # A power of two, so that the root is of a number that doubles hold.
    largest = max(map(abs, centred))
    scale = Fraction(2) ** (largest.numerator.bit_length() - largest.denominator.bit_length())
    length = float(square / scale**2) ** 0.5
    return [float(value / scale) / length for value in centred]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows_of_block", [3, 4, 9])
def test_numbers_are_what_the_definition_says(kind: str, rows_of_block: int) -> None:
    for seed in range(12):
        rng = np.random.default_rng([seed, rows_of_block])
        values = column(rng, kind, 3 * rows_of_block)
        if seed % 3 == 2:
            values[rng.random(len(values)) < 0.3] = np.nan
        blocks = rng.permutation(len(values)).reshape(-1, rows_of_block)
        units = normalised(values[:, None], blocks, features_of([1]))
        for block, found in zip(blocks, members(units, len(blocks)), strict=True):
            wanted = by_definition(values[block].tolist())
            # Cut towards zero; differences of the largest doubles are halved before.
            error = np.abs(np.array(wanted) - found[:, 0] * GRID)
            assert (error <= GRID * (1.0 + 1e-9)).all(), (kind, wanted, found)


def test_pairs_are_signs_of_differences() -> None:
    nan, inf = np.nan, np.inf
    first = np.array([1.0, 2.0, 1e300, -0.0, 5e-324, nan, 1.0, nan, inf, inf])
    second = np.array([2.0, 1.0, -1e300, 0.0, 0.0, 1.0, nan, nan, inf, 1.0])
    rows = np.array([first, second])
    found = signs_of_pairs(rows, np.array([[0, 1]]))[0].tolist()
    assert found == [-1, 1, 1, 0, 1, 0, 0, 0, 0, 1]
    assert (
        normalised(rows, np.array([[0, 1]]), features_of([1] * 10)) == ONE * np.array(found)
    ).all()


def test_pairs_in_a_feature_have_its_direction() -> None:
    rows = np.array([[1.0, 0.0, 0.0, 5.0], [0.0, 1.0, 0.0, 7.0]])
    found = normalised(rows, np.array([[0, 1]]), features_of([3, 1], {0, 1, 2}))[0]
    root = np.trunc(np.sqrt(0.5) / GRID)
    assert found.tolist() == [root, -root, 0.0, -ONE]


def test_a_missing_value_is_zero_and_so_is_all_that_is_missing() -> None:
    rows = np.array([[1.0, np.nan, 3.0], [2.0, np.nan, np.nan], [3.0, np.nan, np.nan]])
    units = normalised(rows, np.arange(3)[None], features_of([1, 1, 1]))
    root = np.trunc(np.sqrt(0.5) / GRID)
    assert units.tolist() == [[-root, 0, 0], [0, 0, 0], [root, 0, 0]]


@pytest.mark.parametrize("rows_of_block", [2, 3, 5])
def test_a_block_has_the_same_bits_whatever_the_others_are(rows_of_block: int) -> None:
    """Alone, among others that are complete, huge or missing, and in any place."""
    rng = np.random.default_rng(rows_of_block)
    columns = features_of([1, 3, 2, 1], {6})
    for seed in range(20):
        rows = hostile_rows(np.random.default_rng(seed), 31 * rows_of_block, 7)
        blocks = rng.permutation(len(rows)).reshape(-1, rows_of_block)
        together = members(normalised(rows, blocks, columns), len(blocks))
        for block, found in zip(blocks, together, strict=True):
            assert (normalised(rows, block[None], columns) == found).all()
