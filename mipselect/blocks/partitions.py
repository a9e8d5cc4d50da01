"""`Blocks`: partitions of the row numbers into blocks of a few rows, without a look at the data."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mipselect.arrays import IntArray
from mipselect.errors import InvalidInput
from mipselect.validation import checked_integer, set_fields

WINDOW = 1 << 16
"""Most rows of a window. In a table that is read once all rows of a block are of one window, and
come from a cache."""

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

    def order(self, span: int, size: int) -> IntArray:
        """Return the order in which the `size` rows of a span of several windows fill these.

        Parameters
        ----------
        span : int
            Its place among the spans.
        size : int

        Returns
        -------
        ndarray of int, shape (size,)
        """
        # No partition has this number, so that no window is divided by the same draws.
        return self._generator(span, self.partitions).permutation(size)

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
