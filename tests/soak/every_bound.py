"""Every bound of the squared loss at every support, on as many hostile small problems as asked for.

    python -m tests.soak.every_bound --count 10000 --seed 1000

The checks are those of `test_cuts.py` and `test_closed_form.py`; every other problem has data in
single precision. Prints the problems at which one fails, and how many were looked at.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial

import numpy as np

from mipselect import Instance
from tests.search.test_closed_form import (
    has_six_features,
    test_every_set_below_the_threshold_is_offered,
)
from tests.search.test_cuts import (
    test_root_cut_holds_at_every_distance,
    test_sparse_diagonal_cuts_and_shares,
)
from tests.support.designs import DESIGNS, Design


def in_single_precision(design: Design, seed: int) -> Instance:
    """The problem of a design whose columns are rounded to float32, where it has columns."""
    instance = design(seed)
    if not instance.has_rows:
        return instance
    return Instance(
        instance.X.astype(np.float32),
        instance.y,
        support_size=instance.support_size,
        x_bound=instance.x_bound,
        y_bound=instance.y_bound,
        coef_bound=instance.coef_bound,
        ridge=instance.ridge,
        groups=instance.groups,
        always=instance.always,
        intercept=instance.intercept,
    )


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="problems")
    parser.add_argument("--seed", type=int, default=1000, help="of the first two")
    options = parser.parse_args()
    failed = looked_at = 0
    for seed in range(options.seed, options.seed + options.count // len(DESIGNS)):
        for line in failures(seed):
            failed += 1
            print(line, flush=True)
        looked_at += len(DESIGNS)
        if looked_at % 500 == 0:
            print(f"{looked_at} problems, {failed} failures", flush=True)
    print(f"{looked_at} problems, {failed} failures")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
