"""DP-SIS against the two-stage selector on the microarrays of the DP-SIS paper.

    python -m benchmarks.microarrays [FOLDER]

k = 5. The reference are the 5 largest |coefficients| of a non-private Lasso with λ = 0.1, the
`alpha` of scikit-learn. The paper does not say all about scales. Here the target, for everybody,
are the class codes, centred and divided by their largest |entry|; DP-SIS gets centred columns
divided by their largest |entry|, as the paper says, and the Lasso, for the reference and for the
ballots, centred columns of variance 1: on columns whose largest |entry| is 1 it has fewer than
5 coefficients at this λ, on both tables.

Both selectors are under add-remove, as published; two-stage has ⌊√n⌋ blocks. All draws are
seeded, and centring and scaling look at the data, as in the paper: no release here is private.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.linear_model import Lasso

from mipselect.mechanisms import Mechanism
from mipselect.selectors import SampleAggregateSelector, SISSelector

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "microarray"
TABLES = ("christensen", "sorlie")
EPSILONS = (1.0, 2.0, 3.0, 5.0, 10.0)
TRIALS = 100
K = 5
PENALTY = 0.1


@dataclass(frozen=True)
class Microarray:
    """A table in both scales, its target, and the columns that should be found."""

    bounded: np.ndarray
    standardized: np.ndarray
    target: np.ndarray
    reference: frozenset[int]
    nonzero: int

    def mechanisms(self, epsilon: float) -> dict[str, Mechanism]:
        sis = SISSelector(K, epsilon=epsilon, x_bound=1.0, y_bound=1.0)
        blocks = math.isqrt(self.target.size)
        found: dict[str, Mechanism] = {"DP-SIS": sis.mechanism(self.bounded, self.target)}
        for top_k in ("peeling", "laplace"):
            two_stage = SampleAggregateSelector(
                K, epsilon=epsilon, alpha=PENALTY, n_blocks=blocks, top_k=top_k
            )
            found[f"two-stage, {top_k}"] = two_stage.mechanism(self.standardized, self.target)
        return found

    def share(self, support: tuple[int, ...]) -> float:
        """How much of the reference was found."""
        return len(self.reference.intersection(support)) / K


def load(file: Path) -> Microarray:
    with np.load(file) as data:
        X, codes = data["X"].astype(float), data["y"].astype(float)
    X -= X.mean(axis=0)
    codes -= codes.mean()
    standardized, target = X / X.std(axis=0), codes / np.abs(codes).max()
    sizes = np.abs(Lasso(alpha=PENALTY).fit(standardized, target).coef_)
    best = np.argsort(-sizes, kind="stable")[:K].tolist()
    nonzero = int(np.count_nonzero(sizes))
    return Microarray(X / np.abs(X).max(axis=0), standardized, target, frozenset(best), nonzero)


def shares(table: Microarray, mechanism: Mechanism, trials: int) -> np.ndarray:
    return np.array([table.share(mechanism.sample(seed)) for seed in range(trials)])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path, default=DATA)
    folder = parser.parse_args().folder
    for name in TABLES:
        file = folder / f"{name}.npz"
        if not file.exists():
            print(f"no {file}")
            continue
        table = load(file)
        rows, columns = table.bounded.shape
        print(f"\n{name}: n = {rows}, p = {columns}; the Lasso has {table.nonzero} coefficients")
        plain = SISSelector(K, x_bound=1.0, y_bound=1.0, private=False)
        support = plain.fit(table.bounded, table.target).get_support(indices=True)
        print(f"  share of the reference, {TRIALS} seeded draws, with the standard error")
        print(f"  plain screening, not private: {table.share(tuple(support.tolist())):.2f}")
        for epsilon in EPSILONS:
            cells = []
            for method, mechanism in table.mechanisms(epsilon).items():
                found = shares(table, mechanism, TRIALS)
                error = found.std(ddof=1) / math.sqrt(TRIALS)
                cells.append(f"{method} {found.mean():.3f} ± {error:.3f}")
            print(f"  ε = {epsilon:<4g} " + "   ".join(cells))


if __name__ == "__main__":
    main()
