"""Public defaults of scores from blocks; no row is looked at."""

from __future__ import annotations

import math

from mipselect.blocks.partitions import MOST_ROWS_OF_A_BLOCK

MOST_PARTITIONS = 8
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
    return max(1, min(MOST_PARTITIONS, int(SECONDS_OF_PARTITIONS / seconds)))
