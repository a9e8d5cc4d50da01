"""Exact draws with other losses: hinge, Huber and quantile in the paper's setting, p = 100.

    OMP_NUM_THREADS=1 python -m benchmarks.exact_draws_losses

n = 3,000, s = 5, SNR 5, ρ = 0.1; λ = 200 for the hinge loss, 72 for the others. Measured
are the CPU seconds of the preparation and the first draw, the acceptance of further draws, and the
share of them that are the features of the model; a dash means that a minute was not enough. Draws
are seeded: not private.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.first_draw import FURTHER, first_draw
from benchmarks.stored import Record, add_json_option, print_records
from mipselect import Instance
from mipselect.datasets import correlated_gaussian, logistic_gaussian

LOSSES = ("hinge", "huber(0.3)", "quantile(0.3)", "quantile(0.5)")
EPSILONS = (0.5, 1.0, 2.0, 5.0)
TRUE = (1, 3, 5, 7, 9)


def instance_of(loss: str, n: int = 3_000, p: int = 100) -> Instance:
    hinge = loss == "hinge"
    draw = logistic_gaussian if hinge else correlated_gaussian
    X, y = draw(n, p, rho=0.1, snr=5.0, support_size=5, seed=1)
    return Instance(
        X,
        y,
        support_size=5,
        x_bound=0.5,
        y_bound=1.0 if hinge else 0.5,
        coef_bound=1.1,
        ridge=200.0 if hinge else 0.024 * n,
        loss=loss,
    )


def measured(losses: Sequence[str]) -> Iterator[Record]:
    for loss in losses:
        for epsilon in EPSILONS:
            found = first_draw(instance_of(loss), epsilon)
            record: Record = {"loss": loss, "epsilon": epsilon}
            if not found.drawn:
                yield {**record, "seconds": "–", "acceptance": "–", "share": "–"}
                continue
            rng = np.random.default_rng(1)
            hits = sum(found.mechanism.sample(rng) == TRUE for _ in range(FURTHER))
            error = f" ± {math.sqrt(0.25 / FURTHER):.2f}" * (0 < hits < FURTHER)
            yield {
                **record,
                "seconds": found.cpu,
                "acceptance": found.acceptance,
                "share": f"{hits / FURTHER:.2f}{error}",
            }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--loss", action="append", choices=LOSSES)
    add_json_option(parser)
    options = parser.parse_args()
    print_records(measured(options.loss or LOSSES), as_json=options.json)


if __name__ == "__main__":
    main()
