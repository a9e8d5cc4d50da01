"""The search for the squared loss: a centre, its root cut, and the levels around it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.losses.squared import PreparedSquared
from mipselect.search.collectors import Collector
from mipselect.search.least_squares.additions import (
    SCREENING,
    Additions,
    Screening,
    additions_to,
    cheap_off_sums,
    greedy_completion,
)
from mipselect.search.least_squares.branch_and_bound import branch_and_bound
from mipselect.search.least_squares.centring import Budget, best_centred
from mipselect.search.least_squares.curvature import Curvature
from mipselect.search.least_squares.dominance import (
    dominated_diagonal,
    largest_sum,
    largest_sums,
)
from mipselect.search.least_squares.persistence import Persistence
from mipselect.search.least_squares.swaps import best_by_swaps
from mipselect.search.neighbourhood import Engine, offer_nearby
from mipselect.search.progress import Run
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
    coef : ndarray of shape (c,)
        Of the columns of Ŝ.
    multiplier : float
        ν.
    whole : Additions
        All supports of its size, with the ν of Ŝ.
    candidates : ndarray of int, shape (p-s,)
        The features outside Ŝ.
    row_tops : ndarray of shape (p, c) or None
        See `Gram.row_tops`; None where G is too large to be held.
    screening : Screening
        Of its subproblems.
    """

    problem: PreparedSquared
    support: IntArray
    value: float
    coef: FloatArray
    multiplier: float
    whole: Additions
    candidates: IntArray
    row_tops: FloatArray | None
    screening: Screening = SCREENING

    @property
    def levels(self) -> int:
        """L = min(s, p-s) + 1."""
        return min(len(self.support), len(self.candidates)) + 1

    @property
    def ridge(self) -> float:
        """λ + ν."""
        return self.problem.ridge + self.multiplier

    @property
    def floor(self) -> float:
        """R(Ŝ), less what is lost where columns that are always in are eliminated first."""
        if self.problem.features.plain:
            return self.value
        return self.value - self.whole.slack / (2.0 * self.problem.n)


def center_at(
    problem: PreparedSquared,
    support: IntArray,
    value: float,
    run: Run,
    screening: Screening = SCREENING,
) -> Center:
    """Solve the restricted problem at `support` and gather what its cut needs."""
    fit = problem.fit(support)
    everything = np.arange(problem.features.count)
    candidates = np.setdiff1d(everything, support)
    none = np.empty(0, dtype=np.intp)
    whole = additions_to(problem, none, len(support), everything, fit.multiplier, None)
    tops = None
    if problem.gram.fits and problem.features.singles:
        most = min(len(support), len(candidates))
        tops = problem.gram.row_tops(candidates, max(most, 1), run.tick)
    return Center(
        problem, support, value, fit.coef, fit.multiplier, whole, candidates, tops, screening
    )


@dataclass(frozen=True, eq=False)
class RootCut:
    """The cut (3.2) at Ŝ for supports at distance `level`: what leaving costs and entering gains.

    2n·R(S') ≥ 2n·value + Σ_{j∈Ŝ\\S'} costs_j - Σ_{j∈S'\\Ŝ} credits_j

    Attributes
    ----------
    level : int
    value : float
        What the cut says of R where nothing leaves.
    costs : ndarray of shape (s,)
    credits : ndarray of shape (p-s,)
    """

    level: int
    value: float
    costs: FloatArray
    credits: FloatArray


def root_cut(center: Center, level: int) -> RootCut:
    """Take M of (3.2) for the worst supports at this distance."""
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
    return cheap_off_sums(replace(whole, row_tops=center.row_tops), count)


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
    """The cut of the best centre for a whole level (MATH, section 15).

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


def level_bound(center: Center, cut: RootCut) -> float:
    """What the cut proves for its whole level: a sort. No value is negative."""
    doubled = np.sort(cut.costs)[: cut.level].sum() - largest_sum(cut.credits, cut.level)
    return max(0.0, cut.value + float(doubled) / (2.0 * center.problem.n))


def search_level(
    center: Center,
    cut: RootCut,
    collector: Collector,
    engine: Engine[Additions],
    run: Run,
    persistence: Persistence,
) -> None:
    """Offer every support of the cut's level below the threshold; settle a bound for the rest."""
    doubled_n = 2.0 * center.problem.n
    limit = persistence.limit(collector, run)
    if persistence.wanted(run) and level_bound(center, cut) < limit:
        other = centred_cut(center, cut, persistence.level_curvature, limit)
        cut = max(cut, other, key=lambda each: level_bound(center, each))
    best_credit = largest_sum(cut.credits, cut.level)
    for cost, removed in removed_sets(cut.costs, cut.level):
        run.reporter.bound = cut.value + (cost - best_credit) / doubled_n
        run.reporter.incumbent = collector.threshold
        run.tick()
        if run.reporter.bound >= persistence.limit(collector, run):
            collector.settle(run.reporter.bound)
            return
        sub = additions_after_removal(center, removed, cut.level, collector)
        branch_and_bound(sub, collector, engine, run, persistence)
        run.reporter.done += 1


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
            center.problem,
            base,
            level,
            center.candidates,
            multiplier,
            center.row_tops,
            center.screening,
        )

    sub = build(0.0)
    completed = np.sort(np.append(base, sub.live[greedy_completion(sub)]))
    fit = center.problem.fit(completed)
    collector.offer(completed[None], np.array([fit.value]))
    return build(fit.multiplier) if fit.multiplier > 0.0 else sub


@dataclass(frozen=True, eq=False)
class LeastSquaresNeighbourhood:
    """A `Center` together with the engine that settles its subproblems.

    Attributes
    ----------
    center : Center
    engine : Engine of Additions
    persistence : Persistence
    """

    center: Center
    engine: Engine[Additions]
    persistence: Persistence

    @property
    def support(self) -> IntArray:
        """Ŝ, sorted, shape (s,)."""
        return self.center.support

    @property
    def value(self) -> float:
        """R(Ŝ)."""
        return self.center.value

    @property
    def levels(self) -> int:
        """L = min(s, p-s) + 1."""
        return self.center.levels

    @cached_property
    def entering(self) -> IntArray:
        """The features outside Ŝ, the most gainful by the root cut first."""
        if self.levels == 1:
            return self.center.candidates
        return self.center.candidates[np.argsort(-self._cuts[0].credits, kind="stable")]

    def fill(self, collector: Collector, count: int, run: Run) -> None:
        """Offer supports made of Ŝ and the features that enter most gainfully by its cut."""
        offer_nearby(self.support, self.entering, self.center.problem, collector, count, run)

    def level_bound(self, level: int) -> float:
        """What the root cut proves for the whole level."""
        return level_bound(self.center, self._cuts[level - 1])

    def search_level(self, level: int, collector: Collector, run: Run) -> None:
        """Offer every support of a level below the threshold; settle a bound for the rest."""
        cut = self._cuts[level - 1]
        search_level(self.center, cut, collector, self.engine, run, self.persistence)

    @cached_property
    def _cuts(self) -> list[RootCut]:
        """The root cuts of levels 1, 2, ..."""
        return [root_cut(self.center, level) for level in range(1, self.levels)]


@dataclass(frozen=True, eq=False)
class LeastSquaresMethod:
    """Search by Schur complements.

    Attributes
    ----------
    problem : PreparedSquared
    engine : Engine of Additions
    screening : Screening
    few : int
        Evaluating so many supports takes less time than bounding them.
    patience : int
        Subproblems that are tried with cheap bounds alone.
    """

    problem: PreparedSquared
    engine: Engine[Additions]
    screening: Screening = SCREENING
    few: int = 20_000
    patience: int = 200

    @property
    def name(self) -> str:
        """The name of the engine."""
        return self.engine.name

    def center(self, size: int, run: Run) -> LeastSquaresNeighbourhood:
        """A support that no swap improves, with its cut."""
        if self.problem.gram.fits:
            self.problem.gram.full()
        support, value = best_by_swaps(self.problem, size, run)
        return self.center_at(support, value, run)

    def center_at(self, support: IntArray, value: float, run: Run) -> LeastSquaresNeighbourhood:
        """The neighbourhood of a support whose value is known."""
        return LeastSquaresNeighbourhood(
            center_at(self.problem, support, value, run, self.screening),
            self.engine,
            self.persistence,
        )

    @cached_property
    def persistence(self) -> Persistence:
        """What it knows of bounds around centres, for all centres."""
        return Persistence(self.problem, self.patience)
