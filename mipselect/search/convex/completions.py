"""The subproblem of the convex search: choose m features to add to a base, by Fenchel bounds.

A dual point bounds every completion at once: with the squares c_j = w_j² of its weights,

    R(B ∪ T) ≥ bound(Σ_{j∈B} c_j + Σ_{j∈T} c_j),   decreasing in the sum

(see `mipselect.losses.fenchel`), so that the best completion of a feature is found by a sort.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, replace

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.losses.fenchel import FenchelBounds, FenchelLoss, ScaledFenchelLoss, SteppingLoss
from mipselect.search.collectors import Collector
from mipselect.search.convex.centring import Choice, best_centred
from mipselect.search.progress import Run


@dataclass(frozen=True)
class Batches:
    """Numbers of restricted problems that are solved at once.

    Attributes
    ----------
    bases : int
        Bases whose subproblems are siblings; the threshold may fall between two such batches.
    supports : int
        Supports that are evaluated between two looks at the threshold.
    long : int
        Subproblems after which what certifies is enough; see `Run.limit`.
    """

    bases: int = 32
    supports: int = 64
    long: int = 1000


BATCHES = Batches()

FEW = 4
"""Supports that are solved in less time than it takes to bound them."""


@dataclass(frozen=True, eq=False)
class Completions:
    """Choose `size` of the features `live` to add to `base`.

    Attributes
    ----------
    problem : FenchelLoss
    base : ndarray of int, shape (k,)
    size : int
        m ≥ 1.
    live : ndarray of int, shape (L,)
        In order of falling credit.
    bounds : FenchelBounds
    row : int
        Which dual point of `bounds` this subproblem uses.
    batches : Batches
    centre : FenchelBounds or None
        Another dual point, its only one, that was chosen for all completions.
    """

    problem: FenchelLoss
    base: IntArray
    size: int
    live: IntArray
    bounds: FenchelBounds
    row: int
    batches: Batches = BATCHES
    centre: FenchelBounds | None = None

    @property
    def credits(self) -> FloatArray:
        """c_j of the live features, shape (L,), falling."""
        return np.asarray(self.bounds.weights[self.row][self.live])

    @property
    def best_bounds(self) -> FloatArray:
        """Lower bound over the completions that contain live[k], for every k: rising in k."""
        credits = self.credits
        others = np.full(len(credits), float(credits[: self.size - 1].sum()))
        others[: self.size - 1] = credits[: self.size].sum() - credits[: self.size - 1]
        return self.bound(credits + others)

    @property
    def family_bounds(self) -> FloatArray:
        """Lower bound over the completions whose first feature is live[k]."""
        sums = np.convolve(self.credits, np.ones(self.size), mode="valid")
        bounds = self.bound(sums)
        if self.centre is not None:
            credits = self.centre.weights[0][self.live]
            sums = credits[: len(sums)] + largest_after(credits, self.size - 1)[: len(sums)]
            own = self.centre.own(0, self.base)
            bounds = np.maximum(bounds, self.centre.bound(0, own + sums))
        return bounds

    def bound(self, credit: FloatArray) -> FloatArray:
        """Lower bound of completions with Σ_{j∈T} c_j = `credit`."""
        return self.bounds.bound(self.row, self.bounds.own(self.row, self.base) + credit)

    def supports(self, positions: IntArray) -> IntArray:
        """Base ∪ live[positions] for positions of shape (k, m): sorted rows, shape (k, s)."""
        base = np.broadcast_to(self.base, (len(positions), len(self.base)))
        return np.sort(np.hstack([base, self.live[positions]]), axis=1)

    def restricted(self, keep: IntArray) -> Completions:
        """The same subproblem with only the positions `keep` of `live`, which rise."""
        return replace(self, live=self.live[keep])


def best_completions(credits: FloatArray, size: int) -> FloatArray:
    """The largest sum of `size` credits that includes each of them, shape (L,)."""
    if size >= len(credits):
        return np.full(len(credits), float(credits.sum()))
    falling = -np.sort(-credits)[:size]
    others = float(falling[: size - 1].sum())
    # One of the size - 1 largest is completed by the next one instead.
    return np.asarray(others + np.minimum(credits, falling[-1])) if size > 1 else credits


def largest_after(credits: FloatArray, count: int) -> FloatArray:
    """The sum of the `count` largest, or of all, of the credits after each; shape (L,)."""
    sums, kept, total = np.empty(len(credits)), [0.0] * count, 0.0
    for k in range(len(credits) - 1, -1, -1):
        sums[k] = total
        if count:
            total += credits[k] - heapq.heappushpop(kept, float(credits[k]))
    return sums


def completions_of(
    problem: FenchelLoss,
    bases: IntArray,
    size: int,
    live: list[IntArray],
    batches: Batches = BATCHES,
) -> list[Completions]:
    """The subproblems of several bases, shape (m, k), each at the optimum on its base."""
    bounds = problem.bounds(bases)
    subs = []
    for row, (base, features) in enumerate(zip(bases, live, strict=True)):
        order = np.argsort(-bounds.weights[row][features], kind="stable")
        subs.append(Completions(problem, base, size, features[order], bounds, row, batches))
    return subs


def screened_by_centre(sub: Completions, collector: Collector, limit: float) -> Completions:
    """Drop the features whose best completion is not below `limit` by a better dual point."""
    problem = sub.problem
    if not isinstance(problem, ScaledFenchelLoss):
        return sub
    choices = [Choice(sub.live, sub.size)]
    first = sub.bounds.only(sub.row)
    centre = best_centred(problem, sub.base, choices, first, limit)
    if centre is first:
        return sub
    own, credits = centre.own(0, sub.base), centre.weights[0][sub.live]
    bounds = centre.bound(0, own + best_completions(credits, sub.size))
    keep = np.flatnonzero(bounds < limit)
    if len(keep) < len(bounds):
        collector.settle(float(np.delete(bounds, keep).min()))
    return replace(sub.restricted(keep), centre=centre)


def screened(sub: Completions, collector: Collector, limit: float) -> Completions:
    """Drop the features whose best completion is not below `limit`."""
    bounds = sub.best_bounds
    count = int(np.searchsorted(np.maximum.accumulate(bounds), limit))
    if count < len(bounds):
        collector.settle(float(bounds[count:].min()))
    return sub.restricted(np.arange(count))


def last_bounds(sub: Completions, limit: float) -> FloatArray:
    """Lower bounds on base ∪ {live[k]}, better ones where those of the base are below `limit`."""
    bounds, point = sub.best_bounds, sub.bounds.points
    open_ = np.flatnonzero(bounds < limit)
    if point is not None and len(open_) >= FEW and isinstance(sub.problem, SteppingLoss):
        stepped = sub.problem.bounds_with_one_more(sub.base, point[sub.row], sub.live[open_])
        bounds[open_] = np.maximum(bounds[open_], np.where(stepped < np.inf, stepped, -np.inf))
    return bounds


def offer_last_additions(subs: list[Completions], collector: Collector, run: Run) -> None:
    """Settle subproblems of size one together: their supports in order of their bounds."""
    supports = np.concatenate([sub.supports(np.arange(len(sub.live))[:, None]) for sub in subs])
    limit = run.limit(collector, subs[0].batches.long)
    bounds = np.concatenate([last_bounds(sub, limit) for sub in subs])
    order = np.argsort(bounds, kind="stable")
    batch = subs[0].batches.supports
    for start in range(0, len(order), batch):
        run.tick()
        chosen = order[start : start + batch]
        chosen = chosen[bounds[chosen] < run.limit(collector, subs[0].batches.long)]
        if len(chosen):
            collector.offer(supports[chosen], subs[0].problem.values(supports[chosen]))
        if len(chosen) < batch and start + len(chosen) < len(order):
            collector.settle(float(bounds[order[start + len(chosen)]]))
            return


def enumerate_completions(sub: Completions, collector: Collector, run: Run) -> None:
    """Evaluate every completion that its own bound does not settle."""
    sets = itertools.combinations(range(len(sub.live)), sub.size)
    credits, batch = sub.credits, sub.batches.supports
    while some := list(itertools.islice(sets, 8 * batch)):
        positions = np.asarray(some)
        bounds = sub.bound(credits[positions].sum(axis=1))
        order = np.argsort(bounds, kind="stable")
        for start in range(0, len(order), batch):
            run.tick()
            chosen = order[start : start + batch]
            open_ = bounds[chosen] < run.limit(collector, sub.batches.long)
            collector.settle(float(np.min(bounds[chosen[~open_]], initial=np.inf)))
            if open_.any():
                supports = sub.supports(positions[chosen[open_]])
                collector.offer(supports, sub.problem.values(supports))
