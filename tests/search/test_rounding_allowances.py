"""Every allowance for rounding decides somewhere: without it a bound is above what it bounds.

Bounds as they are computed are compared with exact arithmetic on the same doubles, on nodes that
are ill-conditioned: scales from 1e-8 to 1e8, near copies, ridges of any size, single precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from tests.support.exact_judges import (
    block_curvature,
    bounds_of_dual_points,
    curvature_beside_columns,
    cuts_of_dual_points,
    expanded_gains,
    factors,
    gains_of_children,
    gains_of_clusters,
    laws_of_subsets,
    least_curvature,
    least_of_near_sets,
    levels_of_dual_points,
    needed_gains,
    proofs_of_cuts,
    shares_of_dual_points,
    single_gains,
    sparse_diagonal_cuts,
    spectra_of_rows,
    totals_of_cells,
)

SEEDS = range(200)


@dataclass(frozen=True)
class Allowance:
    """What judges the bound, and the number that is set to zero; or two, if one does for both."""

    holds: Callable[[int], bool]
    name: str
    other: str | None = None


LEAST_SQUARES, CONVEX = "mipselect.search.least_squares", "mipselect.search.convex"
MEASURED = f"{LEAST_SQUARES}.measured_curvature"
ALLOWANCES = {
    "slack of nodes": Allowance(single_gains, f"{LEAST_SQUARES}.node.SquaredNode.slack"),
    "slack of needed gains": Allowance(needed_gains, f"{LEAST_SQUARES}.node.SquaredNode.slack"),
    "slack of cuts": Allowance(sparse_diagonal_cuts, f"{LEAST_SQUARES}.node.SquaredNode.slack"),
    "definite multiplier": Allowance(factors, f"{LEAST_SQUARES}.node.EPS"),
    "expansion points": Allowance(expanded_gains, f"{LEAST_SQUARES}.expansion.EPS"),
    "expansion points of children": Allowance(gains_of_children, f"{LEAST_SQUARES}.expansion.EPS"),
    "clusters": Allowance(gains_of_clusters, f"{LEAST_SQUARES}.clusters.EPS"),
    "near columns": Allowance(least_of_near_sets, f"{LEAST_SQUARES}.near_columns.ROUNDING"),
    "eigenvalues": Allowance(least_curvature, f"{MEASURED}.ROUNDING"),
    "cuts of dual points": Allowance(cuts_of_dual_points, f"{CONVEX}.cuts.EPS"),
    "bounds of dual points": Allowance(bounds_of_dual_points, "mipselect.restricted.fenchel.EPS"),
    "levels of dual points": Allowance(levels_of_dual_points, f"{CONVEX}.method.EPS"),
    "shares of dual points": Allowance(shares_of_dual_points, f"{CONVEX}.cuts.EPS"),
    "proofs of cuts": Allowance(proofs_of_cuts, "mipselect.search.cut_proof.EPS"),
    "laws of subsets": Allowance(laws_of_subsets, "mipselect.search.soft.polynomials.EPS"),
    "totals of cells": Allowance(totals_of_cells, "mipselect.search.soft.partition.EPS"),
    # Of the next three, each number is enough for what has been tried.
    "block curvature": Allowance(block_curvature, f"{MEASURED}.EPS", f"{MEASURED}.ROUNDING"),
    "spectra of rows": Allowance(spectra_of_rows, f"{MEASURED}.EPS", f"{MEASURED}.ROUNDING"),
    "eliminated columns": Allowance(curvature_beside_columns, f"{MEASURED}._elimination_error"),
}


@pytest.mark.parametrize("allowance", ALLOWANCES)
def test_a_bound_holds_in_exact_arithmetic(allowance: str) -> None:
    with np.errstate(all="ignore"):
        assert all(ALLOWANCES[allowance].holds(seed) for seed in SEEDS)


@pytest.mark.parametrize("allowance", ALLOWANCES)
def test_the_allowance_decides_somewhere(allowance: str, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = ALLOWANCES[allowance]
    for name in filter(None, (judged.name, judged.other)):
        zero = (lambda *_: 0.0) if name.endswith("_error") else 0.0
        monkeypatch.setattr(name, zero)
    with np.errstate(all="ignore"):
        assert not all(judged.holds(seed) for seed in SEEDS)
