"""The subproblem of the convex search: choose m features to add to a base, by Fenchel bounds.

A dual point bounds every completion at once: with the squares c_j = w_j² of its weights,

    R(B ∪ T) ≥ bound(Σ_{j∈B} c_j + Σ_{j∈T} c_j),   decreasing in the sum

(see `mipselect.losses.fenchel`), so that the best completion of a feature is found by a sort.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np

from mipselect.arrays import FloatArray, IntArray
from mipselect.losses.fenchel import FenchelBounds, FenchelLoss
from mipselect.search.collectors import Collector
from mipselect.search.progress import Run


@dataclass(frozen=True)
class Batches:
    """How many restricted problems are solved at once.

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
    """

    problem: FenchelLoss
    base: IntArray
    size: int
    live: IntArray
    bounds: FenchelBounds
    row: int
    batches: Batches = BATCHES

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
        """Lower bound over the completions whose first feature is live[k]: rising in k."""
        sums = np.convolve(self.credits, np.ones(self.size), mode="valid")
        return self.bound(sums)

    def bound(self, credit: FloatArray) -> FloatArray:
        """Lower bound of completions with Σ_{j∈T} c_j = `credit`."""
        return self.bounds.bound(self.row, self.bounds.own(self.row, self.base) + credit)

    def supports(self, positions: IntArray) -> IntArray:
        """Base ∪ live[positions] for positions of shape (k, m): sorted rows, shape (k, s)."""
        base = np.broadcast_to(self.base, (len(positions), len(self.base)))
        return np.sort(np.hstack([base, self.live[positions]]), axis=1)

    def restricted(self, count: int) -> Completions:
        """The same subproblem with the first `count` live features only."""
        return replace(self, live=self.live[:count])


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


def screened(sub: Completions, collector: Collector, limit: float) -> Completions:
    """Drop the features whose best completion is not below `limit`."""
    bounds = sub.best_bounds
    count = int(np.searchsorted(np.maximum.accumulate(bounds), limit))
    if count < len(bounds):
        collector.settle(float(bounds[count:].min()))
    return sub.restricted(count)


def offer_last_additions(subs: list[Completions], collector: Collector, run: Run) -> None:
    """Settle subproblems of size one together: their supports in order of their bounds."""
    supports = np.concatenate([sub.supports(np.arange(len(sub.live))[:, None]) for sub in subs])
    bounds = np.concatenate([sub.best_bounds for sub in subs])
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
