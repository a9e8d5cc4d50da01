"""What a draw of three genes keeps of the gain of the best three, by ε, on microarrays.

    OMP_NUM_THREADS=1 python -m benchmarks.gain_kept [FOLDER] [--draws 60] [--json]

The gain of a support S is R(∅) - R(S). Kept is its mean over draws of the exponential mechanism, as
a share of the largest gain; of uniform draws too. The instances are those of
`exact_draws_small_n.py`, with the class codes as the target. Draws are seeded: not private.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.exact_draws_small_n import DATA, instance_of
from benchmarks.stored import Record, add_json_option, print_records
from mipselect import ExponentialMechanism, top_supports

TABLES = ("alon", "khan", "christensen")
EPSILONS = (1.0, 2.0, 5.0, 10.0)
SIZE = 3


def kept(folder: Path, draws: int) -> Iterator[Record]:
    for table in TABLES:
        instance = instance_of(folder / f"{table}.npz", "squared", SIZE)
        nothing = float(instance.y @ instance.y) / (2.0 * instance.n)
        largest = nothing - float(top_supports(instance, 1).values[0])
        rng = np.random.default_rng(0)

        def share(supports: list[list[int]]) -> float:
            gains = nothing - instance.objectives(np.array(supports))  # noqa: B023
            return float(np.mean(gains)) / largest  # noqa: B023

        uniform = [sorted(rng.choice(instance.p, SIZE, replace=False)) for _ in range(draws)]
        yield {"table": table, "n": instance.n, "law": "uniform", "kept": share(uniform)}
        for epsilon in EPSILONS:
            mechanism = ExponentialMechanism(instance, epsilon)
            drawn = [list(mechanism.sample(rng)) for _ in range(draws)]
            law = f"ε = {epsilon:g}"
            yield {"table": table, "n": instance.n, "law": law, "kept": share(drawn)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--draws", type=int, default=60)
    add_json_option(parser)
    options = parser.parse_args()
    print_records(kept(options.folder, options.draws), as_json=options.json)


if __name__ == "__main__":
    main()
