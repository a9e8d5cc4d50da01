"""Public defaults of scores from blocks; no row is looked at."""

from __future__ import annotations

import math

from mipselect.blocks.partitions import MOST_ROWS_OF_A_BLOCK

MOST_PARTITIONS = 8
"""More partitions hardly change block R² further."""

SECONDS_OF_PARTITIONS = 10.0
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

LITTLE = 3000.0
"""nε up to which block R² is better even where a feature is wide."""


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


def default_block_rows(n: int, epsilon: float, support_size: int) -> int:
    """Compute b = max(12, 2s + 4, ½√(nε)) of block R², at most 256.

    Small blocks are many, large ones are nearer to R². On five real tables with 500 to 17,000 rows
    the best b was 10 to 16 up to nε = 1,200, 12 to 24 up to 2,500, 40 to 64 up to 12,000 and 64 to
    96 beyond (s = 4); the rule is within 0.01 of their way from a uniform draw to the best support.
    Blocks of fewer than 12 rows prefer noise to columns that are constant in most of them.

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
    rising = round(0.5 * math.sqrt(n * epsilon))
    return min(max(12, 2 * support_size + 4, rising), MOST_ROWS_OF_A_BLOCK)


def default_partitions(seconds: float) -> int:
    """Choose T of block R²: 8, or as many as take 10 seconds, but at least one.

    One is enough where signals are strong. Where twelve fields explain 2 % together, four
    partitions go 0.55 of the way from a uniform draw to the best at ε = 1, one 0.34
    (docs/mathematics/block-r2.md, (5)).

    Parameters
    ----------
    seconds : float
        Estimated time of one partition; public.
    """
    return max(1, min(MOST_PARTITIONS, int(SECONDS_OF_PARTITIONS / seconds)))


def block_r2_by_default(seconds: float, widest: int, weight: float) -> bool:
    """Return True where block R² is the default, and not least squares on blocks.

    Its scores take a minute at most, and no feature is wide: a block sees few of its categories,
    while least squares have one coefficient of each for all blocks. Up to nε = 1,000 that does not
    help: what counts there is how many supports of a block are right.

    Bike hires, whose hour has 24 categories, go 0.41 of the way from a uniform draw to the best by
    block R² and 0.15 by least squares on pairs at nε = 100, 0.82 and 0.73 at 600, 0.85 and 0.88 at
    2,000. Generated tables with three fields of 12 to 30 codes, of which two matter: 0.28 and 0.19
    at nε = 300, 0.42 and 0.61 at 1,200, 0.42 and 0.90 at 3,000; others 0.60 and 0.39 at 600.

    Parameters
    ----------
    seconds : float
        Estimated time of the scores; public.
    widest : int
        Columns of the widest feature.
    weight : float
        nε.
    """
    return seconds <= MOST_DEFAULT_SECONDS and (widest < WIDE or weight <= LITTLE)
