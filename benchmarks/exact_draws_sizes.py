"""What it costs not to know the support size: sizes 1..10 drawn at once, beside s = 5 known.

    OMP_NUM_THREADS=1 python -m benchmarks.exact_draws_sizes

The paper's setting, p = 100, five true features, with 3,000 to 8,000 rows, λ = 0.024 n. Shares of
seeded draws, not private, over several data sets, at the same ε: the draw of size and support has
the Δ of ten features, which is 1.7 times that of five.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np

from benchmarks.stored import Record, add_json_option, print_records
from mipselect import ExponentialMechanism, Instance
from mipselect.datasets import correlated_gaussian

ROWS = (3_000, 4_000, 5_000, 6_000, 7_000, 8_000)
EPSILONS = (1.0, 2.0)
SIZES = range(1, 11)
TRUE = (1, 3, 5, 7, 9)


def instance_of(n: int, seed: int) -> Instance:
    X, y = correlated_gaussian(n, 100, rho=0.1, snr=5.0, support_size=5, seed=seed)
    bounds = {"x_bound": 0.5, "y_bound": 0.5, "coef_bound": 1.1}
    return Instance(X, y, support_size=5, ridge=0.024 * n, **bounds)


def measured(data_sets: int, draws: int) -> Iterator[Record]:
    for epsilon in EPSILONS:
        for n in ROWS:
            known, unknown = [], []
            for seed in range(1, data_sets + 1):
                instance = instance_of(n, seed)
                rng = np.random.default_rng(seed)
                for sizes, found in ((None, known), (SIZES, unknown)):
                    mechanism = ExponentialMechanism(instance, epsilon, sizes=sizes)
                    found += [mechanism.sample(rng) for _ in range(draws)]
            lengths = np.array([len(support) for support in unknown])
            yield {
                "epsilon": epsilon,
                "n": n,
                "known": float(np.mean([support == TRUE for support in known])),
                "right_size": float(np.mean(lengths == len(TRUE))),
                "sizes": float(np.mean([support == TRUE for support in unknown])),
                "mean_size": float(lengths.mean()),
            }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-sets", type=int, default=10)
    parser.add_argument("--draws", type=int, default=50)
    add_json_option(parser)
    options = parser.parse_args()
    print_records(measured(options.data_sets, options.draws), as_json=options.json)


if __name__ == "__main__":
    main()
