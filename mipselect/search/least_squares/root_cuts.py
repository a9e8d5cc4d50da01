"""Cuts at the centre for whole levels: what leaving costs and entering gains."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.search.least_squares.additions import cheap_off_sums
from mipselect.search.least_squares.center import Center
from mipselect.search.least_squares.centring import Budget, best_centred
from mipselect.search.least_squares.curvature import Curvature, UniformCurvature
from mipselect.search.least_squares.dominance import (
    dominated_diagonal,
    largest_sums,
)
from mipselect.search.simplex import largest_sum


@dataclass(frozen=True, eq=False)
class RootCut:
    """The sparse-diagonal cut at Ŝ for distance `level`: what leaving costs and entering gains.

    See docs/mathematics/cuts.md, (3).

    2n·R(S') ≥ 2n·value + Σ_{j∈Ŝ\\S'} costs_j - Σ_{j∈S'\\Ŝ} credits_j

    Attributes
    ----------
    level : int
    value : float
        What the cut says of R where nothing leaves; -inf where a number is none.
    costs : ndarray of shape (s,)
    credits : ndarray of shape (p-s,)
    """

    level: int
    value: float
    costs: FloatArray
    credits: FloatArray

    def __post_init__(self) -> None:
        known = np.isfinite(self.costs).all() and (self.credits > -np.inf).all()
        if not (self.value < np.inf and known):
            object.__setattr__(self, "value", -np.inf)
            object.__setattr__(self, "costs", np.zeros(len(self.costs)))
            object.__setattr__(self, "credits", np.zeros(len(self.credits)))


def root_cut(center: Center, level: int) -> RootCut:
    """Take M of that cut for the worst supports at this distance."""
    whole, support, candidates = center.whole, center.support, center.candidates
    features, ridge = center.problem.features, center.ridge
    if whole.ridge > ridge and not features.plain:
        # G is singular as it is rounded: nothing can be said of what is left of it.
        nothing = np.zeros(len(support)), np.full(len(candidates), np.inf)
        return RootCut(level, center.floor, *nothing)
    if not features.singles:
        return _root_cut_by_blocks(center, level)
    inside = whole.whitened[:, support]
    columns = center.problem.gram.columns(support)[: features.count]
    columns = columns - whole.whitened.T @ inside
    w = whole.g[candidates] - columns[candidates] @ center.coef
    inner = np.abs(columns[support]).sum(axis=1) - np.abs(np.diagonal(columns[support]))
    across = np.abs(columns[candidates])
    among = _among_candidates(center, level - 1)
    off_sums = np.concatenate(
        [inner + largest_sums(across.T.copy(), level), across.sum(axis=1) + among]
    )
    diagonal = whole.h[np.concatenate([support, candidates])] - (whole.ridge - ridge)
    M = dominated_diagonal(diagonal, off_sums, ridge)
    return RootCut(
        level, center.floor, M[: len(support)] * center.coef**2, w**2 / M[len(support) :]
    )


def _among_candidates(center: Center, count: int) -> FloatArray:
    """Bounds on the sums of the `count` largest |H_jk| among candidates k ≠ j, shape (p-s,)."""
    if count == 0:
        return np.zeros(len(center.candidates))
    whole = center.whole.restricted(center.candidates)
    return cheap_off_sums(replace(whole, row_tops=center.tops.known), count)


def _root_cut_by_blocks(center: Center, level: int) -> RootCut:
    """The same in the eigenvectors of every feature's own block."""
    blocks, support, candidates = center.whole.blocks, center.support, center.candidates
    inside = blocks.columns(support)
    coef = np.zeros(len(blocks.g))
    coef[inside] = np.linalg.solve(blocks.H[np.ix_(inside, inside)], blocks.g[inside])
    w = blocks.g - blocks.H @ coef
    across = blocks.norms[np.ix_(candidates, support)]
    off_sums = np.empty(len(blocks.norms))
    off_sums[support] = blocks.norms[np.ix_(support, support)].sum(axis=1)
    off_sums[support] += largest_sums(across.T.copy(), level)
    off_sums[candidates] = across.sum(axis=1)
    if level > 1:
        off_sums[candidates] += largest_sums(
            blocks.norms[np.ix_(candidates, candidates)], level - 1
        )
    M = blocks.dominated(off_sums)
    costs, credits = blocks.sums(M * coef**2), blocks.sums(w**2 / M)
    return RootCut(level, center.floor, costs[support], credits[candidates])


def centred_cut(center: Center, cut: RootCut, curvature: Curvature, threshold: float) -> RootCut:
    """The cut of the best centre for a whole level (docs/mathematics/cuts.md, (12)).

    With two budgets, s - i features of Ŝ and i others, the bound on the gain is one on R whose
    shares are what leaving costs and entering gains.

    Parameters
    ----------
    center : Center
    cut : RootCut
        That of `root_cut`, where the centre begins.
    curvature : Curvature
    threshold : float
        A cut that proves it for the level needs no improvement.
    """
    whole, support, candidates, level = center.whole, center.support, center.candidates, cut.level
    entering = candidates[np.argsort(-cut.credits, kind="stable")[: 2 * level]]
    start = np.zeros(len(whole.live))
    start[support] = 1.0 - level / len(support)
    start[entering] = level / len(entering)
    budgets = [Budget(support, len(support) - level), Budget(candidates, level)]
    needed = whole.needed_gain(threshold)
    bound = best_centred(whole, curvature.at(whole), budgets, start, needed)
    costs, credits = bound.shares[support], bound.shares[candidates]
    value = whole.lower_bound(bound.constant + float(costs.sum()))
    return RootCut(level, value, costs, credits)


def lean_cut(center: Center, cut: RootCut, level: int) -> RootCut:
    """The cut of the best centre for a level, from a few columns of G.

    The ridge is all that is used of how convex the loss is.
    """
    return centred_cut(center, replace(cut, level=level), UniformCurvature(0.0), center.value)


def level_bound(center: Center, cut: RootCut) -> float:
    """Bound R from below on the whole level of the cut, by a sort; no value is negative."""
    doubled = np.sort(cut.costs)[: cut.level].sum() - largest_sum(cut.credits, cut.level)
    return max(0.0, cut.value + float(doubled) / (2.0 * center.problem.n))
