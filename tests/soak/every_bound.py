"""Every bound of the squared loss at every support of hostile small problems.

The checks are those of three tests; every other problem has data in single precision.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from mipselect import Instance
from tests.search.test_branch_and_bound import (
    has_six_features,
    test_every_set_below_the_threshold_is_offered,
)
from tests.search.test_cuts import (
    test_root_cut_holds_at_every_distance,
    test_sparse_diagonal_cuts_and_shares,
)
from tests.support.designs import DESIGNS, Design, with_loss


def in_single_precision(design: Design, seed: int) -> Instance:
    """The problem of a design whose columns are rounded to float32, where it has columns."""
    instance = design(seed)
    return with_loss(instance, "squared", np.float32) if instance.data.has_rows else instance


def failures(seed: int) -> list[str]:
    """What does not hold at one problem of each design."""
    found = []
    for given in DESIGNS:
        design = partial(in_single_precision, given) if seed % 2 else given
        for check in (test_sparse_diagonal_cuts_and_shares, test_root_cut_holds_at_every_distance):
            try:
                check(seed, design)
            except AssertionError as error:
                found.append(f"{given.__name__}({seed}), {check.__name__}: {error}")
    for size in (2, 3) if has_six_features(seed) else ():
        try:
            test_every_set_below_the_threshold_is_offered(seed, size)
        except AssertionError as error:
            found.append(f"closed form of {size}, {seed}: {error}")
    return found
