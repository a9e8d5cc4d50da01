"""X on a device of PyTorch, such as a GPU: products in float64, and row tops in 11 bits.

Sums over rows are those of `Columns`, block by block, so that the same bound holds for their
rounding. Tops bound entries of G, and a bound may be rough: columns of length one are rounded to 11
bits, which the fastest multipliers take as they are, and an allowance is added for what that and
their sums may be off by (docs/mathematics/cuts.md, (7)).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.errors import InvalidInput
from mipselect.restricted.columns import Columns, added_up, looked
from mipselect.restricted.row_tops import SINGLE_EPS, scales_of

BITS = 11
"""Of a number that is multiplied for a bound: TensorFloat-32 has as many, with the leading one."""

SUM_EPS = 2.0**-22
"""Relative error of one addition where they are multiplied, in units of the sum of magnitudes."""

HEIGHT = 2048
"""Rows whose products are added up there; sums of these are in single precision."""

WIDTH = 8192
"""Columns of one block of products."""

PANEL_BYTES = 2**30
"""Memory for numbers that are converted at once, and for products of columns at once."""


def device_of(name: str, what: str = "device") -> Any:
    """Return a device of PyTorch that is here.

    Parameters
    ----------
    name : str
        As PyTorch names it: "cuda", "cuda:1", "cpu".
    what : str
        How the argument is called.

    Raises
    ------
    InvalidInput
        Where PyTorch is missing, and for a device that it does not know or that is not there.
    """
    try:
        import torch
    except ImportError as error:
        raise InvalidInput(
            f"{what}={name!r} needs PyTorch; install it with: pip install 'mipselect[gpu]'"
        ) from error
    try:
        device = torch.device(name)
        torch.zeros(1, dtype=torch.float64, device=device).sum().item()
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidInput(
            f"{what}={name!r} cannot be used here: {reason}; 'cpu' is always there, and without a "
            "device NumPy is used"
        ) from error
    return device


class DeviceColumns(Columns):
    """X in memory, and on a device, which multiplies.

    Parameters
    ----------
    X : ndarray of shape (n, p), float32 or float64
    device : str
        As PyTorch names it: "cuda", "cuda:1", "cpu".

    Raises
    ------
    InvalidInput
        Where it cannot be used.
    """

    def __init__(self, X: FloatArray, device: str) -> None:
        import torch

        super().__init__(X)
        self._torch, self._device = torch, device_of(device)
        self._there = torch.tensor(X, device=self._device)

    @property
    def converted(self) -> bool:
        """True: conversions on the device take no time beside the rest."""
        return True

    def products(self, B: FloatArray) -> FloatArray:
        """Compute XᵀB in float64, shape (p,) or (p, k), panel by panel."""
        right = self._torch.tensor(B.reshape(len(B), -1), dtype=self._torch.float64,
                                   device=self._device)  # fmt: skip
        total = np.empty((self.p, right.shape[1]))
        height = max(1, PANEL_BYTES // (8 * max(self.n, right.shape[1])))
        for start in looked(range(0, self.p, height)):
            some = slice(start, start + height)
            total[some] = added_up(self.n, partial(self._product, some, right)).cpu().numpy()
        return total.reshape(self.p, *B.shape[1:])

    def _product(self, some: slice, right: Any, rows: slice) -> Any:
        return self._there[rows, some].double().T @ right[rows]

    def of_pairs(self) -> FloatArray:
        """Compute XᵀX in float64, shape (p, p), the upper half from the lower."""
        total = np.empty((self.p, self.p))
        height = max(1, PANEL_BYTES // (8 * max(self.n, self.p)))
        for start in looked(range(0, self.p, height)):
            some, later = slice(start, start + height), slice(start, self.p)
            right = self._there[:, some].double()
            found = added_up(self.n, partial(self._product, later, right)).cpu().numpy()
            total[later, some], total[some, later] = found, found.T
            own = total[some, some]
            own[:] = np.tril(own) + np.tril(own, -1).T
        return total

    def row_tops(
        self, diagonal: FloatArray, candidates: IntArray, count: int, tick: Callable[[], None]
    ) -> FloatArray:
        """Bound the largest entries of rows of G from above; see `Columns`."""
        torch, lengths = self._torch, np.sqrt(diagonal[candidates])
        scales, longest, weights = scales_of(lengths)
        inverse, by = (torch.tensor(each, device=self._device) for each in (scales, weights))
        allowance = off_by_inputs() + off_by_sums(self.n)
        blocks = [slice(start, start + WIDTH) for start in range(0, len(candidates), WIDTH)]
        tops = torch.full((len(candidates), count), -1.0, device=self._device)

        def merge(rows: slice, products: Any, columns: slice, own: bool) -> None:
            bounds = products.abs().add_(allowance).mul_(by[columns])
            if own:
                bounds.fill_diagonal_(-1.0)
            together = torch.cat([tops[rows], bounds.topk(min(count, bounds.shape[1])).values], 1)
            tops[rows] = together.topk(count).values

        with by_fast_multipliers(torch):
            for first, rows in enumerate(blocks):
                left = self._rounded_units(candidates[rows], inverse[rows])
                for second, columns in enumerate(blocks[first:], first):
                    tick()
                    right = left
                    if first != second:
                        right = self._rounded_units(candidates[columns], inverse[columns])
                    products = self._in_single(left, right)
                    merge(rows, products, columns, first == second)
                    if first != second:
                        merge(columns, products.T, rows, False)
        return np.asarray(tops.cpu().numpy().astype(np.float64) * (longest * lengths)[:, None])

    def _rounded_units(self, columns: IntArray, inverse: Any) -> Any:
        """Compute X[:, columns] / lengths, rounded to 11 bits, in single precision, (n, w)."""
        torch = self._torch
        own = self._there[:, torch.tensor(columns, device=self._device)]
        units = (own.double() * inverse).float()
        # Half a unit of the last bit that stays is added to the magnitude; then others are cut.
        spare = 24 - BITS
        bits = units.view(torch.int32) + (1 << (spare - 1))
        return (bits & -(1 << spare)).view(torch.float32)

    def _in_single(self, left: Any, right: Any) -> Any:
        """Compute leftᵀ right, shape (w, v), in single precision, over `HEIGHT` rows at a time."""
        total = left[:HEIGHT].T @ right[:HEIGHT]
        for start in range(HEIGHT, self.n, HEIGHT):
            total += left[start : start + HEIGHT].T @ right[start : start + HEIGHT]
        return total


class PairsOnDevice:
    """Sums of the products of signs of pairs of rows, which are exact in any order.

    Parameters
    ----------
    device : str
    size : int
        Columns.
    """

    def __init__(self, device: str, size: int) -> None:
        import torch

        self._torch, self._device = torch, device_of(device)
        self._total = torch.zeros((size, size), dtype=torch.int64, device=self._device)
        self._window: FloatArray | None = None

    def add(self, window: FloatArray, pairs: IntArray) -> None:
        """Add the signs of the differences in pairs, shape (m, 2) with m ≤ 2^22, of a window."""
        if window is not self._window:
            self._window, self._there = window, self._torch.tensor(window, device=self._device)
        first, second = (self._there[self._torch.tensor(one, device=self._device)]
                         for one in pairs.T)  # fmt: skip
        # Integers of 22 bits at most, which no product or sum here rounds; NaN compares with none.
        signs = (first > second).float() - (first < second).float()
        with by_fast_multipliers(self._torch):
            self._total += (signs.T @ signs).long()

    def total(self) -> IntArray:
        """Return the sums, shape (size, size)."""
        return np.asarray(self._total.cpu().numpy())


def off_by_inputs() -> float:
    """Bound |u_jᵀu_k - c_jᵀc_k| for unit columns u and what is multiplied in place of them, c.

    ‖u_j - c_j‖ ≤ e, 2⁻¹¹ and a little for the length and for numbers that are rounded to zero.
    """
    e = 2.0**-BITS * (1.0 + 2.0**-8)
    return 2.0 * e + e**2


def off_by_sums(n: int) -> float:
    """Bound what a computed c_jᵀc_k of n rows is off by, and what is rounded after it."""
    return 1.01 * (min(n, HEIGHT) * SUM_EPS + (-(-n // HEIGHT) + 10) * SINGLE_EPS)


@contextmanager
def by_fast_multipliers(torch: Any) -> Iterator[None]:
    """Let products in single precision be those of TensorFloat-32 where a device has them."""
    allowed = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = allowed
