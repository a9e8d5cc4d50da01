"""Time of block R² over all supports, from public numbers alone."""

from __future__ import annotations

import math

from mipselect.blocks.r_squared import ListedFeatures, batch_size

SECONDS_PER_PRODUCT = 2e-8
"""Time of one product of two columns in one block, changed by a step, in both passes; slow core."""

SECONDS_PER_STEP = 8e-5
"""More of every step of a batch of blocks, however few they are."""


def r_squared_seconds(n: int, partitions: int, features: ListedFeatures) -> float:
    """Estimate the seconds of `r_squared_counts` on one core; no row is looked at.

    A support of s features is a step from one of s - 1. Among the supports with d features
    C(k, d-1) have the k-th, from 0, as their last.

    Parameters
    ----------
    n : int
        Rows.
    partitions : int
        T.
    features : ListedFeatures
        Their widths, s and b.
    """
    widths, s = features.widths, features.support_size
    left = sum(widths) + 1
    # Before the first step: the products of all columns, and their centring.
    steps, products = 0, features.block_rows * left * (left + 20) // 2
    for k, width in enumerate(widths):
        # No more than s - 1 features before the last one of a support can be chosen.
        for size in range(1, s + 1):
            nodes = math.comb(k, size - 1)
            if size == s:
                steps += nodes if width > 1 else 0
                products += nodes * width**3
            elif size == s - 1 and width == 1:
                steps += nodes
                products += nodes * left
            else:
                steps += nodes * width
                products += nodes * width * left**2
        left -= width
    blocks = n // features.block_rows * partitions
    batches = math.ceil(blocks / batch_size(sum(widths)))
    return blocks * products * SECONDS_PER_PRODUCT + batches * steps * SECONDS_PER_STEP
