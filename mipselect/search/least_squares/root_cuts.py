"""Cuts at the incumbent for whole levels: what leaving costs and entering gains."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mipselect.arrays import FloatArray
from mipselect.search.bounds.modular import Budget, ModularBound
from mipselect.search.least_squares.center import Center
from mipselect.search.least_squares.curvature import UniformCurvature
from mipselect.search.least_squares.cuts import sparse_diagonal_cut
from mipselect.search.least_squares.expansion import best_expanded
from mipselect.search.least_squares.shares import (
    cheap_off_sums,
    dominated_diagonal,
    largest_sums,
)
from mipselect.search.strategies import Strategy


def changes(center: Center, level: int) -> list[Budget]:
    """Make budgets for a level: so many features of Ŝ leave, and as many candidates enter."""
    s, p = len(center.support), len(center.support) + len(center.candidates)
    return [Budget(np.arange(s), level), Budget(np.arange(s, p), level)]


def bound_on_changes(
    center: Center, value: float, costs: FloatArray, gains: FloatArray
) -> ModularBound:
    """Bound -R(S) by the features that leave Ŝ and those that enter, whose terms come after them.

    2n·R(S) ≥ 2n·value + Σ_{j∈Ŝ\\S} costs_j - Σ_{j∈S\\Ŝ} gains_j
    """
    costs = np.where(np.isfinite(costs), costs, np.nan)
    return ModularBound(-value, np.concatenate([-costs, gains]) / (2.0 * center.problem.n))


def root_cut(center: Center, level: int) -> ModularBound:
    """Compute the sparse-diagonal cut at Ŝ, with M for the worst supports at this distance.

    See docs/mathematics/cuts.md, (3).
    """
    whole, support, candidates = center.whole, center.support, center.candidates
    features, ridge = center.problem.features, center.ridge
    if not center.tuning.uses(Strategy.ROOT_CUTS):
        return bound_on_changes(center, -np.inf, np.zeros(len(support)), np.zeros(len(candidates)))
    if whole.ridge > ridge and not features.plain:
        # G is singular as it is rounded: nothing can be said of what is left of it.
        nothing = np.zeros(len(support)), np.full(len(candidates), np.inf)
        return bound_on_changes(center, center.floor, *nothing)
    if not features.singles:
        return _root_cut_by_blocks(center, level)
    H = center.across
    w = whole.g[candidates] - H[candidates] @ center.coef
    if center.lean:
        promising = np.argsort(-(w**2) / whole.h[candidates], kind="stable")
        center.problem.gram.expect(candidates[promising[: center.tuning.expanding.expected]])
    inner = np.abs(H[support]).sum(axis=1) - np.abs(np.diagonal(H[support]))
    across = np.abs(H[candidates])
    among = _among_candidates(center, level - 1)
    off_sums = np.concatenate(
        [inner + largest_sums(across.T.copy(), level), across.sum(axis=1) + among]
    )
    diagonal = whole.h[np.concatenate([support, candidates])] - (whole.ridge - ridge)
    M = dominated_diagonal(diagonal, off_sums, ridge)
    costs, gains = M[: len(support)] * center.coef**2, w**2 / M[len(support) :]
    return bound_on_changes(center, center.floor, costs, gains)


def _among_candidates(center: Center, count: int) -> FloatArray:
    """Bound sums of the `count` largest |H_jk| over candidates k ≠ j from above, shape (p-s,)."""
    if count == 0:
        return np.zeros(len(center.candidates))
    return cheap_off_sums(replace(center.outside, row_tops=center.tops.known), count)


def _root_cut_by_blocks(center: Center, level: int) -> ModularBound:
    """Compute the root cut for features of several columns, by all of H."""
    cut = sparse_diagonal_cut(replace(center.whole, size=level), center.support)
    terms = 2.0 * center.problem.n * cut.terms
    value = -float(cut.at(center.support))
    return bound_on_changes(center, value, terms[center.support], terms[center.candidates])


def likely_changes(center: Center, level: int, gains: FloatArray) -> FloatArray:
    """Return the weights of a point for a level, shape (p,), from which its bound may be improved.

    All features of Ŝ are as likely to stay, and as likely to enter the candidates that have the
    largest `gains`, shape (c,).
    """
    support, most = center.support, center.tuning.expanding.likely * level
    entering = center.candidates[np.argsort(-gains, kind="stable")[:most]]
    weights = np.zeros(len(center.whole.live))
    weights[support], weights[entering] = 1.0 - level / len(support), level / len(entering)
    return weights


def lean_cut(center: Center, cut: ModularBound, level: int) -> ModularBound:
    """Compute the cut of the best expansion point for a level, from a few columns of G.

    With two budgets, s - i features of Ŝ and i others, the bound on the gain is one on R whose
    terms are what leaving costs and entering gains (docs/mathematics/cuts.md, (12)). The ridge is
    all that is used of how convex the loss is. The point begins at the terms of `cut`.
    """
    whole, support, candidates = center.whole, center.support, center.candidates
    start = likely_changes(center, level, cut.terms[len(support) :])
    budgets = [Budget(support, len(support) - level), Budget(candidates, level)]
    convexity, needed = UniformCurvature(0.0).at(whole), whole.needed_gain(center.value)
    bound = best_expanded(whole, convexity, budgets, start, needed, center.tuning.expanding.close)
    costs, gains = bound.terms[support], bound.terms[candidates]
    value = whole.lower_bound(bound.constant + float(costs.sum()))
    return bound_on_changes(center, value, costs, gains)


def level_bound(center: Center, cut: ModularBound, level: int) -> float:
    """Bound R from below on a whole level by its cut, at the cost of a sort; R ≥ 0."""
    return max(0.0, -cut.largest(changes(center, level)))
