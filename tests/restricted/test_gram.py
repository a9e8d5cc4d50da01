"""G by columns, blocks and rectangles: the same numbers whether all of it is held or not."""

from __future__ import annotations

import numpy as np
import pytest

from mipselect.restricted.gram import Gram, picked


def data(seed: int, dtype: type) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((30, 12)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("held", [False, True])
def test_parts_of_it_are_its_parts(held: bool, dtype: type) -> None:
    X, rng = data(0, dtype), np.random.default_rng(1)
    gram, G = Gram(X), X.astype(np.float64).T @ X.astype(np.float64)
    if held:
        gram.full()
    for _ in range(3):
        rows, columns = rng.permutation(12)[:4], rng.permutation(12)[:7]
        np.testing.assert_allclose(gram.rectangle(rows, columns), G[np.ix_(rows, columns)])
        np.testing.assert_allclose(gram.block(rows), G[np.ix_(rows, rows)])
        np.testing.assert_allclose(gram.columns(columns), G[:, columns])
        np.testing.assert_allclose(gram.entries(rows, 3), G[rows, 3])
        pairs = np.stack([rows, columns[:4]], axis=1)
        np.testing.assert_allclose(gram.blocks(pairs), [G[np.ix_(pair, pair)] for pair in pairs])


def test_all_of_it_is_held_once_as_much_has_been_asked_for() -> None:
    gram, some = Gram(data(0, np.float64)), np.arange(4)
    asked = 0
    while not gram.held:
        gram.rectangle(some, some + 4)
        asked += 16
    assert 0.5 * 12**2 <= asked <= 12**2


def test_columns_that_are_kept_are_not_computed_again() -> None:
    gram = Gram(data(0, np.float64))
    columns = gram.columns(np.arange(3))
    for _ in range(100):
        assert (gram.rectangle(np.arange(3), np.arange(12)) == columns.T).all()
    assert not gram.held


@pytest.mark.parametrize("held", [False, True])
def test_largest_entries_of_rows_are_found_once_for_the_same_candidates(held: bool) -> None:
    def made() -> Gram:
        gram = Gram(data(0, np.float64))
        if held:
            gram.full()
        return gram

    gram, looked = made(), []
    for L, count in ((9, 2), (9, 2), (9, 3), (8, 3), (8, 3)):
        tops = gram.row_tops(np.arange(L), count, lambda L=L: looked.append(L))
        np.testing.assert_array_equal(tops, made().row_tops(np.arange(L), count, lambda: None))
    assert looked == [9, 9, 8]


@pytest.mark.parametrize("width", [3, 70_000])
def test_rows_are_picked_before_columns(width: int) -> None:
    matrix = np.arange(5.0 * width).reshape(5, width)
    rows, columns = np.array([4, 0, 4, 2]), np.array([2, 0])
    assert (picked(matrix, rows, columns) == matrix[np.ix_(rows, columns)]).all()
