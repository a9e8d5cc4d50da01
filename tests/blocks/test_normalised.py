"""Normalised blocks: norms of at most 1 in exact arithmetic, whatever stands in them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from mipselect.blocks import normalised as module
from mipselect.blocks.normalised import ColumnsOfFeatures, normalised, signs_of_pairs
from mipselect.grid import GRID
from tests.support.hostile_blocks import KINDS, column, hostile_rows, norm_is_at_most

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
