"""The proof from cuts against exact arithmetic over all choices."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from mipselect.search.bounds.modular import ModularBound
from mipselect.search.cut_proof import CutProof
from mipselect.search.cuts import least_value
from mipselect.search.tuning import TUNING


def do_nothing() -> None:
    pass


def hard_cuts(rng: np.random.Generator, columns: int, count: int) -> list[ModularBound]:
    """Terms of very different size, as columns of very different scale give them."""
    scales = 10.0 ** rng.uniform(-9, 0, columns)
    return [
        ModularBound(-float(rng.uniform(1, 3)), rng.uniform(0, 3, columns) * scales)
        for _ in range(count)
    ]


def exact(cuts: list[ModularBound], choice: tuple[int, ...]) -> Fraction:
    return max(
        -Fraction(cut.constant) - sum(Fraction(float(cut.terms[j])) for j in choice) for cut in cuts
    )


@pytest.mark.parametrize("seed", range(32))
def test_it_proves_what_is_true_and_finds_what_is_open(seed: int) -> None:
    entries = TUNING.masters.entries if seed % 2 else 100
    limits = replace(TUNING.masters, proof_nodes=10**6, entries=entries)
    rng = np.random.default_rng(seed)
    columns, size = int(rng.integers(4, 10)), int(rng.integers(1, 5))
    size = min(size, columns)
    cuts = hard_cuts(rng, columns, int(rng.integers(1, 8)))
    values = {c: exact(cuts, c) for c in itertools.combinations(range(columns), size)}
    floor = max(least_value(cut, size) for cut in cuts)
    ordered = sorted(values.values())
    for rank in {0, len(ordered) // 3, len(ordered) - 1}:
        target = float(ordered[rank])
        below = {c for c, value in values.items() if value < Fraction(target)}
        visited: set[tuple[int, ...]] = set()
        while True:
            verdict = CutProof(cuts, size, floor, visited, limits).decide(target, do_nothing)
            if verdict.proven:
                break
            assert verdict.open is not None
            choice = tuple(verdict.open.tolist())
            assert choice not in visited
            assert float(values[choice]) <= target * (1 + 1e-12)
            visited.add(choice)
        assert below <= visited
        assert all(float(values[c]) <= target * (1 + 1e-12) for c in visited)


def test_a_tree_that_gets_too_large_says_nothing() -> None:
    rng = np.random.default_rng(0)
    cuts = [ModularBound(-1.0, rng.uniform(0.1, 1.0, 30)) for _ in range(20)]
    proof = CutProof(cuts, 6, -10.0, set(), replace(TUNING.masters, proof_nodes=3))
    verdict = proof.decide(0.5, do_nothing)
    assert (verdict.proven, verdict.open) == (False, None)
