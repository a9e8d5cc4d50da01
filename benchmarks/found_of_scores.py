"""Share of the k best items that one draw finds, by mechanism and ε.

python -m benchmarks.found_of_scores FOLDER [--draws 200] [--json]

FOLDER has the counts hepth.npy. The other scores are those of SIS, |x_j·y| of columns in [-1, 1]
under replace-one: of a made-up table of 5,000 rows and 2,000 columns, and of one of 2,000 rows and
50 columns, both with an SNR of 1. All are mechanisms for a set of k, at the same pure ε.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from benchmarks.stored import Record, add_json_option, print_records
from mipselect.datasets import correlated_gaussian
from mipselect.mechanisms import CanonicalLipschitz, Peeling
from mipselect.mechanisms.base import Support
from mipselect.mechanisms.scores.top_k import TopK

EPSILONS = (0.1, 0.3, 1.0, 3.0)
MECHANISMS: Mapping[str, TopK] = {"canonical": CanonicalLipschitz, "peeling": Peeling}
Scores = tuple[str, np.ndarray, int, float]
"""Name, scores, k and sensitivity."""


def correlations(n: int, p: int, k: int, snr: float) -> np.ndarray:
    """Compute |x_j·y| with every column divided by three standard deviations and clipped."""
    X, y = correlated_gaussian(n, p, rho=0.5, snr=snr, support_size=k, seed=1)
    X, y = X - X.mean(axis=0), y - y.mean()
    X, y = (np.clip(Z / (3.0 * Z.std(axis=0)), -1.0, 1.0) for Z in (X, y))
    return np.asarray(np.abs(X.T @ y))


def all_scores(folder: Path) -> Iterator[Scores]:
    counts = np.load(folder / "hepth.npy").astype(float)
    for k in (10, 100):
        yield "counts", counts, k, 0.5
    for n, p in ((5_000, 2_000), (2_000, 50)):
        yield "SIS", correlations(n, p, 5, 1.0), 5, 2.0


def share_found(drawn: Iterable[Support], scores: np.ndarray, k: int) -> float:
    """Average the share of draws' items that are among the k best; a tie is among them."""
    least = np.partition(scores, -k)[-k]
    return float(np.mean([scores[list(support)] >= least for support in drawn]))


def records(folder: Path, draws: int) -> Iterator[Record]:
    for name, scores, k, delta in all_scores(folder):
        for label, mechanism in MECHANISMS.items():
            for epsilon in EPSILONS:
                law = mechanism(scores, k, epsilon, sensitivity=delta, relation="replace-one")
                drawn = [law.sample(np.random.default_rng(seed)) for seed in range(draws)]
                where = {"scores": name, "p": len(scores), "k": k, "epsilon": epsilon}
                found = share_found(drawn, scores, k)
                yield {**where, "mechanism": label, "found": round(found, 4)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=100)
    add_json_option(parser)
    options = parser.parse_args()
    print_records(records(options.folder, options.draws), as_json=options.json)


if __name__ == "__main__":
    main()
