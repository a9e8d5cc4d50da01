"""The DP-SIS paper's methods: correlations and two-stage votes, with and without noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mipselect.mechanisms import CanonicalLipschitz, OneShotTopK, Peeling
from mipselect.selectors.sample_aggregate import lasso_ballot

from ..experiment import Support
from ..sources import FloatArray

PENALTY = 0.1
"""λ of every Lasso of the paper, scikit-learn's alpha."""

DP_SIS, TWO_STAGE = "DP-SIS", "two-stage"
TWO_STAGE_LAPLACE = "two-stage, Laplace counts"
GAMMA_1, GUMBEL = "DP-SIS, γ = 1", "DP-SIS, Gumbel, exact integers"
SIS = "SIS, not private"

MECHANISMS: dict[str, Callable[..., Any]] = {
    DP_SIS: partial(CanonicalLipschitz, relation="add-remove"),
    GAMMA_1: partial(CanonicalLipschitz, gamma=1.0, relation="add-remove"),
    GUMBEL: partial(CanonicalLipschitz, noise="gumbel", relation="add-remove"),
    TWO_STAGE: partial(Peeling, relation="add-remove"),
    TWO_STAGE_LAPLACE: partial(OneShotTopK, noise="laplace", relation="add-remove"),
}
"""Mechanisms by name: from scores or votes, k and ε, at sensitivity 1."""

FROM_VOTES = (TWO_STAGE, TWO_STAGE_LAPLACE)


def scaled(X: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Centre columns and target and divide by the largest |entry|, which looks at the data."""
    X = X - X.mean(axis=0)
    sizes = np.abs(X).max(axis=0)
    y = y - y.mean()
    return X / np.where(sizes > 0.0, sizes, 1.0), y / (np.abs(y).max() or 1.0)


def correlations(X: FloatArray, y: FloatArray) -> FloatArray:
    """Compute |Pearson correlation| of every column with the target."""
    X, y = X - X.mean(axis=0), y - y.mean()
    lengths = np.linalg.norm(X, axis=0) * np.linalg.norm(y)
    found: FloatArray = np.abs(X.T @ y) / np.where(lengths > 0.0, lengths, 1.0)
    return found


def votes(X: FloatArray, y: FloatArray, blocks: int, rng: np.random.Generator) -> FloatArray:
    """Count the random blocks that have each column in the support of their Lasso."""
    order = rng.permutation(y.size)
    found = np.zeros(X.shape[1])
    for start in range(blocks):
        rows = order[start::blocks]
        found[lasso_ballot(X[rows], y[rows], k=X.shape[1], alpha=PENALTY)] += 1.0
    return found


def largest(values: FloatArray, k: int, rng: np.random.Generator) -> Support:
    """Return the places of the k largest values, ties broken at random."""
    order = np.lexsort((rng.random(values.size), -values))
    return tuple(sorted(order[:k].tolist()))


def number_of_blocks(n: int) -> int:
    """Return ⌊√n⌋."""
    return math.isqrt(n)
