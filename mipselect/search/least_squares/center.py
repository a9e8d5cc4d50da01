"""The centre of a search: one support, its root cut, and the levels around it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.losses.squared import PreparedSquared
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.additions import (
    Additions,
    additions_to,
    dominated_diagonal,
    greedy_completion,
    largest_sum,
)
from mipselect.search.least_squares.branch_and_bound import Engine, branch_and_bound
from mipselect.search.progress import Clock
from mipselect.search.removed_sets import removed_sets


@dataclass(frozen=True, eq=False)
class Center:
    """A support Ŝ around which all others are sorted by their distance.

    Attributes
    ----------
    problem : PreparedSquared
    support : ndarray of int, shape (s,)
        Sorted.
    value : float
        R(Ŝ).
    coef : ndarray of shape (s,)
    multiplier : float
    candidates : ndarray of int, shape (p-s,)
        The features outside Ŝ.
    row_tops : ndarray of shape (p, c) or None
        See `Gram.row_tops`; None where G is too large to be held.
    """

    problem: PreparedSquared
    support: IntArray
    value: float
    coef: FloatArray
    multiplier: float
    candidates: IntArray
    row_tops: FloatArray | None

    @property
    def levels(self) -> int:
        """L = min(s, p-s) + 1."""
        return min(len(self.support), len(self.candidates)) + 1


def center_at(problem: PreparedSquared, support: IntArray, value: float, clock: Clock) -> Center:
    """Solve the restricted problem at `support` and gather what its cut needs."""
    fit = problem.fit(support)
    candidates = np.setdiff1d(np.arange(problem.gram.p), support)
    tops = None
    if problem.gram.fits:
        most = min(len(support), len(candidates))
        tops = problem.gram.row_tops(candidates, max(most, 1), clock.tick)
    return Center(problem, support, value, fit.coef, fit.multiplier, candidates, tops)


@dataclass(frozen=True, eq=False)
class RootCut:
    """The cut (3.2) at Ŝ for supports at distance `level`: what leaving costs and entering gains.

    2n·R(S') ≥ 2n·R(Ŝ) + Σ_{j∈Ŝ\\S'} costs_j - Σ_{j∈S'\\Ŝ} credits_j

    Attributes
    ----------
    level : int
    costs : ndarray of shape (s,)
    credits : ndarray of shape (p-s,)
    """

    level: int
    costs: FloatArray
    credits: FloatArray


def root_cut(center: Center, level: int) -> RootCut:
    """Take M of (3.2) for the worst supports at this distance."""
    problem, support, candidates = center.problem, center.support, center.candidates
    columns = problem.gram.columns(support)
    w = problem.moment[candidates] - columns[candidates] @ center.coef
    inner = np.abs(columns[support]).sum(axis=1) - problem.gram.diagonal[support]
    across = np.abs(columns[candidates])
    among = _among_candidates(center, level - 1)
    nearest = np.partition(across, len(candidates) - level, axis=0)[len(candidates) - level :]
    off_sums = np.concatenate([inner + nearest.sum(axis=0), across.sum(axis=1) + among])
    ridge = problem.ridge + center.multiplier
    diagonal = problem.gram.diagonal[np.concatenate([support, candidates])] + ridge
    M = dominated_diagonal(diagonal, off_sums, ridge)
    return RootCut(level, M[: len(support)] * center.coef**2, w**2 / M[len(support) :])


def _among_candidates(center: Center, count: int) -> FloatArray:
    """Bounds on the sums of the `count` largest |G_jk| among candidates k ≠ j, shape (p-s,)."""
    if count == 0:
        return np.zeros(len(center.candidates))
    if center.row_tops is not None:
        return np.asarray(center.row_tops[center.candidates, count - 1])
    root = np.sqrt(center.problem.gram.diagonal[center.candidates])
    return np.asarray(root * largest_sum(root, count))


def level_bound(center: Center, cut: RootCut) -> float:
    """What the cut proves for its whole level: a sort. No value is negative."""
    doubled = np.sort(cut.costs)[: cut.level].sum() - largest_sum(cut.credits, cut.level)
    return max(0.0, center.value + float(doubled) / (2.0 * center.problem.n))


def search_level(
    center: Center, cut: RootCut, collector: Collector, engine: Engine, clock: Clock
) -> None:
    """Offer every support of the cut's level below the threshold; settle a bound for the rest."""
    doubled_n = 2.0 * center.problem.n
    best_credit = largest_sum(cut.credits, cut.level)
    for cost, removed in removed_sets(cut.costs, cut.level):
        clock.bound = center.value + (cost - best_credit) / doubled_n
        clock.incumbent = collector.threshold
        clock.tick()
        if clock.bound >= collector.threshold:
            collector.settle(clock.bound)
            return
        sub = additions_after_removal(center, removed, cut.level, collector)
        branch_and_bound(sub, collector, engine, clock)
        clock.done += 1


def additions_after_removal(
    center: Center, removed: IntArray, level: int, collector: Collector
) -> Additions:
    """The subproblem of one removed set.

    Its greedy completion is offered first: it gives the search a threshold, and the bounds the
    multiplier ν that makes them tight where the norm constraint is active.
    """
    base = np.delete(center.support, removed)

    def build(multiplier: float) -> Additions:
        return additions_to(
            center.problem, base, level, center.candidates, multiplier, center.row_tops
        )

    sub = build(0.0)
    completed = np.sort(np.append(base, sub.live[greedy_completion(sub)]))
    fit = center.problem.fit(completed)
    collector.offer(completed[None], np.array([fit.value]))
    return build(fit.multiplier) if fit.multiplier > 0.0 else sub
