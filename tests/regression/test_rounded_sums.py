"""What doubles round of sums over very many rows, against what the noise allows for it."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from mipselect.errors import InvalidInput
from mipselect.grid import MOST_ROWS, exact_sums
from mipselect.regression.adassp import deviations, smallest_eigenvalue
from mipselect.regression.noise import largest_mu


def doubles(units: np.ndarray) -> np.ndarray:
    """Exact sums, multiples of 2^-32, as what `exact_products` makes of them."""
    return np.array(units.astype(np.int64), dtype=np.float64) * 2.0**-32


@pytest.mark.parametrize("columns", [4, 30, 200])
def test_a_row_moves_rounded_sums_by_no_more_than_the_noise_is_for(columns: int) -> None:
    """Sums of 2^31 - 1 rows just below the middle of two doubles, and one row more."""
    step = 2**16 // math.isqrt(4 * columns - 1)
    row = np.full((columns, columns), step**2, dtype=object)
    before = np.full((columns, columns), 2**62 + 2**9 - 1, dtype=object)
    before += np.diag(np.full(columns, 2**62 - 2**31)).astype(object)
    gram, gradient = (doubles(before + more) - doubles(before) for more in (row, row))
    mu = largest_mu(1.0, 1e-6)
    allowed = deviations(1.0, 1e-6, "add-remove", 1, columns=columns)
    exactly = math.sqrt(float(sum(int(v) ** 2 for v in row.flat))) * 2.0**-32
    assert np.linalg.norm(gram) > exactly + columns * 2.0**-24
    # All that rounding adds to the move of a row is within what Δ is above 1.
    for moved, deviation in ((gram, allowed.gram), (gradient[0], allowed.gradient)):
        exact = moved.size**0.5 * step**2 * 2.0**-32
        assert np.linalg.norm(moved) - exact <= mu * deviation / math.sqrt(3.0) - 1.0


def matrices(rng: np.random.Generator, size: int) -> list[np.ndarray]:
    """Sums of squares with small, no, or very different eigenvalues, of trace up to 2^31."""
    rows = rng.uniform(-1.0, 1.0, (3 * size, size)) / math.sqrt(size)
    few = rows[: max(1, size // 2)]
    graded = rows * 2.0 ** -np.arange(size)
    same = np.ones((1, size)) / math.sqrt(size)
    near = same + 1e-7 * rows
    return [2.0**31 / len(part) * (part.T @ part) for part in (rows, few, graded, same, near)]


@pytest.mark.parametrize("size", [1, 2, 3, 8, 15])
def test_the_smallest_eigenvalue_is_right_to_what_the_noise_is_for(size: int) -> None:
    rng = np.random.default_rng(size)
    for gram in matrices(rng, size):
        with mpmath.workdps(50):
            exact = min(mpmath.eigsy(mpmath.matrix(gram.tolist()), eigvals_only=True))
            off = abs(float(exact - mpmath.mpf(smallest_eigenvalue(gram))))
        error = 8.0 * (size + 2) * 2.0**-53 * float(np.trace(gram))
        assert off <= error
        sigma = deviations(1.0, 1e-6, "replace-one", 1, columns=size).eigenvalue
        assert 2.0 * error <= largest_mu(1.0, 1e-6) * sigma / math.sqrt(3.0) - 1.0
    assert smallest_eigenvalue(np.zeros((size, size))) == 0.0


def test_more_rows_than_sums_hold_are_refused() -> None:
    many = np.broadcast_to(np.zeros((1, 1)), (MOST_ROWS + 1, 1))
    with pytest.raises(InvalidInput, match="at most 2,147,483,647 rows"):
        exact_sums(many, many)
