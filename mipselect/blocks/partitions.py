"""Blocks of a few rows: partitions of the row numbers, and public defaults; no row is looked at."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mipselect.arrays import IntArray
from mipselect.errors import InvalidInput
from mipselect.validation import checked_integer, set_fields

WINDOW = 1 << 16
"""Most rows of a window: all rows of a block of least squares are of one, and come from a cache."""

MOST_ROWS_OF_A_BLOCK = 256
MOST_PARTITIONS = 1024
SEED_BITS = 128


@dataclass(frozen=True)
class Blocks:
    """Partitions of row numbers into blocks; every row is in one block of each at most.

    Attributes
    ----------
    rows : int
        b, rows of a block; those left over are not used in that partition.
    partitions : int
        T.
    seed : int
        From which they are drawn; default from the operating system. It must not be chosen with
        a look at the data.

    Raises
    ------
    InvalidInput

    Examples
    --------
    >>> from mipselect.blocks.partitions import Blocks
    >>> blocks = Blocks(rows=2, partitions=3, seed=0)
    >>> blocks.count(7), [part.shape for part in blocks.of_window(0, 7)]
    (3, [(3, 2), (3, 2), (3, 2)])
    """

    rows: int = 2
    partitions: int = 16
    seed: int = field(default_factory=lambda: secrets.randbits(SEED_BITS), repr=False)

    def __post_init__(self) -> None:
        set_fields(
            self,
            rows=checked_integer(self.rows, "block_rows", 2, MOST_ROWS_OF_A_BLOCK),
            partitions=checked_integer(self.partitions, "partitions", 1, MOST_PARTITIONS),
            seed=checked_integer(self.seed, "partition_seed", 0),
        )

    @classmethod
    def of(
        cls,
        block_rows: int | None = None,
        partitions: int | None = None,
        partition_seed: int | None = None,
    ) -> Blocks:
        """Make blocks of what is given; the rest is as by default."""
        given = {"rows": block_rows, "partitions": partitions, "seed": partition_seed}
        return cls(**{name: value for name, value in given.items() if value is not None})

    @property
    def window(self) -> int:
        """Rows of a window: the largest multiple of b up to `WINDOW`."""
        return WINDOW - WINDOW % self.rows

    def count(self, n: int) -> int:
        """Return ⌊n/b⌋, the number of blocks of every partition; `InvalidInput` if it is 0."""
        if n < self.rows:
            given = "1 row is" if n == 1 else f"{n} rows are"
            raise InvalidInput(
                f"{given} no block of {self.rows} rows: there must be at least {self.rows}"
            )
        return n // self.rows

    def terms(self, n: Any) -> Any:
        """Return ⌊n/b⌋ T, the number of blocks of all partitions; n may be an array."""
        return n // self.rows * self.partitions

    def order(self, size: int) -> IntArray:
        """Return the order in which so many rows fill several windows, shape (size,)."""
        # No partition has this number, so that no window is divided by the same draws.
        return self._generator(0, self.partitions).permutation(size)

    def of_window(self, number: int, size: int) -> Iterator[IntArray]:
        """Yield the blocks of one window of `size` rows, one partition after another.

        Parameters
        ----------
        number : int
            Its place among the windows.
        size : int
            Rows in it; `window` but for the last.

        Yields
        ------
        ndarray of int, shape (size // b, b)
            Numbers of rows in the window.
        """
        used = size - size % self.rows
        for partition in range(self.partitions):
            order = self._generator(number, partition).permutation(size)
            yield order[:used].reshape(-1, self.rows)

    def _generator(self, number: int, partition: int) -> np.random.Generator:
        seed = np.random.SeedSequence([self.seed, number, partition])
        return np.random.Generator(np.random.Philox(seed))

    def public(self) -> dict[str, Any]:
        """Return what reports and ledgers say about the blocks."""
        return {"block_rows": self.rows, "partitions": self.partitions}


MOST_DEFAULT_PARTITIONS = 8
"""More partitions hardly change block R² further."""

SECONDS_OF_PARTITIONS = 3.0
"""More than one partition is drawn where all of them take no longer than this."""

MOST_DEFAULT_SECONDS = 60.0
"""Block R² is not the default where one partition takes longer."""

DEFAULT_RIDGE = 1.0
"""λ: as much as one block."""

REACH = 0.75
"""U, the length of the predictions of a block, whose target has length 1."""

WIDE = 12
"""Columns of a feature from which on it is wide: a block sees few of its categories."""

REACH_OF_WIDE = 1.5


def default_block_coef_bound(support_size: int, always: int, widest: int) -> float:
    """Compute r = U/√(s + a), with U = 0.75, or 1.5 where a feature is wide.

    Where categories are many the coefficients of one block must serve all others.

    Parameters
    ----------
    support_size : int
        s, the largest number of features that may be chosen.
    always : int
        a, those that are always in.
    widest : int
        Columns of the widest feature.
    """
    reach = REACH if widest < WIDE else REACH_OF_WIDE
    return reach / math.sqrt(support_size + always)


def default_rows_of_least_squares(*, classes: bool) -> int:
    """Return b of least squares on blocks: 2, or 3 where the target has two classes.

    Half of the pairs, or more, are of one class and say nothing. On seven tables of two classes
    three rows are at least as good as two at every ε from 0.05 to 2.
    """
    return 3 if classes else 2


def default_block_rows(n: int, epsilon: float, support_size: int) -> int:
    """Compute b = max(12, 2s + 4, ½√(nε)) of block R², at most 256.

    Small blocks are many, large ones are nearer to R² of all rows.

    Parameters
    ----------
    n : int
    epsilon : float
        ε of one draw.
    support_size : int
        s.

    References
    ----------
    docs/mathematics/block-r2.md, (5).
    """
    rising = round(min(0.5 * math.sqrt(n * epsilon), MOST_ROWS_OF_A_BLOCK))
    return max(12, 2 * support_size + 4, rising)


def default_partitions(seconds: float) -> int:
    """Choose T of block R²: 8, or as many as take three seconds, but at least one.

    One is nearly as good (docs/mathematics/block-r2.md, (5)).

    Parameters
    ----------
    seconds : float
        Estimated time of one partition; public.
    """
    return max(1, min(MOST_DEFAULT_PARTITIONS, int(SECONDS_OF_PARTITIONS / seconds)))
