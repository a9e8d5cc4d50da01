"""DP-SIS against the two-stage selector on the microarrays of the DP-SIS paper.

    python -m benchmarks.microarrays [FOLDER]

k = 5. Columns are centred and divided by their largest |entry|. The reference are the 5 largest
|coefficients| of a non-private Lasso with λ = 0.1, the `alpha` of scikit-learn, with the class
codes 0, 1, 2, ... as the target: on christensen it has four, on sorlie seven. The blocks of the
two-stage selector have the same Lasso. DP-SIS gets the codes centred and divided by their largest
|entry|.

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
EPSILONS = (1.0, 2.0, 3.0, 5.0, 7.0, 10.0)
TRIALS = 200
K = 5
PENALTY = 0.1


@dataclass(frozen=True)
class Microarray:
    """A table, its class codes, and the columns that should be found."""

    X: np.ndarray
    codes: np.ndarray
    reference: frozenset[int]

    def mechanisms(self, epsilon: float) -> dict[str, Mechanism]:
        centred = self.codes - self.codes.mean()
        target = centred / np.abs(centred).max()
        sis = SISSelector(K, epsilon=epsilon, x_bound=1.0, y_bound=1.0)
        found: dict[str, Mechanism] = {"DP-SIS": sis.mechanism(self.X, target)}
        for top_k in ("peeling", "laplace"):
            two_stage = SampleAggregateSelector(
                K,
                epsilon=epsilon,
                alpha=PENALTY,
                n_blocks=math.isqrt(self.codes.size),
                top_k=top_k,
            )
            found[f"two-stage, {top_k}"] = two_stage.mechanism(self.X, self.codes)
        return found

    def screened(self) -> tuple[int, ...]:
        """Plain sure independence screening: the largest |x_j·y|. As sensitive as the data."""
        scores = np.abs(self.X.T @ self.codes)
        return tuple(np.argsort(-scores, kind="stable")[:K].tolist())

    def share(self, support: tuple[int, ...]) -> float:
        """How much of the reference was found."""
        return len(self.reference.intersection(support)) / len(self.reference)


def load(file: Path) -> Microarray:
    with np.load(file) as data:
        X, codes = data["X"].astype(float), data["y"].astype(float)
    X -= X.mean(axis=0)
    X /= np.abs(X).max(axis=0)
    sizes = np.abs(Lasso(alpha=PENALTY).fit(X, codes).coef_)
    best = np.argsort(-sizes, kind="stable")[:K]
    return Microarray(X, codes, frozenset(best[sizes[best] > 0.0].tolist()))


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
        rows, columns = table.X.shape
        print(f"\n{name}: n = {rows}, p = {columns}; a reference of {len(table.reference)} columns")
        print(f"  share of the reference, {TRIALS} seeded draws, with the standard error")
        print(f"  plain screening, not private: {table.share(table.screened()):.2f}")
        for epsilon in EPSILONS:
            cells = []
            for method, mechanism in table.mechanisms(epsilon).items():
                found = shares(table, mechanism, TRIALS)
                error = found.std(ddof=1) / math.sqrt(TRIALS)
                cells.append(f"{method} {found.mean():.3f} ± {error:.3f}")
            print(f"  ε = {epsilon:<4g} " + "   ".join(cells))


if __name__ == "__main__":
    main()
