"""Exact draws where rows are few and columns thousands: the microarrays of the DP-SIS paper.

    OMP_NUM_THREADS=1 python -m benchmarks.exact_draws_small_n [FOLDER] [--loss squared|hinge]

s = 3 and 5. The bounds are those of the paper: columns are centred and scaled to [-0.5, 0.5],
‖β‖ ≤ 1.1, and the ridge is its λ = 0.024 n (hinge: 0.067 n). The target of the squared loss is the
class code, moved to [-0.5, 0.5] by the public list of classes. The hinge loss has two classes:
where there are more, it is the first of the list against all others.

Draws are seeded, and point_bounds and scaling look at the data, as in the paper: no draw here is
private. An entry has the CPU seconds of the preparation and the first draw, of at most 60, and the
acceptance of further draws; a dash means that the time was not enough.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.first_draw import first_draw
from mipselect import Instance

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "microarray"
TABLES = ("alon", "christensen", "golub", "gravier", "khan", "shipp", "sorlie", "west")
EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0)
SIZES = (3, 5)
LOSSES = ("squared", "hinge")


def instance_of(file: Path, loss: str, support_size: int) -> Instance:
    with np.load(file) as data:
        X, codes = data["X"].astype(float), data["y"].astype(float)
        classes = len(data["classes"])
    X -= X.mean(axis=0)
    X /= 2.0 * np.abs(X).max(axis=0)
    squared = loss == "squared"
    return Instance(
        X,
        codes / (classes - 1.0) - 0.5 if squared else np.where(codes == 0.0, -1.0, 1.0),
        support_size=support_size,
        x_bound=0.5,
        y_bound=0.5 if squared else 1.0,
        coef_bound=1.1,
        ridge=(0.024 if squared else 0.067) * len(codes),
        loss=loss,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    parser.add_argument("--loss", action="append", choices=LOSSES)
    parser.add_argument("--table", action="append", choices=TABLES)
    parser.add_argument("--epsilon", action="append", type=float)
    parser.add_argument("--size", action="append", type=int)
    options = parser.parse_args()
    epsilons = options.epsilon or EPSILONS
    print("| table | n | p | loss | s |" + "".join(f" ε = {e:g} |" for e in epsilons))
    print("| --- | ---: | ---: | --- | ---: |" + " --- |" * len(epsilons))
    for name in options.table or TABLES:
        file = options.folder / f"{name}.npz"
        if not file.exists():
            print(f"no {file}")
            continue
        for loss in options.loss or LOSSES:
            for size in options.size or SIZES:
                instance = instance_of(file, loss, size)
                print(f"| {name} | {instance.n} | {instance.p:,} | {loss} | {size} |", end="")
                for epsilon in epsilons:
                    print(
                        f" {first_draw(instance, epsilon, further=50).entry} |", end="", flush=True
                    )
                print(flush=True)


if __name__ == "__main__":
    main()
