"""Block R² against its definition, and what changes none of its bits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mipselect.blocks import r_squared
from mipselect.blocks.normalised import ColumnsOfFeatures
from mipselect.blocks.partitions import (
    MOST_ROWS_OF_A_BLOCK,
    Blocks,
    default_block_rows,
    default_partitions,
)
from mipselect.blocks.r_squared import ListedFeatures, r_squared_counts
from tests.support.hostile_blocks import direct_counts, kernel, row_blocks

N = 97
"""Of which a partition leaves some over."""

ROUNDINGS = 3
"""Shares so near the middle of two multiples of 2⁻²⁰ that they are rounded otherwise."""


def table(seed: int = 0) -> tuple[np.ndarray, ColumnsOfFeatures]:
    """A number with missing values, numbers, a wide category, ties, one of three, a constant."""
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal((N, 3)) * [1.0, 1e-3, 1e5]
    numbers[rng.random(N) < 0.2, 0] = np.nan
    wide, three = rng.integers(0, 15, N), rng.integers(0, 3, N)
    ties = rng.integers(0, 2, N).astype(float)
    y = numbers[:, 1] * 1e3 + three + 0.3 * rng.standard_normal(N)
    y[rng.random(N) < 0.05] = np.nan
    rows = np.column_stack(
        [
            numbers,
            np.isnan(numbers[:, 0]),
            np.eye(15)[wide],
            np.eye(3)[three],
            ties,
            np.full(N, 7.0),
            y,
        ]
    )
    indicators = np.zeros(rows.shape[1], dtype=bool)
    indicators[3:22] = True
    parts = ((0, 3), tuple(range(4, 19)), (1,), (23,), tuple(range(19, 22)), (2,), (22,), (24,))
    return rows, ColumnsOfFeatures(parts, indicators)


def settings(rows: int, partitions: int = 1, seed: int = 3) -> Blocks:
    return Blocks(rows, partitions, seed)


@pytest.mark.parametrize(("size", "b"), [(1, 4), (1, 20), (2, 5), (3, 6), (3, 11), (4, 8)])
@pytest.mark.parametrize("always", [0, 1, 2])
def test_every_support_has_the_score_of_its_definition(size: int, b: int, always: int) -> None:
    rows, columns = table(size)
    features = ListedFeatures(columns, 7 - always, size, b)
    asked = settings(b, 2)
    found = r_squared_counts(rows, features, asked)
    expected = direct_counts(rows, features, asked)
    assert found.shape == (math.comb(7 - always, size),)
    assert np.abs(found - expected).max() <= ROUNDINGS
    assert np.ptp(found) > 1000


@pytest.mark.parametrize(("name", "value"), [("PENALTY", 0.1), ("DEPTH", 0.6), ("PENALTY", 5.0)])
def test_constants_are_those_of_the_definition(
    name: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, columns = table()
    features, asked = ListedFeatures(columns, 7, 2, 9), settings(9)
    before = r_squared_counts(rows, features, asked)
    monkeypatch.setattr(r_squared, name, value)
    found = r_squared_counts(rows, features, asked)
    assert np.abs(found - direct_counts(rows, features, asked)).max() <= ROUNDINGS
    assert np.abs(found - before).max() > 1000


def test_near_copies_and_copies_of_the_target_keep_their_digits() -> None:
    rng = np.random.default_rng(1)
    base = rng.standard_normal(N)
    X = base[:, None] + np.array([0.0, 0.0, 1e-13, 1e-9, 1e-5, 1.0]) * rng.standard_normal((N, 6))
    rows = np.column_stack([X, base])
    columns = ColumnsOfFeatures(tuple((j,) for j in range(7)), np.zeros(7, dtype=bool))
    features, asked = ListedFeatures(columns, 6, 4, 7), settings(7)
    found = r_squared_counts(rows, features, asked)
    assert np.abs(found - direct_counts(rows, features, asked)).max() <= ROUNDINGS


def numbers(seed: int = 0, p: int = 6) -> tuple[np.ndarray, ListedFeatures]:
    rng = np.random.default_rng(seed)
    rows = np.round(rng.standard_normal((N, p + 1)), 3)
    columns = ColumnsOfFeatures(tuple((j,) for j in range(p + 1)), np.zeros(p + 1, dtype=bool))
    return rows, ListedFeatures(columns, p, 2, 8)


def test_shifts_and_powers_of_two_change_no_bit() -> None:
    rows, features = numbers()
    # Multiples of 2⁻¹⁰, so that shifts are exact.
    rows = np.round(rows * 1024.0) / 1024.0
    before = r_squared_counts(rows, features, settings(8))
    moved = rows * 2.0 ** np.array([3, -40, 0, 100, -1, 7, 55])
    assert (r_squared_counts(moved, features, settings(8)) == before).all()
    assert (r_squared_counts(rows + 4096.0, features, settings(8)) == before).all()
    assert (r_squared_counts(-rows, features, settings(8)) == before).all()
    assert (r_squared_counts(np.exp(rows), features, settings(8)) != before).any()


def test_blocks_alone_count_and_no_block_touches_another() -> None:
    rows, features = numbers()
    asked = settings(8)
    blocks = row_blocks(N, asked)
    alone = [r_squared_counts(rows[block], features, asked) for block in blocks]
    # Eight rows alone are one block in some order, which rounding may see.
    total = r_squared_counts(rows, features, asked)
    assert np.abs(total - sum(alone)).max() <= ROUNDINGS
    spoiled = rows.copy()
    spoiled[blocks[0]] = np.nan
    left = r_squared_counts(spoiled, features, asked)
    assert (total - left <= 2**20).all()
    assert np.abs(total - left - alone[0]).max() <= ROUNDINGS
    unused = np.setdiff1d(np.arange(N), np.concatenate(blocks))
    spoiled = rows.copy()
    spoiled[unused] = 1e300
    assert (r_squared_counts(spoiled, features, asked) == total).all()


def test_rows_that_move_with_the_partition_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, features = numbers()
    before = r_squared_counts(rows, features, settings(8, 2))
    order = np.random.default_rng(0).permutation(N)
    place = np.argsort(order)
    original = Blocks.of_window
    monkeypatch.setattr(
        Blocks,
        "of_window",
        lambda self, number, size: (place[part] for part in original(self, number, size)),
    )
    assert (r_squared_counts(rows[order], features, settings(8, 2)) == before).all()


@pytest.mark.parametrize("batch", [(1, 1), (3, 3), (64, 64)])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("kept", [0, 1 << 24])
def test_batches_and_threads_change_no_bit(
    batch: tuple[int, int], threads: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, columns = table()
    features = ListedFeatures(columns, 7, 3, 8)
    before = r_squared_counts(rows, features, settings(8, 3))
    monkeypatch.setattr(r_squared, "BATCH", batch)
    monkeypatch.setattr(r_squared, "KEPT_ENTRIES", kept)
    assert (r_squared_counts(rows, features, settings(8, 3), threads) == before).all()


def test_all_rows_are_divided_together_whatever_the_windows_of_sums(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, features = numbers()
    before = r_squared_counts(rows, features, settings(8, 2))
    monkeypatch.setattr("mipselect.blocks.partitions.WINDOW", 33)
    assert (r_squared_counts(rows, features, settings(8, 2)) == before).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308, 5e-324, 0.0])
def test_whatever_stands_in_the_rows_shares_are_between_0_and_1(value: float) -> None:
    rows, features = numbers()
    with np.errstate(all="raise", under="ignore"):
        for place in (slice(None), slice(0, None, 3)):
            for column in (slice(None), slice(0, 3), slice(6, 7)):
                spoiled = rows.copy()
                spoiled[place, column] = value
                found = r_squared_counts(spoiled, features, settings(8))
                assert (found >= 0).all()
                assert (found <= (N // 8) << 20).all()


@pytest.mark.parametrize("penalty", [1e-3, 1e-12, 1e-200])
def test_a_tiny_penalty_leaves_no_block_more_than_its_share(
    penalty: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where rounding leaves no number there, as without a degree of freedom, it counts as none."""
    rows, columns = table()
    features = ListedFeatures(columns, 7, 2, 6)
    monkeypatch.setattr(r_squared, "PENALTY", penalty)
    found = r_squared_counts(rows, features, settings(6))
    assert (found >= 0).all()
    assert (found <= (N // 6) << 20).all()


def test_what_is_no_number_is_as_bad_as_any() -> None:
    shares = r_squared.rounded_share(np.array([np.nan, -np.inf, 0.5, np.inf]), np.ones(4))
    assert shares.tolist() == [0.0, 0.0, np.rint(0.8 / 1.3 * 2**20), 2.0**20]


def test_noise_explains_nothing_however_many_columns_it_has() -> None:
    """Over targets that are noise g has the mean 1 - √((b - 1) tr M²)/tr M, at most 0."""
    rng = np.random.default_rng(0)
    b, targets = 12, 40_000
    category = np.eye(9)[rng.permutation(np.arange(b) % 9)]
    X = np.column_stack([rng.standard_normal((b, 2)), category])
    rows = np.empty((targets, b, X.shape[1] + 1))
    rows[:, :, :-1] = X
    rows[:, :, -1] = rng.standard_normal((targets, b))
    indicators = (np.arange(12) >= 2) & (np.arange(12) < 11)
    columns = ColumnsOfFeatures(((0,), (1,), tuple(range(2, 11)), (11,)), indicators)
    features = ListedFeatures(columns, 3, 1, b)
    products, _ = r_squared._products(rows, features)
    g = np.concatenate(list(r_squared.adjusted_of_supports(products, features.widths, 1, b)))
    error = 4.0 * g.std(axis=1) / math.sqrt(targets)
    of_category, *of_numbers = g.mean(axis=1)
    expected = []
    for part in ((*range(2, 11),), (0,), (1,)):
        M = np.linalg.inv(kernel(X, part, indicators) + np.eye(b)) - np.ones((b, b)) / b
        expected.append(1.0 - math.sqrt((b - 1) * np.trace(M @ M)) / np.trace(M))
    assert (np.abs(g.mean(axis=1) - expected) <= error).all()
    assert of_category < max(of_numbers) < 0.0


def test_a_constant_target_says_nothing() -> None:
    rows, features = numbers()
    rows[:, -1] = 3.0
    assert not r_squared_counts(rows, features, settings(8)).any()


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6, 12])
def test_the_rule_of_b_grows_with_n_epsilon_and_s(size: int) -> None:
    found = [default_block_rows(n, e, size) for n, e in ((50, 0.01), (500, 1.0), (9000, 2.0))]
    assert found == sorted(found)
    assert found[0] > size + 2
    assert found[0] == default_block_rows(500, 0.001, size)
    assert default_block_rows(8000, 0.5, size) == default_block_rows(4000, 1.0, size)
    assert default_block_rows(100, 0.1, size + 4) > found[0]
    assert default_block_rows(10_000_000, 100.0, size) == MOST_ROWS_OF_A_BLOCK
    assert default_block_rows(5_000, 1e308, size) == MOST_ROWS_OF_A_BLOCK


def test_the_rule_of_partitions_fits_its_time() -> None:
    assert [default_partitions(seconds) for seconds in (1e-6, 0.375, 0.6, 2.7, 1e6)] == [
        *(8, 8, 5, 1, 1)
    ]
