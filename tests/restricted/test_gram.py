"""G by columns, blocks and rectangles: the same numbers whether all of it is held or not."""

from __future__ import annotations

import numpy as np
import pytest

from mipselect.restricted import gram as gram_module
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


def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """What products take for each row of X: multiplications, numbers read, numbers converted."""
    counts = {"multiplied": 0.0, "read": 0.0, "converted": 0.0}
    product = gram_module._summed

    def counting(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        counts["multiplied"] += A.shape[1] * B.shape[1]
        counts["read"] += A.shape[1] + B.shape[1]
        counts["converted"] += sum(M.shape[1] for M in (A, B) if M.dtype == np.float32)
        return product(A, B)

    monkeypatch.setattr(gram_module, "_summed", counting)
    return counts


def test_all_of_it_is_held_before_its_parts_are_more_work(monkeypatch: pytest.MonkeyPatch) -> None:
    p, rng = 400, np.random.default_rng(2)
    gram, counts = Gram(rng.standard_normal((20, p), dtype=np.float32)), counted(monkeypatch)
    whole, rounds = p * (0.5 * p + gram_module.MOVED), 0
    while not gram.held:
        gram.rectangle(np.arange(4 * rounds, 4 * rounds + 4), np.arange(p // 2))
        rounds += 1
    work = counts["multiplied"] + gram_module.MOVED * counts["read"]
    assert rounds > 1
    assert work <= 2.0 * (whole + 0.5 * p**2)
    assert counts["converted"] <= 3 * p


@pytest.mark.parametrize("n", [8000, 3 * gram_module.SUMMED_ROWS])
def test_long_products_look_at_the_clock(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    X, looks, most = np.random.default_rng(3).standard_normal((n, 40)), 0, 2**17
    monkeypatch.setattr(gram_module, "BLOCK_WORK", most)

    def look() -> None:
        nonlocal looks
        looks += 1
        if looks == 3:
            raise TimeoutError

    gram = Gram(X)
    with gram_module.looking(look):
        with pytest.raises(TimeoutError):
            gram.full()
        assert not gram.held
        looks = 3
        np.testing.assert_allclose(gram.full(), X.T @ X, atol=1e-9)
    assert looks - 2 >= 0.5 * X.size * 40 / max(most, 40 * gram_module.SUMMED_ROWS)
    gram.product(X)
    assert gram_module._look.get() is None


@pytest.mark.parametrize("width", [3, 70_000])
def test_rows_are_picked_before_columns(width: int) -> None:
    matrix = np.arange(5.0 * width).reshape(5, width)
    rows, columns = np.array([4, 0, 4, 2]), np.array([2, 0])
    assert (picked(matrix, rows, columns) == matrix[np.ix_(rows, columns)]).all()
